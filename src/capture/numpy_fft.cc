// What the sources of numpy.fft (python/weft/_entered/fft.py) cannot say in Python.
#include "capture/numpy_api.h"
#include "capture/numpy_names.h"

namespace weft::capture {
namespace {

// The first operand, laid out in memory as the second.
V laid_out(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "value, like");
  const V& value = ev.realize(bound[0]);
  value->f_order = ev.realize(bound[1])->f_order && value->tensor.dim() > 1;
  return value;
}

}  // namespace

void register_numpy_fft() { register_lowering("weft._entered.fft.laid_out", laid_out); }

}  // namespace weft::capture
