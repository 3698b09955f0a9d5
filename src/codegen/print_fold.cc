#include "codegen/print_fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "codegen/print_expr.h"

namespace weft::codegen {

using ops::ReduceOp;

namespace {

std::string extreme(DType dtype, bool largest) {
  if (is_floating(dtype)) return fmt::format("({}){}__builtin_inf()", type_name(dtype), largest ? "" : "-");
  if (dtype == DType::Bool) return largest ? "true" : "false";
  int bits = itemsize(dtype) * 8;
  if (!is_signed(dtype))
    return largest ? fmt::format("({})~(u64)0", type_name(dtype)) : fmt::format("({})0", type_name(dtype));
  std::string lowest = fmt::format("(i64)((u64)1 << 63) >> {}", 64 - bits);
  return largest ? fmt::format("({})~({})", type_name(dtype), lowest)
                 : fmt::format("({})({})", type_name(dtype), lowest);
}

}  // namespace

std::string initial_value(const Accumulator& accumulator) {
  DType dtype = accumulator.dtype;
  switch (accumulator.op) {
    case ReduceOp::Sum:
    case ReduceOp::Any: return dtype == DType::Bool ? "false" : fmt::format("({})0", type_name(dtype));
    case ReduceOp::Prod: return fmt::format("({})1", type_name(dtype));
    case ReduceOp::All: return "true";
    case ReduceOp::Min:
    case ReduceOp::ArgMin: return extreme(dtype, true);
    default: return extreme(dtype, false);
  }
}

std::string initial_lanes(const Accumulator& accumulator, int lanes) {
  const bool boolean = accumulator.dtype == DType::Bool;
  std::string value = initial_value(accumulator);
  if (boolean) value = value == "true" ? "(i8)-1" : "(i8)0";
  return lanes > 0
             ? fmt::format("splat<{}, {}>({})", boolean ? "i8" : type_name(accumulator.dtype), lanes, value)
             : fmt::format("lanes.splat({})", value);
}

std::string name_of_position(const std::string& target) {
  const size_t element = std::min(target.find('['), target.size());
  return target.substr(0, element) + "_at" + target.substr(element);
}

std::string combined(ReduceOp op, DType dtype, const std::string& a, const std::string& b) {
  bool boolean = dtype == DType::Bool;
  switch (op) {
    case ReduceOp::Sum: return boolean ? fmt::format("mask_or({}, {})", a, b) : fmt::format("{} + {}", a, b);
    case ReduceOp::Prod:
      return boolean ? fmt::format("mask_and({}, {})", a, b) : fmt::format("{} * {}", a, b);
    case ReduceOp::Any: return fmt::format("mask_or({}, {})", a, b);
    case ReduceOp::All: return fmt::format("mask_and({}, {})", a, b);
    case ReduceOp::Max:
      return boolean ? fmt::format("mask_or({}, {})", a, b) : fmt::format("maximum({}, {})", a, b);
    default: return boolean ? fmt::format("mask_and({}, {})", a, b) : fmt::format("minimum({}, {})", a, b);
  }
}

std::string combined_lanes(const Accumulator& accumulator, const std::string& name) {
  const auto [op, dtype] = std::pair(accumulator.op, accumulator.dtype);
  if (dtype == DType::Bool) {
    const bool any = op == ReduceOp::Any || op == ReduceOp::Sum || op == ReduceOp::Max;
    return fmt::format("{}({})", any ? "any" : "all", name);
  }
  const std::string value = combined(op, dtype, "a", "b");
  return fmt::format(
      "reduce_lanes({}, [](auto a, auto b) {{ return {}; }})", name,
      itemsize(dtype) < 4 && is_integral(dtype) ? fmt::format("(decltype(a))({})", value) : value);
}

bool counts_passes(const Scope& scope) {
  return scope.loops.size() == 1 && scope.rings.empty() &&
         (scope.kind == Scope::Kind::VectorReduce || scope.kind == Scope::Kind::ParallelReduce);
}

const char* pass_type(const Accumulator& accumulator) {
  return itemsize(accumulator.dtype) == 8 ? "i64" : "i32";
}

bool is_rounded_sum(const Accumulator& accumulator) {
  return accumulator.op == ReduceOp::Sum && is_inexact(accumulator.dtype);
}

int64_t vectors_of_piece(const LoopNest& nest, const Scope& scope) {
  constexpr int64_t kVectors = 64;
  const Sym extent = nest.space.atom(scope.loops.back()).extent;
  const bool is_short = extent.is_constant() && extent.constant() <= 2 * kVectors * scope.lanes;
  const bool adds = std::any_of(scope.accumulators.begin(), scope.accumulators.end(), is_rounded_sum);
  return adds && !is_short && scope.rings.empty() ? kVectors : 0;
}

}  // namespace weft::codegen
