// weft::compile of C++ functions: results as in plain calls, few variants, guards that hold.
#include "weft/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "ops/registry.h"
#include "weft/error.h"

namespace weft {
namespace {

using testing::HasSubstr;

Tensor op(std::string_view name, std::vector<Tensor> operands, ops::Attrs attrs = {}) {
  return ops::call1(name, std::move(operands), std::move(attrs));
}

Tensor iota(int64_t n) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i));
  return Tensor::of(values);
}

std::vector<double> elements(const Tensor& tensor) {
  std::vector<double> result;
  for (int64_t i = 0; i < tensor.numel(); ++i) result.push_back(tensor.at(i));
  return result;
}

Tensor twice(Tensor x) { return op("add", {x, x}); }

TEST(Compile, GivesWhatTheFunctionGives) {
  const auto compiled = compile(twice);
  EXPECT_EQ(elements(compiled(iota(3))), (std::vector<double>{0, 2, 4}));
  EXPECT_EQ(elements(compiled(iota(3))), (std::vector<double>{0, 2, 4}));
  EXPECT_EQ(compiled.num_variants(), 1u);
}

TEST(Compile, RunsTheFunctionOnce) {
  int runs = 0;
  const auto compiled = compile([&runs](const Tensor& x) {
    ++runs;
    return twice(x);
  });
  for (int i = 0; i < 5; ++i) compiled(iota(3));
  EXPECT_EQ(runs, 1);
}

TEST(Compile, ReturnsTuplesArraysVectorsAndNothing) {
  const Tensor x = iota(3);
  const auto [a, b] = compile([](Tensor t) { return std::tuple(twice(t), op("mul", {t, t})); })(x);
  EXPECT_EQ(elements(a), (std::vector<double>{0, 2, 4}));
  EXPECT_EQ(elements(b), (std::vector<double>{0, 1, 4}));
  const auto array = compile([](Tensor t) { return std::array{twice(t), t}; })(x);
  EXPECT_EQ(elements(array[0]), (std::vector<double>{0, 2, 4}));
  EXPECT_EQ(array[1].data(), x.data());
  EXPECT_EQ(compile([](Tensor t) { return std::vector<Tensor>(4, t); })(x).size(), 4u);
  compile([](Tensor t) { t.copy_from(twice(t)); })(x);
  EXPECT_EQ(elements(x), (std::vector<double>{0, 2, 4}));
}

TEST(Compile, ASecondSizeBecomesSymbolic) {
  const auto compiled = compile(twice, {.name = "twice"});
  for (int64_t n : {5, 6, 7, 8, 9, 100})
    EXPECT_EQ(compiled(iota(n)).at(n - 1), 2.0 * static_cast<double>(n - 1));
  EXPECT_EQ(compiled.num_variants(), 2u);
  EXPECT_THAT(compiled.explain(), HasSubstr("twice specialization 2\nargument 0: f64[s0] contiguous\n"));
}

TEST(Compile, SizesZeroAndOneAreTheirOwn) {
  const auto compiled = compile(twice, {.dynamic = true});
  for (int64_t n : {7, 1, 0, 3}) EXPECT_EQ(compiled(iota(n)).numel(), n);
  EXPECT_EQ(compiled.num_variants(), 3u);
}

TEST(Compile, EqualSizesStayEqualUnderGuards) {
  const auto compiled = compile([](Tensor x, Tensor y) { return op("add", {x, y}); }, {.dynamic = true});
  EXPECT_EQ(compiled(iota(4), iota(4)).numel(), 4);
  EXPECT_EQ(compiled(iota(9), iota(9)).numel(), 9);
  EXPECT_EQ(compiled.num_variants(), 1u);
  EXPECT_THROW(compiled(iota(9), iota(8)), Error);
  EXPECT_EQ(compiled(iota(9), iota(1)).numel(), 9);
}

TEST(Compile, ReadSizesAreGuarded) {
  const auto compiled = compile(
      [](Tensor x) { return op("mul", {x, Tensor::scalar(static_cast<double>(x.size(0)), DType::F64)}); },
      {.dynamic = true});
  EXPECT_EQ(compiled(iota(3)).at(2), 6);
  EXPECT_EQ(compiled(iota(4)).at(2), 8);
  EXPECT_EQ(compiled.num_variants(), 2u);
}

TEST(Compile, GuardsDtypeRankAndStrides) {
  const auto compiled = compile(twice);
  compiled(iota(4));
  EXPECT_EQ(compiled(iota(4).to(DType::F32)).dtype(), DType::F32);
  EXPECT_EQ(compiled(Tensor::full({4, 1}, 3, DType::F64)).dim(), 2);
  EXPECT_EQ(elements(compiled(iota(8).as_strided({4}, {2}, 0))), (std::vector<double>{0, 4, 8, 12}));
  EXPECT_EQ(elements(compiled(iota(4).as_strided({4}, {-1}, 3))), (std::vector<double>{6, 4, 2, 0}));
  EXPECT_EQ(compiled.num_variants(), 5u);
}

