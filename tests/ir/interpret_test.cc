#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/graph.h"

namespace weft::ir {
namespace {

using testing::HasSubstr;

std::vector<double> elements(const Tensor& tensor) {
  std::vector<double> result;
  for (int64_t i = 0; i < tensor.numel(); ++i) result.push_back(tensor.at(i));
  return result;
}

std::string message_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  try {
    interpret(graph, inputs);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Value);
    return error.what();
  }
  return "";
}

TEST(Interpret, RunsOperatorsInOrder) {
  const auto graph = parse_graph(R"(graph f(%x: f64[2, 2]) {
  %1: f64[2, 2] = mul(%x, %x)
  %2: f64[2] = sum(%1) {dim=[1], keepdim=false, dtype=none}
  %3: f64[] = constant {0.5}
  %4: f64[2] = add(%2, %3)
  return %4, %x
}
)");
  const Tensor x = Tensor::of<double>({1, 2, 3, 4}, {2, 2});
  const std::vector<Tensor> outputs = interpret(*graph, {x});
  EXPECT_EQ(elements(outputs.at(0)), (std::vector<double>{5.5, 25.5}));
  EXPECT_EQ(outputs.at(1).data(), x.data());
}

TEST(Interpret, BindsSymbols) {
  const auto graph = parse_graph(R"(graph f[s0=3](%x: f32[s0], %y: f32[s0*2]) {
  guard s0 < 10
  %2: f32[s0] = add(%x, %x)
  return %2
}
)");
  const auto zeros = [](int64_t n) { return Tensor::full({n}, 0, DType::F32); };
  EXPECT_EQ(bind_symbols(*graph, {zeros(5), zeros(10)}), std::vector<int64_t>{5});
  EXPECT_THAT(
      message_of(*graph, {zeros(5), zeros(9)}),
      HasSubstr("f: input 1 (y): size of dimension 0 must be 10, got 9\n  expected f32[s0*2], got f32[9]"));
  EXPECT_THAT(message_of(*graph, {zeros(1), zeros(2)}), HasSubstr("size s0 must be at least 2, got 1"));
  EXPECT_THAT(message_of(*graph, {zeros(12), zeros(24)}), HasSubstr("f: guard does not hold: s0 < 10"));
  EXPECT_THAT(message_of(*graph, {zeros(5)}), HasSubstr("expected 2 inputs, got 1"));
  EXPECT_THAT(message_of(*graph, {zeros(5).to(DType::F64), zeros(10)}),
              HasSubstr("input 0 (x): dtype differs"));
  EXPECT_THAT(message_of(*graph, {Tensor::full({5, 1}, 0, DType::F32), zeros(10)}),
              HasSubstr("number of dimensions differs"));
}

TEST(Interpret, SizesMustAgree) {
  const auto graph = parse_graph("graph f[s0=3](%x: f32[s0], %y: f32[s0]) {\n  return %x\n}\n");
  EXPECT_THAT(message_of(*graph, {Tensor::full({4}, 0, DType::F32), Tensor::full({5}, 0, DType::F32)}),
              HasSubstr("input 1 (y): size s0 is 4 elsewhere, got 5"));
}

const char* const kPower = R"(graph power[s0=0 any](%n: i64[], %go: bool[], %x: f64[]) {
  %3: f64[] = constant {1.0}
  %4: f64[], %5: i64[] = loop(%n, %go, %3, %n) (%i: i64[] = s0, %p: f64[], %last: i64[]) {
    %6: f64[] = mul(%p, %x)
    yield %go, %6, %i
  }
  return %4, %5
}
)";

TEST(Interpret, Loops) {
  const auto graph = parse_graph(kPower);
  verify(*graph);
  const auto power = [&](int64_t n, bool go) {
    const auto outputs = interpret(*graph, {Tensor::scalar(n, DType::I64), Tensor::scalar(go, DType::Bool),
                                            Tensor::scalar(3.0, DType::F64)});
    return std::pair(outputs[0].item().to_double(), outputs[1].item().to_int());
  };
  EXPECT_EQ(power(4, true), std::pair(81.0, int64_t{3}));
  EXPECT_EQ(power(0, true), std::pair(1.0, int64_t{0}));
  EXPECT_EQ(power(4, false), std::pair(1.0, int64_t{4}));
}

TEST(Interpret, Branches) {
  const auto graph = parse_graph(R"(graph f(%c: bool[], %x: f64[2]) {
  %2: f64[2] = if(%c) {
    %3: f64[2] = add(%x, %x)
    yield %3
  } else {
    yield %x
  }
  return %2
}
)");
  const Tensor x = Tensor::of<double>({1, 2});
  EXPECT_EQ(elements(interpret(*graph, {Tensor::scalar(true, DType::Bool), x})[0]),
            (std::vector<double>{2, 4}));
  EXPECT_EQ(elements(interpret(*graph, {Tensor::scalar(false, DType::Bool), x})[0]),
            (std::vector<double>{1, 2}));
}

TEST(Interpret, WritesBackAfterwards) {
  const auto graph =
      parse_graph("graph swap(%a: f64[2], %b: f64[2]) {\n  write %a = %b\n  write %b = %a\n  return %a\n}\n");
  const Tensor a = Tensor::of<double>({1, 2}), b = Tensor::of<double>({3, 4});
  const auto outputs = interpret(*graph, {a, b});
  EXPECT_EQ(elements(a), (std::vector<double>{3, 4}));
  EXPECT_EQ(elements(b), (std::vector<double>{1, 2}));
  EXPECT_EQ(elements(outputs[0]), (std::vector<double>{1, 2}));
}

}  // namespace
}  // namespace weft::ir
