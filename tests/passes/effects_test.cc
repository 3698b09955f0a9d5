// Operators that write memory stay, stay apart, and stay in order with what reads that memory.
#include "ops/effects.h"

#include <gtest/gtest.h>

#include "compiler/fuse.h"
#include "compiler/stages.h"
#include "passes/pass.h"

namespace weft::passes {
namespace {

constexpr const char* kAttend = " = attention_with_kv_cache(%q, %k, %v, %p, %rope)\n";

std::string graph_of(const std::string& body) {
  return "graph f(%q: f32[2, 12], %k: f32[1, 4, 4], %v: f32[1, 4, 4], %p: i64[], %rope: f32[4, 2, 2]) {\n" +
         body + "}\n";
}

void expect_pipeline_keeps(const std::string& body) {
  const auto graph = ir::parse_graph(graph_of(body));
  compiler::run_graph_stages(*graph);
  ir::verify(*graph);
  EXPECT_EQ(graph->str(), graph_of(body));
}

TEST(Effects, WhichOperatorsHaveThem) {
  EXPECT_TRUE(ops::has_side_effects(ops::get_op("attention_with_kv_cache")));
  EXPECT_FALSE(ops::has_side_effects(ops::get_op("matmul")));
}

TEST(Effects, UnusedWritesStay) {
  expect_pipeline_keeps(std::string("  %1: f32[2, 4]") + kAttend + "  return %q\n");
}

TEST(Effects, EqualWritesStayApart) {
  expect_pipeline_keeps(std::string("  %1: f32[2, 4]") + kAttend + "  %2: f32[2, 4]" + kAttend +
                        "  %3: f32[2, 4] = sub(%1, %2)\n  return %3\n");
}

TEST(Effects, ReadsBeforeAndAfterStayApart) {
  expect_pipeline_keeps(std::string("  %1: f32[1, 4, 4] = neg(%k)\n  %2: f32[2, 4]") + kAttend +
                        "  %3: f32[1, 4, 4] = neg(%k)\n  return %1, %2, %3\n");
}

TEST(Effects, ReadsBetweenWritesAreOne) {
  const auto graph = ir::parse_graph(graph_of(std::string("  %1: f32[2, 4]") + kAttend +
                                              "  %2: f32[1, 4, 4] = neg(%k)\n  %3: f32[1, 4, 4] = neg(%k)\n"
                                              "  %4: f32[1, 4, 4] = add(%2, %3)\n  return %4\n"));
  eliminate_common_subexpressions(*graph);
  EXPECT_EQ(graph->str(),
            graph_of(std::string("  %1: f32[2, 4]") + kAttend +
                     "  %2: f32[1, 4, 4] = neg(%k)\n  %4: f32[1, 4, 4] = add(%2, %2)\n  return %4\n"));
}

TEST(Effects, CopiesAreNotTheMemoryThatChanges) {  // k * 1 keeps what k was
  expect_pipeline_keeps(std::string("  %1: f32[1, 4, 4] = mul(%k, %v)\n  %2: f32[2, 4]") + kAttend +
                        "  return %1, %2\n");
  const auto graph =
      ir::parse_graph(graph_of(std::string("  %1: f32[] = full() {shape=[], value=1.0, dtype=f32}\n  %2: "
                                           "f32[1, 4, 4] = mul(%k, %1)\n  %3: f32[2, 4]") +
                               kAttend + "  %4: f32[1, 4, 4] = neg(%2)\n  return %3, %4\n"));
  canonicalize(*graph);
  EXPECT_NE(graph->str().find("neg(%2)"), std::string::npos) << graph->str();
}

TEST(Effects, CachesMadeInTheGraphAreNoConstants) {
  const std::string full = "full() {shape=[1, 4, 2], value=0.0, dtype=f32}\n";
  const auto graph = ir::parse_graph(
      "graph f(%q: f32[2, 6], %p: i64[], %rope: f32[4, 1, 2]) {\n  %1: f32[1, 4, 2] = " + full +
      "  %2: f32[1, 4, 2] = " + full +
      "  %3: f32[2, 2] = attention_with_kv_cache(%q, %1, %2, %p, %rope)\n"
      "  %4: f32[1, 4, 2] = neg(%1)\n  return %3, %4\n}\n");
  const std::string before = graph->str();
  compiler::run_graph_stages(*graph);
  EXPECT_EQ(graph->str(), before);
}

// ---- random numbers
// ------------------------------------------------------------------------------------------
constexpr const char* kDraw = " = random_uniform(%g) {shape=[3], dtype=f32}\n";

std::string drawing(const std::string& body) { return "graph f(%g: i64[]) {\n" + body + "}\n"; }

TEST(Effects, DrawsStayApartAndInOrder) {
  const std::string text = drawing(std::string("  %1: f32[3]") + kDraw + "  %2: f32[3]" + kDraw +
                                   "  %3: f32[3] = sub(%2, %1)\n  return %3\n");
  const auto graph = ir::parse_graph(text);
  compiler::run_graph_stages(*graph);
  EXPECT_EQ(graph->str(), text);
}

TEST(Effects, DrawsThatNobodyUsesStay) {
  const std::string text = drawing(std::string("  %1: f32[3]") + kDraw + "  return %g\n");
  const auto graph = ir::parse_graph(text);
  compiler::run_graph_stages(*graph);
  EXPECT_EQ(graph->str(), text);
}

TEST(Effects, WhichOperatorsDraw) {
  EXPECT_TRUE(ops::draws(ops::get_op("random_uniform")));
  EXPECT_FALSE(ops::draws(ops::get_op("random_uniform_like")));  // written over it
  EXPECT_TRUE(ops::has_side_effects(ops::get_op("random_seed")));
}

// What reads the cache is a step of its own on its side of the call; the rest may be computed where it is
// used.
TEST(Effects, KernelsReadWhereTheProgramReads) {
  const auto graph = ir::parse_graph(
      graph_of(std::string("  %1: f32[1, 4, 4] = neg(%k)\n  %2: f32[2, 4]") + kAttend +
               "  %3: f32[1, 4, 4] = neg(%k)\n  %4: f32[1, 4, 4] = sub(%1, %3)\n  return %2, %4\n"));
  const compiler::FusionPlan plan = compiler::fuse(*graph);
  std::vector<std::string> order;
  for (const compiler::FusionStep& step : plan.steps)
    if (step.node)
      order.push_back(std::string(step.node->kind_name()));
    else
      for (const ir::Value* root : step.group.roots) order.push_back("%" + std::to_string(root->id));
  EXPECT_EQ(order, (std::vector<std::string>{"%1", "attention_with_kv_cache", "%3", "%4"}));
}

}  // namespace
}  // namespace weft::passes
