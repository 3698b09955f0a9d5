// One broken graph per rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/graph.h"

namespace weft::ir {
namespace {

using testing::HasSubstr;

void expect_broken(const Graph& graph, const std::string& message) {
  try {
    verify(graph);
    FAIL() << "verified:\n" << graph.str();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Internal);
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

void expect_broken(const std::string& text, const std::string& message) {
  expect_broken(*parse_graph(text), message);
}

Node* first_node(Graph& graph) { return graph.body().nodes.front().get(); }

const char* const kTwoNodes = R"(graph f(%x: f32[4], %c: bool[]) {
  %2: f32[4] = add(%x, %x)
  %3: f32[4] = mul(%2, %x)
  return %3
}
)";

TEST(Verify, DefinitionBeforeUse) {
  const auto graph = parse_graph(kTwoNodes);
  graph->move_before(graph->body().nodes.back().get(), first_node(*graph));
  expect_broken(*graph, "mul (%3): %2 is used before its definition");
}

TEST(Verify, InnerValuesStayInside) {
  const auto graph = parse_graph(R"(graph f(%x: f32[4], %c: bool[]) {
  %2: f32[4] = if(%c) {
    %3: f32[4] = add(%x, %x)
    yield %3
  } else {
    yield %x
  }
  return %2
}
)");
  Value* inner = first_node(*graph)->blocks[0]->nodes.front()->output();
  graph->add_return(graph->body(), inner);
  expect_broken(*graph, "%3 is used before its definition");
}

TEST(Verify, UseLists) {
  const auto graph = parse_graph(kTwoNodes);
  first_node(*graph)->output()->uses.clear();
  expect_broken(*graph, "add (%2): the use list of %2 has 0 entries, expected 1 that agree with the graph");
}

TEST(Verify, NodesKnowTheirBlock) {
  const auto graph = parse_graph(kTwoNodes);
  first_node(*graph)->parent = nullptr;
  expect_broken(*graph, "add (%2): the node does not know its block");
}

TEST(Verify, OutputsKnowTheirNode) {
  const auto graph = parse_graph(kTwoNodes);
  first_node(*graph)->output()->index = 1;
  expect_broken(*graph, "add (%2): output %2 does not know its node");
}

TEST(Verify, TypesAreInferred) {
  expect_broken("graph f(%x: f32[4]) {\n  %1: f64[4] = add(%x, %x)  # f.py:3\n  return %1\n}\n",
                "graph f: add (%1): output %1 has type f64[4], inference gives f32[4] at f.py:3");
  expect_broken("graph f[s0=4](%x: f32[s0]) {\n  %1: f32[4] = add(%x, %x)\n  return %1\n}\n",
                "output %1 has type f32[4], inference gives f32[s0]");
}

TEST(Verify, InferenceSucceeds) {
  expect_broken("graph f(%x: f32[4], %y: f32[3]) {\n  %2: f32[4] = add(%x, %y)\n  return %2\n}\n",
                "add (%2): inference failed: ");
}

TEST(Verify, OutputCount) {
  expect_broken("graph f(%x: f32[4]) {\n  %1: f32[4], %2: f32[4] = add(%x, %x)\n  return %1\n}\n",
                "expected 1 outputs, got 2");
}

TEST(Verify, OperandCount) {
  expect_broken("graph f(%x: f32[4]) {\n  %1: f32[4] = add(%x)\n  return %1\n}\n",
                "expected 2 operands, got 1");
  expect_broken("graph f(%x: f32[4]) {\n  %1: f32[4] = add(%x, none)\n  return %1\n}\n",
                "operand 'y' is absent");
}

TEST(Verify, Attributes) {
  expect_broken("graph f(%x: f32[4]) {\n  %1: f32[4] = cast(%x)\n  return %1\n}\n",
                "attribute 'dtype' is missing");
  const auto graph =
      parse_graph("graph f(%x: f32[4]) {\n  %1: f64[4] = cast(%x) {dtype=f64}\n  return %1\n}\n");
  first_node(*graph)->attrs.set("dtype", true);
  expect_broken(*graph, "attribute 'dtype' has the wrong type: true");
  first_node(*graph)->attrs.set("dtype", DType::F64);
  first_node(*graph)->attrs.set("speed", true);
  expect_broken(*graph, "unknown attribute 'speed'");
}

TEST(Verify, Constants) {
  const auto graph = parse_graph("graph f() {\n  %0: f32[2] = constant {[1.0, 2.0]}\n  return %0\n}\n");
  first_node(*graph)->constant = Tensor::full({3}, 1, DType::F32);
  expect_broken(*graph, "constant (%0): type f32[2] is not the data's, f32[3]");
}

TEST(Verify, If) {
  expect_broken("graph f(%c: f32[]) {\n  if(%c) {\n    yield\n  } else {\n    yield\n  }\n  return\n}\n",
                "if: the condition must be bool[], got f32[]");
  expect_broken(
      "graph f(%c: bool[], %x: f32[4]) {\n  %2: f32[4] = if(%c) {\n    yield %x\n  } else {\n    yield\n  "
      "}\n  return %2\n}\n",
      "if (%2): a branch yields 0 values, expected 1");
  expect_broken(
      "graph f(%c: bool[], %x: f32[4]) {\n  %2: f32[4] = if(%c) {\n    yield %x\n  } else {\n    yield %c\n  "
      "}\n  return %2\n}\n",
      "yielded value: %c has type bool[], expected f32[4]");
}

TEST(Verify, Loop) {
  const auto loop = [](const std::string& inputs, const std::string& params, const std::string& yields) {
    return "graph f(%c: bool[], %n: i64[], %x: f32[4]) {\n  %3: f32[4] = loop(" + inputs + ") (" + params +
           ") {\n    yield " + yields + "\n  }\n  return %3\n}\n";
  };
  EXPECT_NO_THROW(verify(*parse_graph(loop("%n, %c, %x", "%i: i64[], %y: f32[4]", "%c, %y"))));
  expect_broken(loop("%c, %c, %x", "%i: i64[], %y: f32[4]", "%c, %y"),
                "the trip count must be i64[], got bool[]");
  expect_broken(loop("%n, %n, %x", "%i: i64[], %y: f32[4]", "%c, %y"),
                "the condition must be bool[], got i64[]");
  expect_broken(loop("%n, %c, %x", "%i: i64[]", "%c, %x"), "the body has 1 parameters, expected 2");
  expect_broken(loop("%n, %c, %x", "%i: f32[], %y: f32[4]", "%c, %y"),
                "the counter must be i64[], got f32[]");
  expect_broken(loop("%n, %c, %x", "%i: i64[], %y: f32[4]", "%c"), "the body yields 1 values, expected 2");
  expect_broken(loop("%n, %c, %x", "%i: i64[], %y: f32[4]", "%i, %y"),
                "the yielded condition must be bool[], got i64[]");
  expect_broken(loop("%n, %c, %x", "%i: i64[], %y: f32[5]", "%c, %y"),
                "carried value: %x has type f32[4], expected f32[5]");
  expect_broken(loop("%n, %c, %x", "%i: i64[], %y: f32[4]", "%c, %i"),
                "yielded value: %i has type i64[], expected f32[4]");
}

TEST(Verify, WriteBacks) {
  expect_broken("graph f(%x: f32[4], %y: f32[5]) {\n  write %x = %y\n  return\n}\n",
                "write-back of %y to %x: type f32[5], expected f32[4]");
}

}  // namespace
}  // namespace weft::ir
