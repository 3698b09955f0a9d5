// Arithmetic and slices, as Python's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/jinja/evaluator.h"
#include "models/jinja/texts.h"

namespace weft::models::jinja {
namespace {

const char* symbol_of(Operator symbol) {
  switch (symbol) {
    case Operator::Add: return "+";
    case Operator::Subtract: return "-";
    case Operator::Multiply: return "*";
    case Operator::Divide: return "/";
    case Operator::FloorDivide: return "//";
    case Operator::Modulo: return "%";
    default: return "** or pow()";
  }
}

[[noreturn]] void fail_operands(Operator symbol, const Value& a, const Value& b) {
  fail_type(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", symbol_of(symbol), type_name(a),
                        type_name(b)));
}

[[noreturn]] void fail_large() { fail("OverflowError", "a number has more than 64 bits"); }

int64_t floor_divided(int64_t a, int64_t b) {
  if (b == -1) {
    int64_t result = 0;
    if (__builtin_sub_overflow(int64_t{0}, a, &result)) fail_large();
    return result;
  }
  const int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

Value power_of_whole(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) fail("ZeroDivisionError", "0.0 cannot be raised to a negative power");
    return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) fail_large();
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) fail_large();
  }
  return Value::integer(result);
}

Value whole_result(Operator symbol, int64_t a, int64_t b) {
  int64_t result = 0;
  const bool is_division =
      symbol == Operator::Divide || symbol == Operator::FloorDivide || symbol == Operator::Modulo;
  if (is_division && b == 0)
    fail("ZeroDivisionError", symbol == Operator::Divide   ? "division by zero"
                              : symbol == Operator::Modulo ? "integer modulo by zero"
                                                           : "integer division or modulo by zero");
  switch (symbol) {
    case Operator::Add:
      if (__builtin_add_overflow(a, b, &result)) fail_large();
      return Value::integer(result);
    case Operator::Subtract:
      if (__builtin_sub_overflow(a, b, &result)) fail_large();
      return Value::integer(result);
    case Operator::Multiply:
      if (__builtin_mul_overflow(a, b, &result)) fail_large();
      return Value::integer(result);
    case Operator::Divide: return Value::real(static_cast<double>(a) / static_cast<double>(b));
    case Operator::FloorDivide: return Value::integer(floor_divided(a, b));
    case Operator::Modulo: return Value::integer(b == -1 ? 0 : a - floor_divided(a, b) * b);
    default: return power_of_whole(a, b);
  }
}

// source: CPython, float_divmod.
double python_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return rest == 0 ? std::copysign(0.0, b) : rest;
}

Value real_result(Operator symbol, double a, double b) {
  const bool is_division =
      symbol == Operator::Divide || symbol == Operator::FloorDivide || symbol == Operator::Modulo;
  if (is_division && b == 0)
    fail("ZeroDivisionError", symbol == Operator::Divide   ? "float division by zero"
                              : symbol == Operator::Modulo ? "float modulo by zero"
                                                           : "float floor division by zero");
  switch (symbol) {
    case Operator::Add: return Value::real(a + b);
    case Operator::Subtract: return Value::real(a - b);
    case Operator::Multiply: return Value::real(a * b);
    case Operator::Divide: return Value::real(a / b);
    case Operator::FloorDivide: {
      const double quotient = (a - python_modulo(a, b)) / b;
      return Value::real(quotient == 0 ? std::copysign(0.0, a / b) : std::round(quotient));
    }
    case Operator::Modulo: return Value::real(python_modulo(a, b));
    default:
      if (a == 0 && b < 0) fail("ZeroDivisionError", "0.0 cannot be raised to a negative power");
      if (a < 0 && b != std::floor(b)) fail_type("complex numbers are not supported");
      return Value::real(std::pow(a, b));
  }
}

Value added_texts(Evaluator& evaluator, const Value& a, const Value& b) {
  const bool is_markup = a.as<Text>().is_markup || b.as<Text>().is_markup;
  // What is no markup is escaped beside it.
  const auto part = [&](const Value& value) {
    return is_markup && !value.as<Text>().is_markup ? html_escaped(value.text()) : value.text();
  };
  Value sum = evaluator.string(part(a) + part(b));
  sum.as<Text>().is_markup = is_markup;
  return sum;
}

Value repeated(Evaluator& evaluator, const Value& value, int64_t count) {
  count = std::max<int64_t>(0, count);
  const int64_t size = value.is_string()
                           ? static_cast<int64_t>(value.text().size())
                           : static_cast<int64_t>(value.as<Elements>().items.size() * sizeof(Value));
  if (size == 0) count = 0;
  if (count > 0 && size > evaluator.heap.limits().bytes / count) evaluator.heap.charge(SIZE_MAX / 2);
  if (value.is_string()) {
    std::string text;
    text.reserve(static_cast<size_t>(size * count));
    for (int64_t i = 0; i < count; ++i) text += value.text();
    return evaluator.string(std::move(text));
  }
  std::vector<Value> items;
  for (int64_t i = 0; i < count; ++i)
    items.insert(items.end(), value.as<Elements>().items.begin(), value.as<Elements>().items.end());
  return evaluator.heap.elements(value.kind(), std::move(items));
}

