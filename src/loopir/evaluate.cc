#include "loopir/evaluate.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "loopir/operations.h"

namespace weft::loopir {

namespace {

using Complex = std::complex<double>;
using Values = std::vector<Value>;

constexpr std::string_view kTypes[] = {"bool", "i8",  "u8",  "i16", "u16",  "i32",    "u32",
                                       "i64",  "u64", "f32", "f64", "c128", "pointer"};
static_assert(std::size(kTypes) == std::variant_size_v<Value>);
constexpr int64_t kPiece = 1 << 24;  // of loop_prelude.inc

template <class T>
constexpr bool is_number = std::is_arithmetic_v<T>;

// Calls `each` with the number; complex numbers and addresses are none.
template <class Each>
Value of_number(const Value& value, const Each& each) {
  return std::visit(
      [&](auto x) -> Value {
        if constexpr (is_number<decltype(x)>)
          return each(x);
        else
          throw NotKnown{"an operation on what is no number"};
      },
      value);
}

// C++'s integral promotion.
Value promoted(const Value& value) {
  return value.index() < type_place("i32") ? converted(value, "i32") : value;
}

// Calls `each` with both as C++ converts them before it computes.
template <class Each>
Value of_common(const Value& left, const Value& right, const Each& each) {
  return std::visit(
      [&](auto x, auto y) -> Value {
        using X = decltype(x);
        using Y = decltype(y);
        if constexpr (is_number<X> && is_number<Y> && sizeof(X) >= 4 && sizeof(Y) >= 4) {
          using T = std::common_type_t<X, Y>;
          return each(static_cast<T>(x), static_cast<T>(y));
        } else {
          throw NotKnown{"an operation on what are no numbers"};
        }
      },
      promoted(left), promoted(right));
}

// Integers wrap: where C++'s may not, whoever makes the form has looked before.
template <class Compute>
Value arithmetic(const Value& left, const Value& right, const Compute& compute) {
  return of_common(left, right, [&]<class T>(T x, T y) -> Value {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(compute(static_cast<U>(x), static_cast<U>(y)));
    } else {
      return compute(x, y);
    }
  });
}

template <class Compute>
Value of_integers(const Value& left, const Value& right, const Compute& compute) {
  return of_common(left, right, [&]<class T>(T x, T y) -> Value {
    if constexpr (std::is_integral_v<T>)
      return compute(x, y);
    else
      throw NotKnown{"an operation of integers on floats"};
  });
}

template <class T>
void check_division(T x, T y) {
  if (y == 0) throw Undefined{"a division by zero"};
  if constexpr (std::is_signed_v<T>)
    if (x == std::numeric_limits<T>::min() && y == -1) throw Undefined{"a quotient that does not fit"};
}

Value infix(std::string_view symbol, const Value& left, const Value& right) {
  if (const Address* address = std::get_if<Address>(&left)) {
    const bool is_sum = symbol == "+" || symbol == "-";
    if (!is_sum || std::holds_alternative<Address>(right)) throw NotKnown{"an operation on addresses"};
    const int64_t places = as_word(right);
    return Address{address->array, address->type, address->index + (symbol == "+" ? places : -places)};
  }
  if (symbol == "+") return arithmetic(left, right, [](auto x, auto y) { return x + y; });
  if (symbol == "-") return arithmetic(left, right, [](auto x, auto y) { return x - y; });
  if (symbol == "*") return arithmetic(left, right, [](auto x, auto y) { return x * y; });
  if (symbol == "<") return of_common(left, right, [](auto x, auto y) -> Value { return x < y; });
  if (symbol == "<=") return of_common(left, right, [](auto x, auto y) -> Value { return x <= y; });
  if (symbol == ">") return of_common(left, right, [](auto x, auto y) -> Value { return x > y; });
  if (symbol == ">=") return of_common(left, right, [](auto x, auto y) -> Value { return x >= y; });
  if (symbol == "==") return of_common(left, right, [](auto x, auto y) -> Value { return x == y; });
  if (symbol == "!=") return of_common(left, right, [](auto x, auto y) -> Value { return x != y; });
  if (symbol == "&") return of_integers(left, right, [](auto x, auto y) -> Value { return x & y; });
  if (symbol == "|") return of_integers(left, right, [](auto x, auto y) -> Value { return x | y; });
  if (symbol == "^") return of_integers(left, right, [](auto x, auto y) -> Value { return x ^ y; });
  if (symbol == "/")
    return of_common(left, right, [](auto x, auto y) -> Value {
      if constexpr (std::is_integral_v<decltype(x)>) check_division(x, y);
      return x / y;
    });
  if (symbol == "%")
    return of_integers(left, right, [](auto x, auto y) -> Value {
      check_division(x, y);
      return x % y;
    });
  const int64_t places = as_word(right);
  return of_number(promoted(left), [&](auto x) -> Value {
    if constexpr (!std::is_integral_v<decltype(x)> || sizeof(x) < 4) {
      throw NotKnown{"a shift of what is no integer"};
    } else {
      if (places < 0 || places >= static_cast<int64_t>(8 * sizeof(x)))
        throw Undefined{"a shift by too many places"};
      return x >> places;
    }
  });
}

double as_double(const Value& value) { return std::get<double>(converted(value, "f64")); }
uint64_t as_unsigned(const Value& value) { return std::get<uint64_t>(converted(value, "u64")); }
bool is_less(const Value& a, const Value& b) { return is_true(infix("<", a, b)); }
bool is_equal(const Value& a, const Value& b) { return is_true(infix("==", a, b)); }
const Value& zero() {
  static const auto& value = *new Value(int32_t{0});
  return value;
}
Value negative(const Value& value) {
  return of_number(promoted(value), [](auto x) -> Value {
    using T = decltype(x);
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, int, T>>(0) - x);
    else
      return -x;
  });
}
// With the type that C++ gives `condition ? a : b`.
Value chosen(bool condition, const Value& a, const Value& b) {
  if (a.index() == b.index()) return condition ? a : b;
  return of_common(a, b, [&](auto x, auto y) -> Value { return condition ? x : y; });
}
uint64_t magnitude_of(const Value& value) {
  return is_less(value, zero()) ? uint64_t{0} - as_unsigned(value) : as_unsigned(value);
}

