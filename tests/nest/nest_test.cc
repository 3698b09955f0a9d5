// Loop nests as text, and what the verifier refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "compiler/stages.h"
#include "nest/passes.h"
#include "nest/text.h"
#include "weft/error.h"

namespace weft::nest {
namespace {

using testing::HasSubstr;

// A nest, with the graph whose values and sizes it names.
struct Sample {
  std::shared_ptr<ir::Graph> graph;
  LoopNest nest;
};

// Of a graph that is one kernel, as lowering leaves it.
Sample lowered(const std::string& text) {
  const std::shared_ptr<ir::Graph> graph = ir::parse_graph(text);
  const compiler::FusionPlan fusion = compiler::fuse(*graph);
  EXPECT_EQ(fusion.steps.size(), 1u);
  return {graph,
          compiler::lower(fusion.steps[0].group, fusion.memory, {.vector_bytes = 32, .is_read_later = true})};
}

Sample ordered(const std::string& text) {
  Sample sample = lowered(text);
  choose_lanes(sample.nest);
  find_load_groups(sample.nest);
  order_statements(sample.nest);
  return sample;
}

constexpr const char* kRowSums = R"(graph f[s0=100](%x: f32[s0, 50]) {
  %1: f32[s0, 50] = exp(%x)
  %2: f32[s0] = sum(%1) {dim=[1], keepdim=false, dtype=none}
  return %2
}
)";

TEST(NestText, OfRowSums) {
  EXPECT_EQ(str(ordered(kRowSums).nest), R"(nest sum_exp: 32 bytes per vector, 1 ns per element
  out out: f32
  in x: f32
  parallel i < s0:
    vector_reduce r0 < 50, 8 lanes:
      %0 = f32* load x[50*i + r0]
      %1 = f32* exp(%0)
      acc 0 = sum:f32 of %1
    %2 = f32 acc 0 of r0
    out[i] = %2
)");
}

TEST(NestText, OfIndices) {
  IndexSpace space;
  const int i = space.new_loop("i", Sym(100)), j = space.new_loop("j", Sym(10));
  EXPECT_EQ(str(space, Index(3)), "3");
  const Index flat = space.add(space.scale(IndexSpace::of(i), Sym(10)), IndexSpace::of(j));
  EXPECT_EQ(str(space, flat), "10*i + j");
  EXPECT_EQ(str(space, space.add(flat, Index(2))), "10*i + j + 2");
  EXPECT_EQ(str(space, space.quotient(space.add(flat, Index(5)), Sym(7))), "((10*i + j + 5) / 7)");
  EXPECT_EQ(str(space, space.on_ring(space.add(IndexSpace::of(i), Index(3)), Sym(100))), "ring(i + 3, 100)");
}

void expect_refused(const LoopNest& nest, const std::string& what) {
  try {
    verify(nest);
    ADD_FAILURE() << "accepted, where it should say: " << what << "\n" << str(nest);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(what));
  }
}

TEST(NestVerifier, AcceptsWhatLoweringGives) {
  EXPECT_NO_THROW(verify(lowered(kRowSums).nest));
  EXPECT_NO_THROW(verify(ordered(kRowSums).nest));
}

TEST(NestVerifier, RefusesAddressesOfLoopsThatAreNotAround) {
  Sample sample = lowered(kRowSums);
  LoopNest& nest = sample.nest;
  nest.scope(1).stores[0].index = nest.node(0).index;  // along the row, outside of the loop over it
  expect_refused(nest, "uses the variable r0 of a loop that is not around it");
}

TEST(NestVerifier, RefusesOperandsOfInnerLoops) {
  Sample sample = lowered(kRowSums);
  LoopNest& nest = sample.nest;
  nest.scope(1).stores[0].value = 1;
  expect_refused(nest, "a store in scope 1 uses %1 of scope");
}

TEST(NestVerifier, RefusesStoresIntoOperands) {
  Sample sample = lowered(kRowSums);
  LoopNest& nest = sample.nest;
  for (Buffer& buffer : nest.buffers) buffer.written = false;
  expect_refused(nest, "a store into what is not written");
}

TEST(NestVerifier, RefusesUseBeforeComputation) {
  Sample sample = ordered(kRowSums);
  LoopNest& nest = sample.nest;
  for (Scope& scope : nest.scopes) std::reverse(scope.statements.begin(), scope.statements.end());
  expect_refused(nest, "is used before it is computed");
}

TEST(NestVerifier, RefusesResultsOfOtherLoops) {
  Sample sample = lowered(kRowSums);
  LoopNest& nest = sample.nest;
  for (KernelNode& node : nest.nodes)
    if (node.kind == KernelNode::Kind::Reduced) node.accumulator = 7;
  expect_refused(nest, "is the result of no accumulator");
}

}  // namespace
}  // namespace weft::nest
