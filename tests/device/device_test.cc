// The seam: a device that is not weft's own runs eager operators, copies, prints and compiled graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/stages.h"
#include "far_device.h"
#include "ir/trace.h"
#include "ops/build.h"
#include "ops/harness.h"
#include "ops/tracer.h"
#include "support/random_graph.h"
#include "weft/allocator.h"
#include "weft/compile.h"
#include "weft/ops.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::difference;
using testing_support::error_of;
using testing_support::far_counts;
using testing_support::far_type;
using testing_support::moved;

const Device kFar{far_type, 1};

Tensor numbers(const Shape& shape, DType dtype = DType::F32, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  return testing_support::random_tensor(random, shape, dtype);
}

TEST(Devices, HaveNamesAndNumbers) {
  EXPECT_EQ(Device::parse("far:1"), kFar);
  EXPECT_EQ(kFar.str(), "far:1");
  EXPECT_EQ(kFar.name(), "far");
  EXPECT_THAT(error_of([] { Device::parse("near"); }),
              HasSubstr("expected 'cpu', 'cuda', 'cuda:<index>', 'far' or 'meta', got 'near'"));
  EXPECT_EQ(error_of([] { Tensor::empty({2}, DType::F32, Device::parse("far:2")); }),
            "device 'far:2' cannot be used: there are 2 such devices, and no number 2");
}

TEST(Devices, OwnTheMemoryOfTensors) {
  const int64_t allocations = far_counts().allocations, frees = far_counts().frees;
  const AllocatorStats before = allocator_stats();
  {
    const Tensor x = Tensor::empty({1000, 3}, DType::F64, kFar), small = Tensor::empty({}, DType::I8, kFar);
    EXPECT_EQ(far_counts().allocations - allocations, 2);
    EXPECT_EQ(x.device(), kFar);
    EXPECT_EQ(x.as_strided({3, 1000}, {1, 3}, 0).device(), kFar);
  }
  EXPECT_EQ(far_counts().frees - frees, 2);
  EXPECT_EQ(allocator_stats().allocated, before.allocated);
}

TEST(Devices, CopyThereAndBack) {
  for (DType dtype : {DType::F32, DType::I64, DType::Bool, DType::C128, DType::BF16}) {
    const Tensor x = numbers({5, 7}, dtype), turned = x.as_strided({7, 5}, {1, 7}, 0);
    EXPECT_EQ(difference({x.to(kFar).to(Device())}, {x}), "");
    EXPECT_EQ(difference({turned.to(kFar).to(Device())}, {turned}), "");
    EXPECT_EQ(difference({turned.to(kFar).clone().to(Device{far_type, 0}).to(Device())}, {turned}), "");
    EXPECT_EQ(difference({x.to(kFar).to(DType::C64).to(Device())}, {x.to(DType::C64)}), "");
    const Tensor target = Tensor::full({5, 7}, Scalar(1), dtype, kFar);
    target.copy_from(x.as_strided({7}, {1}, 7));  // broadcast, from the host
    EXPECT_EQ(target.to(Device()).at(8), x.at(8));
    EXPECT_EQ(target.at(8), x.at(8));
    const Tensor back = Tensor::full({5, 7}, Scalar(0), dtype);
    back.copy_from(target);
    EXPECT_EQ(difference({back}, {target.to(Device())}), "");
  }
  EXPECT_EQ(Tensor::full({}, Scalar(2.5), DType::F16, kFar).item().to_double(), 2.5);
  EXPECT_EQ(Tensor::full({2}, Scalar(2), DType::F32, kFar).str(), "tensor([2., 2.], device='far:1')");
  EXPECT_EQ(numbers({2}).to(Device::parse("meta")).str(), "tensor(..., device='meta', size=(2,))");
  EXPECT_THAT(error_of([] { numbers({2}).to(Device::parse("meta")).to(kFar); }),
              HasSubstr("to: f32[2] meta has no elements to move to far:1"));
}

