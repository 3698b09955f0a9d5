// Text in, text out, pass by pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/stages.h"
#include "passes/analysis.h"
#include "weft/error.h"

namespace weft::passes {
namespace {

using testing::HasSubstr;

void expect_pass(std::string_view pass, const std::string& before, const std::string& after) {
  const auto graph = ir::parse_graph(before);
  ir::verify(*graph);
  compiler::run_graph_stage(pass, *graph);
  ir::verify(*graph);
  EXPECT_EQ(graph->str(), after);
}

// A graph with one line per node, returning the last value; the pass is followed by dead_code.
void expect_body(std::string_view pass, const std::string& inputs, const std::string& before,
                 const std::string& after) {
  const std::string head = "graph f(" + inputs + ") {\n";
  const auto graph = ir::parse_graph(head + before + "}\n");
  ir::verify(*graph);
  compiler::run_graph_stage(pass, *graph);
  ir::verify(*graph);
  compiler::run_graph_stage("dead_code", *graph);
  EXPECT_EQ(graph->str(), head + after + "}\n");
}

void expect_unchanged(std::string_view pass, const std::string& inputs, const std::string& body) {
  expect_body(pass, inputs, body, body);
}

// ---- canonicalize ----------------------------------------------------------------------------------------

TEST(Canonicalize, CastChainsThatLoseNothing) {
  expect_body("canonicalize", "%x: f32[4]", R"(  %1: f64[4] = cast(%x) {dtype=f64}
  %2: f32[4] = cast(%1) {dtype=f32}
  %3: f32[4] = neg(%2)
  return %3
)",
              R"(  %3: f32[4] = neg(%x)
  return %3
)");
  expect_body("canonicalize", "%x: u8[4]", R"(  %1: i32[4] = cast(%x) {dtype=i32}
  %2: f64[4] = cast(%1) {dtype=f64}
  return %2
)",
              R"(  %4: f64[4] = cast(%x) {dtype=f64}
  return %4
)");
}

TEST(Canonicalize, KeepsCastsThatRoundOrWrap) {
  expect_unchanged("canonicalize", "%x: f64[4]", R"(  %1: f32[4] = cast(%x) {dtype=f32}
  %2: f64[4] = cast(%1) {dtype=f64}
  return %2
)");
  expect_unchanged("canonicalize", "%x: i64[4]", R"(  %1: f64[4] = cast(%x) {dtype=f64}
  %2: i64[4] = cast(%1) {dtype=i64}
  return %2
)");
  expect_unchanged("canonicalize", "%x: u8[4]", R"(  %1: f32[4] = cast(%x) {dtype=f32}
  %2: i8[4] = cast(%1) {dtype=i8}
  return %2
)");
}

TEST(Canonicalize, ViewChains) {
  expect_body("canonicalize", "%x: f32[2, 3, 4]", R"(  %1: f32[3, 4, 2] = permute(%x) {dims=[1, 2, 0]}
  %2: f32[4, 2, 3] = permute(%1) {dims=[1, -1, 0]}
  return %2
)",
              R"(  %4: f32[4, 2, 3] = permute(%x) {dims=[2, 0, 1]}
  return %4
)");
  expect_body("canonicalize", "%x: f32[2, 6]", R"(  %1: f32[6, 2] = permute(%x) {dims=[1, 0]}
  %2: f32[2, 6] = permute(%1) {dims=[1, 0]}
  %3: f32[12] = reshape(%2) {shape=[12]}
  %4: f32[3, 4] = reshape(%3) {shape=[3, 4]}
  %5: f32[1, 3, 4] = expand(%4) {shape=[1, 3, 4]}
  %6: f32[5, 3, 4] = expand(%5) {shape=[5, 3, 4]}
  %7: f32[5, 3, 4] = slice(%6) {dim=0, start=0, stop=5}
  return %7
)",
              R"(  %10: f32[3, 4] = reshape(%x) {shape=[3, 4]}
  %11: f32[5, 3, 4] = expand(%10) {shape=[5, 3, 4]}
  return %11
)");
}

TEST(Canonicalize, PartsStoredTwice) {
  expect_body("canonicalize", "%x: f32[8], %y: f32[6]",
              R"(  %1: f32[8] = slice_update(%x, %y) {dim=0, start=1, stop=7}
  %2: f32[8] = slice_update(%1, %y) {dim=0, start=1, stop=7}
  return %2
)",
              R"(  %5: f32[8] = slice_update(%x, %y) {dim=0, start=1, stop=7}
  return %5
)");
  // What replaces a part of another part is no such thing.
  expect_body("canonicalize", "%x: f32[8], %y: f32[6]",
              R"(  %1: f32[8] = slice_update(%x, %y) {dim=0, start=1, stop=7}
  %2: f32[8] = slice_update(%1, %y) {dim=0, start=2, stop=8}
  return %2
)",
              R"(  %1: f32[8] = slice_update(%x, %y) {dim=0, start=1, stop=7}
  %2: f32[8] = slice_update(%1, %y) {dim=0, start=2, stop=8}
  return %2
)");
}

