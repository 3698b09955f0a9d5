// Runs that are prepared: lists of calls over an arena give what plain runs give, and keep nothing of others.
#include <atomic>
#include <optional>
#include <regex>
#include <thread>

#include "compare.h"
#include "weft/allocator.h"
#include "weft/error.h"

namespace weft::compiler::harness {
namespace {

using Tensors = std::vector<Tensor>;

std::shared_ptr<CompiledGraph> prepared(const std::string& text) {
  return compile(ir::parse_graph(text), preparing());
}

void expect_same(const Tensors& got, const Tensors& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < want.size(); ++i)
    expect_equal(got[i], want[i], tolerance, what + ", result " + std::to_string(i));
}

// The bytes of the arena that the lists of the graph have; nothing where there is no list.
std::optional<int64_t> arena_of(const CompiledGraph& graph) {
  const std::string text = graph.describe();
  std::smatch found;
  if (!std::regex_search(text, found, std::regex("an arena of ([0-9]+) bytes"))) return std::nullopt;
  return std::stoll(found[1]);
}

// Five runs of other values each; results of all are compared when all have run.
void check(const std::string& text, const std::function<Tensors(unsigned)>& make_inputs,
           double tolerance = 1e-12) {
  SCOPED_TRACE(text);
  const auto graph = ir::parse_graph(text);
  const auto compiled = prepared(text);
  EXPECT_EQ(arena_of(*compiled), std::nullopt);
  std::vector<Tensors> got, want;
  for (unsigned run = 0; run < 5; ++run) {
    const Tensors inputs = make_inputs(run);
    want.push_back(ir::interpret(*graph, inputs));
    got.push_back(compiled->run(inputs));
  }
  EXPECT_NE(arena_of(*compiled), std::nullopt);
  for (size_t run = 0; run < got.size(); ++run)
    expect_same(got[run], want[run], tolerance, "run " + std::to_string(run));
}

std::function<Tensors(unsigned)> samples(std::vector<Shape> shapes, DType dtype = DType::F64) {
  return [shapes, dtype](unsigned run) {
    Tensors inputs;
    for (size_t i = 0; i < shapes.size(); ++i)
      inputs.push_back(sample(shapes[i], dtype, 10 * run + static_cast<unsigned>(i)));
    return inputs;
  };
}

constexpr const char* kProducts = R"(graph products(%a: f64[12, 12]) {
  %1: f64[12, 12] = add(%a, %a)
  %2: f64[12, 12] = matmul(%1, %a)
  %3: f64[12, 12] = mul(%2, %a)
  %4: f64[12, 12] = matmul(%3, %1)
  %5: f64[12, 12] = sub(%4, %a)
  %6: f64[12, 12] = matmul(%5, %5)
  %7: f64[12, 12] = add(%6, %1)
  return %7
}
)";

TEST(CallList, KernelsAndOperatorsInTurn) { check(kProducts, samples({{12, 12}})); }

TEST(CallList, ViewsOfWhatIsMadeAndOfInputs) {
  check(R"(graph views(%a: f64[4, 6], %b: f64[6, 4]) {
  %1: f64[6, 4] = permute(%a) {dims=[1, 0]}
  %2: f64[6, 4] = add(%1, %b)
  %3: f64[4, 6] = permute(%2) {dims=[1, 0]}
  %4: f64[4, 4] = matmul(%3, %2)
  %5: f64[16] = reshape(%4) {shape=[16]}
  %6: f64[8] = slice(%5) {dim=0, start=1, stop=16, step=2}
  %7: f64[8, 1] = reshape(%6) {shape=[8, 1]}
  %8: f64[8, 8] = expand(%7) {shape=[8, 8]}
  %9: f64[8, 8] = matmul(%8, %8)
  %10: f64[24] = reshape(%3) {shape=[24]}
  %11: f64[2, 12] = reshape(%10) {shape=[2, 12]}
  %12: f64[12, 2] = permute(%11) {dims=[1, 0]}
  %13: f64[12, 12] = matmul(%12, %11)
  return %9, %13
}
)",
        samples({{4, 6}, {6, 4}}));
}

TEST(CallList, ResultsThatAreViewsInputsAndEachOther) {
  const std::string text = R"(graph results(%a: f64[6, 6]) {
  %2: f64[6, 6] = matmul(%a, %a)
  %3: f64[6, 6] = neg(%2)
  %4: f64[36] = reshape(%3) {shape=[36]}
  %5: f64[2, 6] = slice(%2) {dim=0, start=2, stop=4, step=1}
  %6: f64[6, 6] = permute(%a) {dims=[1, 0]}
  return %4, %3, %3, %5, %6, %a
}
)";
  check(text, samples({{6, 6}}));
  const auto compiled = prepared(text);
  for (int run = 0; run < 3; ++run) {
    const Tensor a = sample({6, 6}, DType::F64, 1);
    const Tensors got = compiled->run({a});
    EXPECT_EQ(got[0].storage(), got[1].storage());
    EXPECT_EQ(got[4].storage(), a.storage());
    EXPECT_EQ(got[5].storage(), a.storage());
    EXPECT_NE(got[3].storage(), got[1].storage());
  }
}

