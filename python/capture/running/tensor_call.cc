#include "capture/running/tensor_call.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cmath>
#include <optional>
#include <utility>

#include "array.h"
#include "bindings.h"
#include "capture/objects/made_once.h"
#include "capture/objects/numpy_api.h"
#include "capture/values/choices.h"
#include "ops/tracer.h"
#include "runtime/log.h"
#include "weft/error.h"

namespace weft::capture {
namespace {

constexpr size_t kMaxEntries = 64;

std::atomic<int64_t> module_state{0};

bool is_number_or_text(PyObject* object) {
  return PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object) ||
         PyUnicode_CheckExact(object);
}

bool holds_tensor(PyObject* object, int depth = 0) {
  if (PyArray_CheckExact(object) || is_number_or_text(object)) return false;
  if (python::tensor_of_python(object)) return true;
  if (depth > 8) return false;
  if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
    // A long list of numbers is one: no call looks at all of it.
    constexpr Py_ssize_t kLong = 16;
    if (PySequence_Fast_GET_SIZE(object) > kLong && is_number_or_text(PySequence_Fast_GET_ITEM(object, 0)))
      return false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
      if (holds_tensor(PySequence_Fast_GET_ITEM(object, i), depth + 1)) return true;
  } else if (PyDict_CheckExact(object)) {
    PyObject *key, *value;
    for (Py_ssize_t i = 0; PyDict_Next(object, &i, &key, &value);)
      if (holds_tensor(value, depth + 1)) return true;
  }
  return false;
}

bool is_module(PyObject* object) {
  return PyObject_HasAttrString(object, "_parameters") && PyObject_HasAttrString(object, "forward");
}

// Values that stay what they are, and modules, which tell when they change.
bool is_constant(PyObject* object) {
  if (object == Py_None || object == Py_Ellipsis || is_number_or_text(object) ||
      PyComplex_CheckExact(object) || PyBytes_CheckExact(object))
    return true;
  if (PyType_Check(object) || PyFunction_Check(object) || PyCFunction_Check(object)) return true;
  static constinit MadeOnce<std::array<Ref, 3>> types;
  const std::array<Ref, 3>& constant_types = types.get([] {
    const Ref weft = checked(PyImport_ImportModule("weft._C")),
              enumeration = checked(PyImport_ImportModule("enum"));
    return std::array<Ref, 3>{checked(PyObject_GetAttrString(weft.get(), "dtype")),
                              checked(PyObject_GetAttrString(weft.get(), "device")),
                              checked(PyObject_GetAttrString(enumeration.get(), "Enum"))};
  });
  for (const Ref& type : constant_types) {
    const int is_instance = PyObject_IsInstance(object, type.get());
    if (is_instance < 0) PyErr_Clear();
    if (is_instance > 0) return true;
  }
  return is_module(object);
}

// A tree of tuples, lists and dicts: its tensors in order, and a structure with None in their places. A
// structure is hashable: ("t",) for a tensor, ("a",) for an array of weft.numpy, ("(", items…), ("[",
// items…), ("{", key, item, …), ("n", type, items…) for named tuples,
// ("=", type, value, sign) for constants.
// NotImplementedError for anything else.
class Flattener {
 public:
  std::vector<Tensor> tensors;

