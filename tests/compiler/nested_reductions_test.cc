// Reductions of what depends on reductions, many in one graph: loops are shared where they can be, and none
// may come to need itself.
#include <cstdlib>

#include "compare.h"

namespace weft::compiler::harness {
namespace {

using Tensors = std::vector<Tensor>;

Tensor nested_reduce(std::string_view name, const Tensor& x, const SymShape& dims, bool keepdim) {
  return ops::call1(name, {x}, {{"dim", dims}, {"keepdim", keepdim}});
}

Tensor nested_pointwise(std::string_view name, const Tensor& a, const Tensor& b) {
  return ops::call1(name, {a, b}, {});
}

TEST(NestedReductions, ALoopIsNotSharedThroughAnother) {
  const auto f = [](const Tensors& in) {
    const Tensor& x = in[0];
    const Tensor first = nested_reduce("sum", x, {0}, false);
    const Tensor centered = nested_pointwise("sub", x, first);
    const Tensor second = nested_reduce("sum", nested_pointwise("mul", centered, centered), {0}, false);
    const Tensor third = nested_reduce("amax", x, {0}, false);
    const Tensor fourth = nested_reduce("sum", nested_pointwise("mul", x, third), {0}, false);
    return Tensors{second, third, fourth};
  };
  for (int64_t n : {20, 1000, 40000})
    run_case({"through another", f, {sample({n}, DType::I64, 1)}}, {}, n == 1000);
}

// Integers: the order of sums does not matter.
Tensors nested_program(unsigned seed, const Tensors& in) {
  std::mt19937_64 random(seed);
  Tensors full = in, small;  // arrays of the inputs' shape; reduced ones, with dimensions of 1
  static constexpr const char* kPointwise[] = {"add", "sub", "maximum", "minimum"};
  static constexpr const char* kReduce[] = {"sum", "amax", "amin"};
  const auto pick = [&](const Tensors& from) { return from[random() % from.size()]; };
  const int style = static_cast<int>(random() % 3);  // all dimensions, one, or either
  const SymShape one = {Sym(static_cast<int64_t>(random() % static_cast<uint64_t>(in[0].dim())))};
  SymShape all;
  for (int64_t d = 0; d < in[0].dim(); ++d) all.emplace_back(d);
  for (int step = 0; step < 12; ++step) {
    if (random() % 2 == 0 || small.empty()) {
      const bool everything = style == 0 || (style == 2 && random() % 2 == 0);
      small.push_back(nested_reduce(kReduce[random() % 3], pick(full), everything ? all : one, true));
    } else if (random() % 4 == 0) {
      small.push_back(nested_pointwise(kPointwise[random() % 4], pick(small), pick(small)));
    } else {
      full.push_back(
          nested_pointwise(kPointwise[random() % 4], pick(full), pick(random() % 4 == 0 ? full : small)));
    }
  }
  Tensors results;
  for (size_t k = 0; k < 1 + seed % 4; ++k) results.push_back(pick(random() % 2 == 0 ? full : small));
  return results;
}

TEST(NestedReductions, RandomPrograms) {
  unsigned first = 0, last = 60;
  if (const char* seeds = std::getenv("WEFT_TEST_SEEDS")) {  // first:last
    char* rest = nullptr;
    first = static_cast<unsigned>(std::strtoul(seeds, &rest, 10));
    last = static_cast<unsigned>(std::strtoul(rest + 1, nullptr, 10));
  }
  for (unsigned seed = first; seed < last; ++seed) {
    static const std::vector<Shape> kShapes = {{50}, {40, 4}, {4, 40}, {100, 100}, {3, 5, 70}, {20000}};
    const Shape& shape = kShapes[seed % kShapes.size()];
    run_case({"seed " + std::to_string(seed),
              [=](const Tensors& in) { return nested_program(seed, in); },
              {sample(shape, DType::I64, seed), sample(shape, DType::I64, seed + 1)}},
             {}, seed / 6 % 2 == 1);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::compiler::harness
