// Native loops as instructions: how they are printed, and the passes over them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loopir/operations.h"
#include "loopir/parallelize.h"
#include "loopir/print.h"
#include "loopir/unroll.h"

namespace weft::loopir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string plain(const Jump& jump) { return "goto block" + std::to_string(jump.target) + ";"; }

TEST(LoopExpr, NamesAreWholeWords) {
  const Expr expr = "x_i + x_i2 * y[x_i] - 1L";
  EXPECT_EQ(expr.num_words(), 5U);
  EXPECT_EQ(expr.uses("x_i"), 2);
  EXPECT_EQ(expr.uses("i"), 0);
  EXPECT_TRUE(expr.uses_any({"z", "y"}));
  EXPECT_FALSE(expr.uses_any({}));
  EXPECT_EQ(expr.renamed({"x_i"}, "_side[side]").text(), "x_i_side[side] + x_i2 * y[x_i_side[side]] - 1L");
  EXPECT_EQ(expr.with({{"x_i2", "t1 + 1"}}).text(), "x_i + (t1 + 1) * y[x_i] - 1L");
}

TEST(LoopExpr, AFunctionThatIsHandedOnIsNotCalled) {
  EXPECT_TRUE(Expr("c_pow(x, y)").calls_any({"c_pow"}));
  EXPECT_FALSE(Expr("square_as_power(x, c_pow)").calls_any({"c_pow"}));
  EXPECT_FALSE(Expr("other_c_pow(x)").calls_any({"c_pow"}));
}

// What an operation is made of is known: names are found without a look at its C++.
TEST(LoopExpr, OperationsHaveOperands) {
  const Expr x = Expr::name("x_f"), two = Expr::constant("2.0"), pow = Expr::function("c_pow");
  const Expr square = Expr::apply(op::kSquareAsPower, {x, pow});
  EXPECT_EQ(square.text(), "square_as_power(x_f, c_pow)");
  EXPECT_TRUE(square.is_typed());
  EXPECT_EQ(square.uses("x_f"), 1);
  EXPECT_EQ(square.uses("square_as_power"), 0);
  EXPECT_FALSE(square.calls_any({"c_pow"}));
  const Expr power = Expr::apply(op::kCall2, {pow, Expr::apply(op::kCast, {x}, "f64"), two});
  EXPECT_EQ(power.text(), "c_pow((f64)x_f, 2.0)");
  EXPECT_TRUE(power.calls_any({"c_pow"}));
  EXPECT_EQ(power.renamed({"x_f", "c_pow"}, "_side[side]").text(), "c_pow((f64)x_f_side[side], 2.0)");
  EXPECT_EQ(power.with({{"x_f", Expr::name("t1")}}).text(), "c_pow((f64)(t1), 2.0)");
  EXPECT_EQ(Expr::apply(op::infix("+"), {x, "y[x_f]"}).uses("x_f"), 2);  // an operand that is C++ yet
}

TEST(LoopExpr, OneWord) {
  EXPECT_TRUE(Expr("a_s0").is_word());
  EXPECT_TRUE(Expr("-2L").is_word());
  EXPECT_FALSE(Expr("a_s0 * 2L").is_word());
  EXPECT_FALSE(Expr("-").is_word());
  EXPECT_FALSE(Expr("").is_word());
  EXPECT_TRUE(Expr("4L * a_n0").begins_with_number());
  EXPECT_FALSE(Expr("a_n0 * 4L").begins_with_number());
  EXPECT_FALSE(Expr("").begins_with_number());
}

TEST(LoopMoves, ValuesAreReadBeforeTheirVariablesChange) {
  const std::vector<Move> swap = {{"i64", "a", "b"}, {"i64", "b", "a"}, {"f64", "x", "t1"}};
  EXPECT_EQ(print(go(Jump{3, Jump::kNoVersion, swap}), plain),
            "    { i64 const old0 = b; i64 const old1 = a; a = old0; b = old1; x = t1; goto block3; }\n");
}

