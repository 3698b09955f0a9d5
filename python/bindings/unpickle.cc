// Pickles as Python's objects: what torch.load reads weights with. The machine makes containers, numbers and
// text; what a name stands for, what may be called, made and filled, and what a storage is, are the rules' to
// say (python/weft/torch/_weights_only.py).
#include <fmt/format.h>

#include <algorithm>

#include "bindings.h"
#include "io/pickle_machine.h"

namespace weft::python {

namespace {

constexpr uint32_t kMaxTupleDepth =
    1000;  // of tuples, which are hashed, and so walked, without a limit of Python's
constexpr size_t kMaxItems = size_t{1} << 32;

struct PickledObject {
  nb::object object;
  uint32_t depth = 0;      // of tuples in tuples
  bool has_names = false;  // it is a name, or a tuple with names in it: an argument, and no value
};
using Objects = std::vector<PickledObject>;

class ObjectUnpickler : private jit::PickleMachine<ObjectUnpickler, PickledObject> {
 public:
  ObjectUnpickler(std::string_view bytes, nb::handle rules, std::string encoding)
      : PickleMachine(bytes, "", kMaxItems),
        rules_(nb::borrow<nb::object>(rules)),
        name_type_(rules_.attr("name_type")),
        counter_(nb::module_::import_("collections").attr("Counter")),
        encoding_(std::move(encoding)) {}

  nb::object run() { return PickleMachine::run().object; }
  using PickleMachine::position;

 private:
  friend PickleMachine;
  static constexpr bool kMakesPythonValues = true;

  // A new reference of Python's, or the error that it met.
  static PickledObject made(PyObject* object) {
    if (!object) nb::raise_python_error();
    return {nb::steal(object)};
  }
  static void check(int status) {
    if (status < 0) nb::raise_python_error();
  }

