// The bytes of an array as elements of another dtype.
#include <fmt/format.h>

#include <cstring>

#include "ops/registry.h"
#include "weft/error.h"

namespace weft::ops {
namespace {

std::vector<TensorType> infer_bitcast(const OpDef& op, std::span<const TensorType> operands,
                                      const Attrs& attrs) {
  TensorType type = operands[0];
  const DType to = attrs.get<DType>("dtype");
  const auto from_size = static_cast<int64_t>(itemsize(type.dtype)),
             to_size = static_cast<int64_t>(itemsize(to));
  if (from_size != to_size) {
    WEFT_CHECK(!type.shape.empty(), fmt::format("bitcast: an array without dimensions is no {}{}",
                                                info(to).name, describe_operands(op, operands)));
    Sym& last = type.shape.back();
    WEFT_CHECK(from_size > to_size || sym_eq(floor_mod(last * Sym(from_size), Sym(to_size)), Sym(0)),
               fmt::format("bitcast: the last dimension does not hold whole elements of {}{}", info(to).name,
                           describe_operands(op, operands)));
    last = from_size > to_size ? last * Sym(from_size / to_size) : floor_div(last, Sym(to_size / from_size));
  }
  type.dtype = to;
  return {type};
}

std::vector<Tensor> eager_bitcast(const OpDef&, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor x = operands[0].contiguous();
  const DType to = attrs.get<DType>("dtype");
  Shape shape = x.shape();
  if (!shape.empty())
    shape.back() =
        shape.back() * static_cast<int64_t>(itemsize(x.dtype())) / static_cast<int64_t>(itemsize(to));
  Tensor result = Tensor::empty(shape, to, x.device());
  if (x.numel() > 0)
    std::memcpy(result.data(), x.data(), static_cast<size_t>(x.numel()) * itemsize(x.dtype()));
  return {result};
}

[[maybe_unused]] const OpDef& kBitcast = register_op({
    .name = "bitcast",
    .schema = "(Tensor x, dtype dtype) -> Tensor",
    .doc = "x's bytes, in C order, as elements of another dtype: the last dimension holds more or fewer of "
           "them where the sizes\n"
           "differ. A new array. ValueError where the last dimension does not hold whole elements.",
    .numpy = "x.view(dtype)",
    .infer = infer_bitcast,
    .eager = eager_bitcast,
});

}  // namespace
}  // namespace weft::ops
