// Rounds of an outer loop that go through the inner one together.
#include "loopir/unroll_and_jam.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loopir/parallelize.h"

namespace weft::loopir {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int kNest = 1, kInner = 2, kBehind = 3;
const Barred kBarred = {{"c_pow"}, {"items_list"}};

std::optional<StraightBlock> apart(const Instructions& code, bool may_leave = false) {
  return take_apart(code, false, kNest, kInner, may_leave, kBarred);
}

Instructions with(Instruction in) { return {std::move(in), go(Jump{kInner, kNest})}; }

TEST(StraightBlock, HasItsParts) {
  const Instructions code = {test("i", "<", "n", Jump{kBehind}), poll(1, {3, {"i"}}),
                             require("x_n0 > 2", {4, {}}), load("f64", "t1", "x_data", "i"),
                             go(Jump{kInner, kNest, {{"i64", "i", "j"}, {"i64", "j", "i"}}})};
  const auto parts = take_apart(code, true, kNest, kInner, false, kBarred);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->test, code[0]);
  EXPECT_EQ(parts->poll, code[1]);
  ASSERT_EQ(parts->conditions.size(), 1u);
  EXPECT_EQ(parts->conditions[0].text(), "x_n0 > 2");
  ASSERT_EQ(parts->body.size(), 1u);
  EXPECT_EQ(parts->body[0], code[3]);
  EXPECT_EQ(parts->assignments.size(), 4u);
}

TEST(StraightBlock, LeadsToItsTargetOnly) {
  EXPECT_TRUE(apart({go(Jump{kInner, kNest})}));
  EXPECT_FALSE(apart({go(Jump{kBehind, kNest})}));
  EXPECT_FALSE(apart({go(Jump{kInner})}));
  EXPECT_FALSE(apart({go(Exit{1, {}})}));
  EXPECT_FALSE(apart({}));
  EXPECT_FALSE(apart(with(branch("t1", Jump{kBehind, kNest}))));
  EXPECT_FALSE(take_apart({go(Jump{kInner, kNest})}, true, kNest, kInner, false, kBarred));
}

TEST(StraightBlock, WhatMayDoAnythingKeepsItTogether) {
  EXPECT_FALSE(apart(with(define("f64", "t1", "c_pow(x, y)"))));
  EXPECT_TRUE(apart(with(define("f64", "t1", "square_as_power(x, c_pow)"))));
  EXPECT_FALSE(apart(with(define("i64", "t1", "items_list->size"))));
  EXPECT_FALSE(apart(with(statement("take_rows(t1);"))));
  EXPECT_FALSE(apart(with(settle("t1", "i", "x_n0", {1, {}}))));
}

TEST(StraightBlock, MayBeLeftBehindTheInnerLoopOnly) {
  const Instructions sum = with(overflow("i64", "t1", "__builtin_add_overflow", false, "i", "j", {1, {}}));
  EXPECT_FALSE(apart(sum));
  EXPECT_TRUE(apart(sum, true));
  EXPECT_EQ(apart(with(require("t1", {1, {}})), true)->body.size(), 1u);
}

TEST(KeptElement, IsTheOnlyOneThatIsStored) {
  Instructions code = {load("f64", "t1", "c_data", "i + j"), load("f64", "t2", "c_data", "i"),
                       store("c_data", "i + j", "t3")};
  const auto element = only_stored(code);
  ASSERT_TRUE(element);
  keep(*element, code);
  EXPECT_EQ(code[0], define("f64", "t1", "kept"));
  EXPECT_EQ(code[1], load("f64", "t2", "c_data", "i"));
  EXPECT_EQ(code[2], assign("kept", "t3"));
  EXPECT_FALSE(only_stored({}));
  EXPECT_FALSE(only_stored({store("c_data", "i", "t1"), store("c_data", "j", "t1")}));
  EXPECT_FALSE(only_stored({store("c_data", "i", "t1", "carried1_0")}));
}