TEST(Devices, RefuseWhatDoesNotFitTheirMemory) {
  EXPECT_THAT(error_of([] { weft::full({int64_t{1} << 33}, Scalar(0.0), DType::F32, kFar); }),
              HasSubstr("GiB"));
}

TEST(Devices, MustBeTheSameForAllOperands) {
  EXPECT_THAT(
      error_of([] { add(numbers({2}), numbers({2}).to(kFar)); }),
      HasSubstr("add: Expected all tensors to be on the same device, but found at least two devices, cpu and "
                "far:1!"));
}

struct Program {
  const char* name;
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> run;
  std::vector<Tensor> inputs;
};

std::vector<Program> programs() {
  const Tensor image = numbers({1, 3, 9, 9}), x = numbers({4, 6}), y = numbers({6, 5}, DType::F32, 2);
  return {
      {"pointwise", [](auto in) { return std::vector{mul(add(in[0], in[0]), exp(in[0]))}; }, {x}},
      {"numbers", [](auto in) { return std::vector{add(in[0], 2.5), gt(in[0], 0)}; }, {x}},
      {"reductions",
       [](auto in) { return std::vector{sum(in[0]), amax(in[0], {0}), argmin(in[0], 1)}; },
       {x}},
      {"views",
       [](auto in) { return std::vector{slice(permute(in[0], {1, 0}), 0, 1, 5, 2), unsqueeze(in[0], 1)}; },
       {x}},
      {"matmul", [](auto in) { return std::vector{matmul(in[0], in[1])}; }, {x, y}},
      {"linear", [](auto in) { return std::vector{linear(in[0], permute(in[1], {1, 0}))}; }, {x, y}},
      {"convolution",
       [](auto in) {
         return std::vector{conv2d(in[0], in[1], Tensor(), {2, 2}, {1, 1}), max_pool2d(in[0], {3})};
       },
       {image, numbers({2, 3, 3, 3})}},
      {"softmax", [](auto in) { return std::vector{softmax(in[0], 1), log_softmax(in[0], 0)}; }, {x}},
      {"layer_norm", [](auto in) { return std::vector{layer_norm(in[0], {6})}; }, {x}},
      {"sort", [](auto in) { return std::vector{sort_values(in[0])}; }, {x}},
      {"cumsum", [](auto in) { return std::vector{cumsum(in[0], 0)}; }, {x}},
      {"gather",
       [](auto in) {
         return std::vector{gather(in[0], 1, argsort(in[0], 1)), index_select(in[0], 0, argmin(in[0], 0))};
       },
       {x}},
      {"embedding", [](auto in) { return std::vector{embedding(argmin(in[0], 1), in[1])}; }, {x, y}},
      {"attention",
       [](auto in) { return std::vector{scaled_dot_product_attention(in[0], in[0], in[0])}; },
       {numbers({1, 2, 4, 8})}},
      {"masks",
       [](auto in) { return std::vector{nonzero(gt(in[0], 0)), where(gt(in[0], 0), in[0], neg(in[0]))}; },
       {x}},
      {"integers",
       [](auto in) { return std::vector{floor_divide(in[0], 3), remainder(in[0], 4)}; },
       {numbers({9}, DType::I64)}},
      {"joined",
       [](auto in) { return std::vector{concatenate({in[0], in[0]}, 1), stack({in[0], in[0]})}; },
       {x}},
      {"created",
       [](auto in) {
         return std::vector{ones_like(in[0]),
                            add(arange(6, std::nullopt, 1, DType::F32, in[0].device()), in[0])};
       },
       {x}},
  };
}

