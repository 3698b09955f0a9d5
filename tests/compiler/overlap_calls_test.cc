// Calls of all ranks are under way while what does not need them is computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "compare.h"
#include "compiler/program.h"
#include "compiler/stages.h"
#include "ops/effects.h"
#include "runtime/log.h"
#include "weft/error.h"

namespace weft::compiler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Tensors = std::vector<Tensor>;

// ---- what the stage makes of programs ---------------------------------------------------------------------
// A line per step.
std::vector<std::string> steps_of(const std::string& body, const std::string& inputs) {
  const auto graph = ir::parse_graph("graph f(" + inputs + ") {\n" + body + "}\n");
  run_graph_stages(*graph);
  std::vector<std::string> found;
  for (const PlanStep& step : make_program(*graph, {}, {}).steps)
    found.push_back(step.kernel ? "kernel" : step.description);
  return found;
}

constexpr const char* kSquares = "%x: f32[64, 64], %y: f32[64, 64], %r: f32[64, 64], %w: f32[64]";
const std::string kReduce = "f32[64, 64] = _all_reduce(%a) {op=\"sum\"}\n";

TEST(OverlapCalls, WhatDoesNotNeedTheResultIsBetween) {
  EXPECT_THAT(
      steps_of(
          "  %a: f32[64, 64] = matmul(%x, %x)\n  %s: " + kReduce +
              "  %b: f32[64, 64] = matmul(%s, %y)\n  %c: f32[64, 64] = matmul(%y, %y)\n  return %b, %c\n",
          kSquares),
      ElementsAre("call matmul", "begin call _all_reduce", "call matmul", "wait for call _all_reduce",
                  "call matmul"));
}

TEST(OverlapCalls, WithNothingBetweenACallIsWhole) {
  EXPECT_THAT(steps_of("  %a: f32[64, 64] = matmul(%x, %x)\n  %s: " + kReduce +
                           "  %b: f32[64, 64] = matmul(%s, %y)\n  return %b\n",
                       kSquares),
              ElementsAre("call matmul", "call _all_reduce", "call matmul"));
}

TEST(OverlapCalls, ResidualAndNormAreOneKernelBehindIt) {
  EXPECT_THAT(steps_of("  %a: f32[64, 64] = matmul(%x, %x)\n  %s: " + kReduce +
                           "  %h: f32[64, 64] = add(%s, %r)\n  %q: f32[64, 64] = mul(%h, %h)\n"
                           "  %m: f32[64, 1] = sum(%q) {dim=[1], keepdim=true, dtype=none}\n"
                           "  %v: f32[64, 1] = rsqrt(%m)\n  %n: f32[64, 64] = mul(%h, %v)\n"
                           "  %g: f32[64, 64] = mul(%n, %w)\n  %c: f32[64, 64] = matmul(%y, %y)\n"
                           "  %b: f32[64, 64] = matmul(%g, %c)\n  return %b\n",
                       kSquares),
              ElementsAre("call matmul", "begin call _all_reduce", "call matmul", "wait for call _all_reduce",
                          "kernel", "call matmul"));
}

TEST(OverlapCalls, KeepTheirOrderAndThatOfEffects) {
  const std::vector<std::string> found = steps_of(
      "  %s: f32[64, 64] = _all_reduce(%x) {op=\"sum\"}\n  %a: f32[64, 64] = matmul(%s, %y)\n"
      "  %t: f32[64, 64] = _all_reduce(%a) {op=\"max\"}\n  %b: f32[64, 64] = matmul(%y, %y)\n"
      "  %u: f32[64, 64] = _broadcast(%b) {root=0}\n  return %t, %u\n",
      kSquares);
  EXPECT_THAT(found,
              ElementsAre("call _all_reduce", "call matmul", "begin call _all_reduce", "call matmul",
                          "begin call _broadcast", "wait for call _all_reduce", "wait for call _broadcast"))
      << "the first is needed at once; the others' results are the program's";
}