  Ref flatten(PyObject* object, int depth = 0) {
    if (depth > 32) throw Error(ErrorKind::Value, "weft.compile: containers nested deeper than 32");
    if (const Tensor* tensor = python::tensor_of_python(object)) {
      tensors.push_back(*tensor);
      return checked(Py_BuildValue("(s)", python::is_array(object) ? "a" : "t"));
    }
    if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
      const Ref list = checked(PyList_New(0));
      append(list, checked(PyUnicode_FromString(PyTuple_CheckExact(object) ? "(" : "[")));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
        append(list, flatten(PySequence_Fast_GET_ITEM(object, i), depth + 1));
      return checked(PyList_AsTuple(list.get()));
    }
    if (PyTuple_Check(object) && PyObject_HasAttrString(object, "_fields")) {
      const Ref list = checked(PyList_New(0));
      append(list, checked(PyUnicode_FromString("n")));
      append(list, Ref::borrow(reinterpret_cast<PyObject*>(Py_TYPE(object))));
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
        append(list, flatten(PyTuple_GET_ITEM(object, i), depth + 1));
      return checked(PyList_AsTuple(list.get()));
    }
    if (PyDict_CheckExact(object)) {
      const Ref list = checked(PyList_New(0));
      append(list, checked(PyUnicode_FromString("{")));
      PyObject *key, *value;
      for (Py_ssize_t i = 0; PyDict_Next(object, &i, &key, &value);) {
        append(list, Ref::borrow(key));
        append(list, flatten(value, depth + 1));
      }
      return checked(PyList_AsTuple(list.get()));
    }
    if (!is_constant(object))
      throw Error(ErrorKind::NotImplemented,
                  fmt::format("a {} is neither a tensor nor a constant", Py_TYPE(object)->tp_name));
    // 0.0 and -0.0 are equal and not the same.
    const int is_negative = PyFloat_CheckExact(object) && std::signbit(PyFloat_AS_DOUBLE(object));
    return checked(
        Py_BuildValue("(sOOi)", "=", reinterpret_cast<PyObject*>(Py_TYPE(object)), object, is_negative));
  }

 private:
  static void append(const Ref& list, const Ref& item) {
    if (PyList_Append(list.get(), item.get()) < 0) throw PythonError{};
  }
};

Ref unflatten(PyObject* structure, const std::vector<Tensor>& tensors, size_t& next) {
  const char kind = utf8(PyTuple_GET_ITEM(structure, 0))[0];
  const Py_ssize_t size = PyTuple_GET_SIZE(structure);
  if (kind == 't' || kind == 'a') {
    const Promotion rules = kind == 'a' ? Promotion::NumPy : Promotion::Torch;
    return Ref::steal(python::to_python(tensors.at(next++), rules).release().ptr());
  }
  if (kind == '=') return Ref::borrow(PyTuple_GET_ITEM(structure, 2));
  if (kind == '{') {
    Ref dict = checked(PyDict_New());
    for (Py_ssize_t i = 1; i < size; i += 2)
      if (PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(structure, i),
                         unflatten(PyTuple_GET_ITEM(structure, i + 1), tensors, next).get()) < 0)
        throw PythonError{};
    return dict;
  }
  const Py_ssize_t first = kind == 'n' ? 2 : 1;
  Ref items = checked(kind == '[' ? PyList_New(size - first) : PyTuple_New(size - first));
  for (Py_ssize_t i = first; i < size; ++i) {
    PyObject* item = unflatten(PyTuple_GET_ITEM(structure, i), tensors, next).release();
    if (kind == '[')
      PyList_SET_ITEM(items.get(), i - first, item);
    else
      PyTuple_SET_ITEM(items.get(), i - first, item);
  }
  return kind == 'n' ? checked(PyObject_Call(PyTuple_GET_ITEM(structure, 1), items.get(), nullptr)) : items;
}

ErrorKind kind_of(PyObject* exception) {
  if (PyErr_GivenExceptionMatches(exception, PyExc_TypeError)) return ErrorKind::Type;
  if (PyErr_GivenExceptionMatches(exception, PyExc_ValueError)) return ErrorKind::Value;
  if (PyErr_GivenExceptionMatches(exception, PyExc_IndexError)) return ErrorKind::Index;
  return ErrorKind::Runtime;
}

// The folder of weft's Python files, with a slash behind it.
const std::string& package_folder() {
  static constinit MadeOnce<std::string> folder;
  return folder.get([] {
    const Ref package = Ref::steal(PyImport_ImportModule("weft"));
    const Ref file = package ? Ref::steal(PyObject_GetAttrString(package.get(), "__file__")) : Ref();
    const std::string path = file ? utf8(file.get()) : "";
    clear_error();
    return path.substr(0, path.rfind('/') + 1);
  });
}

