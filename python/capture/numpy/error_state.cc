#include "capture/numpy/error_state.h"

#include "capture/evaluate/evaluator.h"

namespace weft::capture {

namespace {

V ends_segment(Evaluator&, CallArgs&) {
  throw GraphBreak{.reason = "the handling of floating-point errors changes", .is_planned = true};
}

}  // namespace

void register_error_state() {
  for (const char* path :
       {"numpy.errstate.__enter__", "numpy.errstate.__exit__", "numpy.seterr", "numpy.geterr",
        "numpy.seterrcall", "numpy.geterrcall", "numpy._core.umath._make_extobj"})
    register_lowering(path, ends_segment);
}

}  // namespace weft::capture
