#include "ops/built_rows.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/cpu/built.h"
#include "ops/elements.h"
#include "weft/dtype.h"
#include "weft/parallel.h"

namespace weft::ops {

namespace {

bool are_rows(const Tensor& x, int64_t dim, int64_t longest) {
  const int64_t ndim = x.dim();
  return !x.is_traced() && x.device().type == DeviceType::CPU && ndim > 0 && (dim == -1 || dim == ndim - 1) &&
         x.shape().back() <= longest && x.numel() > 0;
}

}  // namespace

Tensor run_built_rows(std::string_view name, const Tensor& x, int64_t dim, const Shape& result,
                      int64_t longest, std::optional<DType> dtype, std::span<const Tensor> numbers) {
  if (!are_rows(x, dim, longest)) return {};
  const int64_t length = x.shape().back();
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

Tensor run_built_rows_wide(std::string_view name, const Tensor& x, int64_t dim, int64_t longest) {
  constexpr int64_t kFew = 2048, kGrain = 8192;  // elements that are wide at once; of a task
  if (!are_rows(x, dim, longest)) return {};
  const DType dtype = x.dtype(), wide = compute_dtype(dtype);
  const kernels::BuiltKernel* const kernel = kernels::find_built({name, "_rows_", weft::name(wide)});
  if (kernel == nullptr) return {};
  const Tensor out = Tensor::empty(x.shape(), dtype), rows = x.contiguous();
  const int64_t length = x.shape().back(), at_once = std::max<int64_t>(1, kFew / length);
  const auto* const from = static_cast<const std::byte*>(rows.data());
  auto* const to = static_cast<std::byte*>(out.data());
  parallel_for(0, x.numel() / length, std::max(at_once, kGrain / length / at_once * at_once),
               [&](int64_t begin, int64_t end) {
                 // In whole cache lines, as vectors are.
                 constexpr int64_t kLine = 64;
                 std::vector<std::byte> held(static_cast<size_t>(at_once * length * itemsize(wide) + kLine));
                 const auto address = reinterpret_cast<uintptr_t>(held.data());
                 std::byte* const few = held.data() + (kLine - address % kLine) % kLine;
                 for (int64_t row = begin; row < end; row += at_once) {
                   const int64_t count = std::min(at_once, end - row), at = row * length * itemsize(dtype);
                   convert_block(wide, few, dtype, from + at, count * length);
                   const void* const operand = few;
                   run_built(*kernel, few, std::span(&operand, 1), std::array{count, length},
                             /*is_parallel=*/false);
                   convert_block(dtype, to + at, wide, few, count * length);
                 }
               });
  return out;
}

}  // namespace weft::ops
