// The generator's words are the standard library's, and its states those of PyTorch.
#include "weft/generator.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/cpu/random.h"
#include "ops/registry.h"
#include "weft/error.h"

namespace weft {
namespace {

TEST(MersenneTwister, WordsAreTheStandardLibrarys) {
  std::mt19937 expected(5489);
  kernels::MersenneTwister one_by_one(5489), drawn(5489);
  std::vector<uint32_t> words(3000);
  // Pieces that end in the middle of a state, at its end and behind it.
  int64_t at = 0;
  for (const int64_t piece : {1, 600, 23, 624, 0, 1, 1248, 503}) {
    drawn.draw(words.data() + at, piece);
    at += piece;
  }
  ASSERT_EQ(at, 3000);
  for (const uint32_t word : words) {
    ASSERT_EQ(word, expected());
    ASSERT_EQ(word, one_by_one());
  }
  EXPECT_EQ(drawn.left, one_by_one.left);
  EXPECT_EQ(drawn.next, one_by_one.next);
}

Tensor uniform(const Generator& generator, int64_t count) {
  return ops::call1("random_uniform", {generator.handle()},
                    {{"shape", SymShape{Sym(count)}}, {"dtype", DType::F32}});
}

TEST(Generator, StatesAreExchanged) {
  const Generator a;
  a.manual_seed(7);
  uniform(a, 5);
  const Tensor state = a.get_state();
  EXPECT_EQ(state.numel(), Generator::kStateBytes);
  const Generator b = a.clone_state(), c;
  c.set_state(state);
  const Tensor expected = uniform(a, 900);
  for (const Generator& other : {b, c}) {
    const Tensor drawn = uniform(other, 900);
    for (int64_t i = 0; i < 900; ++i) ASSERT_EQ(drawn.at(i), expected.at(i));
  }
  EXPECT_EQ(a.initial_seed(), 7U);
}

TEST(Generator, WhatIsNoStateIsRefused) {
  const Generator generator;
  EXPECT_THROW(generator.set_state(Tensor::full({12}, 0, DType::U8)), Error);
  EXPECT_THROW(generator.set_state(Tensor::full({Generator::kStateBytes}, 0, DType::U8)), Error);
  EXPECT_THROW(generator.set_state(Tensor::full({Generator::kStateBytes}, 0, DType::F32)), Error);
}

TEST(Generator, ItsHandleKeepsIt) {
  Tensor handle;
  {
    const Generator generator;
    generator.manual_seed(3);
    handle = generator.handle();
  }
  EXPECT_EQ(Generator::of_handle(handle).initial_seed(), 3U);
  const Tensor copy = handle.clone();
  handle = Tensor();
  EXPECT_THROW(Generator::of_handle(copy), Error);
}

}  // namespace
}  // namespace weft