Value floor_divided(const Value& a, const Value& b, bool is_rest) {
  return of_integers(a, b, [&](auto x, auto y) -> Value {
    check_division(x, y);
    const auto rest = static_cast<decltype(x)>(x % y);
    const bool is_across = rest != 0 && (rest < 0) != (y < 0);
    if (is_rest) return static_cast<decltype(x)>(is_across ? rest + y : rest);
    return static_cast<decltype(x)>(x / y - (is_across ? 1 : 0));
  });
}

template <class F>
Value of_float(const Value& value, const F& f) {
  if (const float* x = std::get_if<float>(&value)) return static_cast<float>(f(*x));
  return f(as_double(value));
}

bool fits_bits(int64_t value, int bits) {
  return static_cast<uint64_t>(value) + (uint64_t{1} << (bits - 1)) <= uint64_t{1} << bits;
}

bool stays_in(const Values& x) {
  const int64_t factor = as_word(x[0]), base = as_word(x[1]), low = as_word(x[4]), end = as_word(x[5]);
  for (const Value& counter : {x[2], x[3]}) {
    const int64_t at = factor * as_word(counter) + base;
    if (at < low || at >= end) return false;
  }
  return true;
}

bool move_little(const Values& x) {
  const int64_t first = as_word(x[0]), last = as_word(x[1]), most = as_word(x[2]);
  const uint64_t distance = first < last ? static_cast<uint64_t>(last) - static_cast<uint64_t>(first)
                                         : static_cast<uint64_t>(first) - static_cast<uint64_t>(last);
  bool fit = distance + 1 <= (uint64_t{1} << 60) / static_cast<uint64_t>(most);
  for (size_t k = 3; k < x.size(); ++k) fit &= fits_bits(as_word(x[k]), 61);
  return fit;
}

bool is_close(double a, double b) {
  if (a == b) return true;
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  return std::fabs(b - a) <= std::fabs(1e-9 * b) || std::fabs(b - a) <= std::fabs(1e-9 * a);
}

using Definition = std::function<Value(const Values& operands, const std::string& type)>;