// for i: s = 0; for k: s += a[k]; out[i] = s
Jam product() {
  Jam jam;
  jam.condition = "apart1_1 && ";
  jam.rounds = {4};
  jam.counter = "i", jam.stop = "n", jam.inner_counter = "k", jam.inner_stop = "m";
  jam.own = {{"i", "i64"}, {"s", "f64"}};
  jam.begin.body = {define("i64", "t1", "i + 1L")};
  jam.begin.assignments = {{"", "s", "0.0"}, {"", "k", "0L"}, {"", "i", "t1"}};
  jam.round.body = {load("f64", "t2", "a_data", "i * a_s0 + k"), define("f64", "t3", "s + t2")};
  jam.round.assignments = {{"", "s", "t3"}, {"", "k", "t4"}};
  jam.end.body = {store("out_data", "i", "s")};
  jam.end.poll = poll(256, {2, {"i"}});
  return jam;
}

TEST(Jam, EachRoundHasVariablesOfItsOwn) {
  EXPECT_EQ(print(product()),
            "    while (apart1_1 && i + 3L < n) {\n"
            "      i64 i_side[4];\n"
            "      f64 s_side[4];\n"
            "      WEFT_UNROLLED for (int side = 0; side < 4; ++side) {\n"
            "    i_side[side] = i + side;\n"
            "    i64 const t1 = i_side[side] + 1L;\n"
            "    s_side[side] = 0.0;\n"
            "    k = 0L;\n"
            "    i_side[side] = t1;\n"
            "      }\n"
            "      for (; k < m; ++k) WEFT_UNROLLED for (int side = 0; side < 4; ++side) {\n"
            "    f64 const t2 = a_data[i_side[side] * a_s0 + k];\n"
            "    f64 const t3 = s_side[side] + t2;\n"
            "    s_side[side] = t3;\n"
            "      }\n"
            "      WEFT_UNROLLED for (int side = 0; side < 4; ++side) {\n"
            "    out_data[i_side[side]] = s_side[side];\n"
            "    if (side == 3)\n"
            "      if ((fuel -= 256) < 0) { fuel = kFuel; if (poll()) { io[0] = i_side[side]; return 2; } }\n"
            "      }\n"
            "      i = i_side[3];\n"
            "      s = s_side[3];\n"
            "    }\n");
}

TEST(Jam, IsOfSmallRounds) {
  Jam jam = product();  // nine instructions and assignments
  jam.end.body.resize(64, jam.end.body.front());
  EXPECT_TRUE(is_small(jam));
  jam.first = StraightBlock{};
  jam.first->body.push_back(jam.end.body.front());
  EXPECT_FALSE(is_small(jam));
}

TEST(Jam, SumsStandAloneWhereRoundsReadFarApart) {
  Jam jam = product();
  EXPECT_THAT(print(jam), Not(HasSubstr("alone")));
  jam.is_beside = false;
  EXPECT_THAT(print(jam), HasSubstr("    alone(s_side[side]);\n"));
  EXPECT_THAT(print(jam), Not(HasSubstr("alone(i_side")));
}

TEST(Jam, AKeptElementIsReadAndStoredAroundTheInnerLoop) {
  Jam jam = product();
  jam.kept = KeptElement{"c_data", "i * c_s0", "f64"};
  jam.own["kept"] = "f64";
  jam.rounds = {4, 1};
  const std::string text = print(jam);
  EXPECT_THAT(text, HasSubstr("      bool const sums = k < m;\n"));
  EXPECT_THAT(text, HasSubstr("    if (sums) kept_side[side] = c_data[i_side[side] * c_s0];\n"));
  EXPECT_THAT(text, HasSubstr("    if (sums) c_data[i_side[side] * c_s0] = kept_side[side];\n"));
  EXPECT_THAT(text, HasSubstr("apart1_1 && i + 0L < n"));
  EXPECT_THAT(text, Not(HasSubstr(" kept = ")));
}

TEST(Jam, SumsHaveLimitsForThreads) {
  Jam jam = product();
  jam.end.body.push_back(overflow("i64", "t5", "__builtin_add_overflow", false, "total", "1L", {1, {}}));
  limit_sums(jam, {"total"});
  EXPECT_THAT(print(jam), HasSubstr("limited_add_overflow(total, 1L, &t5)"));
}

}  // namespace
}  // namespace weft::loopir