TEST(CallList, EmptyValuesAndNumbers) {
  check(R"(graph empty(%a: f64[0, 3], %b: f64[3, 3]) {
  %1: f64[0, 3] = add(%a, %a)
  %2: f64[0, 3] = matmul(%1, %b)
  %3: f64[0, 3] = neg(%2)
  %4: f64[] = sum(%b) {dim=[0, 1]}
  %5: f64[3, 3] = mul(%b, %4)
  %6: f64[3, 3] = matmul(%5, %5)
  return %3, %6
}
)",
        samples({{0, 3}, {3, 3}}));
}

// Into the arena, whatever the number of rows, with weights that are packed and those that are not; a result
// that is given away is none of the arena's.
TEST(CallList, LinearLayers) {
  for (const int64_t rows : {1, 2, 5})
    for (const int64_t width : {8, 160}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(width));
      const Tensor weight = sample({width, width}, DType::F32, 5), bias = sample({width}, DType::F32, 6);
      const Function layers = [&](const Tensors& in) {
        const auto layer = [&](const Tensor& x, const Tensor& residual) {
          return ops::call1("linear_fused", {x, weight, bias, residual},
                            {{"activation", std::string("none")}});
        };
        const Tensor first = layer(in[0], Tensor()), second = layer(first, in[0]);
        return Tensors{layer(ops::call1("neg", {second}), first), second};
      };
      const Tensors trial = {sample({rows, width}, DType::F32, 1)};
      const auto graph = trace("layers", layers, trial, false);
      const auto compiled = compile(graph->clone(), preparing());
      std::vector<Tensors> got, want;
      for (unsigned run = 0; run < 4; ++run) {
        const Tensors inputs = {sample({rows, width}, DType::F32, run)};
        want.push_back(ir::interpret(*graph, inputs));
        got.push_back(compiled->run(inputs));
      }
      for (size_t run = 0; run < got.size(); ++run) expect_same(got[run], want[run], 1e-5, "linear");
    }
}

// An arena is as large as what is needed at one time, and there is one for each of the sizes that come again.
TEST(CallList, TheArenaIsUsedAgain) {
  std::string text = "graph chain(%a: f64[64, 64]) {\n  %1: f64[64, 64] = add(%a, %a)\n";
  int last = 1;
  for (int i = 0; i < 10; ++i, last += 2)
    text += "  %" + std::to_string(last + 1) + ": f64[64, 64] = matmul(%" + std::to_string(last) +
            ", %a)\n  %" + std::to_string(last + 2) + ": f64[64, 64] = tanh(%" + std::to_string(last + 1) +
            ")\n";
  text += "  return %" + std::to_string(last) + "\n}\n";
  check(text, samples({{64, 64}}));
  const auto compiled = prepared(text);
  const Tensor a = sample({64, 64}, DType::F64, 1);
  for (int run = 0; run < 2; ++run) compiled->run({a});
  EXPECT_LE(arena_of(*compiled).value(), 3 * 64 * 64 * 8);
}

TEST(CallList, MemoryGoesWithTheGraph) {
  const Tensor a = sample({12, 12}, DType::F64, 1);
  const size_t before = allocator_stats().allocated;
  {
    const auto compiled = prepared(kProducts);
    for (int run = 0; run < 3; ++run) compiled->run({a});
    EXPECT_GT(allocator_stats().allocated, before);
  }
  EXPECT_EQ(allocator_stats().allocated, before);
}

// Nothing of a run's inputs is held when it has ended.
TEST(CallList, InputsAreGivenBack) {
  const auto compiled = prepared(R"(graph held(%a: f64[4, 6], %b: f64[4, 6]) {
  %1: f64[6, 4] = permute(%a) {dims=[1, 0]}
  %2: f64[6, 6] = matmul(%1, %b)
  %3: f64[6, 6] = neg(%2)
  return %3
}
)");
  const Tensor a = sample({4, 6}, DType::F64, 1), b = sample({4, 6}, DType::F64, 2);
  for (int run = 0; run < 4; ++run) {
    compiled->run({a, b});
    EXPECT_EQ(a.impl().use_count(), 1) << run;
    EXPECT_EQ(a.storage().use_count(), 1) << run;
    EXPECT_EQ(b.storage().use_count(), 1) << run;
  }
}

TEST(CallList, SizesThatComeAndGo) {
  const Function function = [](const Tensors& in) {
    const Tensor sum = ops::call1("add", {in[0], in[0]});
    const Tensor turned = ops::call1("permute", {sum}, {{"dims", SymShape{Sym(1), Sym(0)}}});
    return Tensors{ops::call1("neg", {ops::call1("matmul", {turned, sum})})};
  };
  const auto graph = trace("sizes", function, {sample({7, 5}, DType::F64, 0)}, true);
  const auto compiled = compile(graph->clone(), preparing());
  std::vector<Tensors> got, want;
  // One size in between, the same one again, more than lists are kept of.
  for (const int64_t rows : {7, 7, 9, 7, 9, 9, 2, 3, 4, 5, 6, 8, 10, 11, 12, 13, 2, 3, 4, 13, 12, 12, 7, 7})
    for (const int64_t columns : {5, 6}) {
      const Tensors inputs = {sample({rows, columns}, DType::F64, static_cast<unsigned>(rows))};
      want.push_back(ir::interpret(*graph, inputs));
      got.push_back(compiled->run(inputs));
    }
  for (size_t run = 0; run < got.size(); ++run)
    expect_same(got[run], want[run], 1e-12, "run " + std::to_string(run));
}

