// weft.load and weft.save.
#include <fmt/format.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include "interpreter_lock.h"
#include "io/archive.h"
#include "io/pickle.h"
#include "ivalue.h"
#include "weft/error.h"

namespace weft::python {

namespace {

// The path that a str or os.PathLike names; nullopt for any other object.
std::optional<std::string> path_of(nb::handle file) {
  if (!PyUnicode_Check(file.ptr()) && !PyObject_HasAttrString(file.ptr(), "__fspath__")) return std::nullopt;
  PyObject* bytes = nullptr;
  if (!PyUnicode_FSConverter(file.ptr(), &bytes)) nb::raise_python_error();
  const nb::object owner = nb::steal(bytes);
  return PyBytes_AS_STRING(bytes);
}

// OSError of the right kind, for what cannot even be opened.
void require_readable(const std::string& path) {
  if (::access(path.c_str(), R_OK) == 0) return;
  PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
  nb::raise_python_error();
}

IValue load_from_file_object(nb::handle file, bool verify) {
  WEFT_CHECK_TYPE(PyObject_HasAttrString(file.ptr(), "read"),
                  fmt::format("load: expected a path or a file opened for reading, got {}",
                              Py_TYPE(file.ptr())->tp_name));
  const nb::object contents = nb::borrow<nb::object>(file.attr("read")());
  WEFT_CHECK_TYPE(PyBytes_Check(contents.ptr()),
                  fmt::format("load: expected a file opened in binary mode: read() gave {}",
                              Py_TYPE(contents.ptr())->tp_name));
  std::string bytes(PyBytes_AS_STRING(contents.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(contents.ptr())));
  const GilRelease no_gil;
  return jit::load_value_bytes(std::move(bytes), verify);
}

nb::object load(nb::handle file, bool verify) {
  const std::optional<std::string> path = path_of(file);
  if (!path) return to_python(load_from_file_object(file, verify));
  require_readable(*path);
  IValue value;
  {
    const GilRelease no_gil;
    value = jit::load_value(*path, verify);
  }
  return to_python(value);
}

void save(nb::handle object, nb::handle file) {
  const IValue value = to_ivalue(object, nullptr);
  if (const std::optional<std::string> path = path_of(file)) {
    const GilRelease no_gil;
    jit::save_value(value, *path);
    return;
  }
  WEFT_CHECK_TYPE(PyObject_HasAttrString(file.ptr(), "write"),
                  fmt::format("save: expected a path or a file opened for writing, got {}",
                              Py_TYPE(file.ptr())->tp_name));
  std::string bytes;
  {
    const GilRelease no_gil;
    bytes = jit::save_value_bytes(value);
  }
  file.attr("write")(nb::bytes(bytes.data(), bytes.size()));
}

// ---- archives, for torch.load ----------------------------------------------------------------------------
std::shared_ptr<jit::ArchiveReader> open_archive(nb::handle file) {
  if (const std::optional<std::string> path = path_of(file)) {
    require_readable(*path);
    const GilRelease no_gil;
    return jit::ArchiveReader::open(*path);
  }
  WEFT_CHECK_TYPE(PyBytes_Check(file.ptr()),
                  fmt::format("archive: expected a path or bytes, got {}", Py_TYPE(file.ptr())->tp_name));
  PyObject* owner = file.ptr();
  Py_INCREF(owner);
  return jit::ArchiveReader::from_storage(
      Storage::wrap(PyBytes_AS_STRING(owner), static_cast<size_t>(PyBytes_GET_SIZE(owner)),
                    [owner] { with_gil([owner] { Py_DECREF(owner); }); }));
}

nb::bytes read_entry(const jit::ArchiveReader& archive, const std::string& entry) {
  const std::string contents = archive.read(entry);
  return nb::bytes(contents.data(), contents.size());
}

// The entry's first `nbytes` bytes as a tensor of uint8: mapped, or in memory of their own.
nb::object entry_bytes(const jit::ArchiveReader& archive, const std::string& entry, size_t nbytes, bool map) {
  std::shared_ptr<Storage> storage;
  {
    const GilRelease no_gil;
    storage = map ? archive.map(entry) : archive.copy(entry, nbytes);
  }
  WEFT_CHECK(nbytes <= storage->nbytes(),
             fmt::format("archive '{}': entry '{}' has wrong byte size: expected {} got {}", archive.name(),
                         entry, nbytes, storage->nbytes()));
  return to_python(Tensor(std::move(storage), DType::U8, {static_cast<int64_t>(nbytes)}, {1}, 0));
}

}  // namespace

void bind_serialization(nb::module_& m) {
  nb::class_<jit::ArchiveReader>(m, "_Archive")
      .def(nb::new_(&open_archive), nb::arg("file"))
      .def("entries",
           [](const jit::ArchiveReader& archive) {
             nb::list names;
             for (const std::string& name : archive.entries())
               names.append(nb::str(name.data(), name.size()));
             return names;
           })
      .def("read", &read_entry, nb::arg("entry"))
      .def("bytes", &entry_bytes, nb::arg("entry"), nb::arg("nbytes"), nb::arg("map"));
  m.def(
      "load", &load, nb::arg("file"), nb::kw_only(), nb::arg("verify") = false,
      "What torch.save or weft.save wrote: a state dict, or any nesting of lists, tuples and dicts of "
      "tensors,\n"
      "numbers, strings and None. Nothing in the file is run. Tensors are mapped from the file, not read: "
      "writing\n"
      "to one does not change the file, and the file must not be changed in place while they live.\n"
      "file: a path, or a file object opened in binary mode (which is read whole).\n"
      "verify: read the whole file first, and compare the checksum (CRC-32) of every entry, those of tensors "
      "too.\n"
      "A dtype comes as its number (torch.float32 is 6), an OrderedDict as a dict, a torch.Size as a tuple; "
      "all\n"
      "tensors come to the CPU.\n"
      "raises: OSError where the file cannot be opened; ValueError naming file and entry for a file that is\n"
      "damaged, holds anything else, or is a TorchScript module (weft.jit.load reads those).");
  m.def("save", &save, nb::arg("object").none(), nb::arg("file"),
        "Writes tensors and NumPy arrays, numbers, strings, None, and lists, tuples and dicts of these to an "
        "archive\n"
        "that torch.load and weft.load read. A dtype is written as its number, a NamedTuple as a tuple. "
        "Tensors that share memory share it again when they are loaded. A path\n"
        "is replaced when all is written, never left half full.\n"
        "file: a path, or a file object opened in binary mode.\n"
        "raises: TypeError naming the place of what cannot be saved; ValueError for containers that contain\n"
        "themselves and tensors without elements; RuntimeError where the file cannot be written.");
}

}  // namespace weft::python
