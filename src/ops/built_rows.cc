#include "ops/built_rows.h"

#include <array>
#include <vector>

#include "kernels/cpu/built.h"
#include "weft/dtype.h"

namespace weft::ops {

Tensor run_built_rows(std::string_view name, const Tensor& x, int64_t dim, const Shape& result,
                      int64_t longest, std::optional<DType> dtype, std::span<const Tensor> numbers) {
  const int64_t ndim = x.dim();
  if (x.is_traced() || x.device().type != DeviceType::CPU || ndim == 0 || (dim != -1 && dim != ndim - 1))
    return {};
  const int64_t length = x.shape().back();
  if (length > longest || x.numel() == 0) return {};
  const kernels::BuiltKernel* const kernel = kernels::find_built({name, "_rows_", weft::name(x.dtype())});
  if (kernel == nullptr) return {};
  const Tensor out = Tensor::empty(result, dtype.value_or(x.dtype()));
  const Tensor rows = x.contiguous();
  std::vector<const void*> operands = {rows.data()};
  for (const Tensor& number : numbers) operands.push_back(number.data());
  run_built(*kernel, out.data(), operands, std::array{x.numel() / length, length},
            /*is_parallel=*/true);
  return out;
}

}  // namespace weft::ops
