#include "kernels/cpu/finish_rows.h"

#include "kernels/cpu/levels.h"

namespace weft::kernels {

FinishRowsFn finish_rows() {
  static const FinishRowsFn fn = best_kernels(&KernelLevel::finish_rows);
  return fn;
}

}  // namespace weft::kernels
