#include "errors.h"

#include <array>
#include <set>
#include <utility>

#include "core/printable.h"
#include "once.h"

namespace weft::python {

namespace nb = nanobind;

PyObject* exception_type(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Value: return PyExc_ValueError;
    case ErrorKind::Type: return PyExc_TypeError;
    case ErrorKind::Index: return PyExc_IndexError;
    case ErrorKind::NotImplemented: return PyExc_NotImplementedError;
    case ErrorKind::Memory: return PyExc_MemoryError;
    case ErrorKind::Runtime:
    case ErrorKind::Internal: break;
  }
  return PyExc_RuntimeError;
}

PyObject* exception_type(const Error& error) {
  if (error.kind() != ErrorKind::Runtime || !std::string_view(error.what()).starts_with("linalg."))
    return exception_type(error.kind());
  static constinit MadeOnce<nb::object> type;
  return type.get([] { return nb::object(nb::module_::import_("weft.return_types").attr("LinAlgError")); }).ptr();
}

void set_error(PyObject* type, std::string_view message) {
  PyObject* text =
      PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace");
  if (!text) return;
  PyErr_SetObject(type, text);
  Py_DECREF(text);
}

namespace {

// The class of weft/_errors.py; null for kinds that Python and PyTorch agree on.
const char* torch_exception(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Value: return "ArgumentError";
    case ErrorKind::Type: return "ArgumentTypeError";
    case ErrorKind::Index: return "ArgumentIndexError";
    default: return nullptr;
  }
}

}  // namespace

void set_error(const Error& error, Promotion rules) {
  const char* const name = rules == Promotion::Torch ? torch_exception(error.kind()) : nullptr;
  nb::object type = nb::borrow(exception_type(error));
  try {
    if (name) type = nb::module_::import_("weft._errors").attr(name);
  } catch (nb::python_error& failure) {  // at the end of the process
    failure.discard_as_unraisable("weft._errors");
  }
  set_error(type.ptr(), error.what());
}

std::string_view text_view(nb::handle text) {
  Py_ssize_t size = 0;
  const char* characters = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (!characters) nb::raise_python_error();
  return {characters, static_cast<size_t>(size)};
}

std::string repr_text(nb::handle object) {
  const nb::object text = nb::steal(PyObject_Repr(object.ptr()));
  if (!text.is_valid()) nb::raise_python_error();
  const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!bytes.is_valid()) nb::raise_python_error();
  return printable({PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()))});
}

namespace {

// nanobind has a handful of ways to call a function, all through the object's vectorcall slot. Each is
// replaced by one that does the same and looks at the error, if there is one.
constexpr size_t kMaxEntries = 16;
std::array<vectorcallfunc, kMaxEntries> originals{};

vectorcallfunc& vectorcall_of(PyObject* function) {
  return *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(function) +
                                            Py_TYPE(function)->tp_vectorcall_offset);
}

// nanobind's own words for arguments that fit no signature, and for a conversion within a function.
bool is_mismatch(PyObject* error) {
  const bool is_cast = PyErr_GivenExceptionMatches(error, PyExc_RuntimeError);
  if (!is_cast && !PyErr_GivenExceptionMatches(error, PyExc_TypeError)) return false;
  const nb::object text = nb::steal(PyObject_Str(error));
  const char* message = text.is_valid() ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  if (!message) {
    PyErr_Clear();
    return false;
  }
  const std::string_view words = message;
  return is_cast ? words == "std::bad_cast"
                 : words.find("incompatible function arguments") != std::string_view::npos;
}

void explain(PyObject* function, PyObject* const* args, size_t nargsf, PyObject* keywords) {
  if (!PyErr_Occurred()) return;  // the end of an iteration
  nb::python_error raised;        // takes it
  if (!is_mismatch(raised.value().ptr())) return raised.restore();
  try {
    nb::list positional;
    nb::dict named;
    const size_t nargs = nargsf & 0xFFFFFFFFu;  // nanobind has flags of its own above
    for (size_t i = 0; i < nargs; ++i) positional.append(nb::handle(args[i]));
    const size_t count = keywords ? static_cast<size_t>(PyTuple_GET_SIZE(keywords)) : 0;
    for (size_t i = 0; i < count; ++i)
      named[nb::handle(PyTuple_GET_ITEM(keywords, static_cast<Py_ssize_t>(i)))] = nb::handle(args[nargs + i]);
    const nb::object text = nb::module_::import_("weft._arguments")
                                .attr("explain")(nb::handle(function), nb::tuple(positional), named);
    PyErr_SetObject(PyExc_TypeError, text.ptr());
  } catch (nb::python_error& failure) {
    failure.restore();
  }
}

template <size_t I>
PyObject* call_explained(PyObject* function, PyObject* const* args, size_t nargsf, PyObject* keywords) {
  PyObject* result = originals[I](function, args, nargsf, keywords);
  if (!result) [[unlikely]]
    explain(function, args, nargsf, keywords);
  return result;
}

template <size_t... I>
constexpr std::array<vectorcallfunc, sizeof...(I)> explained_calls(std::index_sequence<I...>) {
  return {&call_explained<I>...};
}
constexpr std::array<vectorcallfunc, kMaxEntries> kExplained =
    explained_calls(std::make_index_sequence<kMaxEntries>());

void explain_function(PyObject* function) {
  vectorcallfunc& slot = vectorcall_of(function);
  for (size_t i = 0; i < kMaxEntries; ++i) {
    if (slot == kExplained[i]) return;
    if (originals[i] != nullptr && originals[i] != slot) continue;
    originals[i] = slot;
    slot = kExplained[i];
    return;
  }
}

void explain_members(PyObject* owner, std::set<PyObject*>& seen);

void explain_member(PyObject* member, std::set<PyObject*>& seen) {
  const std::string_view type = Py_TYPE(member)->tp_name;
  if (type == "nanobind.nb_func" || type == "nanobind.nb_method") {
    explain_function(member);
  } else if (PyObject_HasAttrString(member, "fget")) {
    for (const char* accessor : {"fget", "fset"}) {
      const nb::object function = nb::getattr(member, accessor);
      if (!function.is_none()) explain_member(function.ptr(), seen);
    }
  } else if (type == "nanobind.nb_type_0" || PyModule_Check(member) || PyType_Check(member)) {
    explain_members(member, seen);
  }
}

void explain_members(PyObject* owner, std::set<PyObject*>& seen) {
  if (!seen.insert(owner).second) return;
  const nb::object members = nb::getattr(owner, "__dict__");
  for (nb::handle member : nb::borrow<nb::object>(members.attr("values")()))
    explain_member(member.ptr(), seen);
}

}  // namespace

void explain_arguments(nb::module_& module) {
  std::set<PyObject*> seen;
  explain_members(module.ptr(), seen);
}

}  // namespace weft::python
