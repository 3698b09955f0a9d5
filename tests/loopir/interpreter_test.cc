// What functions and expressions compute.
#include "loopir/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "loopir/text.h"
#include "loopir_test_functions.h"

namespace weft::loopir {
namespace {

using testing::ElementsAre;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

ArrayMemory array_of(const std::vector<int64_t>& elements) {
  ArrayMemory memory{
      std::vector<std::byte>(8 * elements.size()), {static_cast<int64_t>(elements.size())}, {1}};
  if (!elements.empty()) std::memcpy(memory.bytes.data(), elements.data(), memory.bytes.size());
  return memory;
}

class NoMeanings : public Meanings {
 public:
  Value name(const std::string& name) override { throw NotKnown{name}; }
  void set(const std::string& name, const Value& value) override { set_[name] = value; }
  Value element(const Address&) override { throw NotKnown{"an element"}; }
  Value call(const std::string& function, const std::vector<Value>&) override { throw NotKnown{function}; }
  std::map<std::string, Value> set_;
};

Value value_of(const std::string& text) {
  NoMeanings meanings;
  return evaluate(parse_expression(text), meanings);
}

Outcome run(const std::string& text, std::vector<int64_t> words, std::vector<ArrayMemory> arrays = {}) {
  Given given{std::move(words), std::move(arrays), {}};
  given.functions["c_pow"] = [](const std::vector<Value>& x) -> Value {
    return std::pow(std::get<double>(x[0]), std::get<double>(x[1]));
  };
  return interpret(parse(text), given);
}

TEST(LoopEvaluate, NumbersHaveTheTypesOfCpp) {
  for (const auto& [text, type] :
       std::vector<std::pair<std::string, std::string>>{{"1", "i32"},
                                                        {"1L", "i64"},
                                                        {"1UL", "u64"},
                                                        {"1.0", "f64"},
                                                        {"true", "bool"},
                                                        {"add(true, true)", "i32"},
                                                        {"add(1, 1L)", "i64"},
                                                        {"add(1L, 1UL)", "u64"},
                                                        {"add(1L, 1.0)", "f64"},
                                                        {"add(cast:f32(1), 1L)", "f32"},
                                                        {"add(cast:u8(1), cast:i8(1))", "i32"},
                                                        {"lt(1, 2)", "bool"},
                                                        {"select(true, 1, 2.0)", "f64"},
                                                        {"complex(1.0, 2.0)", "c128"},
                                                        {"5000000000", "i64"}})
    EXPECT_EQ(type_name(value_of(text)), type) << text;
}

TEST(LoopEvaluate, Integers) {
  for (const auto& [text, value] :
       std::vector<std::pair<std::string, int64_t>>{{"floor_div(#\"(-7L)\", 2L)", -4},
                                                    {"mod(#\"(-7L)\", 2L)", 1},
                                                    {"mod(7L, #\"(-2L)\")", -1},
                                                    {"div(#\"(-7L)\", 2L)", -3},
                                                    {"rem(#\"(-7L)\", 2L)", -1},
                                                    {"shift_right(#\"(-7L)\", 99L)", -1},
                                                    {"shl:i64(3L, 4L)", 48},
                                                    {"mod_by:i64(rem_by:i64(#\"(-7L)\", 4), 4)", 1},
                                                    {"bit_length(#\"(-8L)\")", 4},
                                                    {"bit_length(0L)", 0},
                                                    {"bit_count(#\"(-7L)\")", 3},
                                                    {"gcd(12L, #\"(-18L)\")", 6},
                                                    {"sign:i64(#\"(-5L)\")", -1},
                                                    {"from_end(#\"(-2L)\", 10L)", 8},
                                                    {"not_below(3L, 5L)", 5},
                                                    {"not_above(7L, 5L)", 5},
                                                    {"magnitude(#\"(-3L)\")", 3},
                                                    {"invert(5L)", -6},
                                                    {"cast:u8(300L)", 44},
                                                    {"word_of(1.0)", std::bit_cast<int64_t>(1.0)},
                                                    {"add(#\"9223372036854775807L\", 1L)", -kMost - 1},
                                                    {"#\"(-9223372036854775807L - 1)\"", -kMost - 1},
                                                    {"minimum:i64(3L, 2L)", 2}})
    EXPECT_EQ(as_word(value_of(text)), value) << text;
}

TEST(LoopEvaluate, Conditions) {
  for (const char* text :
       {"is_exact(#\"9007199254740992L\")", "leaves_room(#\"2305843009213693952L\")",
        "stays_in(1L, 0L, 0L, 9L, 0L, 10L)", "stays_in(#\"(-1L)\", 9L, 0L, 9L, 0L, 10L)",
        "move_little(0L, 9L, 1, 5L)", "is_in_range(0L, 1L)", "fits:i8(127L)", "divides(2L, 5L, 6L)",
        "is_nan(float_of(9221120237041090560L))", "is_close(1.0, 1.0)", "is_infinite(#\"__builtin_inf()\")",
        "either(true, lt(div(1, 0), 1))", "int_power_fits(3L, 2L, t)"})
    EXPECT_TRUE(is_true(value_of(text))) << text;
  for (const char* text :
       {"is_exact(#\"9007199254740993L\")", "leaves_room(#\"2305843009213693953L\")",
        "stays_in(1L, 0L, 0L, 10L, 0L, 10L)", "stays_in(1L, #\"(-1L)\", 0L, 9L, 0L, 10L)",
        "is_in_range(#\"(-1L)\", 1L)", "fits:i8(128L)", "divides(0L, 5L, 6L)", "divides(#\"(-1L)\", 6L, 6L)",
        "both(false, lt(div(1, 0), 1))", "is_finite(#\"(-__builtin_inf())\")",
        "int_power_fits(#\"(-1L)\", 2L, t)", "int_power_fits(64L, 2L, t)"})
    EXPECT_FALSE(is_true(value_of(text))) << text;
}

TEST(LoopEvaluate, WhatCppHasNoAnswerFor) {
  for (const char* text : {"div(1L, 0L)", "rem(1L, 0L)", "div(#\"(-9223372036854775807L - 1)\", #\"(-1L)\")",
                           "cast:i64(1e300)", "shl:i64(1L, 64L)", "cast:u8(#\"(-1.0)\")"})
    EXPECT_THROW(value_of(text), Undefined) << text;
  EXPECT_EQ(as_word(value_of("cast:u8(255.9)")), 255);
  EXPECT_THROW(value_of("cast:u8(256.0)"), Undefined);
  for (const char* text :
       {"\"a + b\"", "x", "@c_pow(1.0, 2.0)", "list_size(1L)", "add(complex(1.0, 2.0), 1)"})
    EXPECT_THROW(value_of(text), NotKnown) << text;
}

TEST(LoopInterpreter, ALoopAndItsVersionGiveTheSame) {
  Function plain = parse(sum_of_elements());
  plain.blocks[1].version.reset();
  plain.blocks[1].preheader.reset();
  plain.blocks[1].inside.clear();
  for (const std::string& text : {sum_of_elements(), str(plain)}) {
    EXPECT_EQ(run(text, {0, 3, 10}, {array_of({1, 2, 3})}), (Outcome{0, {16}}));
    EXPECT_EQ(run(text, {-3, 3, 10}, {array_of({1, 2, 3})}), (Outcome{0, {22}}));  // from the end
    EXPECT_EQ(run(text, {0, 4, 10}, {array_of({1, 2, 3})}), (Outcome{1, {3, 4, 16}}));
    EXPECT_EQ(run(text, {0, 3, 0}, {array_of({1, kMost, 3})}), (Outcome{1, {1, 3, 1}}));
    EXPECT_EQ(run(text, {2, 2, 7}, {array_of({})}), (Outcome{0, {7}}));
  }
}

TEST(LoopInterpreter, TheVersionIsEnteredWhereItsChecksHold) {
  std::string text = sum_of_elements();
  const std::string before = "t6: i64 = load a_data[i_i]";
  text.replace(text.find(before), before.size(), "t6: i64 = 100L");
  EXPECT_EQ(run(text, {0, 3, 0}, {array_of({1, 2, 3})}), (Outcome{0, {300}}));
  EXPECT_EQ(run(text, {0, 4, 0}, {array_of({1, 2, 3})}), (Outcome{1, {3, 4, 6}}));
  EXPECT_EQ(run(text, {-1, 3, 0}, {array_of({1, 2, 3})}), (Outcome{0, {9}}));
}

TEST(LoopInterpreter, JumpsSetVariablesAtOnce) {
  const auto word = [](double x) { return std::bit_cast<int64_t>(x); };
  // 1, 10: 1 is below 10, so x = min(1 + 10, 1 ** 2); then the same; then both exchange.
  EXPECT_EQ(run(doubled_sum(), {word(1), word(10), 2}), (Outcome{0, {word(1), word(10)}}));
  EXPECT_EQ(run(doubled_sum(), {word(4), word(3), 1}), (Outcome{0, {word(3), word(4)}}));
  EXPECT_EQ(run(doubled_sum(), {word(4), word(3), 0}), (Outcome{0, {word(4), word(3)}}));
}

TEST(LoopInterpreter, Rounds) {
  EXPECT_THAT(run(rounds_of_sum(), {0, 2, 5}, {array_of({1, 2, 3})}).words, ElementsAre(0, 2, 8));
  EXPECT_EQ(run(rounds_of_sum(), {0, 4, 5}, {array_of({1, 2, 3})}), (Outcome{0, {11}}));
  EXPECT_EQ(run(rounds_of_sum(), {0, 1, 0}, {array_of({kMost})}),
            (Outcome{0, {0}}));  // past the limit of sums
}

TEST(LoopInterpreter, Stores) {
  Given given{{}, {array_of({1, 2, 3})}, {}};
  const Function function = parse(
      "function f { array a: i64 dims 1 unit 1 var k: i64 exit 0 words 1\n"
      "block 0 line 1 { k = 4L store a_data[1] = add(k, 1L) and k require lt(k, 5L) else exit 0(k) go exit "
      "0(0L) } }");
  EXPECT_EQ(interpret(function, given), (Outcome{0, {5}}));
  EXPECT_EQ(given.arrays[0].bytes, array_of({1, 5, 3}).bytes);
}

TEST(LoopInterpreter, WhatItDoesNotKnow) {
  EXPECT_THROW(run("function f { block 0 line 1 { do \"f();\" go b0 } }", {}), NotKnown);
  EXPECT_THROW(run("function f { block 0 line 1 { go b0 } }", {}), NotKnown);  // for ever
  EXPECT_THROW(
      run("function f { array a: i64 dims 1 unit 1 block 0 line 1 { t: i64 = load a_data[3] go b0 } }", {},
          {array_of({1, 2, 3})}),
      Undefined);
}

}  // namespace
}  // namespace weft::loopir