TEST(Canonicalize, NeutralElements) {
  expect_body("canonicalize", "%x: f32[4]", R"(  %1: f32[] = constant {1.0}
  %2: f32[4] = mul(%1, %x)
  %3: f32[4] = true_divide(%2, %1)
  %4: f32[] = constant {-0.0}
  %5: f32[4] = add(%3, %4)
  %6: f32[] = constant {0.0}
  %7: f32[4] = sub(%5, %6)
  %8: f32[4] = pow(%7, %1)
  %9: f32[4] = neg(%8)
  return %9
)",
              R"(  %9: f32[4] = neg(%x)
  return %9
)");
  expect_body("canonicalize", "%x: i32[4]", R"(  %1: i32[] = constant {0}
  %2: i32[4] = add(%1, %x)
  %3: i32[4] = neg(%2)
  return %3
)",
              R"(  %3: i32[4] = neg(%x)
  return %3
)");
}

TEST(Canonicalize, KeepsSignedZerosShapesAndFreshOutputs) {
  expect_unchanged("canonicalize", "%x: f32[4]", R"(  %1: f32[] = constant {0.0}
  %2: f32[4] = add(%x, %1)
  %3: f32[4] = neg(%2)
  return %3
)");
  expect_unchanged("canonicalize", "%x: f32[4]", R"(  %1: f32[] = constant {-0.0}
  %2: f32[4] = sub(%x, %1)
  %3: f32[4] = neg(%2)
  return %3
)");
  expect_unchanged("canonicalize", "%x: f32[]", R"(  %1: f32[2] = constant {[1.0, 1.0]}
  %2: f32[2] = mul(%x, %1)
  %3: f32[2] = neg(%2)
  return %3
)");
  // The caller may write to what it is given: that must not be the argument.
  expect_unchanged("canonicalize", "%x: f32[4]", R"(  %1: f32[] = constant {1.0}
  %2: f32[4] = mul(%x, %1)
  return %2
)");
  expect_unchanged("canonicalize", "%x: f32[4]", R"(  %1: f32[] = constant {-0.0}
  %2: f32[4] = add(%x, %1) {alpha=2}
  %3: f32[4] = neg(%2)
  return %3
)");
}

TEST(Canonicalize, InvolutionsAndEqualOperands) {
  expect_body("canonicalize", "%x: f32[4], %c: bool[4]", R"(  %2: f32[4] = neg(%x)
  %3: f32[4] = neg(%2)
  %4: f32[4] = abs(%3)
  %5: f32[4] = abs(%4)
  %6: f32[4] = maximum(%5, %5)
  %7: f32[4] = where(%c, %6, %6)
  %8: f32[4] = exp(%7)
  return %8
)",
              R"(  %4: f32[4] = abs(%x)
  %8: f32[4] = exp(%4)
  return %8
)");
}

TEST(Canonicalize, SquaresAreProducts) {
  expect_body("canonicalize", "%x: f64[4]", R"(  %1: f64[] = constant {2.0}
  %2: f64[4] = pow(%x, %1)
  return %2
)",
              R"(  %4: f64[4] = mul(%x, %x)
  return %4
)");
  expect_body("decompose", "%x: f64[4]", "  %1: f64[4] = square(%x)\n  return %1\n",
              "  %3: f64[4] = mul(%x, %x)\n  return %3\n");
}

// ---- the others ------------------------------------------------------------------------------------------

TEST(FoldConstants, SmallResults) {
  expect_body("fold_constants", "%x: f32[2]", R"(  %1: f32[2] = constant {[1.0, 2.0]}
  %2: f32[2] = add(%1, %1)
  %3: f32[] = sum(%2)
  %4: f32[2] = mul(%x, %3)
  return %4
)",
              R"(  %7: f32[] = constant {6.0}
  %4: f32[2] = mul(%x, %7)
  return %4
)");
}

TEST(FoldConstants, KeepsWhatIsReturnedLargeOrRepeated) {
  expect_unchanged("fold_constants", "", R"(  %0: f32[2] = constant {[1.0, 2.0]}
  %1: f32[2] = neg(%0)
  return %1
)");
  expect_unchanged("fold_constants", "%x: f32[2000]", R"(  %1: f32[] = constant {1.0}
  %2: f32[2000] = expand(%1) {shape=[2000]}
  %3: f32[2000] = add(%x, %2)
  return %3
)");
}