// Of operations that compute with their operands' values alone.
std::map<const Operation*, Definition>* make_definitions() {
  auto* made = new std::map<const Operation*, Definition>();
  auto& table = *made;
  const auto define = [&](const Operation& operation, Definition definition) {
    table[&operation] = std::move(definition);
  };
  const auto of_operands = [&](const Operation& operation, Value (*compute)(const Values&)) {
    define(operation, [compute](const Values& x, const std::string&) { return compute(x); });
  };
  for (size_t k = 0; k < std::size(op::kInfix); ++k)
    define(op::kInfix[k], [symbol = op::kSymbols[k]](const Values& x, const std::string&) {
      return infix(symbol, x[0], x[1]);
    });

  of_operands(op::kBrackets, [](const Values& x) { return x[0]; });
  define(op::kCast, [](const Values& x, const std::string& type) { return converted(x[0], type); });
  of_operands(op::kWord, [](const Values& x) -> Value { return std::bit_cast<int64_t>(as_double(x[0])); });
  of_operands(op::kFloatOf, [](const Values& x) -> Value { return std::bit_cast<double>(as_word(x[0])); });
  for (const Operation* one : {&op::kIsNot0, &op::kIsTrue})
    of_operands(*one, [](const Values& x) -> Value { return is_true(x[0]); });
  of_operands(op::kAnyIsNot0, [](const Values& x) -> Value { return is_true(x[0]) || is_true(x[1]); });
  of_operands(op::kAnyIsNotNan,
              [](const Values& x) -> Value { return is_equal(x[0], x[0]) || is_equal(x[1], x[1]); });
  of_operands(op::kComplex,
              [](const Values& x) -> Value { return Complex(as_double(x[0]), as_double(x[1])); });
  for (const bool is_real : {true, false})
    define(is_real ? op::kReal : op::kImaginary, [is_real](const Values& x, const std::string&) -> Value {
      const Complex* value = std::get_if<Complex>(&x[0]);
      if (!value) throw NotKnown{"a part of what is not complex"};
      return is_real ? value->real() : value->imag();
    });

  of_operands(op::kMinus, [](const Values& x) { return negative(x[0]); });
  define(op::kNegative,
         [](const Values& x, const std::string& type) { return negative(converted(x[0], type)); });
  for (const Operation* one : {&op::kNot, &op::kDoesNotHold})
    of_operands(*one, [](const Values& x) -> Value { return !is_true(x[0]); });
  of_operands(op::kInvert, [](const Values& x) { return infix("^", x[0], int32_t{-1}); });
  of_operands(op::kAbsoluteFloat, [](const Values& x) -> Value { return std::fabs(as_double(x[0])); });
  of_operands(op::kMagnitude,
              [](const Values& x) { return is_less(x[0], zero()) ? negative(x[0]) : promoted(x[0]); });
  of_operands(op::kSquareRoot,
              [](const Values& x) { return of_float(x[0], [](auto v) { return std::sqrt(v); }); });
  of_operands(op::kFloor,
              [](const Values& x) { return of_float(x[0], [](auto v) { return std::floor(v); }); });
  of_operands(op::kCeil, [](const Values& x) { return of_float(x[0], [](auto v) { return std::ceil(v); }); });
  of_operands(op::kTrunc,
              [](const Values& x) { return of_float(x[0], [](auto v) { return std::trunc(v); }); });
  of_operands(op::kRound,
              [](const Values& x) { return of_float(x[0], [](auto v) { return std::nearbyint(v); }); });

  of_operands(op::kFloorQuotient, [](const Values& x) { return floor_divided(x[0], x[1], false); });
  of_operands(op::kFloorRemainder, [](const Values& x) { return floor_divided(x[0], x[1], true); });
  for (const bool is_rest : {false, true})
    define(is_rest ? op::kFloorRemainderOf : op::kFloorQuotientOf,
           [is_rest](const Values& x, const std::string& type) {
             return converted(floor_divided(converted(x[0], type), converted(x[1], type), is_rest), type);
           });
  of_operands(op::kShiftRight, [](const Values& x) {
    return infix(">>", x[0], is_less(Value(int32_t{63}), x[1]) ? Value(int32_t{63}) : x[1]);
  });
  define(op::kShiftLeft, [](const Values& x, const std::string& type) {
    const int64_t places = as_word(x[1]);
    if (places < 0 || places > 63) throw Undefined{"a shift by too many places"};
    return converted(as_unsigned(x[0]) << places, type);
  });
  define(op::kRemainder, [](const Values& x, const std::string& type) {
    return converted(infix("%", x[0], converted(x[1], "i64")), type);
  });
  define(op::kRemainderAsPython, [](const Values& x, const std::string& type) {
    return converted(is_less(x[0], zero()) ? infix("+", x[0], converted(x[1], "i64")) : x[0], type);
  });
  of_operands(op::kBitLength,
              [](const Values& x) -> Value { return int64_t{64} - std::countl_zero(magnitude_of(x[0])); });
  of_operands(op::kBitCount, [](const Values& x) -> Value {
    return static_cast<int64_t>(std::popcount(magnitude_of(x[0])));
  });
  of_operands(op::kGreatestDivisor,
              [](const Values& x) -> Value { return std::gcd(as_word(x[0]), as_word(x[1])); });
  for (const bool is_least : {true, false})
    define(is_least ? op::kMinimum : op::kMaximum, [is_least](const Values& x, const std::string& type) {
      const Value a = converted(x[0], type), b = converted(x[1], type);
      return !is_equal(a, a) || is_true(infix(is_least ? "<=" : ">=", a, b)) ? a : b;
    });
  of_operands(op::kCopySign,
              [](const Values& x) -> Value { return std::copysign(as_double(x[0]), as_double(x[1])); });
  for (const bool is_sum : {true, false})
    define(is_sum ? op::kSumOfProducts : op::kDifferenceOfProducts,
           [is_sum](const Values& x, const std::string&) {
             return infix(is_sum ? "+" : "-", infix("*", x[0], x[1]), infix("*", x[2], x[3]));
           });
  define(op::kSign, [](const Values& x, const std::string& type) {
    const int32_t sign = is_less(zero(), x[0]) ? 1 : is_less(x[0], zero()) ? -1 : 0;
    return sign == 0 && !is_equal(x[0], zero()) ? converted(x[0], type) : converted(sign, type);
  });
  of_operands(op::kNotBelow, [](const Values& x) { return chosen(is_less(x[0], x[1]), x[1], x[0]); });
  of_operands(op::kNotAbove, [](const Values& x) { return chosen(is_less(x[1], x[0]), x[1], x[0]); });

  of_operands(op::kIsExact, [](const Values& x) -> Value { return fits_bits(as_word(x[0]), 54); });
  of_operands(op::kIsFinite, [](const Values& x) -> Value { return std::isfinite(as_double(x[0])); });
  of_operands(op::kIsInfinite, [](const Values& x) -> Value { return std::isinf(as_double(x[0])); });
  of_operands(op::kIsNan, [](const Values& x) -> Value { return !is_equal(x[0], x[0]); });
  of_operands(op::kIsNotNan, [](const Values& x) -> Value { return is_equal(x[0], x[0]); });
  of_operands(op::kIsClose,
              [](const Values& x) -> Value { return is_close(as_double(x[0]), as_double(x[1])); });
  of_operands(op::kDividesInts, [](const Values& x) -> Value {
    return !is_equal(x[0], zero()) && !(is_equal(x[0], int32_t{-1}) && is_equal(x[1], x[2]));
  });
  define(op::kFitsInto, [](const Values& x, const std::string& type) -> Value {
    return is_equal(converted(converted(x[0], type), "i64"), x[0]);
  });
  of_operands(op::kIsBelow, [](const Values& x) -> Value { return as_unsigned(x[0]) < as_unsigned(x[1]); });
  of_operands(op::kIsInRange, [](const Values& x) -> Value { return as_unsigned(x[0]) < as_unsigned(x[1]); });
  of_operands(op::kLeavesRoom, [](const Values& x) -> Value { return fits_bits(as_word(x[0]), 62); });
  define(op::kIsSameInt, [](const Values& x, const std::string& type) -> Value {
    return is_equal(converted(x[0], type), x[1]) && is_less(x[0], zero()) == is_less(x[1], zero());
  });
  of_operands(op::kStaysIn, [](const Values& x) -> Value { return stays_in(x); });
  of_operands(op::kMoveLittle, [](const Values& x) -> Value { return move_little(x); });
  of_operands(op::kPieceEnd, [](const Values& x) -> Value {
    const int64_t from = as_word(x[0]), to = as_word(x[1]), step = as_word(x[2]);
    if (step == 0) throw Undefined{"a division by zero"};
    return (to - from) / step > kPiece ? from + kPiece * step : to;
  });
  of_operands(op::kFromEnd,
              [](const Values& x) { return chosen(is_less(x[0], zero()), infix("+", x[0], x[1]), x[0]); });
  return made;
}