TEST(CallList, InputsInOtherLayouts) {
  const auto graph = ir::parse_graph(kProducts);
  const auto compiled = prepared(kProducts);
  const Tensor whole = sample({30, 30}, DType::F64, 4);
  for (int run = 0; run < 3; ++run)
    for (const Tensor& a : {whole.as_strided({12, 12}, {1, 30}, 3), whole.as_strided({12, 12}, {60, 2}, 0),
                            whole.as_strided({12, 12}, {30, 1}, 31), whole.as_strided({12, 12}, {12, 1}, 1)})
      expect_same(compiled->run({a}), ir::interpret(*graph, {a}), 1e-12, "run " + std::to_string(run));
}

// A position that is out of range in one run: the next have what they need, and results stay.
TEST(CallList, RunsAfterOneThatFailed) {
  const std::string text = R"(graph gathered(%a: f64[5, 4], %i: i64[3]) {
  %1: f64[5, 4] = add(%a, %a)
  %2: f64[20] = reshape(%1) {shape=[20]}
  %3: f64[3] = gather(%2, %i) {dim=0}
  %4: f64[3] = neg(%3)
  write %a = %1
  return %4
}
)";
  const auto graph = ir::parse_graph(text);
  const auto compiled = prepared(text);
  std::vector<Tensors> got, want;
  for (const int64_t last : {19, 3, 0, 20, 7, 20, 20, 1}) {
    const Tensor index = Tensor::of<int64_t>({2, 0, last}), a = sample({5, 4}, DType::F64, 3), b = a.clone();
    if (last == 20) {
      EXPECT_THROW(compiled->run({a, index}), Error);
      expect_equal(a, b, 0, "an input after a run that failed");
      continue;
    }
    got.push_back(compiled->run({a, index}));
    want.push_back(ir::interpret(*graph, {b, index}));
    expect_equal(a, b, 0, "input");
  }
  for (size_t run = 0; run < got.size(); ++run) expect_same(got[run], want[run], 0, "results");
}

TEST(CallList, SeveralThreadsAtOnce) {
  const auto graph = ir::parse_graph(kProducts);
  const auto compiled = prepared(kProducts);
  constexpr unsigned kThreads = 4;
  std::vector<std::thread> threads;
  std::atomic<int> num_wrong = 0;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const Tensor a = sample({12, 12}, DType::F64, t);
      const Tensor want = ir::interpret(*graph, {a})[0];
      std::vector<Tensor> kept;
      for (int run = 0; run < 40; ++run) kept.push_back(compiled->run({a})[0]);
      for (const Tensor& got : kept)
        for (int64_t i = 0; i < want.numel(); ++i)
          num_wrong += std::fabs(got.at(i) - want.at(i)) > 1e-9 * (1 + std::fabs(want.at(i)));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
}

// Buffers that a program updates, with values between the updates.
TEST(CallList, InputsThatAreWrittenBack) {
  const std::string text = R"(graph updated(%cache: f64[6, 4], %x: f64[1, 4], %w: f64[4, 4]) {
  %1: f64[1, 4] = matmul(%x, %w)
  %2: f64[1, 4] = neg(%1)
  %3: f64[6, 4] = slice_update(%cache, %2) {dim=0, start=2, stop=3, step=1}
  %4: f64[4, 6] = permute(%3) {dims=[1, 0]}
  %5: f64[1, 6] = matmul(%2, %4)
  %6: f64[1, 6] = exp(%5)
  write %cache = %3
  return %6
}
)";
  const auto graph = ir::parse_graph(text);
  const auto compiled = prepared(text);
  const Tensor cache = sample({6, 4}, DType::F64, 1), other = cache.clone(),
               w = sample({4, 4}, DType::F64, 2);
  for (unsigned run = 0; run < 5; ++run) {
    const Tensor x = sample({1, 4}, DType::F64, run);
    const Tensors got = compiled->run({cache, x, w}), want = ir::interpret(*graph, {other, x, w});
    expect_same(got, want, 1e-12, "run " + std::to_string(run));
    expect_equal(cache, other, 1e-12, "cache");
  }
}

TEST(CallList, WithoutItNothingIsKept) {
  const auto compiled = compile(ir::parse_graph(kProducts));
  const Tensor a = sample({12, 12}, DType::F64, 1);
  const size_t before = allocator_stats().allocated;
  for (int run = 0; run < 3; ++run) compiled->run({a});
  EXPECT_EQ(arena_of(*compiled), std::nullopt);
  EXPECT_EQ(allocator_stats().allocated, before);
}

}  // namespace
}  // namespace weft::compiler::harness
