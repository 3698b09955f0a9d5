// Graphs of exported programs as graphs of TorchScript.
#include <gmock/gmock.h>

#include "exported/program_builder.h"
#include "ir/graph.h"
#include "weft/error.h"
#include "weft/exported.h"
#include "weft/jit.h"

namespace weft::exported {
namespace {

using testing::HasSubstr;

std::string refusal(const ProgramText& program) {
  try {
    load_bytes(archive_of(program));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

Tensor run(const ProgramText& program, const Tensor& x) { return load_bytes(archive_of(program))({x}).to_tensor(); }

ProgramText of_node(const std::string& text) {
  ProgramText program;
  program.metas = {{"x", meta({size(2)})}, {"y", meta({size(2)})}};
  program.nodes = {text};
  return program;
}

TEST(ExportedLower, BranchesRunTheOneThatIsTaken) {
  EXPECT_EQ(run(branches(), Tensor::of<float>({1, 2})).str(), Tensor::of<float>({2, 4}).str());
  EXPECT_EQ(run(branches(), Tensor::of<float>({-1, -2})).str(), Tensor::of<float>({-2, -3}).str());
}

TEST(ExportedLower, SizesAreComputedAtEachCall) {
  const Program program = load_bytes(archive_of(sizes()));
  for (const int64_t count : {1, 3, 8})
    EXPECT_EQ(program({Tensor::full({count, 2}, 0, DType::F32)}).to_tensor().shape(), Shape({2 * count}));
}

TEST(ExportedLower, NumbersInPlaceOfTensors) {
  EXPECT_EQ(run(of_node(binary("add.Tensor", "x", R"({"as_float": 0.5})", "y")), Tensor::of<float>({1, 2})).str(),
            Tensor::of<float>({1.5, 2.5}).str());
  EXPECT_EQ(run(of_node(binary("mul.Tensor", "x", R"({"as_float": "Infinity"})", "y")), Tensor::of<float>({1, -1})).str(),
            Tensor::of<float>({INFINITY, -INFINITY}).str());
}

TEST(ExportedLower, MissingOperatorsAreListed) {
  ProgramText program = of_node(binary("add.Tensor", "x", tensor("b"), "y"));
  program.nodes.insert(program.nodes.begin(), node("torch.ops.mine.first.default", {argument("self", tensor("x"))}, {tensor("a")}));
  program.nodes.insert(program.nodes.begin() + 1, node("torch.ops.mine.second.out", {argument("self", tensor("a"))}, {tensor("b")}));
  for (const char* name : {"a", "b"}) program.metas[name] = meta({size(2)});
  EXPECT_THAT(refusal(program), testing::AllOf(HasSubstr("mine::first"), HasSubstr("mine::second.out")));
}

TEST(ExportedLower, WrongNodes) {
  EXPECT_THAT(refusal(of_node(binary("add.Tensor", "z", size(1), "y"))), HasSubstr("no value 'z' before it"));
  EXPECT_THAT(refusal(of_node(binary("add.Tensor", "y", size(1), "y"))), HasSubstr("no value 'y' before it"));
  EXPECT_THAT(refusal(of_node(binary("add.Tensor", "x", R"({"as_wonder": 1})", "y"))), HasSubstr("as_wonder"));
  EXPECT_THAT(refusal(of_node(binary("add.Tensor", "x", R"({"as_int": 1, "as_float": 2.0})", "y"))), HasSubstr("not one kind"));
  EXPECT_THAT(refusal(of_node(binary("add.Tensor", "x", R"({"as_int": 1.5})", "y"))), HasSubstr("no 64-bit integer"));
  EXPECT_NE(refusal(of_node(node("torch.ops.aten.add.Tensor", {}, {tensor("y")}))), "accepted");
  EXPECT_NE(refusal(of_node(node("os.system", {argument("", R"({"as_string": "true"})")}, {tensor("y")}))), "accepted");
  EXPECT_NE(refusal(of_node(node("torch.ops.higher_order.cond", {}, {tensor("y")}))), "accepted");
  ProgramText duplicate = of_node(binary("add.Tensor", "x", size(1), "y"));
  duplicate.inputs.push_back(tensor("x"));
  EXPECT_EQ(refusal(duplicate), "accepted");  // the signature says what the inputs are
  duplicate.input_specs.push_back(duplicate.input_specs[0]);
  EXPECT_NE(refusal(duplicate), "accepted");
}

TEST(ExportedLower, OperatorsOfTheProgramsOwn) {
  const ProgramText program = of_node(node("torch.ops.own_test.scaled.default", {argument("x", tensor("x"))}, {tensor("y")}));
  EXPECT_THAT(refusal(program), HasSubstr("own_test::scaled"));
  jit::define_operator("own_test::scaled(Tensor x, float k=3.0) -> Tensor", [](std::span<IValue> arguments, IValue* results) {
    const Tensor x = arguments[0].to_tensor();
    Tensor result = Tensor::empty(x.shape(), DType::F32);
    for (int64_t i = 0; i < x.numel(); ++i)
      result.data_as<float>()[i] = x.data_as<float>()[i] * static_cast<float>(arguments[1].to_double());
    results[0] = result;
  });
  EXPECT_EQ(run(program, Tensor::of<float>({1, 2})).str(), Tensor::of<float>({3, 6}).str());
  const auto nothing = [](std::span<IValue>, IValue*) {};
  for (const char* schema : {"own_test::scaled(Tensor x) -> Tensor", "aten::relu(Tensor self) -> Tensor", "f(Tensor x) -> Tensor",
                             "own_test::(", "own_test::any(...) -> Tensor"})
    EXPECT_THROW(jit::define_operator(schema, nothing), Error) << schema;
}

// torch.vmap of row - row.sum() stands among the nodes.
ProgramText batched(int64_t count) {
  const std::string at = "torch._functorch.predispatch.", none = R"({"as_none": true})";
  const auto plain = [](const std::string& value) { return argument("", value); };
  ProgramText program;
  program.metas = {{"x", meta({size(count), size(2)})}, {"y", meta({size(count), size(2)})}};
  program.nodes = {
      node(at + "lazy_load_decompositions", {}, {none}),
      node(at + "_vmap_increment_nesting", {plain(size(count)), plain(R"({"as_string": "error"})")}, {none}),
      node(at + "_add_batch_dim", {plain(tensor("x")), plain(size(0)), plain(size(1))}, {tensor("row")}),
      node("torch.ops.aten.sum.default", {argument("self", tensor("row"))}, {tensor("s")}),
      binary("sub.Tensor", "row", tensor("s"), "less"),
      node(at + "_remove_batch_dim", {plain(tensor("less")), plain(size(1)), plain(size(count)), plain(size(0))}, {tensor("y")}),
      node(at + "_vmap_decrement_nesting", {}, {none})};
  for (const char* name : {"row", "less"}) program.metas[name] = meta({size(2)});
  program.metas["s"] = meta({});
  return program;
}

TEST(ExportedLower, BatchedFunctions) {
  EXPECT_EQ(run(batched(2), Tensor::of<float>({1, 2, 3, 5}, {2, 2})).str(), Tensor::of<float>({-2, -1, -5, -3}, {2, 2}).str());
  EXPECT_EQ(run(batched(0), Tensor::full({0, 2}, 0, DType::F32)).shape(), Shape({0, 2}));
  ProgramText open = batched(2);
  open.nodes.pop_back();
  EXPECT_THAT(refusal(open), HasSubstr("has no end"));
  ProgramText leak = batched(2);  // a value of the function's own behind it
  leak.nodes.push_back(binary("add.Tensor", "row", size(1), "z"));
  leak.metas["z"] = meta({size(2)});
  EXPECT_THAT(refusal(leak), HasSubstr("no value 'row' before it"));
}

// Graphs inside each other: JSON's own depth bounds them.
TEST(ExportedLower, NestedGraphs) {
  const auto nested = [](int depth) {
    std::string body = binary("mul.Tensor", "x", size(2), "y");
    for (int i = 0; i < depth; ++i) {
      ProgramText inner = of_node(body);
      body = node("torch.ops.higher_order.strict_mode",
                  {argument("", fmt::format(R"({{"as_graph": {{"name": "g", "graph": {}}}}})", inner.graph())),
                   argument("", R"({"as_tensors": [{"name": "x"}]})")},
                  {tensor("y")});
    }
    return of_node(body);
  };
  EXPECT_EQ(run(nested(5), Tensor::of<float>({1, 2})).str(), Tensor::of<float>({2, 4}).str());
  EXPECT_THAT(refusal(nested(70)), HasSubstr("nested deeper than"));
}

}  // namespace
}  // namespace weft::exported
