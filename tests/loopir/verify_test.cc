// The rules of the form, each with a function that breaks it.
#include "loopir/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loopir/text.h"
#include "loopir_test_functions.h"
#include "weft/error.h"

namespace weft::loopir {
namespace {

using testing::HasSubstr;

std::string problem_of(const Function& function) {
  try {
    verify(function);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Internal);
    return error.what();
  }
  return "none";
}

// Of the function with one text in the place of another.
std::string problem_with(std::string text, const std::string& before, const std::string& after) {
  const size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  return problem_of(parse(text.replace(at, before.size(), after)));
}

std::string in_sum(const std::string& before, const std::string& after) {
  return problem_with(sum_of_elements(), before, after);
}

TEST(LoopVerify, WhatIsWhole) {
  for (const std::string& text : {sum_of_elements(), doubled_sum(), rounds_of_sum()})
    EXPECT_EQ(problem_of(parse(text)), "none");
}

TEST(LoopVerify, Names) {
  EXPECT_THAT(in_sum("t1: i64 = i_i + 1L", "t1: i64 = j_i + 1L"), HasSubstr("there is no j_i"));
  EXPECT_THAT(in_sum("t1: i64 = i_i + 1L", "t1: i64 = t3 + 1L"), HasSubstr("there is no t3"));
  EXPECT_THAT(in_sum("t6: i64 = load", "t5: i64 = load"), HasSubstr("t5 is there already"));
  EXPECT_THAT(in_sum("t6: i64 = load", "s_i: i64 = load"), HasSubstr("s_i is a variable"));
  EXPECT_THAT(in_sum("var s_i", "var a_n0: i64 var s_i"),
              HasSubstr("'a_n0' is a variable and something else"));
  EXPECT_THAT(problem_with(doubled_sum(), "@c_pow", "@c_exp"),
              HasSubstr("c_exp is nothing that can be called"));
  // What other C++ defines is taken as it is.
  EXPECT_EQ(in_sum("t1: i64 = i_i + 1L", "do \"int best = 0;\" t1: i64 = i_i + best"), "none");
}

TEST(LoopVerify, VariablesAreSetOnEveryWay) {
  EXPECT_THAT(in_sum("param s_i: i64", ""), HasSubstr("s_i may not be set yet"));
  EXPECT_THAT(in_sum("go b1\n", "go b1(s_i: i64 = 0L)\n"), HasSubstr("none"));
  Function function = parse(sum_of_elements());
  function.parameters.pop_back();
  jump_of(function.blocks[0].code[0])->moves = {{"i64", "s_i", Expr::constant("0L")}};
  EXPECT_EQ(problem_of(function), "none");
  // On one way only.
  function.blocks[0].code = parse_instructions("if lt(i_i, 0) b2\ngo b1(s_i: i64 = 0L)");
  EXPECT_THAT(problem_of(function), HasSubstr("block 2: s_i may not be set yet"));
}

TEST(LoopVerify, Types) {
  EXPECT_THAT(in_sum("t3: i64 = load a_data[t2]", "t3: i64 = cast:f64(s_i)"),
              HasSubstr("is of type f64, not i64"));
  EXPECT_THAT(in_sum("t3: i64 = load a_data[t2]", "t3: i64 = a_data + t2"),
              HasSubstr("is of type i64*, not i64"));
  EXPECT_THAT(in_sum("s_i: i64 = t4", "s_i: f64 = t4"), HasSubstr("s_i is of type i64, and gets f64"));
  EXPECT_THAT(in_sum("exit 0(s_i)", "exit 0(cast:f64(s_i))"), HasSubstr("an exit's word"));
  EXPECT_THAT(in_sum("where lt(i_i, n_i)", "where sub(i_i, n_i)"), HasSubstr("is no condition but i64"));
  EXPECT_EQ(in_sum("t3: i64 = load a_data[t2]", "t3: i64 = true"), "none");
}

TEST(LoopVerify, Jumps) {
  EXPECT_THAT(in_sum("go b1\n", "go b7\n"), HasSubstr("there is no such block"));
  EXPECT_THAT(in_sum("go v1 b1", "go v1 b2"), HasSubstr("there is no such block"));
  EXPECT_THAT(in_sum("go b1\n", "go done\n"), HasSubstr("only a function that runs rounds has an end"));
  EXPECT_THAT(in_sum("go exit 0(s_i)", "t9: i64 = i_i"), HasSubstr("does not end with a jump or an exit"));
  EXPECT_THAT(in_sum("go exit 0(s_i)", "go exit 0(s_i) go exit 0(s_i)"), HasSubstr("code behind a jump"));
  EXPECT_THAT(in_sum("(i_i: i64 = t1, s_i", "(s_i: i64 = t1, s_i"), HasSubstr("s_i is set twice"));
  EXPECT_THAT(in_sum("block 2 line", "block 0 line"), HasSubstr("block 0 is there twice"));
}

TEST(LoopVerify, ExitsHaveTheWholeState) {
  EXPECT_THAT(in_sum("exit 1(i_i, n_i, s_i)", "exit 1(i_i, s_i)"), HasSubstr("exit 1 needs 3 words, not 2"));
  EXPECT_THAT(in_sum("exit 0(s_i)", "exit 2(s_i)"), HasSubstr("there is no such exit"));
}

TEST(LoopVerify, ItSaysWhere) {
  const std::string problem = in_sum("t6: i64 = load a_data[i_i]", "t6: i64 = load b_data[i_i]");
  EXPECT_THAT(problem, HasSubstr("native loop sum: block 1 of version 1: there is no b_data\n"));
  EXPECT_THAT(problem, HasSubstr("in t6: i64 = load b_data[i_i]"));
}

}  // namespace
}  // namespace weft::loopir
