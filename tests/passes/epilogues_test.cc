// Which nodes become part of the product before them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/stages.h"
#include "ir/graph.h"
#include "ir/text.h"

namespace weft::passes {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string with_epilogues(const std::string& inputs, const std::string& body) {
  const auto graph = ir::parse_graph("graph f(" + inputs + ") {\n" + body + "}\n");
  ir::verify(*graph);
  compiler::run_graph_stage("fuse_epilogues", *graph);
  compiler::run_graph_stage("dead_code", *graph);
  ir::verify(*graph);
  return graph->str();
}

constexpr const char* kHalfLayer = R"(  %w: bf16[2, 2] = constant {[[1.0, 2.0], [3.0, 4.0]]}
  %b: bf16[2] = constant {[1.0, 2.0]}
  %1: bf16[3, 2] = matmul(%x, %w)
  %2: bf16[3, 2] = add(%1, %b)
)";

TEST(FuseEpilogues, BiasActivationAndResidualOfHalfPrecision) {
  const std::string fused =
      with_epilogues("%x: bf16[3, 2], %r: bf16[3, 2]", std::string(kHalfLayer) +
                                                           R"(  %3: bf16[3, 2] = gelu_erf(%2)
  %4: bf16[3, 2] = add(%r, %3)
  return %4
)");
  EXPECT_THAT(fused, HasSubstr("linear_packed(%x, "));
  EXPECT_THAT(fused, HasSubstr(", %r) {activation=\"gelu_erf\"}"));
  EXPECT_THAT(fused, Not(HasSubstr("add(")));
}

TEST(FuseEpilogues, LinearOfHalfPrecisionWithConstants) {
  constexpr const char* kConstants = R"(  %w: bf16[2, 2] = constant {[[1.0, 2.0], [3.0, 4.0]]}
  %b: bf16[2] = constant {[1.0, 2.0]}
)";
  const std::string fused = with_epilogues(
      "%x: bf16[3, 2]",
      std::string(kConstants) +
          "  %1: bf16[3, 2] = linear_half(%x, %w, %b)\n  %2: bf16[3, 2] = relu(%1)\n  return %2\n");
  EXPECT_THAT(fused, HasSubstr("linear_packed(%x, "));
  EXPECT_THAT(fused, Not(HasSubstr("relu(")));
  // Weights that are no constants.
  EXPECT_THAT(with_epilogues("%x: bf16[3, 2], %w: bf16[2, 2]",
                             "  %b: bf16[2] = constant {[1.0, 2.0]}\n"
                             "  %1: bf16[3, 2] = linear_half(%x, %w, %b)\n  return %1\n"),
              HasSubstr("= linear_half("));
}

TEST(FuseEpilogues, WhatComesInAnotherOrderStays) {
  // The residual comes before the activation, which linear_packed has after it.
  EXPECT_THAT(with_epilogues("%x: bf16[3, 2], %r: bf16[3, 2]", std::string(kHalfLayer) +
                                                                   R"(  %3: bf16[3, 2] = add(%r, %2)
  %4: bf16[3, 2] = relu(%3)
  return %4
)"),
              HasSubstr("= relu("));
  // The sums have another reader.
  EXPECT_THAT(with_epilogues("%x: bf16[3, 2]", std::string(kHalfLayer) + R"(  %3: bf16[3, 2] = relu(%2)
  return %3, %2
)"),
              HasSubstr("= relu("));
  // A residual that broadcasts.
  EXPECT_THAT(with_epilogues("%x: bf16[3, 2], %r: bf16[1, 2]", std::string(kHalfLayer) +
                                                                   R"(  %3: bf16[3, 2] = add(%r, %2)
  return %3
)"),
              HasSubstr("= add("));
}

constexpr const char* kInt8Layer = R"(  %w: i8[2, 2] = constant {[[1, 2], [3, 4]]}
  %c: f32[2] = constant {[1.0, 2.0]}
  %1: i32[3, 2] = _int_mm(%q, %w)
  %2: f32[3, 2] = cast(%1) {dtype=f32}
  %3: f32[3, 2] = mul(%2, %s)
  %4: f32[3, 2] = mul(%3, %c)
  %5: f32[3, 2] = add(%4, %c)
)";

TEST(FuseEpilogues, ScalesOfInt8Products) {
  const std::string fused =
      with_epilogues("%q: i8[3, 2], %s: f32[3, 1]", std::string(kInt8Layer) +
                                                        R"(  %6: bf16[3, 2] = cast(%5) {dtype=bf16}
  %7: bf16[3, 2] = silu(%6)
  return %7
)");
  EXPECT_THAT(fused, HasSubstr("linear_int8(%q, %s, "));
  EXPECT_THAT(fused, HasSubstr("activation=\"silu\""));
  EXPECT_THAT(fused, HasSubstr("dtype=bf16"));
  for (const char* gone : {"mul(", "add(", "cast(", "_int_mm"}) EXPECT_THAT(fused, Not(HasSubstr(gone)));
}

TEST(FuseEpilogues, SumsOfInt8ThatAreReadStay) {
  const std::string kept =
      with_epilogues("%q: i8[3, 2], %s: f32[3, 1]", std::string(kInt8Layer) + "  return %5, %1\n");
  EXPECT_THAT(kept, HasSubstr("_int_mm"));
  EXPECT_THAT(kept, Not(HasSubstr("linear_int8")));
}

}  // namespace
}  // namespace weft::passes