TEST(Compile, StopsAtEightVariants) {
  const auto compiled = compile(twice, {.dynamic = false});
  for (int64_t n = 2; n < 20; ++n) EXPECT_EQ(compiled(iota(n)).at(n - 1), 2.0 * static_cast<double>(n - 1));
  EXPECT_EQ(compiled.num_variants(), 8u);
}

TEST(Compile, WritesToArguments) {
  const auto compiled = compile([](Tensor x, Tensor y) {
    x.copy_from(op("add", {x, y}));
    return op("mul", {x, y});
  });
  const Tensor x = iota(3);
  EXPECT_EQ(elements(compiled(x, iota(3))), (std::vector<double>{0, 2, 8}));
  EXPECT_EQ(elements(x), (std::vector<double>{0, 2, 4}));
  // An update of an array that another argument shares: as the plain call does it.
  const Tensor shared = iota(3);
  EXPECT_EQ(elements(compiled(shared, shared)), (std::vector<double>{0, 4, 16}));
  EXPECT_EQ(elements(shared), (std::vector<double>{0, 2, 4}));
}

TEST(Compile, AnUpdatedArgumentReturnedIsTheArgument) {
  const auto compiled = compile([](Tensor x) {
    x.copy_from(twice(x));
    return x;
  });
  const Tensor x = iota(3);
  EXPECT_EQ(compiled(x).data(), x.data());
  EXPECT_EQ(elements(x), (std::vector<double>{0, 2, 4}));
}

TEST(Compile, ClonesAreFresh) {
  const auto compiled = compile([](Tensor x) {
    const Tensor copy = x.clone();
    x.copy_from(twice(x));
    return std::pair(copy, x.contiguous());
  });
  const Tensor x = iota(3);
  const auto [copy, same] = compiled(x);
  EXPECT_EQ(elements(copy), (std::vector<double>{0, 1, 2}));
  EXPECT_NE(copy.data(), x.data());
  EXPECT_EQ(same.data(), x.data());
  const Tensor strided = iota(6).as_strided({3}, {2}, 0);
  EXPECT_NE(compile([](Tensor t) { return t.contiguous(); })(strided).data(), strided.data());
}

TEST(Compile, ReadingElementsFallsBackToThePlainCall) {
  const auto function = [](Tensor x) { return x.at(0) > 0 ? twice(x) : x; };
  const auto compiled = compile(function);
  EXPECT_EQ(elements(compiled(Tensor::of<double>({1, 2}))), (std::vector<double>{2, 4}));
  EXPECT_EQ(elements(compiled(Tensor::of<double>({-1, 2}))), (std::vector<double>{-1, 2}));
  EXPECT_THAT(compiled.explain(),
              HasSubstr("called as it is: at: the elements of a traced tensor are not known"));
  EXPECT_THROW(compile(function, {.fullgraph = true})(iota(2)), Error);
}

TEST(Compile, ErrorsOfTheFunctionAreItsOwn) {
  const auto compiled = compile([](Tensor x, Tensor y) { return op("add", {x, y}); });
  try {
    compiled(iota(2), iota(3));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Value);
    EXPECT_THAT(error.what(), HasSubstr("add: "));
  }
  EXPECT_EQ(compiled.num_variants(), 0u);
  EXPECT_THROW(compile(twice, {.mode = "fast"}), Error);
}

TEST(Compile, AnyNameWill) {
  const auto compiled = compile(twice, {.name = "2 times: x"});
  compiled(iota(3));
  EXPECT_THAT(compiled.explain(), HasSubstr("graph function_2_times__x("));
}

TEST(Compile, NestsInAnotherTrace) {
  const auto inner = compile(twice);
  const auto outer = compile([inner](Tensor x) { return inner(inner(x)); });
  EXPECT_EQ(elements(outer(iota(3))), (std::vector<double>{0, 4, 8}));
  EXPECT_EQ(inner.num_variants(), 0u);
}

TEST(Compile, IsThreadSafe) {
  const auto compiled = compile(twice, {.dynamic = true});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&compiled, t] {
      for (int64_t n = 2; n < 50; ++n) EXPECT_EQ(compiled(iota(n + t)).numel(), n + t);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiled.num_variants(), 1u);
}

// Whatever is measured; a second size is symbolic. Sums of products of small integers are exact.
TEST(Compile, MaxAutotuneGivesTheSame) {
  const auto square = [](Tensor x) { return twice(op("matmul", {x, twice(x)})); };
  const auto compiled = compile(square, {.name = "tuned", .mode = "max-autotune"});
  for (const int64_t size : {130, 200, 65}) {
    std::vector<float> values(static_cast<size_t>(size * size));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13);
    const Tensor x = Tensor::of(values).as_strided({size, size}, {size, 1}, 0);
    EXPECT_EQ(elements(compiled(x)), elements(square(x))) << size;
  }
  EXPECT_EQ(compiled.num_variants(), 2u);
}

}  // namespace
}  // namespace weft