// What a conversion reads changes with the variable.
TEST(LoopMoves, ExpressionsOfVariablesAreKeptToo) {
  const std::vector<Move> moves = {{"i64", "a", "t1"}, {"f64", "x", "(f64)a"}};
  EXPECT_EQ(print(go(Jump{0, Jump::kNoVersion, moves}), plain),
            "    { f64 const old1 = (f64)a; a = t1; x = old1; goto block0; }\n");
}

TEST(LoopPrint, Instructions) {
  const Exit exit{4, {"word_of(x)", "i"}};
  const std::string leaves = "{ io[0] = word_of(x); io[1] = i; return 4; }\n";
  const auto text = [](const Instruction& in) { return print(in, plain); };
  EXPECT_EQ(text(define("f64", "t1", "x + y")), "    f64 const t1 = x + y;\n");
  EXPECT_EQ(text(load("bool", "t1", "a_data", "i", " != 0")), "    bool const t1 = a_data[i] != 0;\n");
  EXPECT_EQ(text(store("a_data", "i", "t1")), "    a_data[i] = t1;\n");
  EXPECT_EQ(text(store("a_data", "i", "t1", "carried0_0")), "    a_data[i] = carried0_0 = t1;\n");
  EXPECT_EQ(text(require("x != 0", exit)), "    if (__builtin_expect(!(x != 0), 0)) " + leaves);
  EXPECT_EQ(text(overflow("i64", "t2", "__builtin_add_overflow", false, "i", "1L", exit)),
            "    i64 t2;\n    if (__builtin_expect(!(!__builtin_add_overflow(i, 1L, &t2)), 0)) " + leaves);
  EXPECT_EQ(text(overflow("i64", "t2", "int_power_into", true, "i", "j", exit)),
            "    i64 t2;\n    if (__builtin_expect(!(int_power_into(i, j, &t2)), 0)) " + leaves);
  EXPECT_EQ(text(branch("t1", exit)), "    if (t1) " + leaves);
  EXPECT_EQ(text(test("i", "<", "n", Jump{2})), "    if (!(i < n)) { goto block2; }\n");
  EXPECT_EQ(text(test("i", "<", "n", Jump{2}, "s")), "    if (!(s > 0 ? i < n : i > n)) { goto block2; }\n");
}

TEST(LoopPrint, SignalsBetweenPiecesOfARange) {
  Instruction in = test("i", "<", "n", Jump{2});
  poll_between_pieces(in, 1, {7, {"i"}});
  EXPECT_EQ(
      print(in, plain),
      "    if (!(i < piece_end)) { if ((i < n) && !poll()) goto block1; if (i < n) { io[0] = i; return 7; } "
      "{ goto block2; } }\n");
}

TEST(LoopInstruction, ReadsAreOfOperandsOnly) {
  const Instruction in = overflow("i64", "t2", "__builtin_add_overflow", false, "i", "i", {1, {"i", "t2"}});
  EXPECT_EQ(reads(in, "i"), 2);
  EXPECT_EQ(reads(in, "t2"), 0);
  EXPECT_EQ(reads(go(Jump{1, Jump::kNoVersion, {{"i64", "i", "j"}}}), "j"), 0);
}

// i = i + 1 as long as i < n, adding up what may overflow.
Version sum(int statements, int words) {
  Version version{5, {}};
  version.step = "1L";
  version.meets = true;
  Instructions code = {test("i", "<", "n", Jump{6}), define("i64", "t1", "i + 1L")};
  const Exit exit{2, std::vector<Expr>(static_cast<size_t>(words), "i")};
  code.push_back(overflow("i64", "t2", "__builtin_add_overflow", false, "s", "i", exit));
  while (static_cast<int>(code.size()) + 1 < statements) code.push_back(define("i64", "t3", "i"));
  code.push_back(go(Jump{5, 5, {{"i64", "i", "t1"}, {"i64", "s", "t2"}}}));
  version.blocks.push_back({5, std::move(code)});
  return version;
}