// "\n  at model.py:42": the innermost frame outside of weft's own files.
std::string user_line(PyObject* exception) {
  std::string line;
  Ref traceback = Ref::steal(PyException_GetTraceback(exception));
  while (traceback && traceback.get() != Py_None) {
    const Ref frame = Ref::steal(PyObject_GetAttrString(traceback.get(), "tb_frame"));
    const Ref code = frame ? Ref::steal(PyObject_GetAttrString(frame.get(), "f_code")) : Ref();
    const Ref file = code ? Ref::steal(PyObject_GetAttrString(code.get(), "co_filename")) : Ref();
    const Ref number = Ref::steal(PyObject_GetAttrString(traceback.get(), "tb_lineno"));
    if (!file || !number) break;
    const std::string path = utf8(file.get());
    if (package_folder().empty() || !path.starts_with(package_folder()))
      line = fmt::format("\n  at {}:{}", path, PyLong_AsLong(number.get()));
    traceback = Ref::steal(PyObject_GetAttrString(traceback.get(), "tb_next"));
  }
  PyErr_Clear();
  return line;
}

// The Python error as weft's own, for the engine that traces; an interrupt stays what it is.
[[noreturn]] void throw_as_error() {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError{};
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback) PyException_SetTraceback(value, traceback);
  const Ref owned_type = Ref::steal(type), owned = Ref::steal(value), owned_traceback = Ref::steal(traceback);
  const Ref text = Ref::steal(PyObject_Str(value));
  if (!text) PyErr_Clear();
  const std::string message = text ? utf8(text.get()) : "an error without text";
  throw Error(kind_of(value), message + user_line(value));
}

}  // namespace

// One engine, and the structures of what goes in and what comes out.
struct TensorFunction::Entry {
  Ref structure;             // of (args, kwargs), which must be equal
  std::vector<Ref> results;  // structures of what traces gave; a graph's last output says which is its own
  std::unique_ptr<detail::CompiledFunction> engine;
};

namespace {

// What the function returned, where a call made in this thread called the function itself.
thread_local Ref* called_result = nullptr;

}  // namespace

bool is_module_callable(PyObject* function) {
  return is_module(function) || (PyMethod_Check(function) && is_module(PyMethod_GET_SELF(function)));
}

bool has_tensor(PyObject* const* args, size_t num_args, PyObject* kwnames) {
  const size_t count = num_args + (kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
  for (size_t i = 0; i < count; ++i)
    if (holds_tensor(args[i])) return true;
  return false;
}

bool shares_arrays(PyObject* function) {
  if (PyMethod_Check(function)) function = PyMethod_GET_FUNCTION(function);
  if (!PyFunction_Check(function)) return false;
  const Code& code = decode(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function)));
  return std::any_of(code.instructions.begin(), code.instructions.end(), [&](const Instruction& in) {
    if (in.op != Op::LoadMethod && in.op != Op::LoadAttr && in.op != Op::LoadGlobal) return false;
    const std::string name = utf8(code.names[static_cast<size_t>(in.arg)].get());
    return name == "from_numpy" || (in.op == Op::LoadMethod && name == "numpy");
  });
}

void bump_module_state() { ++module_state; }

TensorFunction::TensorFunction(PyObject* function, const Settings& settings)
    : function_(function), settings_(settings) {
  reset();
}
TensorFunction::~TensorFunction() = default;

void TensorFunction::reset() {
  // What ends with the old ones may run Python code, in any thread.
  const auto old = std::exchange(entries_, std::make_shared<Entries>(Entries{checked(PyDict_New()), {}}));
}

std::string TensorFunction::explain() const {
  std::string text;
  for (const auto& entry : entries_->list) text += entry->engine->explain();
  return text;
}

