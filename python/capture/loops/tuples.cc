// Tuples and lists that a native loop writes out, of numbers: sums of them, tests, items at an index.
#include <fmt/format.h>
#include <opcode.h>

#include <algorithm>
#include <set>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

bool has_numbers(const LoopValue& value) {
  return (value.kind == LoopKind::Tuple || value.kind == LoopKind::List) && !value.items.empty() &&
         std::all_of(value.items.begin(), value.items.end(),
                     [](const LoopValue& item) { return item.is_number(); });
}

// From 3.12 on Python keeps what sums of floats lose by rounding.
bool is_summed_in_turn(const LoopValue& item) {
  return PY_VERSION_HEX < 0x030c0000 || item.kind == LoopKind::Int || item.kind == LoopKind::Bool;
}

// Of an item nothing is equal to but what has its value: NaN is in a tuple that holds the very object.
bool is_never_nan(const LoopValue& item) {
  return item.kind == LoopKind::Int || item.kind == LoopKind::Bool ||
         (item.known_float && *item.known_float == *item.known_float);
}

}  // namespace

// sum, any, all, math.prod, min and max of them.
bool LoopBuilder::call_on_items(const std::string& name, const std::vector<LoopValue>& args) {
  if (args.size() != 1 || !has_numbers(args[0])) return false;
  const std::vector<LoopValue>& items = args[0].items;
  if ((name == "min" || name == "max") && items.size() > 1) return extremum(name == "max", items), true;
  const bool is_sum = name == "sum";
  if (is_sum || name == "math.prod") {
    if (is_sum && !std::all_of(items.begin(), items.end(), is_summed_in_turn)) return false;
    LoopValue result = loop_known_int(is_sum ? 0 : 1);
    for (const LoopValue& item : items) result = binary(is_sum ? NB_ADD : NB_MULTIPLY, result, item);
    return push(std::move(result)), true;
  }
  if (name != "any" && name != "all") return false;
  Expr result;
  for (const LoopValue& item : items) {
    const Expr holds = truth(item);
    result = result.empty() ? holds : Expr::apply(name == "any" ? op::kOr : op::kAnd, {result, holds});
  }
  return push(loop_bool(temporary("bool", result))), true;
}

// value in (1, 2): nothing where the tuple is of another kind.
std::optional<LoopValue> LoopBuilder::is_among(const LoopValue& items, const LoopValue& value) {
  if (!has_numbers(items) || !value.is_number()) return {};
  if (!std::all_of(items.items.begin(), items.items.end(), is_never_nan)) return {};
  Expr result;
  for (const LoopValue& item : items.items) {
    const Expr equal = compare(Py_EQ, value, item).expr;
    result = result.empty() ? equal : Expr::apply(op::kOr, {result, equal});
  }
  return loop_bool(temporary("bool", result));
}

// The item of a tuple of numbers of one type at an index that varies.
std::optional<LoopValue> LoopBuilder::item_at(const LoopValue& items, const LoopValue& key) {
  constexpr size_t kMostItems = 8;
  if (!has_numbers(items) || items.items.size() > kMostItems || key.kind != LoopKind::Int || key.known)
    return {};
  std::set<std::string> types;
  for (LoopValue item : items.items) {
    std::string type;
    item = generalized(std::move(item));
    item.nonnegative = false;
    append_key(item, type);
    types.insert(std::move(type));
  }
  if (types.size() != 1) return {};
  const auto count = static_cast<int64_t>(items.items.size());
  const Expr size = Expr::constant(integer_literal(count));
  const Expr index =
      key.nonnegative ? key.expr : temporary("i64", Expr::apply(op::kFromEnd, {key.expr, size}));
  require(Expr::apply(op::kIsInRange, {index, size}));
  Expr chosen = items.items.back().expr;
  for (int64_t k = count - 1; k-- > 0;) {
    const Expr is_here = Expr::apply(op::infix("=="), {index, Expr::constant(integer_literal(k))});
    chosen =
        Expr::apply(op::kBrackets,
                    {Expr::apply(op::kSelect, {is_here, items.items[static_cast<size_t>(k)].expr, chosen})});
  }
  LoopValue result = generalized(items.items[0]);
  result.nonnegative = false;
  result.expr = temporary(c_type(result), chosen);
  return result;
}

}  // namespace weft::capture
