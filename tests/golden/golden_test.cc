// Loop nests and generated code, kept as text: a change of what is generated is a diff to be reviewed.
// GOLDEN_UPDATE=1 rewrites the files.
#include "support/golden.h"

#include <gtest/gtest.h>

#include "compiler/stages.h"
#include "nest/text.h"

namespace weft::compiler {
namespace {

struct Generated {
  std::string nests, code;
};

Generated generated(const std::string& text) {
  const auto graph = ir::parse_graph(text);
  run_graph_stages(*graph);
  const FusionPlan plan = fuse(*graph);
  Generated result;
  for (const FusionStep& step : plan.steps) {
    if (step.node) {
      result.code += "// call " + std::string(step.node->kind_name()) + "\n";
      continue;
    }
    const LoopNest nest = make_nest(step.group, plan.memory, {.vector_bytes = 64, .is_read_later = false});
    result.nests += nest::str(nest);
    result.code += print_kernel(nest).body;
  }
  return result;
}

using testing_support::expect_file;

void expect_golden(const std::string& name, const std::string& text) {
  const Generated got = generated(text);
  expect_file(name + ".nest.txt", got.nests);
  expect_file(name + ".cc.txt", got.code);
}

TEST(Golden, KMeans) { expect_golden("kmeans", testing_support::kKMeansGraph); }

TEST(Golden, Softmax) { expect_golden("softmax", testing_support::kSoftmaxGraph); }

TEST(Golden, MeanAndVarianceOfEverything) {
  expect_golden("sums", R"(graph sums(%x: f64[1000, 1000]) {
  %1: f64[] = sum(%x) {dim=[0, 1], keepdim=false, dtype=none}
  %2: f64[1000, 1000] = mul(%x, %x)
  %3: f64[] = sum(%2) {dim=[0, 1], keepdim=false, dtype=none}
  return %1, %3
}
)");
}

TEST(Golden, FewColumns) {
  expect_golden("columns", R"(graph columns(%x: f32[1000000, 2], %b: f32[2]) {
  %2: f32[1000000, 2] = add(%x, %b)
  %3: f32[2] = sum(%x) {dim=[0], keepdim=false, dtype=none}
  return %2, %3
}
)");
}

// Lanes along what is reduced, whatever else is read once per row.
TEST(Golden, LargestOfNormalizedRows) {
  expect_golden(
      "row_largest",
      R"(graph row_largest(%x: bf16[64, 64, 768], %m: f32[64, 64, 1], %s: f32[64, 64, 1], %w: f32[768]) {
  %1: f32[64, 64, 768] = cast(%x) {dtype=f32}
  %2: f32[64, 64, 768] = sub(%1, %m)
  %3: f32[64, 64, 768] = mul(%2, %s)
  %4: f32[64, 64, 768] = mul(%3, %w)
  %5: f32[64, 64] = amax(%4) {dim=[2], keepdim=false}
  return %5
}
)");
}

TEST(Golden, NearestOfMany) {
  expect_golden("nearest", R"(graph nearest[s0=1000](%x: f32[s0, 3], %c: f32[100, 3]) {
  %2: f32[100, 1, 3] = reshape(%c) {shape=[100, 1, 3]}
  %3: f32[100, s0, 3] = sub(%x, %2)
  %4: f32[100, s0, 3] = mul(%3, %3)
  %5: f32[100, s0] = sum(%4) {dim=[2], keepdim=false, dtype=none}
  %6: i64[s0] = argmin(%5) {dim=0, keepdim=false}
  return %6
}
)");
}

}  // namespace
}  // namespace weft::compiler
