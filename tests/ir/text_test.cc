// The text form: what is printed parses back to what prints the same, and errors say where and what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/graph.h"

namespace weft::ir {
namespace {

using testing::HasSubstr;

void expect_round_trip(const std::string& text) {
  const auto graph = parse_graph(text);
  EXPECT_EQ(graph->str(), text);
  EXPECT_NO_THROW(verify(*graph));
  EXPECT_EQ(graph->clone()->str(), text);
  EXPECT_NO_THROW(verify(*graph->clone()));
}

TEST(GraphText, RoundTripsOperatorsAndLocations) {
  expect_round_trip(R"(graph kmeans(%x: f64[8, 2], %means: i64[2, 2]) {
  %2: f64[2, 2] = cast(%means) {dtype=f64}  # kmeans.py:4
  %3: f64[8, 2] = mul(%x, %x)
  %4: f64[8] = sum(%3) {dim=[1]}  # kmeans.py:5
  %best: i64[1] = argmin(%4) {dim=0, keepdim=true, through="sqrt"}
  return %4, %2
}
)");
}

TEST(GraphText, RoundTripsSymbolsAndGuards) {
  expect_round_trip(
      R"(graph f[s0=100, s1=7 any](%x: f32[s0, 2], %n: i64[] = s1, %y: f32[s0*2 + 1, min(s0, s1)]) {
  guard s0 != s1
  guard s0 < 4096
  guard s0%2 == 0
  guard s0//2 >= 2
  %3: f32[s0, 2] = add(%x, %x)
  return %3
}
)");
}

TEST(GraphText, RoundTripsConstants) {
  expect_round_trip(R"(graph f() {
  %0: f64[2, 2] = constant {[[1.0, -0.0], [inf, nan]]}
  %1: i64[] = constant {-9223372036854775808}
  %2: u64[1] = constant {[18446744073709551615]}
  %3: bool[2] = constant {[true, false]}
  %4: c128[1] = constant {[(1.0, -2.5e-300)]}
  %5: f16[2] = constant {[0.099975586, 65504.0]}
  %6: f32[1] = constant {[3.4028235e+38]}
  %7: f32[0] = constant {[]}
  %8: i32[17] = constant {data0}
  return %8
}
data0: i32[17] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
)");
}

TEST(GraphText, PrintsLargeConstantsAsSummary) {
  Graph graph("f");
  const Node* node = graph.add_constant(graph.body(), Tensor::full({5000}, 1, DType::F32));
  graph.add_return(graph.body(), node->output());
  EXPECT_THAT(graph.str(), HasSubstr("constant {large 5000}"));
  EXPECT_THROW(parse_graph(graph.str()), Error);
}

TEST(GraphText, RoundTripsControlFlow) {
  expect_round_trip(R"(graph f[s0=3 any](%c: bool[], %n: i64[], %x: f32[4]) {
  %3: f32[4] = if(%c) {  # f.py:2
    %4: f32[4] = add(%x, %x)
    yield %4
  } else {
    yield %x
  }
  %5: f32[4], %6: f32[4] = loop(%n, %c, %3, %x) (%i: i64[] = s0, %8: f32[4], %9: f32[4]) {
    %10: f32[4] = mul(%8, %9)
    yield %c, %10, %8
  }
  write %x = %5
  return %6
}
)");
}

TEST(GraphText, NamesAreUnique) {
  Graph graph("f");
  Value* a = graph.add_input({DType::F32, {4}, {}}, "x");
  Value* b = graph.add_input({DType::F32, {4}, {}}, "x");
  Value* c = graph.add_input({DType::F32, {4}, {}}, "not a name");
  for (Value* value : {a, b, c}) graph.add_return(graph.body(), value);
  EXPECT_EQ(graph.str(), "graph f(%x: f32[4], %1: f32[4], %2: f32[4]) {\n  return %x, %1, %2\n}\n");
  expect_round_trip(graph.str());
}

struct BadText {
  const char* text;
  const char* message;
};

class GraphTextError : public testing::TestWithParam<BadText> {};

TEST_P(GraphTextError, SaysWhereAndWhatWasExpected) {
  try {
    parse_graph(GetParam().text);
    FAIL() << "parsed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Value);
    EXPECT_STREQ(error.what(), GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, GraphTextError,
    testing::Values(
        BadText{"", "graph text:1:1: expected 'graph', got the end of the text"},
        BadText{"graph f(x", "graph text:1:9: expected a parameter, as in '%x: f32[4]', got 'x'"},
        BadText{"graph f(%x: g32[4])", "graph text:1:13: expected a dtype, as in 'f32', got 'g32'"},
        BadText{"graph f(%x: f32[s0])", "graph text:1:17: expected one of the graph's symbols, got 's0'"},
        BadText{"graph f[s1=4]()", "graph text:1:9: expected the symbol s0, got 's1'"},
        BadText{"graph f(%x: f32[4]) {\n  %1: f32[4] = frobnicate(%x)",
                "graph text:2:16: expected the name of an operator, got 'frobnicate'"},
        BadText{"graph f(%x: f32[4]) {\n  %1: f32[4] = add(%x, %y)",
                "graph text:2:24: expected a value that is defined above, got '%y'"},
        BadText{"graph f(%x: f32[4]) {\n  %x: f32[4] = add(%x, %x)",
                "graph text:2:3: expected a name that is not defined yet, got '%x'"},
        BadText{"graph f(%x: f32[4]) {\n  %1: f64[4] = cast(%x) {type=f64}",
                "graph text:2:26: expected an attribute of 'cast', got 'type'"},
        BadText{"graph f(%x: f32[4]) {\n  %1: f64[4] = cast(%x) {dtype=64}",
                "graph text:2:32: expected a dtype, as in 'f32', got '64'"},
        BadText{"graph f() {\n  %1: f32[2] = constant {[1.0]}", "graph text:2:30: expected ',', got ']'"},
        BadText{"graph f() {\n  %1: i8[1] = constant {[128]}", "graph text:2:26: expected a int8, got '128'"},
        BadText{"graph f() {\n  %1: i8[100] = constant {data0}\n  return\n}\n",
                "graph text:5:1: expected the data of 'data0', got the end of the text"},
        BadText{"graph f(%x: f32[4]) {\n  return %x\n} more",
                "graph text:3:3: expected the data of a constant, or the end of the text, got 'more'"},
        BadText{"graph f(%x: f32[4]) {\n  yield %x\n}",
                "graph text:2:3: expected the name of an operator, got 'yield'"},
        BadText{"graph f(%c: bool[]) {\n  %1: f32[4] = if(%c) {\n    yield\n  }\n  return",
                "graph text:5:3: expected 'else', got 'return'"}));

}  // namespace
}  // namespace weft::ir