std::shared_ptr<TensorFunction::Entry> TensorFunction::find(const Ref& structure) {
  // Held: constants are compared by Python code, and others may call, or reset, the function meanwhile.
  const std::shared_ptr<Entries> entries = entries_;
  if (PyObject* found = PyDict_GetItemWithError(entries->positions.get(), structure.get()))
    return entries->list[PyLong_AsSize_t(found)];
  if (PyErr_Occurred()) throw PythonError{};
  if (entries->list.size() >= kMaxEntries) return nullptr;
  auto entry = std::make_shared<Entry>();
  entry->structure = structure;
  Entry* const raw = entry.get();
  const CompileOptions options{.name = callable_name(function_),
                               .dynamic = settings_.dynamic == Settings::Dynamic::Auto
                                              ? std::nullopt
                                              : std::optional(settings_.dynamic == Settings::Dynamic::Always),
                               .mode = settings_.mode,
                               .fullgraph = settings_.fullgraph};
  entry->engine = std::make_unique<detail::CompiledFunction>(
      [this, raw](const std::vector<Tensor>& tensors) {
        const python::GilAcquire gil;
        size_t next = 0;
        const Ref arguments = unflatten(raw->structure.get(), tensors, next);
        const Ref result = Ref::steal(python::calling_python([&] {
          return PyObject_Call(function_, PyTuple_GET_ITEM(arguments.get(), 0),
                               PyTuple_GET_ITEM(arguments.get(), 1));
        }));
        if (!result) {
          if (ops::current_tracer()) throw_as_error();
          throw PythonError{};
        }
        if (!ops::current_tracer()) {
          *called_result = result;
          return std::vector<Tensor>{};
        }
        Flattener flattener;
        raw->results.push_back(flattener.flatten(result.get()));
        flattener.tensors.push_back(
            Tensor::scalar(static_cast<int64_t>(raw->results.size()) - 1, DType::I64));
        return std::move(flattener.tensors);
      },
      options);
  const Ref number = checked(PyLong_FromSize_t(entries->list.size()));
  entries->list.push_back(std::move(entry));
  PyObject* kept = PyDict_SetDefault(entries->positions.get(), structure.get(), number.get());
  if (!kept) throw PythonError{};
  return entries->list[PyLong_AsSize_t(kept)];
}

Ref TensorFunction::call(PyObject* const* args, size_t num_args, PyObject* kwnames) {
  Flattener flattener;
  const Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(num_args))),
            keywords = checked(PyDict_New());
  for (size_t i = 0; i < num_args; ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), Py_NewRef(args[i]));
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i)
    if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(kwnames, i),
                       args[num_args + static_cast<size_t>(i)]) < 0)
      throw PythonError{};
  const Ref device = checked(PyUnicode_FromString(choices().str().c_str()));
  const Ref both = checked(PyTuple_Pack(3, positional.get(), keywords.get(), device.get()));
  const auto call_plain = [&](std::string_view why) {
    const std::string text = fmt::format("{} is called as it is: {}", callable_name(function_), why);
    if (settings_.fullgraph) throw Error(ErrorKind::Runtime, "weft.compile(fullgraph=True): " + text);
    if (!std::exchange(has_warned_, true)) log::warning("weft.compile: " + text);
    return checked(
        python::calling_python([&] { return PyObject_Call(function_, positional.get(), keywords.get()); }));
  };
  Ref structure;
  try {
    structure = flattener.flatten(both.get());
  } catch (const Error& error) {
    return call_plain(fmt::format("among its arguments, {}", error.what()));
  }
  if (const int64_t state = module_state.load(); state != state_) {
    if (!entries_->list.empty())
      log::write(log::Channel::Recompiles,
                 fmt::format("{}: a module has changed since", callable_name(function_)));
    reset();
    state_ = state;
  }
  const std::shared_ptr<Entry> entry = find(structure);
  if (!entry)
    return call_plain(
        fmt::format("{} different sets of constants are kept, the most there may be", kMaxEntries));
  Ref called;
  std::vector<Tensor> results;
  {
    Ref* const outer = std::exchange(called_result, &called);
    struct Restore {
      Ref* outer;
      ~Restore() { called_result = outer; }
    } restore{outer};
    const python::GilRelease no_gil;
    results = (*entry->engine)(flattener.tensors);
  }
  if (called) return called;
  const size_t own = static_cast<size_t>(results.back().item().to_int());
  results.pop_back();
  size_t next = 0;
  return unflatten(entry->results.at(own).get(), results, next);
}

}  // namespace weft::capture