Value constant(const std::string& literal) {
  std::string_view text = literal;
  if (text == "true" || text == "false") return text == "true";
  bool is_negative = false;
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  if (text.starts_with('-')) is_negative = true, text.remove_prefix(1);
  if (text == "9223372036854775807L - 1") return std::numeric_limits<int64_t>::min();
  if (text == "__builtin_inf()") return is_negative ? -HUGE_VAL : HUGE_VAL;
  const bool is_hexadecimal = text.starts_with("0x");
  if (is_hexadecimal) text.remove_prefix(2);
  uint64_t integer = 0;
  double number = 0;
  const char *begin = text.data(), *end = begin + text.size();
  const auto whole = std::from_chars(begin, end, integer, is_hexadecimal ? 16 : 10);
  const std::string_view rest(whole.ptr, static_cast<size_t>(end - whole.ptr));
  if (whole.ec == std::errc() && rest.empty()) {
    const int64_t value = static_cast<int64_t>(is_negative ? 0 - integer : integer);
    if (std::in_range<int32_t>(value)) return static_cast<int32_t>(value);
    return value;
  }
  if (whole.ec == std::errc() && rest == "L")
    return static_cast<int64_t>(is_negative ? 0 - integer : integer);
  if (whole.ec == std::errc() && rest == "UL" && !is_negative) return integer;
  const auto floating = std::from_chars(begin, end, number,
                                        is_hexadecimal ? std::chars_format::hex : std::chars_format::general);
  if (floating.ec == std::errc() && floating.ptr == end) return is_negative ? -number : number;
  throw NotKnown{"the constant " + literal};
}

}  // namespace