TEST(Devices, RunEagerOperators) {
  for (const Program& program : programs()) {
    SCOPED_TRACE(program.name);
    try {
      const std::vector<Tensor> got = program.run(moved(program.inputs, kFar)),
                                want = program.run(program.inputs);
      for (const Tensor& result : got) EXPECT_EQ(result.device(), kFar);
      const auto close = [](DType, double a, double b) {
        return std::abs(a - b) <= 1e-5 * (1 + std::abs(b));
      };
      EXPECT_EQ(difference(moved(got, Device()), want, close), "");
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(Devices, RunCompiledFunctions) {
  for (const Program& program : programs()) {
    SCOPED_TRACE(program.name);
    try {
      const detail::CompiledFunction compiled(program.run, {.name = program.name, .dynamic = false});
      for (int call = 0; call < 3; ++call) {
        const std::vector<Tensor> got = compiled(moved(program.inputs, kFar)),
                                  want = program.run(program.inputs);
        for (const Tensor& result : got) EXPECT_EQ(result.device(), kFar);
        const auto close = [](DType, double a, double b) {
          return std::abs(a - b) <= 1e-5 * (1 + std::abs(b));
        };
        EXPECT_EQ(difference(moved(got, Device()), want, close), "") << compiled.explain();
      }
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(Devices, PrintAndScheduleLoopsTheirWay) {
  const detail::CompiledFunction compiled(
      [](const std::vector<Tensor>& in) { return std::vector{mul(add(in[0], in[0]), in[0])}; },
      {.name = "f"});
  const int64_t launches = far_counts().launches, calls = far_counts().library_calls;
  compiled({numbers({1000}).to(kFar)});
  EXPECT_EQ(far_counts().launches - launches, 1);
  EXPECT_EQ(far_counts().library_calls, calls);
  const std::string text = compiled.explain();
  EXPECT_THAT(text, HasSubstr("extern \"C\" void far_"));
  EXPECT_THAT(text, HasSubstr("far_blocks(1000, "));
  EXPECT_THAT(text, HasSubstr("vectorized<2>"));
  std::vector<std::string> names;
  for (const compiler::Stage& stage : compiler::stages(kFar)) names.emplace_back(stage.name);
  EXPECT_THAT(names, testing::Contains("choose_far_lanes"));
  EXPECT_THAT(names, testing::Not(testing::Contains("choose_streaming")));
}

// Every value of a graph, on another device.
void move(ir::Graph& graph, Device device) {
  const auto move_value = [&](ir::Value* value) { value->type.tensor.device = device; };
  for (ir::Value* input : graph.inputs()) move_value(input);
  ir::for_each_node(graph.body(), [&](ir::Node& node) {
    for (ir::Value* output : node.outputs) move_value(output);
    if (node.kind == ir::NodeKind::Constant) node.constant = node.constant.to(device);
    if (node.attrs.find("device")) node.attrs.set("device", device);
  });
}

TEST(Devices, RunRandomGraphs) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto sample = testing_support::random_graph(seed, {.num_nodes = 4 + static_cast<int>(seed % 12)});
    std::unique_ptr<ir::Graph> graph = sample.graph->clone();
    move(*graph, kFar);
    const std::string text = graph->str();
    const auto close = [](DType, double a, double b) { return std::abs(a - b) <= 1e-5 * (1 + std::abs(b)); };
    try {
      const std::vector<Tensor> got = compiler::compile(std::move(graph))->run(moved(sample.inputs, kFar));
      ASSERT_EQ(difference(moved(got, Device()), ir::interpret(*sample.graph, sample.inputs), close), "")
          << text;
    } catch (const std::exception& error) {
      FAIL() << error.what() << "\n" << text;
    }
  }
}

TEST(Devices, HaveStreamsAndEvents) {
  for (Device device : {Device(), kFar, Device::parse("meta")}) {
    const Backend& backend = backend_of(device);
    const Stream stream = backend.current_stream(device.index);
    EXPECT_EQ(stream.device, device);
    const Event before = backend.record(stream);
    const Tensor x = Tensor::full({100}, Scalar(1), DType::F32, device);
    add(x, mul(x, x));
    const Event after = backend.record(stream);
    backend.wait(stream, after);
    backend.synchronize(stream);
    EXPECT_GE(backend.elapsed_ms(before, after), 0);
  }
}

}  // namespace
}  // namespace weft
