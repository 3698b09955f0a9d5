// The list of stages, and what the stages above graphs decide.
#include "compiler/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "nest/text.h"
#include "runtime/log.h"
#include "support/random_graph.h"
#include "weft/error.h"

namespace weft::compiler {
namespace {

using testing::HasSubstr;

TEST(Stages, LogEachResult) {
  const auto graph = ir::parse_graph(
      "graph f(%x: f32[4]) {\n  %1: f32[4] = neg(%x)\n  %2: f32[4] = neg(%x)\n  return %1\n}\n");
  log::set_logs("passes");
  testing::internal::CaptureStderr();
  run_graph_stages(*graph);
  const std::string text = testing::internal::GetCapturedStderr();
  log::set_logs("");
  EXPECT_THAT(text, HasSubstr("f captured\ngraph f(%x: f32[4]) {"));
  EXPECT_THAT(text, testing::ContainsRegex("f canonicalize: [0-9]+ us \\(unchanged\\)"));
  EXPECT_THAT(text, testing::ContainsRegex("f cse: [0-9]+ us\ngraph f"));
}

TEST(Stages, HaveNames) {
  ir::Graph graph("f");
  EXPECT_THROW(run_graph_stage("frobnicate", graph), Error);
}

// Whatever the graph: nests and programs keep their rules after every stage.
class RandomGraphStages : public testing::TestWithParam<bool> {};

TEST_P(RandomGraphStages, KeepTheRulesOfNestsAndPrograms) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const auto sample = testing_support::random_graph(
        seed, {.num_nodes = 4 + static_cast<int>(seed % 24), .symbolic = GetParam()});
    run_graph_stages(*sample.graph);
    const FusionPlan fusion = fuse(*sample.graph);
    for (const FusionStep& step : fusion.steps) {
      if (step.node) continue;
      LoopNest nest = lower(step.group, fusion.memory, {});
      ASSERT_NO_THROW(nest::verify(nest)) << "seed " << seed << " lower\n" << sample.graph->str();
      for (const Stage& stage : stages()) {
        const NestStage* run = std::get_if<NestStage>(&stage.run);
        if (!run) continue;
        (*run)(nest);
        ASSERT_NO_THROW(nest::verify(nest)) << "seed " << seed << " " << stage.name << "\n"
                                            << sample.graph->str();
      }
    }
    if (seed % 8 != 0) continue;
    const Program program = make_program(*sample.graph, {}, {});
    ASSERT_NO_THROW(verify(program)) << "seed " << seed << "\n" << program.str();
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, RandomGraphStages, testing::Bool(),
                         [](const auto& param) { return param.param ? "Symbolic" : "Known"; });

TEST(Programs, ReadNothingThatIsNotThere) {
  const auto graph = ir::parse_graph(
      "graph f(%x: f32[4, 4]) {\n  %1: f32[4, 4] = matmul(%x, %x)\n"
      "  %2: f32[4, 4] = exp(%1)\n  return %2\n}\n");
  const Program program = make_program(*graph, {}, {});
  EXPECT_NO_THROW(verify(program));
  EXPECT_THAT(program.str(), HasSubstr("call matmul; reads 0 0 fills 1"));
  EXPECT_THAT(program.str(), HasSubstr("releases 1"));
  Program unfilled = program;
  unfilled.steps.erase(unfilled.steps.begin());
  EXPECT_THROW(verify(unfilled), Error);
  Program released = program;
  released.steps[0].released.push_back(1);
  EXPECT_THROW(verify(released), Error);
  Program without_result = program;
  without_result.output_slots.push_back(99);
  EXPECT_THROW(verify(without_result), Error);
}

// Deviations of columns: the divisions and the root are computed once per column, not once per element.
TEST(Fuse, CostlyValuesOfColumnsAreStored) {
  const std::string text = R"(graph f(%x: f64[4000, 300], %m: f64[300]) {
  %1: f64[300] = sqrt(%m)
  %2: f64[4000, 300] = sub(%x, %1)
  %3: f64[300] = neg(%m)
  %4: f64[4000, 300] = add(%2, %3)
  return %4
}
)";
  const auto roots = [](const std::string& source) {
    const auto graph = ir::parse_graph(source);
    std::vector<std::string> found;
    for (const FusionStep& step : fuse(*graph).steps)
      for (const ir::Value* root : step.group.roots) found.push_back("%" + std::to_string(root->id));
    return found;
  };
  EXPECT_EQ(roots(text), (std::vector<std::string>{"%1", "%4"}));
  std::string small = text;
  for (size_t at; (at = small.find("4000")) != std::string::npos;) small.replace(at, 4, "4");
  EXPECT_EQ(roots(small), (std::vector<std::string>{"%4"}));
}

// What a reduction evaluates along its own dimension is not repeated where the reduction is moved out of a
// loop.
TEST(Fuse, OperandsOfReductionsOfRowsAreNotStored) {
  const auto graph = ir::parse_graph(R"(graph f(%x: f64[4000, 300]) {
  %1: f64[4000, 300] = exp(%x)
  %2: f64[4000, 1] = sum(%1) {dim=[1], keepdim=true, dtype=none}
  %3: f64[4000, 300] = sub(%x, %2)
  return %3
}
)");
  EXPECT_EQ(fuse(*graph).steps.size(), 1u);
}

}  // namespace
}  // namespace weft::compiler
