// Tuples, lists and dicts that a native loop writes out, of numbers: sums of them, tests, items at an index.
#include <fmt/format.h>
#include <opcode.h>

#include <algorithm>
#include <functional>
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

// The first of `items` whose key is that number, or the last item, which has no key. Nothing where they are
// of several types, but for floats.
std::optional<LoopValue> LoopBuilder::chosen_item(const Expr& key, const std::vector<int64_t>& keys,
                                                  const std::vector<LoopValue>& items) {
  std::set<std::string> types;
  for (LoopValue item : items) {
    if (!item.is_number()) return {};
    std::string type;
    item = generalized(std::move(item));
    item.nonnegative = false;
    append_key(item, type);
    types.insert(std::move(type));
  }
  const auto is_double = [](const LoopValue& item) { return item.is_double(); };
  if (types.size() != 1 && !std::all_of(items.begin(), items.end(), is_double)) return {};
  const auto choose = [&](const std::function<Expr(const LoopValue&)>& part) {
    Expr chosen = part(items.back());
    for (size_t k = keys.size(); k-- > 0;) {
      const Expr is_here = Expr::apply(op::infix("=="), {key, Expr::constant(integer_literal(keys[k]))});
      chosen = Expr::apply(op::kBrackets, {Expr::apply(op::kSelect, {is_here, part(items[k]), chosen})});
    }
    return chosen;
  };
  LoopValue result = generalized(items[0]);
  result.nonnegative = false;
  result.expr = temporary(c_type(result), choose([](const LoopValue& item) { return item.expr; }));
  if (types.size() == 1) return result;
  return loop_either(result.expr,
                     temporary("bool", choose([](const LoopValue& item) {
                                 return Expr::constant(item.kind == LoopKind::Numpy ? "true" : "false");
                               })));
}

// The item of a tuple of numbers of one type at an index that varies.
std::optional<LoopValue> LoopBuilder::item_at(const LoopValue& items, const LoopValue& key) {
  constexpr size_t kMostItems = 8;
  if (!has_numbers(items) || items.items.size() > kMostItems || key.kind != LoopKind::Int || key.known)
    return {};
  const auto count = static_cast<int64_t>(items.items.size());
  const Expr size = Expr::constant(integer_literal(count));
  const Expr index =
      key.nonnegative ? key.expr : temporary("i64", Expr::apply(op::kFromEnd, {key.expr, size}));
  require(Expr::apply(op::kIsInRange, {index, size}));
  std::vector<int64_t> keys;
  for (int64_t k = 0; k + 1 < count; ++k) keys.push_back(k);
  return chosen_item(index, keys, items.items);
}

// {0: a, 1: b}; what stands twice has the last value.
LoopValue LoopBuilder::written_dict(const Instruction& in) {
  constexpr int kMostEntries = 16;
  const auto count = static_cast<size_t>(in.arg);
  if (in.arg == 0 || in.arg > kMostEntries) unsupported("a dict of none or many");
  std::vector<LoopValue> keys, values;
  std::vector<LoopValue>& stack = frame().stack;
  if (in.op == Op::BuildConstKeyMap) {
    keys = pop().items;
    values.assign(stack.end() - in.arg, stack.end());
    stack.resize(stack.size() - count);
  } else {
    for (size_t at = stack.size() - 2 * count; at < stack.size(); at += 2) {
      keys.push_back(stack[at]);
      values.push_back(stack[at + 1]);
    }
    stack.resize(stack.size() - 2 * count);
  }
  LoopValue dict;
  dict.kind = LoopKind::Dict;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].kind != LoopKind::Int || !keys[i].known) unsupported("a dict whose keys are no known ints");
    LoopValue key = loop_known_int(*keys[i].known);
    key.pinned = true;
    dict.items.push_back(std::move(key));
    dict.items.push_back(values[i]);
  }
  return dict;
}

// dict[key], dict.get(key, otherwise)
LoopValue LoopBuilder::item_of_dict(const LoopValue& dict, const LoopValue& key, const LoopValue* otherwise) {
  const bool is_int = key.kind == LoopKind::Int ||
                      (key.kind == LoopKind::Numpy && is_integral(key.dtype) && key.dtype != DType::U64);
  if (!is_int) unsupported("an item of a dict whose key is no int");
  std::vector<int64_t> keys;
  std::vector<LoopValue> items;
  const Expr number = temporary("i64", as_index(key));
  Expr is_there;
  for (size_t i = dict.items.size(); i > 0; i -= 2) {
    keys.push_back(*dict.items[i - 2].known);
    items.push_back(dict.items[i - 1]);
    const Expr is_this = Expr::apply(op::infix("=="), {number, Expr::constant(integer_literal(keys.back()))});
    is_there = is_there.empty() ? is_this : Expr::apply(op::kOr, {is_there, is_this});
  }
  if (otherwise) {
    items.push_back(*otherwise);
  } else {
    require(is_there);
    keys.pop_back();
  }
  const std::optional<LoopValue> item = chosen_item(number, keys, items);
  if (!item) unsupported("an item of a dict of several types");
  return *item;
}

}  // namespace weft::capture