bool is_repeatable(const Value& value) {
  return value.is_string() || value.is(Kind::List) || value.is(Kind::Tuple);
}

int64_t slice_index(const Value& value) {
  if (!value.is_whole()) fail_type("slice indices must be integers or None or have an __index__ method");
  return value.integer();
}

}  // namespace

Value binary(Evaluator& evaluator, Operator symbol, const Value& a, const Value& b) {
  if (symbol == Operator::Modulo && a.is_string())
    return evaluator.string(formatted_percent(evaluator, a.text(), b));
  if (a.is_undefined()) fail_undefined(a);
  if (b.is_undefined()) fail_undefined(b);
  if (a.is_whole() && b.is_whole()) return whole_result(symbol, a.integer(), b.integer());
  if (a.is_number() && b.is_number()) return real_result(symbol, a.real(), b.real());
  if (symbol == Operator::Add) {
    if (a.is_string() && b.is_string()) return added_texts(evaluator, a, b);
    if (a.kind() == b.kind() && (a.is(Kind::List) || a.is(Kind::Tuple))) {
      std::vector<Value> items = a.as<Elements>().items;
      items.insert(items.end(), b.as<Elements>().items.begin(), b.as<Elements>().items.end());
      return evaluator.heap.elements(a.kind(), std::move(items));
    }
    if (a.is_string()) fail_type(fmt::format("can only concatenate str (not \"{}\") to str", type_name(b)));
    if (a.is(Kind::List) || a.is(Kind::Tuple))
      fail_type(fmt::format("can only concatenate {0} (not \"{1}\") to {0}", type_name(a), type_name(b)));
  }
  if (symbol == Operator::Multiply) {
    if (is_repeatable(a) && b.is_whole()) return repeated(evaluator, a, b.integer());
    if (is_repeatable(b) && a.is_whole()) return repeated(evaluator, b, a.integer());
    if (is_repeatable(a) || is_repeatable(b))
      fail_type(fmt::format("can't multiply sequence by non-int of type '{}'",
                            type_name(is_repeatable(a) ? b : a)));
  }
  if (symbol == Operator::Subtract && a.is(Kind::View) && b.is(Kind::View))
    fail_type("differences of views are not supported");
  fail_operands(symbol, a, b);
}

// source: CPython, PySlice_AdjustIndices.
Value sliced(Heap& heap, const Value& value, const Value& begin, const Value& end, const Value& step_value) {
  if (value.is_undefined()) fail_undefined(value);
  const bool is_elements = value.is(Kind::List) || value.is(Kind::Tuple);
  if (!is_elements && !value.is_string() && !value.is(Kind::Range)) {
    if (value.is(Kind::Dict)) fail_type("unhashable type: 'slice'");
    fail_type(fmt::format("'{}' object is not subscriptable", type_name(value)));
  }
  const int64_t step = step_value.is_none() ? 1 : slice_index(step_value);
  if (step == 0) fail("ValueError", "slice step cannot be zero");
  const int64_t length = length_of(value);
  const auto bound = [&](const Value& given, int64_t otherwise) {
    if (given.is_none()) return otherwise;
    int64_t at = slice_index(given);
    if (at < 0) at = std::max<int64_t>(at + length, step < 0 ? -1 : 0);
    return std::min(at, step < 0 ? length - 1 : length);
  };
  const int64_t from = bound(begin, step < 0 ? length - 1 : 0), to = bound(end, step < 0 ? -1 : length);
  if (value.is_string() && step == 1) {
    if (from >= to) return heap.text("");
    Value part = heap.text(std::string(text_between(value.text(), from, to)));
    part.as<Text>().is_markup = value.as<Text>().is_markup;
    return part;
  }
  // A step may be so large that adding it overflows.
  std::vector<int64_t> places;
  for (int64_t at = from; step > 0 ? at < to : at > to;) {
    places.push_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  heap.step(static_cast<int64_t>(places.size()));
  if (value.is_string()) {
    const auto all = characters(value.text());
    std::string text;
    for (const int64_t at : places) text += all[static_cast<size_t>(at)];
    return heap.text(std::move(text));
  }
  std::vector<Value> items;
  if (is_elements) {
    for (const int64_t at : places) items.push_back(value.as<Elements>().items[static_cast<size_t>(at)]);
    return heap.elements(value.kind(), std::move(items));
  }
  const Range& range = value.as<Range>();
  int64_t by = 0;
  if (__builtin_mul_overflow(range.step, step, &by)) fail_large();
  const int64_t first = range.start + from * range.step;
  return {Kind::Range, heap.make<Range>(first, first + static_cast<int64_t>(places.size()) * by, by)};
}

}  // namespace weft::models::jinja