TEST(Cse, MergesEqualNodes) {
  expect_body("cse", "%x: f32[4]", R"(  %1: f32[] = constant {2.0}
  %2: f32[] = constant {2.0}
  %3: f32[4] = mul(%x, %1)
  %4: f32[4] = mul(%x, %2)
  %5: f32[] = constant {-0.0}
  %6: f32[] = constant {0.0}
  %7: f32[4] = mul(%3, %5)
  %8: f32[4] = mul(%4, %6)
  %9: f32[4] = add(%7, %8)
  return %9
)",
              R"(  %1: f32[] = constant {2.0}
  %3: f32[4] = mul(%x, %1)
  %5: f32[] = constant {-0.0}
  %6: f32[] = constant {0.0}
  %7: f32[4] = mul(%3, %5)
  %8: f32[4] = mul(%3, %6)
  %9: f32[4] = add(%7, %8)
  return %9
)");
}

TEST(Cse, OutputsStayApart) {
  expect_unchanged("cse", "%x: f32[4]", "  %1: f32[4] = neg(%x)\n  %2: f32[4] = neg(%x)\n  return %1, %2\n");
}

TEST(Cse, InnerBlocksUseOuterValuesOnly) {
  expect_pass("cse", R"(graph f(%c: bool[], %x: f32[4]) {
  %2: f32[4] = neg(%x)
  %3: f32[4] = if(%c) {
    %5: f32[4] = neg(%x)
    %6: f32[4] = exp(%5)
    yield %6
  } else {
    %7: f32[4] = exp(%2)
    yield %7
  }
  %8: f32[4] = exp(%2)
  %9: f32[4] = add(%8, %3)
  return %9
}
)",
              R"(graph f(%c: bool[], %x: f32[4]) {
  %2: f32[4] = neg(%x)
  %3: f32[4] = if(%c) {
    %6: f32[4] = exp(%2)
    yield %6
  } else {
    %7: f32[4] = exp(%2)
    yield %7
  }
  %8: f32[4] = exp(%2)
  %9: f32[4] = add(%8, %3)
  return %9
}
)");
}

TEST(DeadCode, RemovesChainsAndKeepsWriteBacks) {
  expect_pass("dead_code", R"(graph f(%c: bool[], %x: f32[4]) {
  %2: f32[4] = neg(%x)
  %3: f32[4] = exp(%2)
  %4: f32[4] = if(%c) {
    %5: f32[4] = exp(%x)
    yield %5
  } else {
    yield %x
  }
  %6: f32[4] = add(%x, %x)
  write %x = %6
  return
}
)",
              R"(graph f(%c: bool[], %x: f32[4]) {
  %6: f32[4] = add(%x, %x)
  write %x = %6
  return
}
)");
}

TEST(StripMonotone, ArgminOfTheRootOfANonNegative) {
  expect_body("strip_monotone", "%x: f64[4, 2]", R"(  %1: f64[4, 2] = mul(%x, %x)
  %2: f64[4] = sum(%1) {dim=[1]}
  %3: f64[4] = sqrt(%2)
  %4: i64[] = argmin(%3) {dim=0}
  return %4
)",
              R"(  %1: f64[4, 2] = mul(%x, %x)
  %2: f64[4] = sum(%1) {dim=[1]}
  %4: i64[] = argmin(%2) {dim=0, through="sqrt"}
  return %4
)");
}

TEST(StripMonotone, NotOfWhatMayBeNegativeOrIsUsedElsewhere) {
  expect_unchanged("strip_monotone", "%x: f64[4]",
                   "  %1: f64[4] = sqrt(%x)\n  %2: i64[] = argmin(%1)\n  return %2\n");
  expect_unchanged("strip_monotone", "%x: f64[4]", R"(  %1: f64[4] = abs(%x)
  %2: f64[4] = sqrt(%1)
  %3: i64[] = argmin(%2)
  return %3, %2
)");
}

struct SignCase {
  const char* node;
  bool non_negative;
};
class NonNegative : public testing::TestWithParam<SignCase> {};

TEST_P(NonNegative, IsKnown) {
  const auto graph =
      ir::parse_graph(std::string("graph f(%x: f64[4], %i: i64[4], %u: u8[4], %c: bool[4]) {\n"
                                  "  %s: f64[4] = abs(%x)\n  %m: f64[] = constant {-1.0}\n  ") +
                      GetParam().node + "\n  return %r\n}\n");
  ir::verify(*graph);
  EXPECT_EQ(is_non_negative(graph->outputs()[0]), GetParam().non_negative) << graph->str();
}

