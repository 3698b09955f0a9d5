// What goes from round to round of a loop.
#include "loopir/rounds.h"

#include <gtest/gtest.h>

namespace weft::loopir {
namespace {

constexpr int kHead = 1, kNext = 2, kOutside = 9;

Jump to(int block, std::vector<Move> moves = {}) { return {block, Jump::kNoVersion, std::move(moves)}; }
Instruction add(const std::string& result, const std::string& a, const std::string& b) {
  return overflow("i64", result, "__builtin_add_overflow", false, a, b, {});
}
Instruction subtract(const std::string& result, const std::string& a, const std::string& b) {
  return overflow("i64", result, "__builtin_sub_overflow", false, a, b, {});
}
// A block that goes round with these moves.
LoopBody one_block(Instructions code, std::vector<Move> moves) {
  code.insert(code.begin(), test("i", "<", "n", to(kOutside)));
  code.push_back(go(to(kHead, std::move(moves))));
  return {kHead, {{kHead, std::move(code)}}};
}

TEST(Rounds, WhatIsReadBeforeItIsSet) {
  const LoopBody reading = one_block({define("f64", "t1", "x + 1.0")}, {{"f64", "x", "t1"}});
  EXPECT_TRUE(reads_first(reading, "x"));
  const LoopBody setting = one_block({define("f64", "t1", "y + 1.0")}, {{"f64", "x", "t1"}});
  EXPECT_FALSE(reads_first(setting, "x"));
  EXPECT_TRUE(reads_first(one_block({}, {{"f64", "y", "x"}}), "x"));
}

TEST(Rounds, WaysThroughTheBlocks) {
  // if t: x = 1.0; then a block that reads x
  LoopBody loop{kHead,
                {{kHead, {branch("t", to(kNext, {{"f64", "x", "1.0"}})), go(to(kNext))}},
                 {kNext, {define("f64", "t1", "x * x"), go(to(kHead))}}}};
  EXPECT_TRUE(reads_first(loop, "x"));
  EXPECT_FALSE(always_sets(loop, "x"));
  loop.blocks[kHead][1] = go(to(kNext, {{"f64", "x", "2.0"}}));
  EXPECT_FALSE(reads_first(loop, "x"));
  EXPECT_TRUE(always_sets(loop, "x"));
}

TEST(Rounds, WhatLeadsOutOfTheLoopIsNoRound) {
  const LoopBody loop{kHead, {{kHead, {branch("t", to(kOutside, {{"f64", "y", "x"}})), go(to(kHead))}}}};
  EXPECT_FALSE(reads_first(loop, "x"));
}

TEST(Sums, AreOnlyAddedTo) {
  EXPECT_TRUE(is_sum(one_block({add("t1", "s", "x")}, {{"i64", "s", "t1"}}), "s"));
  EXPECT_TRUE(is_sum(one_block({add("t1", "x", "s")}, {{"i64", "s", "t1"}}), "s"));
  EXPECT_TRUE(is_sum(one_block({subtract("t1", "s", "x")}, {{"i64", "s", "t1"}}), "s"));
  EXPECT_TRUE(is_sum(one_block({binary("i64", "t1", "s", "+", "1L")}, {{"i64", "s", "t1"}}), "s"));
  EXPECT_FALSE(is_sum(one_block({subtract("t1", "x", "s")}, {{"i64", "s", "t1"}}), "s"));
  EXPECT_FALSE(is_sum(one_block({add("t1", "s", "s")}, {{"i64", "s", "t1"}}), "s"));
  EXPECT_FALSE(is_sum(one_block({binary("i64", "t1", "s", "*", "x")}, {{"i64", "s", "t1"}}), "s"));
}

// The order of additions changes the result.
TEST(Sums, AreNotOfFloats) {
  EXPECT_FALSE(is_sum(one_block({binary("f64", "t1", "s", "+", "x")}, {{"f64", "s", "t1"}}), "s"));
}

TEST(Sums, AreNotReadOtherwise) {
  EXPECT_FALSE(
      is_sum(one_block({add("t1", "s", "x"), define("i64", "t2", "s * 2L")}, {{"i64", "s", "t1"}}), "s"));
  EXPECT_FALSE(
      is_sum(one_block({add("t1", "s", "x"), store("a_data", "i", "t1")}, {{"i64", "s", "t1"}}), "s"));
  EXPECT_FALSE(is_sum(one_block({add("t1", "s", "x")}, {{"i64", "s", "t1"}, {"i64", "y", "t1"}}), "s"));
  EXPECT_FALSE(is_sum(one_block({add("t1", "s", "x")}, {{"i64", "s", "t1"}, {"i64", "y", "s"}}), "s"));
  EXPECT_FALSE(is_sum(one_block({add("t1", "s", "x")}, {{"i64", "s", "x"}}), "s"));
}

// counts[k] += 1 with the index settled once
Instructions counting() {
  return {load("i64", "t1", "k_data", "i"), settle("t2", "t1", "counts_n0", {}),
          load("i64", "t3", "counts_data", "t2"), add("t4", "t3", "1L"), store("counts_data", "t2", "t4")};
}
bool counts(Instructions code, std::vector<Move> moves = {}) {
  return is_histogram(one_block(std::move(code), std::move(moves)), "counts_data");
}

TEST(Histograms, AreOnlyAddedTo) {
  EXPECT_TRUE(counts(counting()));
  Instructions code = counting();
  code[3] = subtract("t4", "t3", "x");
  EXPECT_TRUE(counts(code));
  code[3] = subtract("t4", "x", "t3");
  EXPECT_FALSE(counts(code));
  code[3] = binary("i64", "t4", "t3", "*", "2L");
  EXPECT_FALSE(counts(code));
}

TEST(Histograms, ElementsAreNotUsedOtherwise) {
  Instructions read = counting();
  read.push_back(define("i64", "t5", "t3 + 1L"));
  EXPECT_FALSE(counts(read));
  EXPECT_FALSE(counts(counting(), {{"i64", "x", "t3"}}));
  EXPECT_FALSE(counts(counting(), {{"i64", "x", "t4"}}));
  Instructions loaded_only = counting();
  loaded_only.pop_back();
  EXPECT_FALSE(counts(loaded_only));
  Instructions as_part = counting();
  as_part[2] = load("f64", "t3", "counts_data", "t2");
  EXPECT_FALSE(counts(as_part));
}

TEST(Histograms, WhatIsLoadedIsStoredAtTheSamePlace) {
  Instructions other = counting();
  other[4] = store("counts_data", "i", "t4");
  EXPECT_FALSE(counts(other));
}

// counts[k[i]] = counts[k[i]] + 1: two loads of one element are one place, unless the loop stores to k.
TEST(Histograms, IndicesFromElementsThatTheLoopLeavesAsTheyAre) {
  Instructions code = {load("i64", "t1", "k_data", "i"), load("i64", "t2", "counts_data", "t1"),
                       add("t3", "t2", "1L"), load("i64", "t4", "k_data", "i"),
                       store("counts_data", "t4", "t3")};
  EXPECT_TRUE(counts(code));
  code.push_back(store("k_data", "i", "0L"));
  EXPECT_FALSE(counts(code));
}

TEST(Histograms, NamesOfTheirElements) {
  std::set<std::string> names;
  add_counts(counting(), "counts_data", names);
  EXPECT_EQ(names, std::set<std::string>{"t3"});
}

}  // namespace
}  // namespace weft::loopir
