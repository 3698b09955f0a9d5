// Random graphs from the operator table, compiled against the interpreter, to the bit.
#include <gtest/gtest.h>

#include <cstdlib>

#include "compiler/compiled_graph.h"
#include "support/random_graph.h"

namespace weft::compiler {
namespace {

using testing_support::difference;
using testing_support::random_graph;
using testing_support::RandomGraph;
using testing_support::RandomGraphOptions;

std::string run(const RandomGraph& sample, const ir::Graph& graph) {
  try {
    const std::vector<Tensor> want = ir::interpret(graph, sample.inputs);
    CompileOptions options;
    options.prepares_runs = true;
    const auto compiled = compile(graph.clone(), options);
    // As planned; from a list of calls; from the list again.
    std::string found = difference(compiled->run(sample.inputs), want);
    const std::vector<Tensor> kept = compiled->run(sample.inputs);
    for (const auto& got : {compiled->run(sample.inputs), kept})
      if (found.empty() && !(found = difference(got, want)).empty()) found = "prepared: " + found;
    return found;
  } catch (const std::exception& error) {
    return error.what();
  }
}

// WEFT_TEST_SEEDS=first:last runs others than the usual ones.
void expect_same_results(RandomGraphOptions options, uint64_t first, uint64_t last) {
  if (const char* seeds = std::getenv("WEFT_TEST_SEEDS")) {
    char* rest = nullptr;
    first = std::strtoull(seeds, &rest, 10);
    last = std::strtoull(rest + 1, nullptr, 10);
  }
  for (uint64_t seed = first; seed < last; ++seed) {
    options.num_nodes = 3 + static_cast<int>(seed % 18);
    options.symbolic = seed % 2 != 0;
    const RandomGraph sample = random_graph(seed, options);
    const std::string problem = run(sample, *sample.graph);
    if (problem.empty()) continue;
    const auto small = testing_support::shrink(
        *sample.graph, [&](const ir::Graph& graph) { return !run(sample, graph).empty(); });
    ADD_FAILURE() << "seed " << seed << ": " << run(sample, *small).substr(0, 2000) << "\n" << small->str();
    if (std::getenv("WEFT_TEST_SEEDS") == nullptr) return;
  }
}

// The order of a floating sum is the compiler's to choose: these are compared with tolerances elsewhere.
bool is_exact(const ops::OpDef& op) { return op.name != "sum" && op.name != "prod"; }

TEST(RandomGraphs, Integers) {
  expect_same_results({.dtypes = {DType::I32, DType::I64, DType::Bool, DType::U8, DType::I16}}, 0, 30);
}

TEST(RandomGraphs, Floating) { expect_same_results({.accept = is_exact}, 1000, 1030); }

TEST(RandomGraphs, LargerSizes) {
  expect_same_results({.dtypes = {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I64},
                       .sizes = {1, 4, 33, 70},
                       .accept = is_exact},
                      2000, 2020);
}

}  // namespace
}  // namespace weft::compiler
