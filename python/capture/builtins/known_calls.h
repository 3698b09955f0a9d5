// Calls of functions whose arguments are known, performed while the program is captured.
#pragma once

#include "capture/evaluate/evaluator.h"

namespace weft::capture {

// What `function` gives for these arguments, each as the object that `known` finds, with `more` keywords;
// null where it raises.
template <class F>
Ref call_with_known(const CallArgs& args, PyObject* function, const F& known, const Ref& more = Ref()) {
  const Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(args.args.size()))),
            keywords = more ? checked(PyDict_Copy(more.get())) : checked(PyDict_New());
  for (size_t i = 0; i < args.args.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), known(args.args[i]).release());
  for (const auto& [key, value] : args.keywords)
    if (PyDict_SetItemString(keywords.get(), key.c_str(), known(value).get()) < 0) throw PythonError{};
  return Ref::steal(PyObject_Call(function, positional.get(), keywords.get()));
}

}  // namespace weft::capture
