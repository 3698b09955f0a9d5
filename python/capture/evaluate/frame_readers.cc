#include "capture/evaluate/frame_readers.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "capture/objects/made_once.h"
#include "capture/values/value.h"

namespace weft::capture {

namespace {

constexpr size_t kMostFunctions = 500;  // that are looked at

// Names and texts in the code of functions that read variables of frame objects, by themselves or through the
// standard library's.
bool is_readers_name(PyObject* name) {
  static constexpr const char* kNames[] = {"f_locals", "getargvalues", "capture_locals", "breakpoint",
                                           "set_trace"};
  return PyUnicode_Check(name) && std::any_of(std::begin(kNames), std::end(kNames), [&](const char* one) {
           return PyUnicode_CompareWithASCIIString(name, one) == 0;
         });
}

bool has_readers_name(PyObject* tuple) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* one = PyTuple_GET_ITEM(tuple, i);
    if (is_readers_name(one) || (PyTuple_Check(one) && has_readers_name(one))) return true;
  }
  return false;
}

// The part of a module's name before the first dot.
std::string top_name(PyObject* name) {
  const std::string text = name && PyUnicode_Check(name) ? utf8(name) : "";
  return text.substr(0, text.find('.'));
}

// The standard library's own, NumPy's and weft's functions read no caller's variables.
bool is_known_library(const std::string& module) {
  static constinit MadeOnce<std::set<std::string>> libraries;
  const auto read = [] {
    std::set<std::string> found = {"numpy", "scipy", "torch", "weft"};
    PyObject* names = PySys_GetObject("stdlib_module_names");  // borrowed
    const Ref iterator = names ? Ref::steal(PyObject_GetIter(names)) : Ref();
    while (Ref name = Ref::steal(iterator ? PyIter_Next(iterator.get()) : nullptr))
      found.insert(utf8(name.get()));
    PyErr_Clear();
    return found;
  };
  return libraries.get(read).contains(module);
}

class Search {
 public:
  std::string of_function(PyObject* object) {
    auto* function = reinterpret_cast<PyFunctionObject*>(object);
    if (is_known_library(top_name(function->func_module)) || functions_.size() >= kMostFunctions ||
        !functions_.insert(object).second)
      return "";
    std::string found = of_code(function->func_code, function->func_globals);
    for (Py_ssize_t i = 0;
         found.empty() && function->func_closure && i < PyTuple_GET_SIZE(function->func_closure); ++i)
      found = of_value(PyCell_GET(PyTuple_GET_ITEM(function->func_closure, i)), nullptr);
    return found;
  }

 private:
  std::string of_code(PyObject* object, PyObject* globals) {
    if (!codes_.insert(object).second) return "";
    auto* code = reinterpret_cast<PyCodeObject*>(object);
    if (has_readers_name(code->co_names) || has_readers_name(code->co_consts)) return utf8(code->co_qualname);
    std::string found;
    for (Py_ssize_t i = 0; found.empty() && i < PyTuple_GET_SIZE(code->co_consts); ++i)
      if (PyCode_Check(PyTuple_GET_ITEM(code->co_consts, i)))
        found = of_code(PyTuple_GET_ITEM(code->co_consts, i), globals);
    for (Py_ssize_t i = 0; found.empty() && i < PyTuple_GET_SIZE(code->co_names); ++i)
      found = of_value(PyDict_GetItemWithError(globals, PyTuple_GET_ITEM(code->co_names, i)), code->co_names);
    return found;
  }

  // `names`: those that the code asks modules and classes for.
  std::string of_value(PyObject* value, PyObject* names) {
    if (!value) return "";
    if (PyMethod_Check(value)) value = PyMethod_GET_FUNCTION(value);
    if (PyFunction_Check(value)) return of_function(value);
    PyObject* dict = PyModule_Check(value) ? PyModule_GetDict(value)
                     : PyType_Check(value) ? reinterpret_cast<PyTypeObject*>(value)->tp_dict
                                           : nullptr;
    if (!dict || !names) return "";
    PyObject* module = PyDict_GetItemString(dict, PyModule_Check(value) ? "__name__" : "__module__");
    if (is_known_library(top_name(module))) return "";
    std::string found;
    for (Py_ssize_t i = 0; found.empty() && i < PyTuple_GET_SIZE(names); ++i) {
      PyObject* member = PyDict_GetItemWithError(dict, PyTuple_GET_ITEM(names, i));
      if (member && PyFunction_Check(member)) found = of_function(member);
    }
    return found;
  }

  std::set<PyObject*> functions_, codes_;
};

bool is_builtin_of(PyObject* callable, std::string_view module,
                   std::initializer_list<std::string_view> names) {
  if (!PyCFunction_Check(callable)) return false;
  const auto* function = reinterpret_cast<PyCFunctionObject*>(callable);
  if (!function->m_module || !PyUnicode_Check(function->m_module) || utf8(function->m_module) != module)
    return false;
  return names.size() == 0 || std::find(names.begin(), names.end(), function->m_ml->ml_name) != names.end();
}

}  // namespace

std::string reader_of_frames(PyObject* function) {
  std::string found = Search().of_function(function);
  clear_error();
  return found;
}

bool reads_its_callers_variables(PyObject* callable, size_t arguments) {
  return is_builtin_of(callable, "builtins", {"locals", "eval", "exec", "breakpoint"}) ||
         (arguments == 0 && is_builtin_of(callable, "builtins", {"vars", "dir"})) ||
         is_builtin_of(callable, "sys", {"_getframe"});
}

bool watches_ends(PyObject* callable) {
  if (PyType_Check(callable))
    return PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(callable), &_PyWeakref_RefType) != 0;
  return is_builtin_of(callable, "_weakref", {}) || is_builtin_of(callable, "sys", {"getrefcount"});
}

}  // namespace weft::capture