TEST(LoopUnroll, FourRoundsBehindOneTest) {
  Version version = sum(4, 1);
  unroll(version);
  const std::string round =
      "    i64 const t1 = i + 1L;\n"
      "    i64 t2;\n"
      "    if (__builtin_expect(!(!__builtin_add_overflow(s, i, &t2)), 0)) { io[0] = i; return 2; }\n";
  EXPECT_EQ(print(version),
            "checked5_5:\n  while (i + 3 * 1L < n) {\n  {\n" + round +
                "    { i = t1; s = t2;  }\n  }\n  {\n" + round + "    { i = t1; s = t2;  }\n  }\n  {\n" +
                round + "    { i = t1; s = t2;  }\n  }\n  {\n" + round +
                "    { i = t1; s = t2;  }\n  }\n  }\nsingle5:  {\n    if (!(i < n)) { goto block6; }\n" +
                round + "    { i = t1; s = t2; goto single5; }\n  }\n");
}

TEST(LoopUnroll, UpToALimit) {
  Version at = sum(40, 17), past = sum(40, 18);
  unroll(at);
  unroll(past);
  EXPECT_EQ(at.rounds, 4);
  EXPECT_EQ(past.rounds, 1);
}

TEST(LoopUnroll, OnlyWhatMayBeLeftInARound) {
  Version vector = sum(4, 1);
  vector.blocks[0].code[2] = define("i64", "t2", "s + i");
  unroll(vector);
  EXPECT_EQ(vector.rounds, 1);
}

TEST(LoopUnroll, OnlyOneBlockWithOneWayBack) {
  Version blocks = sum(4, 1), ways = sum(4, 1), begins_otherwise = sum(4, 1);
  blocks.blocks.push_back({7, {go(Jump{5, 5})}});
  ways.blocks[0].code.push_back(go(Jump{5, 5}));
  begins_otherwise.blocks[0].code.insert(begins_otherwise.blocks[0].code.begin(),
                                         assign("carried5_1", "carried5_0"));
  for (Version* one : {&blocks, &ways, &begins_otherwise}) {
    unroll(*one);
    EXPECT_EQ(one->rounds, 1);
  }
}

TEST(LoopVersion, WaysBackMeetBeforeTheHead) {
  Version version{1, {}};
  version.meets = true;
  version.blocks = {{1, {branch("t1", Jump{1, 1}), go(Jump{2, 1})}}, {2, {go(Jump{1, 1})}}};
  EXPECT_EQ(print(version),
            "checked1_1:  {\n    if (t1) { goto next1; }\n    { goto checked1_2; }\n  }\n"
            "checked1_2:  {\n    { goto next1; }\n  }\n"
            "next1:  { goto checked1_1; }\n");
  version.meets = false;
  EXPECT_THAT(print(version), Not(HasSubstr("next")));
}

TEST(LoopParallel, ARoundsFunctionEndsWhereTheyDo) {
  Instructions code = {assign("carried1_1", "carried1_0"), test("i", "<", "n", Jump{2}), go(Jump{1})};
  poll_between_pieces(code[1], 1, {7, {"i"}});
  end_at_test(code);
  EXPECT_EQ(print(code[1], plain), "    if (!(i < n)) goto done;\n");
}

TEST(LoopParallel, SumsHaveLimits) {
  Instructions code;
  for (const char* function : {"__builtin_add_overflow", "__builtin_sub_overflow", "__builtin_mul_overflow"})
    for (const char* name : {"s", "t"})
      code.push_back(overflow("i64", "t1", function, false, "1L", name, {}));
  limit_sums(code, {"s"});
  std::vector<std::string> functions;
  for (const Instruction& in : code) functions.push_back(in.symbol);
  EXPECT_THAT(functions,
              ElementsAre("limited_add_overflow", "__builtin_add_overflow", "limited_sub_overflow",
                          "__builtin_sub_overflow", "__builtin_mul_overflow", "__builtin_mul_overflow"));
}

}  // namespace
}  // namespace weft::loopir
