// Sizes as expressions of symbols.
#include "exported/symbols.h"

#include <gmock/gmock.h>

#include "weft/error.h"

namespace weft::exported {
namespace {

const std::string kS = "Symbol('s0', positive=True, integer=True)", kT = "Symbol('s1', integer=True)";

std::optional<int64_t> value(const std::string& text, const SymbolValues& values = {{"s0", 7}, {"s1", 3}}) {
  return SizeExpr::parse(text).evaluate(values);
}

TEST(SizeExpr, Evaluates) {
  EXPECT_EQ(value("Integer(-3)"), -3);
  EXPECT_EQ(value(kS), 7);
  EXPECT_EQ(value("Add(" + kS + ", " + kT + ", Integer(1))"), 11);
  EXPECT_EQ(value("Mul(Integer(2), " + kS + ", " + kT + ")"), 42);
  EXPECT_EQ(value("Pow(" + kS + ", Integer(2))"), 49);
  EXPECT_EQ(value("FloorDiv(Add(" + kS + ", Integer(-8)), Integer(2))"), -1);
  EXPECT_EQ(value("Mod(" + kS + ", Integer(4))"), 3);
  EXPECT_EQ(value("Mod(Integer(-7), Integer(4))"), 1);
  EXPECT_EQ(value("Max(" + kS + ", " + kT + ")"), 7);
  EXPECT_EQ(value("Min(" + kS + ", " + kT + ")"), 3);
}

TEST(SizeExpr, HasNoValue) {
  EXPECT_EQ(value(kS, {}), std::nullopt);
  const std::string most = "Integer(9223372036854775807)", least = "Integer(-9223372036854775808)";
  EXPECT_EQ(value("Add(" + most + ", Integer(0))"), INT64_MAX);
  EXPECT_EQ(value("Add(" + most + ", Integer(1))"), std::nullopt);
  EXPECT_EQ(value("Mul(" + most + ", Integer(2))"), std::nullopt);
  EXPECT_EQ(value("Pow(Integer(2), Integer(62))"), int64_t{1} << 62);
  EXPECT_EQ(value("Pow(Integer(2), Integer(63))"), std::nullopt);
  EXPECT_EQ(value("Pow(Integer(-1), " + most + ")"), -1);
  EXPECT_EQ(value("Pow(Integer(2), Integer(-1))"), std::nullopt);
  EXPECT_EQ(value("FloorDiv(Integer(1), Integer(0))"), std::nullopt);
  EXPECT_EQ(value("Mod(Integer(1), Integer(0))"), std::nullopt);
  EXPECT_EQ(value("FloorDiv(" + least + ", Integer(-1))"), std::nullopt);
}

TEST(SizeExpr, Solves) {
  const auto solved = [](const std::string& text, int64_t result, const SymbolValues& known = {}) {
    return SizeExpr::parse(text).solve(known, result);
  };
  EXPECT_EQ(solved(kS, 5), std::pair(std::string("s0"), int64_t{5}));
  EXPECT_EQ(solved("Add(Integer(1), Mul(Integer(2), " + kS + "))", 9), std::pair(std::string("s0"), int64_t{4}));
  EXPECT_EQ(solved("Add(Integer(1), Mul(Integer(2), " + kS + "))", 8), std::nullopt);
  EXPECT_EQ(solved(kS, 5, {{"s0", 1}}), std::nullopt);
  EXPECT_EQ(solved("Pow(" + kS + ", Integer(2))", 9), std::nullopt);
}

TEST(SizeExpr, Prints) {
  EXPECT_EQ(SizeExpr::parse("Add(Mul(Integer(2), " + kS + "), Integer(1))").str(), "2*s0 + 1");
  EXPECT_EQ(SizeExpr::parse("Mul(Integer(2), Add(" + kS + ", Integer(1)))").str(), "2*(s0 + 1)");
  EXPECT_EQ(SizeExpr::parse(kS).symbol(), "s0");
  EXPECT_EQ(SizeExpr::parse("Integer(4)").constant(), 4);
}

TEST(SizeExpr, Refuses) {
  std::string deep = kS;
  for (int i = 0; i < 65; ++i) deep = "Add(" + deep + ", Integer(1))";
  for (const std::string& text :
       {std::string(), std::string("4"), std::string("Integer()"), std::string("Integer(99999999999999999999)"), std::string("Sin(Integer(1))"),
        std::string("Symbol(s0)"), std::string("Add(Integer(1)"), std::string("Mod(Integer(1))"), kS + ")", std::string("Symbol('s0'"), deep})
    EXPECT_THROW(SizeExpr::parse(text), Error) << text;
  std::string shallow = kS;
  for (int i = 0; i < 60; ++i) shallow = "Add(" + shallow + ", Integer(1))";
  EXPECT_EQ(value(shallow), 67);
}

}  // namespace
}  // namespace weft::exported