size_t type_place(std::string_view type) {
  for (size_t k = 0; k + 1 < std::size(kTypes); ++k)
    if (kTypes[k] == type) return k;
  return std::variant_npos;
}

std::string_view type_at(size_t place) { return kTypes[place]; }

std::string type_name(const Value& value) {
  if (const Address* address = std::get_if<Address>(&value)) return std::string(type_at(address->type)) + "*";
  return std::string(type_at(value.index()));
}

bool is_floating(const Value& value) {
  return std::holds_alternative<float>(value) || std::holds_alternative<double>(value);
}

Value converted(const Value& value, std::string_view type) {
  if (std::holds_alternative<Address>(value) || std::holds_alternative<Complex>(value)) {
    if (type_name(value) == type) return value;
    throw NotKnown{fmt::format("a conversion of {} to {}", type_name(value), type)};
  }
  const auto to = [&]<class T>(T) -> Value {
    return of_number(value, [](auto x) -> Value {
      if constexpr (std::is_same_v<T, bool>) {
        return x != 0;
      } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<decltype(x)>) {
        const double whole = std::trunc(static_cast<double>(x)),
                     limit = std::ldexp(1.0, 8 * sizeof(T) - std::is_signed_v<T>);
        if (!(whole < limit && whole >= (std::is_signed_v<T> ? -limit : 0.0)))
          throw Undefined{"a float that is no such integer"};
        return static_cast<T>(x);
      } else {
        return static_cast<T>(x);
      }
    });
  };
  switch (type_place(type)) {
    case 0: return to(bool{});
    case 1: return to(int8_t{});
    case 2: return to(uint8_t{});
    case 3: return to(int16_t{});
    case 4: return to(uint16_t{});
    case 5: return to(int32_t{});
    case 6: return to(uint32_t{});
    case 7: return to(int64_t{});
    case 8: return to(uint64_t{});
    case 9: return to(float{});
    case 10: return to(double{});
    case 11: return Complex(std::get<double>(to(double{})), 0.0);
    default: throw NotKnown{fmt::format("the type {}", type)};
  }
}

