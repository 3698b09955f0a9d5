// Products of groups: mixtures of experts.
#include <fmt/format.h>

#include "script/builtins/aten.h"
#include "weft/error.h"

namespace weft::jit::aten {
namespace {

// Rows, or what else dimension `dim` counts, from `start` to `stop`.
Tensor group_of(const Tensor& x, int64_t dim, int64_t start, int64_t stop) {
  return call(op<"narrow">(), {x},
              {{"dim", number(dim)}, {"start", number(start)}, {"length", number(stop - start)}});
}

// offs: where each group ends. Rows of x that belong to none are zeros in the result.
Tensor grouped_mm(const Tensor& x, const Tensor& y, const OptionalTensor& offs) {
  const auto is_matrices = [](const Tensor& each) { return each.dim() == 2 || each.dim() == 3; };
  WEFT_CHECK(is_matrices(x) && is_matrices(y),
             fmt::format("_grouped_mm: expected operands of 2 or 3 dimensions\n  self: {}\n  mat2: {}",
                         describe(x), describe(y)));
  WEFT_CHECK((x.dim() == 2 || y.dim() == 2) == offs.has_value(),
             fmt::format("_grouped_mm: offs is given where an operand has 2 dimensions, and only then\n"
                         "  self: {}\n  mat2: {}",
                         describe(x), describe(y)));
  if (!offs) return matmul(x, y);
  WEFT_CHECK(offs->dtype() == DType::I32 && offs->dim() == 1,
             fmt::format("_grouped_mm: offs must be a vector of int32, got {}", describe(*offs)));
  Tensors parts;
  int64_t start = 0;
  for (int64_t group = 0; group < offs->numel(); ++group) {
    const auto stop = static_cast<int64_t>(offs->at(group));
    const auto matrix = [&](const Tensor& each) {
      return call(op<"select">(), {each}, {{"dim", number(0)}, {"index", number(group)}});
    };
    const Tensor left = x.dim() == 3 ? matrix(x) : group_of(x, y.dim() == 3 ? 0 : 1, start, stop);
    const Tensor right = y.dim() == 3 ? matrix(y) : group_of(y, x.dim() == 3 ? 1 : 0, start, stop);
    parts.push_back(matmul(left, right));
    start = stop;
  }
  if (x.dim() == 2 && y.dim() == 2) return call(op<"stack">(), std::move(parts));
  if (x.dim() == 3) return call(op<"concatenate">(), std::move(parts), {{"dim", number(1)}});
  if (start < x.size(0)) parts.push_back(Tensor::full({x.size(0) - start, y.size(2)}, Scalar(0), x.dtype()));
  return call(op<"concatenate">(), std::move(parts), {{"dim", number(0)}});
}

[[maybe_unused]] const bool kGrouped = [] {
  define(
      "_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? "
      "out_dtype=None) -> Tensor",
      [](const Tensor& x, const Tensor& y, const OptionalTensor& offs, const OptionalTensor& bias,
         OptionalDType dtype) {
        WEFT_CHECK(!bias, "_grouped_mm: bias is not supported");
        WEFT_CHECK_TYPE(!dtype || *dtype == x.dtype(),
                        fmt::format("_grouped_mm: out_dtype must be self's {}, got {}", name(x.dtype()),
                                    dtype ? name(*dtype) : ""));
        return grouped_mm(x, y, offs);
      });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