  // ---- plain values ------------------------------------------------------------------------------------
  static PickledObject none() { return {nb::none()}; }
  static PickledObject boolean(bool value) { return made(PyBool_FromLong(value)); }
  static PickledObject integer(int64_t value) { return made(PyLong_FromLongLong(value)); }
  static PickledObject floating(double value) { return made(PyFloat_FromDouble(value)); }
  static PickledObject long_integer(std::string_view digits) {
    const nb::object from_bytes = nb::borrow(reinterpret_cast<PyObject*>(&PyLong_Type)).attr("from_bytes");
    return {from_bytes(nb::bytes(digits.data(), digits.size()), "little", nb::arg("signed") = true)};
  }
  static PickledObject text(std::string_view text) {
    return made(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass"));
  }
  // Text of Python 2, in the encoding that the caller names; "bytes" leaves it as it is.
  PickledObject old_text(std::string_view text) const {
    if (encoding_ == "bytes") return bytes(text);
    return made(
        PyUnicode_Decode(text.data(), static_cast<Py_ssize_t>(text.size()), encoding_.c_str(), "strict"));
  }
  static PickledObject bytes(std::string_view bytes) {
    return made(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
  }
  static PickledObject byte_array(std::string_view bytes) {
    return made(PyByteArray_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
  }

  // ---- containers --------------------------------------------------------------------------------------
  static PyObject* value(const PickledObject& part) {
    if (part.has_names)
      jit::fail_unpickling(fmt::format("a container cannot hold the name {}", nb::repr(part.object).c_str()));
    return part.object.ptr();
  }
  static PickledObject tuple(Objects parts) {
    PickledObject result = made(PyTuple_New(static_cast<Py_ssize_t>(parts.size())));
    for (size_t i = 0; i < parts.size(); ++i) {
      result.depth = std::max(result.depth, parts[i].depth);
      result.has_names |= parts[i].has_names;
      PyTuple_SET_ITEM(result.object.ptr(), static_cast<Py_ssize_t>(i), parts[i].object.release().ptr());
    }
    if (++result.depth > kMaxTupleDepth)
      jit::fail_unpickling(fmt::format("tuples are nested deeper than {}", kMaxTupleDepth));
    return result;
  }
  static PickledObject list() { return made(PyList_New(0)); }
  static PickledObject dict() { return made(PyDict_New()); }
  static PickledObject set() { return made(PySet_New(nullptr)); }
  static PickledObject frozen_set(Objects parts) {
    PickledObject result = made(PyFrozenSet_New(nullptr));
    for (const PickledObject& part : parts) {
      check(PySet_Add(result.object.ptr(), value(part)));
      result.depth = std::max(result.depth, part.depth);
    }
    ++result.depth;
    return result;
  }
  void append(PickledObject& list, const Objects& parts) {
    const bool is_plain = PyList_CheckExact(list.object.ptr());
    if (!is_plain) rules_.attr("check_filled")(list.object, "list");
    for (const PickledObject& part : parts) {
      if (is_plain) {
        check(PyList_Append(list.object.ptr(), value(part)));
      } else {
        list.object.attr("append")(nb::handle(value(part)));
      }
    }
  }
  void set_items(PickledObject& dict, const Objects& parts) {
    PyObject* target = dict.object.ptr();
    if (!PyDict_CheckExact(target) && !PyODict_CheckExact(target) && !Py_IS_TYPE(target, counter_type()))
      rules_.attr("check_filled")(dict.object, "dict");
    for (size_t i = 0; i < parts.size(); i += 2)
      check(PyObject_SetItem(target, value(parts[i]), value(parts[i + 1])));
  }
  static void add_items(PickledObject& set, const Objects& parts) {
    if (!PySet_CheckExact(set.object.ptr()))
      jit::fail_unpickling(fmt::format("expected a set, got {}", Py_TYPE(set.object.ptr())->tp_name));
    for (const PickledObject& part : parts) check(PySet_Add(set.object.ptr(), value(part)));
  }
  PyTypeObject* counter_type() const { return reinterpret_cast<PyTypeObject*>(counter_.ptr()); }

  // ---- names, by the rules -----------------------------------------------------------------------------
  PickledObject global(const std::string& module, const std::string& name) {
    return named(nb::str(module.data(), module.size()), nb::str(name.data(), name.size()));
  }
  PickledObject stack_global(const PickledObject& module, const PickledObject& name) {
    if (!PyUnicode_CheckExact(module.object.ptr()) || !PyUnicode_CheckExact(name.object.ptr()))
      jit::fail_unpickling("expected two strings");
    return named(module.object, name.object);
  }
  PickledObject named(const nb::object& module, const nb::object& name) {
    PickledObject found{rules_.attr("find")(module, name)};
    found.has_names = found.object.type().is(name_type_);
    return found;
  }
  PickledObject reduce(const PickledObject& function, const PickledObject& arguments) {
    return {rules_.attr("call")(function.object, arguments_of(arguments))};
  }
  PickledObject new_object(const PickledObject& of, const PickledObject& arguments) {
    return {rules_.attr("new")(of.object, arguments_of(arguments))};
  }
  void build(const PickledObject& target, const PickledObject& state) {
    value(state);
    rules_.attr("build")(target.object, state.object);
  }
  PickledObject persistent(const PickledObject& identity) {
    return {rules_.attr("storage")(arguments_of(identity))};
  }
  const nb::object& arguments_of(const PickledObject& tuple) {
    if (!PyTuple_CheckExact(tuple.object.ptr()))
      jit::fail_unpickling(
          fmt::format("expected a tuple of arguments, got {}", Py_TYPE(tuple.object.ptr())->tp_name));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.object.ptr()); ++i) {
      PyObject* part = PyTuple_GET_ITEM(tuple.object.ptr(), i);
      if (PyTuple_Check(part) || PyList_Check(part) || PyDict_Check(part) || PyAnySet_Check(part) ||
          PyUnicode_Check(part) || PyBytes_Check(part) || PyByteArray_Check(part))
        charge(static_cast<size_t>(std::max<Py_ssize_t>(PyObject_Size(part), 0)));
    }
    return tuple.object;
  }

  static void finish(const PickledObject& result) { value(result); }

  nb::object rules_, name_type_, counter_;
  std::string encoding_;
};

// The bytes of an object, for as long as this lives.
class BufferView {
 public:
  explicit BufferView(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) nb::raise_python_error();
  }
  ~BufferView() { PyBuffer_Release(&view_); }
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;
  std::string_view from(size_t start) const {
    const std::string_view all(static_cast<const char*>(view_.buf), static_cast<size_t>(view_.len));
    return all.substr(std::min(start, all.size()));
  }

 private:
  Py_buffer view_;
};

nb::tuple unpickle(nb::handle data, size_t start, nb::handle rules, const std::string& encoding) {
  const BufferView buffer(data);
  ObjectUnpickler unpickler(buffer.from(start), rules, encoding);
  const nb::object result = unpickler.run();
  return nb::make_tuple(result, start + unpickler.position());
}

}  // namespace

void bind_unpickle(nb::module_& m) {
  m.def("_unpickle", &unpickle, nb::arg("data"), nb::arg("start"), nb::arg("rules"), nb::arg("encoding"));
}

}  // namespace weft::python
