// Compares what is compiled with what the interpreter gives.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "compiler/compiled_graph.h"
#include "ir/trace.h"
#include "ops/build.h"

namespace weft::compiler::harness {

// Runs of sizes that came before are lists of calls.
inline CompileOptions preparing() {
  CompileOptions options;
  options.prepares_runs = true;
  return options;
}

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

inline std::unique_ptr<ir::Graph> trace(const std::string& name, const Function& function,
                                        const std::vector<Tensor>& inputs, bool symbolic) {
  ir::GraphTracer tracer(name);
  ops::TracerScope scope(&tracer);
  std::vector<Tensor> traced;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ops::TensorType type{inputs[i].dtype(), {}, {}};
    for (int64_t size : inputs[i].shape())
      type.shape.push_back(symbolic && size > 1 ? tracer.graph().env().new_symbol(size) : Sym(size));
    traced.push_back(tracer.input(type, std::string(1, static_cast<char>('x' + i % 3)) + (i > 2 ? "2" : "")));
  }
  return tracer.finish(function(traced));
}

// Normal numbers with a few special values; integers in a small range.
inline Tensor sample(const Shape& shape, DType dtype, unsigned seed, bool special = false) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 3);
  Tensor x = Tensor::empty(shape, DType::F64);
  for (int64_t i = 0; i < x.numel(); ++i) {
    double value = is_floating(dtype) ? normal(random) : std::floor(normal(random));
    if (!is_signed(dtype)) value = std::fabs(value);
    if (dtype == DType::Bool) value = random() % 2;
    if (special && is_floating(dtype) && random() % 16 == 0) {
      const double values[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e-310, 1e38};
      value = values[random() % 7];
    }
    x.data_as<double>()[i] = value;
  }
  return x.to(dtype);
}

// tolerance: relative to the largest magnitude of the result; 0: equal bits (any NaN equals any NaN).
inline void expect_equal(const Tensor& got, const Tensor& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_EQ(got.shape(), want.shape()) << what;
  double scale = 0;
  for (int64_t i = 0; i < want.numel(); ++i)
    if (std::isfinite(want.at(i))) scale = std::max(scale, std::fabs(want.at(i)));
  int64_t wrong = 0;
  for (int64_t i = 0; i < want.numel() && wrong < 4; ++i) {
    double a = got.at(i), b = want.at(i);
    bool same =
        (std::isnan(a) && std::isnan(b)) || (a == b && (tolerance > 0 || std::signbit(a) == std::signbit(b)));
    if (!same && tolerance > 0) same = std::fabs(a - b) <= tolerance * scale;
    if (same) continue;
    ++wrong;
    ADD_FAILURE() << what << ": element " << i << ": got " << a << ", want " << b;
  }
}

struct Case {
  std::string name;
  Function function;
  std::vector<Tensor> inputs;
  double tolerance = 0;
};

inline void run_case(const Case& c, const CompileOptions& options = {}, bool symbolic = false) {
  SCOPED_TRACE(c.name);
  auto graph = trace("f", c.function, c.inputs, symbolic);
  std::string text = graph->str();
  std::shared_ptr<CompiledGraph> compiled;
  try {
    compiled = compile(graph->clone(), options);
    std::vector<Tensor> want = ir::interpret(*graph, c.inputs), got = compiled->run(c.inputs);
    ASSERT_EQ(got.size(), want.size());
    std::string sources;
    for (const KernelInfo& kernel : compiled->kernels()) sources += kernel.source;
    for (size_t i = 0; i < got.size(); ++i) {
      expect_equal(got[i], want[i], c.tolerance, c.name + " output " + std::to_string(i));
      if (::testing::Test::HasFailure()) {
        ADD_FAILURE() << text << sources << compiled->describe();
        return;
      }
    }
  } catch (const std::exception& error) {
    ADD_FAILURE() << c.name << ": " << error.what() << "\n" << text;
  }
}

}  // namespace weft::compiler::harness
