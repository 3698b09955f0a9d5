// numpy.roll: what is turned is read where it is used, in the pieces between the ends of its rings.
#include "compare.h"

namespace weft::compiler::harness {
namespace {

using Tensors = std::vector<Tensor>;

Tensor roll(const Tensor& x, int64_t shift, int64_t dim) {
  return ops::call1("roll", {x}, {{"shifts", SymShape{Sym(shift)}}, {"dims", SymShape{Sym(dim)}}});
}
Tensor rotated_pointwise(std::string_view name, const Tensor& a, const Tensor& b) {
  return ops::call1(name, {a, b}, {});
}
Tensor rotated_reduce(std::string_view name, const Tensor& x, int64_t dim) {
  const ops::Attr along = name == "argmax" ? ops::Attr(Sym(dim)) : ops::Attr(SymShape{Sym(dim)});
  return ops::call1(name, {x}, {{"dim", along}, {"keepdim", true}});
}

std::string rotated_steps(const Function& function, const Tensors& inputs) {
  return compile(trace("f", function, inputs, false))->describe();
}

TEST(Rotation, AStencilIsOneKernelWithoutCopies) {
  const auto f = [](const Tensors& in) {
    const Tensor sides = rotated_pointwise("add", roll(in[0], 1, 1), roll(roll(in[0], -1, 0), -3, 1));
    return Tensors{rotated_pointwise("add", sides, roll(in[0], 2, 0))};
  };
  const std::string steps = rotated_steps(f, {sample({40, 50}, DType::F64, 1)});
  EXPECT_EQ(steps.find("call"), std::string::npos) << steps;
}

TEST(Rotation, OfRowsOnlyIsOneLoop) {
  const auto f = [](const Tensors& in) {
    return Tensors{rotated_pointwise("add", in[0], roll(in[0], 5, 0))};
  };
  const auto compiled = compile(trace("f", f, {sample({40, 3}, DType::F64, 1)}, false));
  ASSERT_EQ(compiled->kernels().size(), 1U);
  EXPECT_EQ(compiled->kernels()[0].source.find("for_rows(begin"), std::string::npos)
      << compiled->kernels()[0].source;
}

TEST(Rotation, OfShortRowsIsACopy) {
  const auto f = [](const Tensors& in) {
    return Tensors{rotated_pointwise("add", in[0], roll(in[0], 1, 1))};
  };
  EXPECT_NE(rotated_steps(f, {sample({40, 7}, DType::F64, 1)}).find("call join"), std::string::npos);
}

// What is turned again and again is not computed again and again.
TEST(Rotation, StepsAreStored) {
  const auto f = [](const Tensors& in) {
    Tensor x = in[0];
    for (int step = 0; step < 6; ++step)
      x = rotated_pointwise("mul", rotated_pointwise("add", roll(x, 1, 0), roll(x, -1, 0)), x);
    return Tensors{x};
  };
  const auto compiled = compile(trace("f", f, {sample({500}, DType::F64, 1)}, false));
  EXPECT_EQ(compiled->kernels().size(), 6U);
  run_case({"steps", f, {sample({500}, DType::F64, 1)}});
}

Tensors rotated_program(unsigned seed, const Tensors& in) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  const int64_t dims = in[0].dim();
  Tensors full = in, results;
  for (int step = 0; step < 8; ++step) {
    const Tensor x = full[static_cast<size_t>(below(static_cast<int64_t>(full.size())))];
    const Tensor y = full[static_cast<size_t>(below(static_cast<int64_t>(full.size())))];
    const int64_t dim = below(dims);
    switch (below(8)) {
      case 0:
      case 1:
      case 2: full.push_back(roll(x, below(9) - 4, dim)); break;
      case 3:
      case 4: full.push_back(rotated_pointwise("add", x, y)); break;
      case 5: full.push_back(ops::call1("flip", {x}, {{"dims", SymShape{Sym(dim)}}})); break;
      case 6: results.push_back(rotated_reduce(below(2) == 0 ? "sum" : "argmax", x, dim)); break;
      default:
        results.push_back(
            ops::build::slice(rotated_pointwise("sub", x, y), dim, Sym(1), std::nullopt, 1 + below(2)));
    }
  }
  results.push_back(full.back());
  return results;
}

TEST(Rotation, RandomPrograms) {
  const Shape shapes[] = {{100}, {6, 70}, {70, 6}, {3, 40, 5}, {2, 2}, {5, 3, 33}};
  const DType dtypes[] = {DType::I64, DType::I8, DType::I32};
  for (unsigned seed = 0; seed < 36; ++seed) {
    const Shape& shape = shapes[seed % 6];
    const DType dtype = dtypes[seed % 3];
    CompileOptions options;
    options.vector_bytes = seed % 2 == 0 ? 32 : 64;
    const auto f = [seed](const Tensors& in) { return rotated_program(seed, in); };
    run_case(
        {"program " + std::to_string(seed), f, {sample(shape, dtype, seed), sample(shape, dtype, seed + 1)}},
        options, seed % 4 == 3);
  }
}

}  // namespace
}  // namespace weft::compiler::harness
