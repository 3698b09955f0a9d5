// Padding.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/axis_maps.h"
#include "ops/arguments.h"
#include "ops/window.h"

namespace weft::ops {
namespace {

enum class PadMode : uint8_t { Constant, Reflect, Replicate, Circular };

PadMode mode_of(const OpDef& op, const Attrs& attrs) {
  constexpr std::pair<std::string_view, PadMode> kModes[] = {{"constant", PadMode::Constant},
                                                             {"reflect", PadMode::Reflect},
                                                             {"replicate", PadMode::Replicate},
                                                             {"circular", PadMode::Circular}};
  const std::string& given = attrs.get<std::string>("mode");
  for (const auto& [name, mode] : kModes) {
    if (given == name) return mode;
  }
  throw_error(ErrorKind::NotImplemented,
              fmt::format("{}: mode: expected 'constant', 'reflect', 'replicate' or 'circular', got '{}'",
                          op.name, given));
}

// What a mode other than constant allows: one to three spatial dimensions, and not too much.
void check_mode(const OpDef& op, std::span<const TensorType> operands, PadMode mode, const SymShape& pads) {
  const SymShape& shape = operands[0].shape;
  const size_t rank = pads.size() / 2;
  if (rank < 1 || rank > 3 || (shape.size() != rank + 1 && shape.size() != rank + 2)) {
    throw_error(ErrorKind::NotImplemented,
                fmt::format("{}: only inputs of 2 to 5 dimensions, padded in the last 1 to 3 of them, have a "
                            "padding other than "
                            "constant: got pad {}{}",
                            op.name, weft::str(pads), describe_operands(op, operands)));
  }
  for (size_t d = 0; d < rank; ++d) {
    const Sym size = shape[shape.size() - 1 - d], before = pads[2 * d], after = pads[2 * d + 1];
    if (mode == PadMode::Reflect) {
      WEFT_CHECK(sym_lt(before, size) && sym_lt(after, size),
                 fmt::format(
                     "{}: reflect: padding must be less than the dimension's size: got ({}, {}) at size {}{}",
                     op.name, before.str(), after.str(), size.str(), describe_operands(op, operands)));
    } else if (mode == PadMode::Circular) {
      WEFT_CHECK(sym_le(before, size) && sym_le(after, size) &&
                     sym_gt(size + sym_min(before, Sym(0)) + sym_min(after, Sym(0)), Sym(0)),
                 fmt::format("{}: circular: padding may wrap around once: got ({}, {}) at size {}{}", op.name,
                             before.str(), after.str(), size.str(), describe_operands(op, operands)));
    } else {
      WEFT_CHECK(sym_gt(size, Sym(0)), fmt::format("{}: replicate: expected a dimension that is not empty{}",
                                                   op.name, describe_operands(op, operands)));
    }
  }
}

std::vector<TensorType> infer_pad(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs) {
  const SymShape pads = list_arg(attrs, "pad");
  TensorType result = operands[0];
  WEFT_CHECK(
      pads.size() % 2 == 0 && pads.size() / 2 <= result.shape.size(),
      fmt::format("{}: pad: expected (before, after) of at most {} dimensions, the last one first, got {}{}",
                  op.name, result.shape.size(), weft::str(pads), describe_operands(op, operands)));
  const PadMode mode = mode_of(op, attrs);
  if (mode != PadMode::Constant) check_mode(op, operands, mode, pads);
  WEFT_CHECK(mode == PadMode::Constant || attrs.is_none("value") || float_arg(attrs, "value") == 0,
             fmt::format("{}: value is for constant padding only, got {} with mode '{}'", op.name,
                         str(attrs.at("value")), attrs.get<std::string>("mode")));
  for (size_t d = 0; d < pads.size() / 2; ++d) {
    Sym& size = result.shape[result.shape.size() - 1 - d];
    size = size + pads[2 * d] + pads[2 * d + 1];
    WEFT_CHECK(sym_ge(size, Sym(mode == PadMode::Constant ? 0 : 1)),
               fmt::format("{}: pad ({}, {}) leaves size {} in dimension {}{}", op.name, pads[2 * d].str(),
                           pads[2 * d + 1].str(), size.str(), result.shape.size() - 1 - d,
                           describe_operands(op, operands)));
  }
  return {result};
}

// One axis: where every position of the result is read, -1 for the fill value.
kernels::AxisMap map_of(PadMode mode, int64_t size, int64_t before, int64_t after) {
  // What negative padding leaves is what circular padding repeats.
  const int64_t first = std::max<int64_t>(0, -before),
                period = size + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
  const auto source = [&](int64_t i) -> int64_t {
    if (mode == PadMode::Circular) return first + ((i - first) % period + period) % period;
    if (i >= 0 && i < size) return i;
    switch (mode) {
      case PadMode::Reflect: return i < 0 ? -i : 2 * (size - 1) - i;
      case PadMode::Replicate: return i < 0 ? 0 : size - 1;
      default: return -1;
    }
  };
  kernels::AxisMap map;
  for (int64_t i = -before; i < size + after; ++i) map.push_back(source(i));
  return map;
}

std::vector<Tensor> eager_pad(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor& x = operands[0];
  const std::vector<int64_t> pads = int_list_arg(attrs, "pad");
  const Scalar value = attrs.is_none("value") ? Scalar(0) : scalar_arg(attrs, "value");
  if (pads.empty()) return {x.clone()};
  std::vector<kernels::AxisMap> maps(x.shape().size());
  Shape shape = x.shape();
  for (size_t d = 0; d < pads.size() / 2; ++d) {
    const size_t axis = maps.size() - 1 - d;
    maps[axis] = map_of(mode_of(op, attrs), shape[axis], pads[2 * d], pads[2 * d + 1]);
    shape[axis] = static_cast<int64_t>(maps[axis].size());
  }
  if (numel(shape) == 0) return {Tensor::empty(shape, x.dtype())};
  return {kernels::read_through(x, maps, value)};
}

[[maybe_unused]] const OpDef& kPad =
    register_op({.name = "pad",
                 .schema = "(Tensor input, int[] pad, str mode='constant', Scalar? value=None) -> Tensor",
                 .doc = "input with (before, after) more elements per dimension, the last dimension's pair "
                        "first; fewer where negative.\n"
                        "mode: 'constant' (value, or 0); 'reflect' about the outermost elements, 'replicate' "
                        "of these, or 'circular', for\n"
                        "inputs of 2 to 5 dimensions padded in all but the first one or two.\n"
                        "raises: ValueError for reflect at or above the size, circular above it.",
                 .infer = infer_pad,
                 .eager = eager_pad});

}  // namespace
}  // namespace weft::ops