TEST(OverlapCalls, TellWhatIsBetween) {
  log::set_logs("fusion");
  ::testing::internal::CaptureStderr();
  steps_of(
      "  %s: f32[64, 64] = _all_reduce(%x) {op=\"sum\"}\n  %c: f32[64, 64] = matmul(%y, %y)\n"
      "  %b: f32[64, 64] = matmul(%s, %c)\n  return %b\n",
      kSquares);
  const std::string text = ::testing::internal::GetCapturedStderr();
  log::set_logs("");
  EXPECT_THAT(text, HasSubstr("f: call _all_reduce is under way during matmul"));
}

// A late step, and what changes places with it, hold memory: there is an end to it.
TEST(OverlapCalls, ChangeFewPlaces) {
  for (const int count : {31, 32, 33, 60}) {
    std::string body =
        "  %s: f32[64, 64] = _all_reduce(%x) {op=\"sum\"}\n  %a: f32[64, 64] = matmul(%s, %s)\n";
    std::string last = "%y";
    for (int i = 0; i < count; ++i) {
      const std::string name = "%c" + std::to_string(i);
      body += "  " + name + ": f32[64, 64] = matmul(" + last + ", %y)\n";
      last = name;
    }
    const std::vector<std::string> found = steps_of(body + "  return %a, " + last + "\n", kSquares);
    const auto wait = std::find(found.begin(), found.end(), "wait for call _all_reduce");
    EXPECT_EQ(wait - found.begin(), 1 + std::min(count, 32));
    EXPECT_EQ(found.size(), static_cast<size_t>(count) + 3);
  }
}

// ---- runs -------------------------------------------------------------------------------------------------
// An operator in two parts: what it has read must still be there at the end.
std::vector<std::string>& events() {
  static auto& all = *new std::vector<std::string>;
  return all;
}
bool& fails() {
  static bool value = false;
  return value;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  return std::memcmp(x.data(), y.data(), static_cast<size_t>(x.numel() * itemsize(x.dtype()))) == 0;
}

Tensor doubled(const Tensor& x) { return ops::call(ops::get_op("add"), {{x, x}, {}})[0]; }

class Begun final : public ops::BegunCall {
 public:
  explicit Begun(const Tensor& x) : x_(x), copy_(x.clone()), result_(Tensor::empty(x.shape(), x.dtype())) {
    result_.copy_from(copy_);
    events().push_back("begin");
  }
  ~Begun() override {
    if (!is_done_) events().push_back("gone");
    EXPECT_TRUE(same_bytes(x_, copy_)) << "somebody wrote where it reads";
    EXPECT_TRUE(same_bytes(result_, copy_)) << "somebody wrote where it writes";
  }
  void advance() override { events().push_back("advance"); }
  Tensors wait() override {
    events().push_back("wait");
    is_done_ = true;
    if (fails()) throw_error(ErrorKind::Runtime, "the others have gone");
    return {doubled(x_)};
  }

 private:
  Tensor x_, copy_, result_;
  bool is_done_ = false;
};

const ops::OpDef& doubling() {
  static const ops::OpDef& op = [&]() -> const ops::OpDef& {
    ops::OpDef def;
    def.name = "_test_doubling";
    def.schema = "(Tensor x) -> Tensor";
    def.infer = [](const ops::OpDef&, std::span<const ops::TensorType> operands, const ops::Attrs&) {
      return std::vector<ops::TensorType>{operands[0]};
    };
    def.eager = [](const ops::OpDef&, std::span<const Tensor> operands, const ops::Attrs&) -> Tensors {
      events().push_back("whole");
      return {doubled(operands[0])};
    };
    def.begin = [](const ops::OpDef&, std::span<const Tensor> operands, const ops::Attrs&) {
      return std::make_unique<Begun>(operands[0]);
    };
    const ops::OpDef& made = ops::register_op(std::move(def));
    ops::declare_draws(made);
    return made;
  }();
  return op;
}

Tensor call(const char* name, Tensors operands) {
  return ops::call(ops::get_op(name), {std::move(operands), {}})[0];
}

