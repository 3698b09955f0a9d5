// Every pass keeps what the interpreter computes, bit for bit, on random graphs; so does the text form.
#include <gtest/gtest.h>

#include "compiler/stages.h"
#include "support/random_graph.h"

namespace weft::passes {
namespace {

using testing_support::difference;
using testing_support::random_graph;
using testing_support::RandomGraph;

std::string run(const RandomGraph& sample, const ir::Graph& source,
                const std::function<void(ir::Graph&)>& pass) {
  const auto graph = source.clone();
  try {
    pass(*graph);
    ir::verify(*graph);
    return difference(ir::interpret(*graph, sample.inputs), ir::interpret(source, sample.inputs));
  } catch (const Error& error) {
    return error.what();
  }
}

void expect_kept(uint64_t seed, const RandomGraph& sample, const std::string& name,
                 const std::function<void(ir::Graph&)>& pass) {
  const std::string problem = run(sample, *sample.graph, pass);
  if (problem.empty()) return;
  const auto small = testing_support::shrink(
      *sample.graph, [&](const ir::Graph& graph) { return !run(sample, graph, pass).empty(); });
  const auto after = small->clone();
  pass(*after);
  ADD_FAILURE() << "seed " << seed << ", " << name << ": " << problem << "\n" << small->str() << after->str();
}

class RandomGraphs : public testing::TestWithParam<bool> {};

TEST_P(RandomGraphs, PassesKeepResults) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const RandomGraph sample =
        random_graph(seed, {.num_nodes = 4 + static_cast<int>(seed % 24), .symbolic = GetParam()});
    ASSERT_NO_THROW(ir::verify(*sample.graph)) << "seed " << seed << "\n" << sample.graph->str();
    for (const compiler::Stage& stage : compiler::stages())
      if (const auto* run = std::get_if<compiler::GraphStage>(&stage.run))
        expect_kept(seed, sample, std::string(stage.name), *run);
    expect_kept(seed, sample, "all stages", compiler::run_graph_stages);
    if (HasFailure()) return;
  }
}

TEST_P(RandomGraphs, TextParsesBack) {
  for (uint64_t seed = 1000; seed < 1200; ++seed) {
    const RandomGraph sample = random_graph(seed, {.num_nodes = 20, .symbolic = GetParam()});
    const auto parsed = ir::parse_graph(sample.graph->str());
    ASSERT_EQ(parsed->str(), sample.graph->str()) << "seed " << seed;
    ASSERT_NO_THROW(ir::verify(*parsed)) << "seed " << seed;
    ASSERT_EQ(difference(ir::interpret(*parsed, sample.inputs), ir::interpret(*sample.graph, sample.inputs)),
              "");
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, RandomGraphs, testing::Bool(),
                         [](const auto& param) { return param.param ? "Symbolic" : "Known"; });

}  // namespace
}  // namespace weft::passes