bool is_true(const Value& value) { return std::get<bool>(converted(value, "bool")); }
int64_t as_word(const Value& value) { return std::get<int64_t>(converted(value, "i64")); }

Value evaluate(const Expr& expr, Meanings& meanings) {
  if (!expr.is_typed()) throw NotKnown{"C++: " + expr.text()};
  if (expr.is_name()) return meanings.name(expr.text());
  if (expr.is_constant()) return constant(expr.text());
  if (expr.is_function()) throw NotKnown{"the function " + expr.text()};
  const Operation& operation = *expr.operation();
  const std::vector<Expr>& operands = expr.operands();
  const auto operand = [&](size_t k) { return evaluate(operands[k], meanings); };
  const auto call = [&](size_t function, const Values& values) {
    return meanings.call(operands[function].text(), values);
  };
  if (&operation == &op::kAnd) return is_true(operand(0)) && is_true(operand(1));
  if (&operation == &op::kOr) return is_true(operand(0)) || is_true(operand(1));
  if (&operation == &op::kSelect) return chosen(is_true(operand(0)), operand(1), operand(2));
  if (&operation == &op::kElement) {
    const Value array = operand(0);
    const Address* address = std::get_if<Address>(&array);
    if (!address) throw NotKnown{"an element of what is no array"};
    return meanings.element({address->array, address->type, address->index + as_word(operand(1))});
  }
  if (&operation == &op::kIntPowerInto) {
    const Value exponent = operand(0);
    Value result;
    if (is_less(exponent, zero()) || !compute_fitting("int_power_into", "i64", operand(1), exponent, &result))
      return false;
    meanings.set(operands[2].text(), result);
    return true;
  }
  Values values;
  if (operation.is_call) {
    for (size_t k = 1; k < operands.size(); ++k) values.push_back(operand(k));
    return call(0, values);
  }
  static const auto& definitions = *make_definitions();
  const auto found = definitions.find(&operation);
  if (found == definitions.end()) throw NotKnown{fmt::format("the operation {}", operation.name)};
  for (size_t k = 0; k < operands.size(); ++k) values.push_back(operand(k));
  return found->second(values, expr.type());
}

bool compute_fitting(std::string_view function, std::string_view type, const Value& a, const Value& b,
                     Value* result) {
  const auto wide = [](const Value& value) {
    return std::holds_alternative<uint64_t>(value) ? static_cast<__int128>(std::get<uint64_t>(value))
                                                   : static_cast<__int128>(as_word(value));
  };
  const bool is_limited = function == "limited_add_overflow" || function == "limited_sub_overflow";
  if (function == "int_power_into") {
    int64_t base = as_word(a), exponent = as_word(b), power = 1;
    while (true) {
      if ((exponent & 1) != 0 && __builtin_mul_overflow(power, base, &power)) return false;
      if ((exponent >>= 1) == 0) break;
      if (__builtin_mul_overflow(base, base, &base)) return false;
    }
    *result = power;
    return true;
  }
  if (function == "shift_left_into") {
    const int64_t x = as_word(a), places = as_word(b);
    if (places < 0 || places > 62) return false;
    *result = static_cast<int64_t>(static_cast<uint64_t>(x) << places);
    return std::get<int64_t>(*result) >> places == x;
  }
  __int128 wanted = 0;
  if (function == "__builtin_add_overflow" || function == "limited_add_overflow")
    wanted = wide(a) + wide(b);
  else if (function == "__builtin_sub_overflow" || function == "limited_sub_overflow")
    wanted = wide(a) - wide(b);
  else if (function != "__builtin_mul_overflow" || __builtin_mul_overflow(wide(a), wide(b), &wanted))
    throw NotKnown{"the function " + std::string(function)};
  *result = converted(static_cast<uint64_t>(wanted), type);
  return wide(*result) == wanted && (!is_limited || fits_bits(as_word(*result), 62));
}

}  // namespace weft::loopir