// Values of one shape, of which each is made of two before; some are parts of others.
Tensors random_program(unsigned seed, const Tensors& in) {
  std::mt19937_64 random(seed);
  const auto below = [&](size_t count) { return static_cast<size_t>(random() % count); };
  Tensors values = in;
  for (int i = 0; i < 24; ++i) {
    const Tensor a = values[below(values.size())], b = values[values.size() - 1 - below(2)];
    switch (below(6)) {
      case 0: values.push_back(call("matmul", {a, b})); break;
      case 1: values.push_back(call("add", {a, b})); break;
      case 2: values.push_back(call("maximum", {a, b})); break;
      case 3: values.push_back(call("sin", {b})); break;
      default: values.push_back(ops::call(doubling(), {{b}, {}})[0]); break;
    }
  }
  return {values.back(), values[values.size() - 4], values[in.size() + below(10)]};
}

class OverlapRuns : public ::testing::TestWithParam<bool> {};

TEST_P(OverlapRuns, GiveWhatTheInterpreterGives) {
  const bool symbolic = GetParam();
  size_t num_parts = 0;
  for (unsigned seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Shape shape = {12, 12};
    const Tensors inputs = {harness::sample(shape, DType::F32, seed),
                            harness::sample(shape, DType::F32, seed + 100)};
    doubling();
    std::unique_ptr<ir::Graph> graph =
        harness::trace("f", [=](const Tensors& in) { return random_program(seed, in); }, inputs, symbolic);
    events().clear();
    const Tensors expected = ir::interpret(*graph, inputs);
    const auto calls = static_cast<std::ptrdiff_t>(events().size());
    const auto compiled = compile(std::move(graph), harness::preparing());
    for (int run = 0; run < 3; ++run) {  // the third is a list of calls
      events().clear();
      const Tensors found = compiled->run(inputs);
      for (size_t i = 0; i < found.size(); ++i)
        harness::expect_equal(found[i], expected[i], 1e-5, "result " + std::to_string(i));
      const auto count = [](const char* event) {
        return std::count(events().begin(), events().end(), event);
      };
      EXPECT_EQ(count("begin") + count("whole"), calls);
      EXPECT_EQ(count("begin"), count("wait"));
      EXPECT_GE(count("advance"), count("begin"));
      num_parts += static_cast<size_t>(count("begin"));
    }
  }
  EXPECT_GT(num_parts, 150u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, OverlapRuns, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Symbolic" : "Known"; });

TEST(OverlapRuns, FailAsTheWholeCallDoes) {
  doubling();
  const Tensors inputs = {harness::sample({12, 12}, DType::F32, 1)};
  const auto f = [](const Tensors& in) -> Tensors {
    const Tensor sum = ops::call(doubling(), {{in[0]}, {}})[0];
    const Tensor other = call("matmul", {in[0], in[0]});
    return {call("matmul", {sum, other})};
  };
  const auto compiled = compile(harness::trace("f", f, inputs, false), harness::preparing());
  for (int run = 0; run < 3; ++run) {
    fails() = true;
    events().clear();
    try {
      compiled->run(inputs);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("the others have gone"));
    }
    fails() = false;
    EXPECT_THAT(events(), ::testing::Contains("wait"));
    EXPECT_EQ(compiled->run(inputs)[0].numel(), 144);
  }
}

// An error between the parts: the call is waited for before its memory goes.
TEST(OverlapRuns, AnErrorBetweenThePartsEndsTheCall) {
  doubling();
  const Tensors inputs = {harness::sample({12, 12}, DType::F32, 1), Tensor::of(std::vector<int64_t>{99})};
  const auto compiled =
      compile(ir::parse_graph(
                  "graph f(%x: f32[12, 12], %i: i64[1]) {\n  %s: f32[12, 12] = _test_doubling(%x)\n"
                  "  %g: f32[1, 12] = embedding(%i, %x)\n  %b: f32[12, 12] = add(%s, %g)\n  return %b\n}\n"),
              harness::preparing());
  for (int run = 0; run < 3; ++run) {
    events().clear();
    EXPECT_THROW(compiled->run(inputs), Error);
    EXPECT_THAT(events(), ElementsAre("begin", "advance", "gone"));
  }
}

}  // namespace
}  // namespace weft::compiler
