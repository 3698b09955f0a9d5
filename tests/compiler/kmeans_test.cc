// The program weft was started for: k-means' assignment step as one loop, exact to the bit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "compiler/compiled_graph.h"
#include "runtime/toolchain.h"
#include "weft/parallel.h"

namespace weft::compiler {
namespace {

std::string kmeans_text(const std::string& size, const std::string& dtype) {
  const std::string symbols = size == "s0" ? "[s0=100]" : "";
  return "graph kmeans" + symbols + "(%X: " + dtype + "[" + size + ", 2], %means: i64[2, 2]) {\n" +
         "  %2: i64[2, 1, 2] = reshape(%means) {shape=[2, 1, 2]}  # kmeans.py:4\n"
         "  %3: " +
         dtype + "[2, 1, 2] = cast(%2) {dtype=" + dtype + "}  # kmeans.py:4\n" + "  %4: " + dtype + "[2, " +
         size + ", 2] = sub(%X, %3)  # kmeans.py:4\n" + "  %5: " + dtype + "[2, " + size +
         ", 2] = mul(%4, %4)  # kmeans.py:4\n" + "  %6: " + dtype + "[2, " + size +
         "] = sum(%5) {dim=[2], keepdim=false, dtype=none}  # kmeans.py:4\n" + "  %7: " + dtype + "[2, " +
         size + "] = sqrt(%6)  # kmeans.py:4\n" + "  %8: i64[" + size +
         "] = argmin(%7) {dim=0, keepdim=false}  # kmeans.py:4\n" + "  return %8\n}\n";
}

Tensor points(int64_t n, DType dtype, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(7.5, 3);
  Tensor x = Tensor::empty({n, 2}, DType::F64);
  for (int64_t i = 0; i < 2 * n; ++i) x.data_as<double>()[i] = normal(random);
  return x.to(dtype);
}

Tensor two_means() { return Tensor::of<int64_t>({5, 5, 10, 10}, {2, 2}); }

void expect_same_labels(const CompiledGraph& compiled, const ir::Graph& graph, const Tensor& x,
                        const Tensor& means) {
  const Tensor got = compiled.run({x, means}).at(0), want = ir::interpret(graph, {x, means}).at(0);
  ASSERT_EQ(got.shape(), want.shape());
  ASSERT_EQ(got.dtype(), DType::I64);
  EXPECT_EQ(std::memcmp(got.data(), want.data(), static_cast<size_t>(got.numel()) * 8), 0);
}

TEST(KMeans, IsOneKernelForEverySize) {
  for (const char* dtype : {"f64", "f32"}) {
    const auto graph = ir::parse_graph(kmeans_text("s0", dtype));
    const auto compiled = compile(graph->clone());
    ASSERT_EQ(compiled->kernels().size(), 1u);
    for (int64_t n : {2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 1000, 100003})
      expect_same_labels(*compiled, *graph, points(n, graph->inputs()[0]->tensor().dtype, 1), two_means());
  }
}

TEST(KMeans, StreamsLargeOutputs) {
  constexpr int64_t n = 3'000'017;
  const auto graph = ir::parse_graph(kmeans_text(std::to_string(n), "f64"));
  const auto compiled = compile(graph->clone());
  EXPECT_NE(compiled->kernels().at(0).source.find("lanes.stream"), std::string::npos);
  expect_same_labels(*compiled, *graph, points(n, DType::F64, 2), two_means());
}

// Points whose two distances are equal, or so near that rounding of the roots decides; and special values.
TEST(KMeans, TiesAndSpecialValues) {
  std::mt19937_64 random(3);
  const double infinity = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN();
  const double special[] = {0,       -0.0,  1,      5,        7.5,       10,  1e-310,
                            -1e-310, 1e300, -1e300, infinity, -infinity, nan, 5e-324};
  std::vector<double> values;
  for (double a : special)
    for (double b : special) values.insert(values.end(), {a, b});
  std::uniform_real_distribution<double> uniform(-20, 20);
  for (int i = 0; i < 20000; ++i) {
    // On the bisector of (5, 5) and (10, 10), and a few units in the last place off it.
    double a = uniform(random), b = 15 - a;
    for (int k = static_cast<int>(random() % 4); k > 0; --k) b = std::nextafter(b, random() % 2 ? 100 : -100);
    values.insert(values.end(), {a, b});
  }
  for (const char* dtype : {"f64", "f32"}) {
    const auto graph = ir::parse_graph(kmeans_text("s0", dtype));
    const auto compiled = compile(graph->clone());
    const Tensor x = Tensor::of(values, {static_cast<int64_t>(values.size() / 2), 2})
                         .to(graph->inputs()[0]->tensor().dtype);
    expect_same_labels(*compiled, *graph, x, two_means());
    expect_same_labels(*compiled, *graph, x, Tensor::of<int64_t>({5, 5, 5, 5}, {2, 2}));
  }
}

TEST(KMeans, IndependentOfThreads) {
  const auto graph = ir::parse_graph(kmeans_text("s0", "f64"));
  const auto compiled = compile(graph->clone());
  const Tensor x = points(500'000, DType::F64, 4);
  const int threads = get_num_threads();
  for (int n : {1, 2, 3}) {
    set_num_threads(n);
    expect_same_labels(*compiled, *graph, x, two_means());
  }
  set_num_threads(threads);
}

TEST(KMeans, AllWidthsAndToolchains) {
  const auto graph = ir::parse_graph(kmeans_text("s0", "f64"));
  for (int width : {16, 32, 64}) {
    for (const runtime::Toolchain* toolchain : runtime::toolchains()) {
      if (!toolchain->available(nullptr)) continue;
      const auto compiled =
          compile(graph->clone(),
                  {.toolchain = std::string(toolchain->name()), .vector_bytes = width, .input_strides = {}});
      expect_same_labels(*compiled, *graph, points(1001, DType::F64, 5), two_means());
    }
  }
}

}  // namespace
}  // namespace weft::compiler
