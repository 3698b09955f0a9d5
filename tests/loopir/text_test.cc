// The form's text, and what reads it back.
#include "loopir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loopir/operations.h"
#include "loopir/parallelize.h"
#include "loopir/print.h"
#include "loopir/unroll.h"
#include "loopir_test_functions.h"
#include "weft/error.h"

namespace weft::loopir {
namespace {

using testing::HasSubstr;

std::string message_of(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string text_of(const Instructions& code) {
  std::string text;
  for (const Instruction& in : code) text += str(in) + "\n";
  return text;
}

TEST(LoopText, Expressions) {
  for (const char* text :
       {"x_f", "1L", "2.5", "true", "#\"(-2L)\"", "@c_pow", "@\"elementary::exp\"(x)", "\"a[i] + 1\"",
        "cast:f64(i)", "select(lt(a, b), a, b)", "move_little(first, last, 1, i, j)", "@c_pow(x, 2.0)",
        "float_mod:f64(x, y, @c_fmod)", "$\"x_side[side]\"", "call1(f, x)"})
    EXPECT_EQ(str(parse_expression(text)), text);
  EXPECT_EQ(parse_expression("cast:f64(i)").text(), "(f64)i");
  EXPECT_EQ(parse_expression("same(add(i, 1L))").text(), "(i + 1L)");
  EXPECT_TRUE(parse_expression("@c_pow(x, 2.0)").calls_any({"c_pow"}));
  EXPECT_FALSE(parse_expression("\"a \\\"b\\\"\"").is_typed());
  EXPECT_EQ(parse_expression("\"a \\\"b\\\"\"").text(), "a \"b\"");
}

TEST(LoopText, EveryOperationIsFoundByItsName) {
  for (const Operation& one : op::kInfix) EXPECT_EQ(find_operation(one.name), &one);
  for (const Operation* one :
       {&op::kCast, &op::kBitLength, &op::kIsClose, &op::kRoundsBefore, &op::kListItem})
    EXPECT_EQ(find_operation(one->name), one);
  EXPECT_EQ(find_operation("none"), nullptr);
  EXPECT_TRUE(takes(op::kSelect, 3));
  EXPECT_FALSE(takes(op::kSelect, 2));
  EXPECT_TRUE(takes(op::kMoveLittle, 7));
}

TEST(LoopText, Instructions) {
  const std::string text =
      "test i < n else b4\n"
      "test i < n step s else v3 b4(x: f64 = t1)\n"
      "test i < n pieces b3 exit 2(i) else b4\n"
      "t1: i64 = i + 1L\n"
      "t2: i64 = shift_right(i, 1L)\n"
      "t3: i64 = t1 >> t2\n"
      "t4: f64 = load a_data[mul(i, a_s0)]\n"
      "t5: bool = load m_data[i] part \" != 0\"\n"
      "declare t6: i64\n"
      "t7: i64 = overflows __builtin_add_overflow(t1, i) else exit 0(i, t1)\n"
      "t8: i64 = fits int_power_into(t1, i) else exit 0(i, t1)\n"
      "t9 = settle i in a_n0 else exit 1()\n"
      "store a_data[t9] = t4\n"
      "store a_data[t9] = t4 and carried3_0\n"
      "carried3_1 = carried3_0\n"
      "require ne(i, 0) else exit 0(i, word_of(x))\n"
      "poll 256 else exit 2(i)\n"
      "do \"take_rows(a, b);\"\n"
      "if t5 b4\n"
      "go b3(i: i64 = t1, x: f64 = cast:f64(i), p: f64* = p)\n";
  const Instructions code = parse_instructions(text);
  EXPECT_EQ(code.size(), 20U);
  EXPECT_EQ(text_of(code), text);
  EXPECT_EQ(code[5], binary("i64", "t3", "t1", ">>", "t2"));
  EXPECT_EQ(code[9].exit->words.size(), 2U);
  EXPECT_EQ(text_of(parse_instructions("go done go exit 3(i)")), "go done\ngo exit 3(i)\n");
}

TEST(LoopText, Functions) {
  for (const std::string& text : {sum_of_elements(), doubled_sum(), rounds_of_sum()}) {
    const Function function = parse(text);
    EXPECT_EQ(str(function), text);
    EXPECT_EQ(print(parse(str(function))), print(function));
  }
}

TEST(LoopText, ErrorsNameTheLine) {
  EXPECT_THAT(message_of("function f {\n  block 0 line 3 {\n    go there\n  }\n}\n"),
              HasSubstr("line 3: expected 'b', not 'there"));
  EXPECT_THAT(message_of("function f {\n  var x: f64\n  go\n}"),
              HasSubstr("line 3: expected a part of a function"));
  EXPECT_THAT(message_of("function f {\n  block 0 line 1 { x = fly(1L) }\n}"),
              HasSubstr("an operation before this, which 'fly' is not"));
  EXPECT_THAT(message_of("function f {\n  block 0 line 1 { x = lt(1L) }\n}"),
              HasSubstr("as many operands as 'lt'"));
  EXPECT_THAT(message_of("function f {\n  exit 1 words 2\n}"), HasSubstr("exits in their order"));
  EXPECT_THAT(message_of("function \"f"), HasSubstr("the end of a quote"));
  EXPECT_THAT(message_of("function f { } more"), HasSubstr("expected the end"));
}

// ---- passes, from text to text
// -----------------------------------------------------------------------------

TEST(LoopPassText, UnrollMarksTheVersion) {
  Function function = parse(sum_of_elements());
  unroll(*function.blocks[1].version);
  std::string expected = sum_of_elements();
  const std::string before = "version step \"1L\" meets {", after = "version step \"1L\" meets rounds 4 {";
  expected.replace(expected.find(before), before.size(), after);
  EXPECT_EQ(str(function), expected);
}

TEST(LoopPassText, ARoundsFunctionEndsWhereTheyDo) {
  Instructions code = parse_instructions("x = y\ntest i < n pieces b1 exit 7(i) else b2\ngo b1\n");
  end_at_test(code);
  EXPECT_EQ(text_of(code), "x = y\ntest i < n else done\ngo b1\n");
}

TEST(LoopPassText, SumsHaveLimits) {
  Instructions code = parse_instructions(
      "t1: i64 = overflows __builtin_add_overflow(s, i) else exit 0()\n"
      "t2: i64 = overflows __builtin_sub_overflow(r, i) else exit 0()\n");
  limit_sums(code, {"s"});
  EXPECT_EQ(text_of(code),
            "t1: i64 = overflows limited_add_overflow(s, i) else exit 0()\n"
            "t2: i64 = overflows __builtin_sub_overflow(r, i) else exit 0()\n");
}

TEST(LoopPassText, AKeptElementWaitsInAVariable) {
  Instructions code = parse_instructions(
      "t1: f64 = load c_data[j]\nt2: f64 = load b_data[j]\nt3: f64 = t1 + t2\nstore c_data[j] = t3\n");
  const std::optional<KeptElement> kept = only_stored(code);
  ASSERT_TRUE(kept);
  keep(*kept, code);
  EXPECT_EQ(text_of(code), "t1: f64 = kept\nt2: f64 = load b_data[j]\nt3: f64 = t1 + t2\nkept = t3\n");
}

TEST(LoopPassText, AStraightBlockIsTakenApart) {
  const Instructions code = parse_instructions(
      "test i < n else v3 b5\nt1: i64 = i + 1L\nrequire ne(i, 0) else exit 0()\n"
      "store a_data[i] = t1\ngo v3 b4(i: i64 = t1)\n");
  const std::optional<StraightBlock> parts = take_apart(code, true, 3, 4, false, {});
  ASSERT_TRUE(parts);
  EXPECT_EQ(text_of(parts->body), "t1: i64 = i + 1L\nstore a_data[i] = t1\n");
  ASSERT_EQ(parts->conditions.size(), 1U);
  EXPECT_EQ(str(parts->conditions[0]), "ne(i, 0)");
  EXPECT_FALSE(take_apart(code, true, 3, 5, false, {}));  // leads elsewhere
  EXPECT_FALSE(take_apart(code, true, 3, 4, false, {{}, {"t1"}}));
}

}  // namespace
}  // namespace weft::loopir
