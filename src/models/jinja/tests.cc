// What stands behind "is". source: jinja2 3.1, tests.py.
#include <fmt/format.h>

#include <unordered_map>

#include "models/jinja/evaluator.h"
#include "models/jinja/texts.h"

namespace weft::models::jinja {
namespace {

template <Kind kind>
bool is_kind(Evaluator&, const Value& value, Arguments& arguments) {
  const Bound bound("test", arguments, {});
  return value.is(kind);
}

bool is_defined(Evaluator&, const Value& value, Arguments& arguments) {
  const Bound bound("defined", arguments, {});
  return !value.is_undefined();
}

template <bool which>
bool is_constant(Evaluator&, const Value& value, Arguments& arguments) {
  const Bound bound("test", arguments, {});
  return value.is(Kind::Boolean) && (value.integer() != 0) == which;
}

bool is_number_test(Evaluator&, const Value& value, Arguments& arguments) {
  const Bound bound("number", arguments, {});
  return value.is_number();
}

bool is_sequence(Evaluator&, const Value& value, Arguments& arguments) {
  const Bound bound("sequence", arguments, {});
  switch (value.kind()) {
    case Kind::String:
    case Kind::List:
    case Kind::Tuple:
    case Kind::Dict:
    case Kind::Range:
    case Kind::Undefined: return true;
    default: return false;
  }
}

bool is_iterable(Evaluator&, const Value& value, Arguments& arguments) {
  const Bound bound("iterable", arguments, {});
  return can_iterate(value) || value.is(Kind::Loop);
}

bool is_callable(Evaluator&, const Value& value, Arguments& arguments) {
  const Bound bound("callable", arguments, {});
  return value.is(Kind::Function) || value.is(Kind::Macro) || value.is(Kind::Joiner) ||
         value.is(Kind::Loop) || value.is_undefined();
}

Value remainder_of(Evaluator& evaluator, const Value& value, const Value& divisor) {
  return binary(evaluator, Operator::Modulo, value, divisor);
}

bool is_odd(Evaluator& evaluator, const Value& value, Arguments& arguments) {
  const Bound bound("odd", arguments, {});
  return is_equal(evaluator.heap, remainder_of(evaluator, value, Value::integer(2)), Value::integer(1));
}

bool is_even(Evaluator& evaluator, const Value& value, Arguments& arguments) {
  const Bound bound("even", arguments, {});
  return is_equal(evaluator.heap, remainder_of(evaluator, value, Value::integer(2)), Value::integer(0));
}

bool is_divisible(Evaluator& evaluator, const Value& value, Arguments& arguments) {
  const Bound bound("divisibleby", arguments, {"num"}, 1);
  return is_equal(evaluator.heap, remainder_of(evaluator, value, bound.get(0)), Value::integer(0));
}

bool is_filter_name(Evaluator&, const Value& value, Arguments& arguments) {
  const Bound bound("filter", arguments, {});
  return value.is_string() && find_filter(value.text()) != nullptr;
}

bool is_test_name(Evaluator&, const Value& value, Arguments& arguments) {
  const Bound bound("test", arguments, {});
  return value.is_string() && find_test(value.text()) != nullptr;
}

template <bool (*is)(std::string_view)>
bool is_case(Evaluator& evaluator, const Value& value, Arguments& arguments) {
  const Bound bound("test", arguments, {});
  return is(to_text(evaluator.heap, value));
}

bool is_same(Evaluator&, const Value& value, Arguments& arguments) {
  const Bound bound("sameas", arguments, {"other"}, 1);
  const Value other = bound.get(0);
  if (value.kind() != other.kind()) return false;
  switch (value.kind()) {
    case Kind::None: return true;
    case Kind::Boolean:
    case Kind::Integer: return value.integer() == other.integer();
    case Kind::Float: return value.real() == other.real();
    case Kind::String: return value.text() == other.text();
    default: return value.object() == other.object();
  }
}

bool is_escaped(Evaluator&, const Value& value, Arguments& arguments) {
  const Bound bound("escaped", arguments, {});
  return value.is_string() && value.as<Text>().is_markup;
}

bool is_in(Evaluator& evaluator, const Value& value, Arguments& arguments) {
  const Bound bound("in", arguments, {"seq"}, 1);
  return contains(evaluator.heap, bound.get(0), value);
}

template <Operator symbol>
bool compares(Evaluator& evaluator, const Value& value, Arguments& arguments) {
  const Bound bound("comparison", arguments, {"other"}, 1);
  const Value other = bound.get(0);
  Heap& heap = evaluator.heap;
  switch (symbol) {
    case Operator::Equal: return is_equal(heap, value, other);
    case Operator::NotEqual: return !is_equal(heap, value, other);
    case Operator::Less: return is_less(heap, value, other, "<");
    case Operator::LessEqual: return is_less(heap, value, other, "<=") || is_equal(heap, value, other);
    case Operator::Greater: return is_less(heap, other, value, ">");
    default: return is_less(heap, other, value, ">=") || is_equal(heap, value, other);
  }
}

}  // namespace

TestFunction find_test(std::string_view name) {
  static const auto& table =
      *new std::unordered_map<std::string_view, TestFunction>{{"odd", is_odd},
                                                              {"even", is_even},
                                                              {"divisibleby", is_divisible},
                                                              {"defined", is_defined},
                                                              {"undefined", is_kind<Kind::Undefined>},
                                                              {"filter", is_filter_name},
                                                              {"test", is_test_name},
                                                              {"none", is_kind<Kind::None>},
                                                              {"boolean", is_kind<Kind::Boolean>},
                                                              {"false", is_constant<false>},
                                                              {"true", is_constant<true>},
                                                              {"integer", is_kind<Kind::Integer>},
                                                              {"float", is_kind<Kind::Float>},
                                                              {"lower", is_case<is_lower_text>},
                                                              {"upper", is_case<is_upper_text>},
                                                              {"string", is_kind<Kind::String>},
                                                              {"mapping", is_kind<Kind::Dict>},
                                                              {"number", is_number_test},
                                                              {"sequence", is_sequence},
                                                              {"iterable", is_iterable},
                                                              {"callable", is_callable},
                                                              {"sameas", is_same},
                                                              {"escaped", is_escaped},
                                                              {"in", is_in},
                                                              {"==", compares<Operator::Equal>},
                                                              {"eq", compares<Operator::Equal>},
                                                              {"equalto", compares<Operator::Equal>},
                                                              {"!=", compares<Operator::NotEqual>},
                                                              {"ne", compares<Operator::NotEqual>},
                                                              {">", compares<Operator::Greater>},
                                                              {"gt", compares<Operator::Greater>},
                                                              {"greaterthan", compares<Operator::Greater>},
                                                              {">=", compares<Operator::GreaterEqual>},
                                                              {"ge", compares<Operator::GreaterEqual>},
                                                              {"<", compares<Operator::Less>},
                                                              {"lt", compares<Operator::Less>},
                                                              {"lessthan", compares<Operator::Less>},
                                                              {"<=", compares<Operator::LessEqual>},
                                                              {"le", compares<Operator::LessEqual>}};
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace weft::models::jinja
