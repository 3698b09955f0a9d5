// What native loops compute of numbers: each operation's name, and how it is spelled in C++.
#pragma once

#include <string_view>

namespace weft::loopir {

struct Operation {
  const char* name;          // of this one only
  const char* form;          // {0}, {1}, … are the operands, {t} the result's type
  bool is_call = false;      // of the function that is operand 0
  bool is_variadic = false;  // {all}: as many operands as there are
};

namespace op {

inline constexpr Operation kBrackets{"same", "({0})"};
inline constexpr Operation kCall1{"call1", "{0}({1})", true};
inline constexpr Operation kCall3{"call3", "{0}({1}, {2}, {3})", true};
inline constexpr Operation kUfunc1{"ufunc1", "of_ufunc<{t}>({0}, {1})"};
inline constexpr Operation kUfunc2{"ufunc2", "of_ufunc<{t}>({0}, {1}, {2})"};
inline constexpr Operation kCall2{"call2", "{0}({1}, {2})", true};

// Conversions.
inline constexpr Operation kCast{"cast", "({t}){0}"};
inline constexpr Operation kWord{"word_of", "word_of({0})"};
inline constexpr Operation kFloatOf{"float_of", "float_of({0})"};
inline constexpr Operation kIsNot0{"is_not_zero", "({0} != 0)"};
inline constexpr Operation kAnyIsNot0{"any_is_not_zero", "({0} != 0 || {1} != 0)"};
inline constexpr Operation kAnyIsNotNan{"any_is_not_nan", "({0} == {0} || {1} == {1})"};
inline constexpr Operation kComplex{"complex", "c128({0}, {1})"};
inline constexpr Operation kReal{"real", "{0}.re"};
inline constexpr Operation kImaginary{"imag", "{0}.im"};

// One operand.
inline constexpr Operation kMinus{"neg", "-{0}"};
inline constexpr Operation kNegative{"neg_as", "-({t}){0}"};
inline constexpr Operation kNot{"not", "!{0}"};
inline constexpr Operation kInvert{"invert", "~{0}"};
inline constexpr Operation kAbsoluteFloat{"fabs", "__builtin_fabs({0})"};
inline constexpr Operation kAbsolute{"abs", "absolute({0})"};
inline constexpr Operation kMagnitude{"magnitude", "{0} < 0 ? -{0} : {0}"};
inline constexpr Operation kSquareRoot{"sqrt", "square_root({0})"};
inline constexpr Operation kFloor{"floor", "floor({0})"};
inline constexpr Operation kCeil{"ceil", "ceil({0})"};
inline constexpr Operation kRound{"round_even", "round_even({0})"};
inline constexpr Operation kTrunc{"trunc", "trunc({0})"};

// Two operands, one between the other.
inline constexpr Operation kInfix[] = {
    {"add", "{0} + {1}"}, {"sub", "{0} - {1}"}, {"mul", "{0} * {1}"},  {"div", "{0} / {1}"},
    {"rem", "{0} % {1}"}, {"and", "{0} & {1}"}, {"or", "{0} | {1}"},   {"xor", "{0} ^ {1}"},
    {"lt", "{0} < {1}"},  {"le", "{0} <= {1}"}, {"eq", "{0} == {1}"},  {"ne", "{0} != {1}"},
    {"gt", "{0} > {1}"},  {"ge", "{0} >= {1}"}, {"shr", "{0} >> {1}"},
};
inline constexpr std::string_view kSymbols[] = {"+", "-",  "*",  "/",  "%", "&",  "|", "^",
                                                "<", "<=", "==", "!=", ">", ">=", ">>"};
constexpr const Operation& infix(std::string_view symbol) {
  size_t k = 0;
  while (kSymbols[k] != symbol) ++k;
  return kInfix[k];
}

// Of integers.
inline constexpr Operation kFloorQuotient{"floor_div", "floor_quotient({0}, {1})"};
inline constexpr Operation kFloorRemainder{"mod", "floor_remainder({0}, {1})"};
inline constexpr Operation kFloorQuotientOf{"floor_div_as", "floor_quotient<{t}>({0}, {1})"};
inline constexpr Operation kFloorRemainderOf{"mod_as", "floor_remainder<{t}>({0}, {1})"};
inline constexpr Operation kShiftRight{"shift_right", "{0} >> ({1} > 63 ? 63 : {1})"};
inline constexpr Operation kShiftLeft{"shl", "({t})((u64){0} << {1})"};
// By a positive number: with the sign of operand 0; then with the divisor's.
inline constexpr Operation kRemainder{"rem_by", "({t})({0} % {1}L)"};
inline constexpr Operation kRemainderAsPython{"mod_by", "({t})({0} < 0 ? {0} + {1}L : {0})"};
inline constexpr Operation kBitLength{"bit_length",
                                      "{0} == 0 ? 0L : 64L - __builtin_clzl({0} < 0 ? -(u64){0} : (u64){0})"};
inline constexpr Operation kBitCount{"bit_count", "(i64)__builtin_popcountl({0} < 0 ? -(u64){0} : (u64){0})"};
inline constexpr Operation kGreatestDivisor{"gcd", "greatest_divisor({0}, {1})"};

// Of floats. The last operand is the C library's function.
inline constexpr Operation kFloatQuotient{"float_floor_div", "float_quotient<{t}>({0}, {1}, {2})"};
inline constexpr Operation kFloatQuotientOfNumpy{"numpy_floor_div", "numpy_quotient<{t}>({0}, {1}, {2})"};
inline constexpr Operation kFloatRemainder{"float_mod", "float_remainder<{t}>({0}, {1}, {2})"};
inline constexpr Operation kSquareAsPower{"square", "square_as_power({0}, {1})"};
inline constexpr Operation kMinimum{"minimum", "minimum<{t}>({0}, {1})"};
inline constexpr Operation kMaximum{"maximum", "maximum<{t}>({0}, {1})"};
inline constexpr Operation kCopySign{"copysign", "__builtin_copysign({0}, {1})"};
inline constexpr Operation kComplexQuotient{"complex_div", "complex_quotient<false>({0}, {1})"};
inline constexpr Operation kComplexQuotientOfNumpy{"numpy_complex_div", "complex_quotient<true>({0}, {1})"};
// What products of complex numbers are sums of.
inline constexpr Operation kDifferenceOfProducts{"mul_sub", "{0} * {1} - {2} * {3}"};
inline constexpr Operation kSumOfProducts{"mul_add", "{0} * {1} + {2} * {3}"};

inline constexpr Operation kSign{"sign", "{0} > 0 ? ({t})1 : {0} < 0 ? ({t})-1 : {0} == 0 ? ({t})0 : {0}"};
// As numpy.clip limits.
inline constexpr Operation kNotBelow{"not_below", "{0} < {1} ? {1} : {0}"};
inline constexpr Operation kNotAbove{"not_above", "{0} > {1} ? {1} : {0}"};

inline constexpr Operation kSelect{"select", "{0} ? {1} : {2}"};

// What must hold.
inline constexpr Operation kIsExact{"is_exact", "is_exact({0})"};
inline constexpr Operation kIsFinite{"is_finite", "is_finite({0})"};
inline constexpr Operation kIsInfinite{"is_infinite", "__builtin_fabs({0}) == __builtin_inf()"};
inline constexpr Operation kIsNan{"is_nan", "{0} != {0}"};
inline constexpr Operation kIsNotNan{"is_not_nan", "{0} == {0}"};
inline constexpr Operation kIsClose{"is_close",
                                    "{0} == {1} || (is_finite({0}) && is_finite({1}) && (__builtin_fabs({1} "
                                    "- {0}) <= __builtin_fabs(1e-9 * {1}) || "
                                    "__builtin_fabs({1} - {0}) <= __builtin_fabs(1e-9 * {0})))"};
inline constexpr Operation kAnd{"both", "{0} && {1}"};
inline constexpr Operation kOr{"either", "{0} || {1}"};
inline constexpr Operation kDoesNotHold{"does_not_hold", "!({0})"};
inline constexpr Operation kDividesInts{"divides", "{0} != 0 && !({0} == -1 && {1} == {2})"};
inline constexpr Operation kFitsInto{"fits", "(i64)({t}){0} == {0}"};
inline constexpr Operation kIsBelow{"is_below", "(u64){0} < {1}"};
inline constexpr Operation kLeavesRoom{"leaves_room", "(u64){0} + (1UL << 61) <= (1UL << 62)"};
inline constexpr Operation kIntPowerInto{"int_power_fits", "{0} >= 0 && int_power_into({1}, {0}, &{2})"};

inline constexpr Operation kIsInRange{"is_in_range", "(u64){0} < (u64){1}"};
inline constexpr Operation kIsSameInt{"is_same", "({t}){0} == {1} && ({0} < 0) == ({1} < 0)"};

// Of loops' counters, from the first to the last, before they begin.
inline constexpr Operation kStaysIn{"stays_in", "stays_in({0}, {1}, {2}, {3}, {4}, {5})"};
inline constexpr Operation kMoveLittle{"move_little", "move_little({all})", false, true};
inline constexpr Operation kRoundsBefore{"rounds_before", "rounds_before({0}, {1}, {2}, {3}, {4}, {5}, {6})"};
// Of a range from operand 0 to operand 1 by operand 2.
inline constexpr Operation kPieceEnd{"piece_end", "({1} - {0}) / {2} > kPiece ? {0} + kPiece * {2} : {1}"};

// Of elements: an index that may count from the end; lists that are resized.
inline constexpr Operation kElement{"element", "{0}[{1}]"};
inline constexpr Operation kIsTrue{"is_true", "{0} != 0"};
// ".re", ".im", " != 0"
constexpr const Operation& part(std::string_view symbol) {
  return symbol == ".re" ? kReal : symbol == ".im" ? kImaginary : kIsTrue;
}
inline constexpr Operation kFromEnd{"from_end", "{0} < 0 ? {0} + {1} : {0}"};
inline constexpr Operation kListSize{"list_size", "{0}->size"};
inline constexpr Operation kListItem{"list_item", "{0}->items[{1} * {2} + {3}]"};

}  // namespace op

// By its name; null: there is none.
const Operation* find_operation(std::string_view name);
bool takes(const Operation& operation, size_t num_operands);

}  // namespace weft::loopir
