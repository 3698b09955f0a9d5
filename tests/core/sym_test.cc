#include "weft/sym.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "weft/error.h"

namespace weft {
namespace {

TEST(Sym, ConstantsNeedNoEnvironment) {
  EXPECT_EQ((Sym(3) + 4).constant(), 7);
  EXPECT_EQ(floor_div(-7, 2).constant(), -4);
  EXPECT_EQ(floor_mod(-7, 2).constant(), 1);
  EXPECT_TRUE(sym_lt(2, 3));
  EXPECT_EQ(Sym(-5).str(), "-5");
}

TEST(Sym, SumsAndProductsAreCanonical) {
  SymEnv env;
  const Sym a = env.new_symbol(8), b = env.new_symbol(5);
  EXPECT_TRUE(((a + 1) - 1).same(a));
  EXPECT_TRUE((a * 2 + b - a).same(b + a));
  EXPECT_TRUE((a * (b + 1)).same(a + b * a));
  EXPECT_TRUE((a - a).same(0));
  EXPECT_TRUE((a * 2 - a - a + 3).same(3));
  EXPECT_EQ((a * 2).str(), "s0*2");
  EXPECT_EQ((2 * a + 1).str(), "s0*2 + 1");
  EXPECT_EQ((b - a).str(), "-s0 + s1");
  EXPECT_EQ((a * b * 3 + a - 4).str(), "s0*s1*3 + s0 - 4");
  EXPECT_EQ((a * b + 1).hint(), 41);
}

TEST(Sym, Division) {
  SymEnv env;
  const Sym a = env.new_symbol(8), b = env.new_symbol(5);
  EXPECT_TRUE(floor_div(a * 6, 3).same(a * 2));
  EXPECT_TRUE(floor_div(a * b, b).same(a));
  EXPECT_TRUE(floor_div(a * 4 + 3, 4).same(a));
  EXPECT_TRUE(floor_mod(a * 4 + 3, 4).same(3));
  EXPECT_TRUE(floor_mod(a * b, a).same(0));
  EXPECT_EQ(floor_div(a + 1, 2).str(), "(s0 + 1)//2");
  EXPECT_EQ((floor_div(a, 2) * 3).str(), "(s0//2)*3");
  EXPECT_EQ(floor_mod(a, b).str(), "s0%s1");
  EXPECT_TRUE(floor_div(a * 3 + 1, 2).same(a + floor_div(a + 1, 2)));
}

TEST(Sym, MinMaxAreDecidedByBounds) {
  SymEnv env;
  const Sym a = env.new_symbol(8), b = env.new_symbol(5);
  EXPECT_TRUE(sym_max(a, 1).same(a));
  EXPECT_TRUE(sym_min(a, a + 3).same(a));
  EXPECT_TRUE(sym_max(a, b).same(sym_max(b, a)));
  EXPECT_EQ(sym_min(b, a).str(), "min(s0, s1)");
  EXPECT_EQ(sym_max(3, a).str(), "max(s0, 3)");
  EXPECT_TRUE(env.guards().empty());
}

TEST(Sym, KnownRelationsRecordNothing) {
  SymEnv env;
  const Sym a = env.new_symbol(8), b = env.new_symbol(5);
  EXPECT_FALSE(sym_eq(a, 1));
  EXPECT_FALSE(sym_eq(a, a + 1));
  EXPECT_TRUE(sym_lt(a, a + b));
  EXPECT_TRUE(sym_ge(a * b, 4));
  EXPECT_FALSE(sym_eq(a * 2 + b * 4, 7));
  EXPECT_TRUE(sym_gt(floor_div(a * b, 2), 1));
  EXPECT_TRUE(sym_lt(floor_mod(a, 4), 4));
  EXPECT_TRUE(env.guards().empty());
}

TEST(Sym, UndecidedRelationsBecomeGuards) {
  SymEnv env;
  const Sym a = env.new_symbol(8), b = env.new_symbol(8);
  EXPECT_TRUE(sym_eq(a, b));
  EXPECT_TRUE(sym_eq(a, b));
  EXPECT_FALSE(sym_known_equal(a, b));
  EXPECT_FALSE(sym_lt(a, 5));
  EXPECT_EQ(sym_specialize(b), 8);
  ASSERT_EQ(env.guards().size(), 3u);
  EXPECT_EQ(env.guards()[0].str(), "s0 == s1");
  EXPECT_EQ(env.guards()[1].str(), "s0 >= 5");
  EXPECT_EQ(env.guards()[2].str(), "s1 == 8");
  EXPECT_TRUE(env.guards()[0].holds({9, 9}));
  EXPECT_FALSE(env.guards()[0].holds({9, 8}));
}

TEST(Sym, AnySymbolsHaveNoBound) {
  SymEnv env;
  const Sym i = env.new_any_symbol(0);
  EXPECT_EQ(env.lower_bound(i), INT64_MIN);
  EXPECT_EQ(env.lower_bound(env.new_symbol(3) * 2 + 1), 5);
  EXPECT_FALSE(sym_lt(i, 0));
  EXPECT_EQ(env.guards().size(), 1u);
}

TEST(Sym, ErrorsAreReported) {
  SymEnv env, other;
  EXPECT_THROW(env.new_symbol(1), Error);
  EXPECT_THROW(env.new_symbol(4) + other.new_symbol(4), Error);
  EXPECT_THROW(floor_div(4, 0), Error);
  EXPECT_THROW(Sym(INT64_MAX) + 1, Error);
  EXPECT_THROW(env.symbol(0).constant(), Error);
}

// Random expressions: the canonical form evaluates to what plain arithmetic gives, also away from the hints,
// and a relation holds there too unless a guard fails.
TEST(Sym, RandomExpressionsEvaluateAlike) {
  std::mt19937 random(7);
  const auto floor_div_int = [](int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); };
  for (int round = 0; round < 300; ++round) {
    SymEnv env;
    std::vector<Sym> pool = {env.new_symbol(2 + random() % 9), env.new_symbol(2 + random() % 9),
                             env.new_any_symbol(3)};
    const std::vector<int64_t> values = {static_cast<int64_t>(2 + random() % 20),
                                         static_cast<int64_t>(2 + random() % 20),
                                         static_cast<int64_t>(random() % 20) - 10};
    std::vector<int64_t> expected = values;
    for (int step = 0; step < 8; ++step) {
      const size_t i = random() % pool.size(), j = random() % pool.size();
      const int64_t constant = 1 + random() % 6;
      const auto push = [&](Sym s, int64_t v) {
        pool.push_back(s);
        expected.push_back(v);
        ASSERT_EQ(s.evaluate(values), v) << s.str();
      };
      switch (random() % 7) {
        case 0: push(pool[i] + pool[j], expected[i] + expected[j]); break;
        case 1: push(pool[i] - pool[j], expected[i] - expected[j]); break;
        case 2:
          if (std::abs(expected[i]) < 100000 && std::abs(expected[j]) < 100000)
            push(pool[i] * pool[j], expected[i] * expected[j]);
          break;
        case 3: push(floor_div(pool[i], constant), floor_div_int(expected[i], constant)); break;
        case 4:
          push(floor_mod(pool[i], constant), expected[i] - constant * floor_div_int(expected[i], constant));
          break;
        case 5: push(sym_min(pool[i], pool[j]), std::min(expected[i], expected[j])); break;
        case 6:
          push(sym_max(pool[i], pool[j] + constant), std::max(expected[i], expected[j] + constant));
          break;
      }
      if (HasFatalFailure()) return;
      const bool less = sym_lt(pool.back(), pool[j]);
      const bool guarded = std::any_of(env.guards().begin(), env.guards().end(),
                                       [&](const SymGuard& guard) { return !guard.holds(values); });
      EXPECT_TRUE(guarded || less == (expected.back() < expected[j])) << pool.back().str();
    }
  }
}

TEST(Sym, GuardsThatOthersImplyAreNotRecorded) {
  SymEnv env;
  const Sym size = env.new_symbol(9), other = env.new_any_symbol(3);
  EXPECT_TRUE(sym_lt(8, size));
  EXPECT_TRUE(sym_ge(size, 9));
  EXPECT_TRUE(sym_le(4, size));
  EXPECT_FALSE(sym_lt(size, 7));
  EXPECT_EQ(env.guards().size(), 1u);
  EXPECT_TRUE(sym_lt(size, 10));  // the other side is open
  EXPECT_TRUE(sym_le(size, 9));
  EXPECT_EQ(env.guards().size(), 2u);
  EXPECT_FALSE(sym_lt(size, other * 2));
  EXPECT_TRUE(sym_le(other * 2 - 1, size));
  EXPECT_EQ(env.guards().size(), 3u);
  EXPECT_TRUE(sym_lt(other * 2 + 1, size));  // more than is known
  EXPECT_EQ(env.guards().size(), 4u);
}

}  // namespace
}  // namespace weft