INSTANTIATE_TEST_SUITE_P(
    Cases, NonNegative,
    testing::Values(SignCase{"%r: f64[4] = neg(%s)", false}, SignCase{"%r: f64[4] = mul(%x, %x)", true},
                    SignCase{"%r: f64[4] = mul(%x, %s)", false}, SignCase{"%r: f64[4] = mul(%s, %s)", true},
                    SignCase{"%r: i64[4] = mul(%i, %i)", false}, SignCase{"%r: f64[4] = add(%s, %s)", true},
                    SignCase{"%r: f64[4] = add(%s, %s) {alpha=-1}", false},
                    SignCase{"%r: f64[4] = sub(%s, %s)", false}, SignCase{"%r: f64[4] = exp(%x)", true},
                    SignCase{"%r: f64[4] = square(%x)", true}, SignCase{"%r: f64[] = sum(%s)", true},
                    SignCase{"%r: f64[] = sum(%x)", false}, SignCase{"%r: f64[] = amax(%s)", true},
                    SignCase{"%r: f64[4] = cast(%u) {dtype=f64}", true},
                    SignCase{"%r: f64[4] = cast(%i) {dtype=f64}", false},
                    SignCase{"%r: f64[4] = where(%c, %s, %s)", true},
                    SignCase{"%r: f64[4] = where(%c, %s, %x)", false},
                    SignCase{"%r: f64[4] = add(%s, %m)", false},
                    SignCase{"%r: f64[2, 2] = reshape(%s) {shape=[2, 2]}", true}));

TEST(Stages, KMeansKeepsOneRootFreeArgmin) {
  const auto graph = ir::parse_graph(R"(graph kmeans[s0=100](%x: f64[s0, 2], %means: i64[2, 2]) {
  %2: i64[2, 1, 2] = reshape(%means) {shape=[2, 1, 2]}
  %3: f64[2, 1, 2] = cast(%2) {dtype=f64}
  %4: f64[2, s0, 2] = sub(%x, %3)
  %5: f64[2, s0, 2] = conj(%4)
  %6: f64[2, s0, 2] = mul(%5, %4)
  %7: f64[2, s0, 2] = real(%6)
  %8: f64[2, s0] = sum(%7) {dim=[2]}
  %9: f64[2, s0] = sqrt(%8)
  %10: i64[s0] = argmin(%9) {dim=0}
  return %10
}
)");
  ir::verify(*graph);
  compiler::run_graph_stages(*graph);
  ir::verify(*graph);
  EXPECT_EQ(graph->str(), R"(graph kmeans[s0=100](%x: f64[s0, 2], %means: i64[2, 2]) {
  %2: i64[2, 1, 2] = reshape(%means) {shape=[2, 1, 2]}
  %3: f64[2, 1, 2] = cast(%2) {dtype=f64}
  %4: f64[2, s0, 2] = sub(%x, %3)
  %6: f64[2, s0, 2] = mul(%4, %4)
  %8: f64[2, s0] = sum(%6) {dim=[2]}
  %10: i64[s0] = argmin(%8) {dim=0, through="sqrt"}
  return %10
}
)");
}

TEST(SinkPermutes, OperandsArePermutedRatherThanResults) {
  expect_body("sink_permutes", "%x: f64[4, 2], %y: f64[2]", R"(  %1: f64[4, 2] = mul(%x, %y)
  %2: f64[8, 2] = join(%1, %x) {dim=0}
  %3: f64[3, 2] = slice(%2) {dim=-2, start=1, stop=4}
  %4: f64[2, 3] = permute(%3) {dims=[1, 0], own_memory=true}
  return %4
)",
              R"(  %12: f64[2, 4] = permute(%x) {dims=[1, 0], own_memory=true}
  %13: f64[1, 2] = reshape(%y) {shape=[1, 2]}
  %14: f64[2, 1] = permute(%13) {dims=[1, 0], own_memory=true}
  %15: f64[2, 4] = mul(%12, %14)
  %10: f64[2, 4] = permute(%x) {dims=[1, 0], own_memory=true}
  %11: f64[2, 8] = join(%15, %10) {dim=1}
  %8: f64[2, 3] = slice(%11) {dim=1, start=1, stop=4}
  return %8
)");
  expect_unchanged("sink_permutes", "%x: f64[4, 2]", R"(  %1: f64[4, 2] = mul(%x, %x)
  %2: f64[2, 4] = permute(%1) {dims=[1, 0]}
  %3: f64[4, 2] = abs(%x)
  %4: f64[2, 4] = permute(%3) {dims=[1, 0], own_memory=true}
  return %2, %4, %3
)");
}

}  // namespace
}  // namespace weft::passes
