// weft.compile of functions over weft tensors, modules among them: the function is called once with tensors
// that stand for values, as weft::compile of a C++ function does it; NumPy's functions are captured from
// their bytecode instead.
#pragma once

#include <memory>
#include <vector>

#include "capture/evaluate/evaluator.h"
#include "capture/objects/py.h"
#include "weft/compile.h"

namespace weft::capture {

// Is this what weft.nn.Module or a method of one is?
bool is_module_callable(PyObject* function);
// Is a tensor among the arguments, or in a tuple, list or dict of them?
bool has_tensor(PyObject* const* args, size_t num_args, PyObject* kwnames);
// Does the function, as its code says, call .numpy() or from_numpy()? Its bytecode is captured then.
bool shares_arrays(PyObject* function);
// Modules count it when they change what compiled functions have taken for constant.
void bump_module_state();

class TensorFunction {
 public:
  TensorFunction(PyObject* function, const Settings& settings);
  ~TensorFunction();
  // Throws PythonError, weft::Error.
  Ref call(PyObject* const* args, size_t num_args, PyObject* kwnames);
  void reset();
  std::string explain() const;

 private:
  struct Entry;  // for one set of arguments that are no tensors
  struct Entries {
    Ref positions;  // dict: structure of the arguments to a position in `list`
    std::vector<std::shared_ptr<Entry>> list;
  };
  std::shared_ptr<Entry> find(const Ref& structure);

  PyObject* function_;  // borrowed: the callable holds both
  Settings settings_;
  std::shared_ptr<Entries> entries_;
  int64_t state_ = 0;        // of modules, when these were made
  bool has_warned_ = false;  // of a call that Python performed
};

}  // namespace weft::capture
