// The device cuda, emulated (docs/GPU.md): kernels' text on the host, threads in random order, shared memory
// that holds arbitrary bytes, and addresses that the process cannot read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "compiler/compiled_graph.h"
#include "core/backend.h"
#include "device/cuda/driver.h"
#include "device/cuda/emulated_threads.h"
#include "device/cuda/memory.h"
#include "ir/place.h"
#include "nest/grid.h"
#include "ops/build.h"
#include "ops/harness.h"
#include "support/golden.h"
#include "support/random_graph.h"
#include "weft/allocator.h"
#include "weft/ops.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing_support::difference;
using testing_support::error_of;
using testing_support::moved;
using testing_support::random_tensor;

// Before the first use of the device. WEFT_TEST_GPU=1: on a GPU (scripts/test_gpu).
const bool is_emulated = std::getenv("WEFT_TEST_GPU") == nullptr;
[[maybe_unused]] const int is_set = is_emulated ? ::setenv("WEFT_DEVICE_EMULATE", "1", 1) : 0;

const Device kCuda{DeviceType::CUDA, 0};

bool is_close(DType dtype, double a, double b) {
  const double bound = dtype == DType::F32 || dtype == DType::C64 ? 1e-4 : 1e-9;
  return is_inexact(dtype) && std::abs(a - b) <= bound * (1 + std::abs(b));
}

class PointwiseOnGpu : public ::testing::TestWithParam<std::string> {};

// To the last bit: both evaluate the same text.
TEST_P(PointwiseOnGpu, EqualsTheHost) {
  using namespace ops;
  const OpDef& op = get_op(GetParam());
  const Attrs attrs = ops::harness::default_attrs(op);
  for (DType dtype : ops::harness::dtypes_in(op.dtypes)) {
    for (bool special : {false, true}) {
      std::vector<Tensor> operands;
      for (size_t i = 0; i < ops::harness::operand_count(op); ++i)
        operands.push_back(ops::harness::sample({300}, i == 0 && op.name == "where" ? DType::Bool : dtype,
                                                op.sample_low, op.sample_high,
                                                static_cast<unsigned>(17 * i + 1), special));
      const Tensor want = call(op, {operands, attrs})[0];
      const Tensor got = call(op, {moved(operands, kCuda), attrs})[0];
      EXPECT_EQ(got.device(), kCuda);
      EXPECT_EQ(difference({got.to(Device())}, {want}), "")
          << op.name << " " << name(dtype) << (special ? ", special values" : "");
    }
  }
}

std::vector<std::string> pointwise_names() {
  std::vector<std::string> names;
  for (const auto& [name, op] : ops::all_ops())
    if (op->kind == ops::OpKind::Pointwise && op->semantics != nullptr &&
        ops::harness::operand_count(*op) > 0)
      names.push_back(name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(AllOperators, PointwiseOnGpu, ::testing::ValuesIn(pointwise_names()),
                         [](const auto& info) { return info.param; });

Tensor numbers(const Shape& shape, DType dtype, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  return random_tensor(random, shape, dtype);
}

// Each side of every size at which another way is taken (nest/grid.cc). some: a value and an index, of one dtype.
void expect_reductions(bool some) {
  const std::vector<std::pair<Shape, std::vector<int64_t>>> cases = {
      {{1}, {0}},          {{31}, {0}},         {{2047}, {0}},
      {{2048}, {0}},       {{2049}, {0}},       {{70000}, {0}},
      {{5, 1000}, {1}},    {{600, 1023}, {1}},  {{600, 1025}, {1}},
      {{3, 16383}, {1}},   {{3, 16385}, {1}},   {{511, 33}, {1}},
      {{255, 40}, {0}},    {{256, 40}, {0}},    {{5000, 9}, {0}},
      {{5000, 3}, {0}},    {{20, 30, 40}, {1}}, {{20, 30, 40}, {0, 2}},
      {{300, 4, 50}, {0}}, {{2, 70000}, {0}},   {{40, 50, 60}, {0, 1, 2}},
  };
  for (const auto& [shape, dims] : cases) {
    // Narrow types at two shapes: kernels differ in their text, not in their ways.
    const bool all_dtypes = shape == Shape{2049} || shape == Shape{5, 1000};
    const std::vector<DType> dtypes =
        all_dtypes && !some ? std::vector{DType::F64, DType::F32, DType::F16, DType::I64, DType::I8, DType::Bool}
                            : std::vector{DType::F64};
    for (DType dtype : dtypes) {
      SCOPED_TRACE(weft::str(shape) + " " + weft::str(dims) + " " + std::string(name(dtype)));
      const Tensor x = numbers(shape, dtype), y = x.to(kCuda);
      const auto both = [&](auto function) {
        EXPECT_EQ(difference({function(y).to(Device())}, {function(x)},
                             [&](DType d, double a, double b) {
                               const double bound = d == DType::F16 ? 2e-2 : d == DType::F32 ? 1e-3 : 1e-9;
                               return is_inexact(d) && std::abs(a - b) <= bound * (1 + std::abs(b));
                             }),
                  "");
      };
      const auto exactly = [&](auto function) {
        EXPECT_EQ(difference({function(y).to(Device())}, {function(x)}), "");
      };
      both([&](const Tensor& t) { return sum(t, dims); });
      if (!some) exactly([&](const Tensor& t) { return amax(t, dims); });
      if (dims.size() == 1) {
        exactly([&](const Tensor& t) { return argmin(t, dims[0]); });
        if (!some) exactly([&](const Tensor& t) { return argmax(t, dims[0]); });
      }
    }
  }
}

TEST(ReductionsOnGpu, EqualTheHost) { expect_reductions(true); }

TEST(LongReductionsOnGpu, EqualTheHost) { expect_reductions(false); }

// What shares a loop, chains of reductions along rows and columns, several results.
void expect_random_graphs(uint64_t first, uint64_t last) {
  for (uint64_t seed = first; seed < last; ++seed) {
    for (bool symbolic : {false, true}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + (symbolic ? ", symbolic" : ""));
      const auto sample = testing_support::random_graph(
          seed, {.num_nodes = 4 + static_cast<int>(seed % 12), .symbolic = symbolic});
      std::unique_ptr<ir::Graph> graph = sample.graph->clone();
      ir::place(*graph, kCuda);
      const std::string text = graph->str();
      try {
        const std::vector<Tensor> got = compiler::compile(std::move(graph))->run(moved(sample.inputs, kCuda));
        ASSERT_EQ(difference(moved(got, Device()), ir::interpret(*sample.graph, sample.inputs), is_close), "")
            << text;
      } catch (const std::exception& error) {
        FAIL() << error.what() << "\n" << text;
      }
    }
  }
}

TEST(GraphsOnGpu, EqualTheHost) { expect_random_graphs(0, 8); }

TEST(LongGraphsOnGpu, EqualTheHost) { expect_random_graphs(8, 60); }

void expect_text(const std::string& name, const std::string& graph_text) {
  std::unique_ptr<ir::Graph> graph = ir::parse_graph(graph_text);
  ir::place(*graph, kCuda);
  const auto compiled = compiler::compile(std::move(graph));
  std::string got;
  for (const compiler::KernelInfo& kernel : compiled->kernels()) got += kernel.source;
  testing_support::expect_file(name + ".cu.txt", got);
}

TEST(TextOnGpu, OfKMeans) { expect_text("kmeans", testing_support::kKMeansGraph); }

TEST(TextOnGpu, OfSoftmax) { expect_text("softmax", testing_support::kSoftmaxGraph); }

TEST(TextOnGpu, OfColumns) {
  expect_text("columns_in_parts", R"(graph columns(%x: f64[3000, 40]) {
  %1: f64[40] = sum(%x) {dim=[0], keepdim=false, dtype=none}
  %2: i64[40] = argmax(%x) {dim=0, keepdim=false}
  return %1, %2
}
)");
}

TEST(TextOnGpu, OfASum) {
  expect_text("sum_of_all", R"(graph total(%x: f64[1000000]) {
  %1: f64[] = sum(%x) {dim=[0], keepdim=false, dtype=none}
  return %1
}
)");
}

TEST(EmulatedThreads, TellWhereABarrierIsMissed) {
  const auto half_waits = [](cuda::EmulatedThread* thread, void* const*) {
    if (thread->thread < 100) thread->barrier(thread);
  };
  const auto all_wait = [](cuda::EmulatedThread* thread, void* const*) {
    thread->barrier(thread);
    thread->warp_barrier(thread);
  };
  EXPECT_FALSE(cuda::run_blocks(half_waits, nullptr, {1, true}, 7));
  EXPECT_TRUE(cuda::run_blocks(all_wait, nullptr, {3, true}, 7));
}

// What the order and the poison are for.
TEST(EmulatedThreads, ShowRaces) {
  const auto race = [](cuda::EmulatedThread* thread, void* const* parameters) {
    auto* const out = static_cast<uint64_t*>(parameters[0]);
    thread->shared[0] = static_cast<uint64_t>(thread->thread);
    if (thread->thread == 255) *out = thread->shared[0];
  };
  uint64_t poison = 0;
  void* parameters[] = {&poison};
  const auto read_first = [](cuda::EmulatedThread* thread, void* const* in) {
    if (thread->thread == 0) *static_cast<uint64_t*>(in[0]) = thread->shared[3];
  };
  EXPECT_TRUE(cuda::run_blocks(read_first, parameters, {1, false}, 3));
  EXPECT_EQ(poison, 0xCBCBCBCBCBCBCBCB);
  EXPECT_TRUE(cuda::run_blocks(race, parameters, {1, false}, 0));
  EXPECT_EQ(poison, 255u);
}

TEST(GpuMemory, IsKeptForReuseAndGivenBack) {
  if (!is_emulated) GTEST_SKIP() << "it takes all memory";
  cuda::release_kept_memory(0);
  const int64_t before = cuda::memory_stats(0).allocations;
  {
    const Tensor x = Tensor::empty({1000}, DType::F64, kCuda);
  }
  {
    const Tensor x = Tensor::empty({1001}, DType::F64, kCuda);
  }
  EXPECT_EQ(cuda::memory_stats(0).allocations - before, 1);
  EXPECT_GT(cuda::memory_stats(0).cached, 0u);
  cuda::set_emulated_memory(size_t{1} << 20);
  {
    const Tensor x = Tensor::empty({(1 << 17) - 512}, DType::F64, kCuda);
  }  // what is kept makes room
  const AllocatorStats host = allocator_stats();
  EXPECT_THAT(error_of([] { Tensor::empty({1 << 18}, DType::F64, kCuda); }),
              HasSubstr("cuda:0: out of memory: asked for 2.0 MiB; weft's tensors hold 0.0 KiB there"));
  EXPECT_EQ(allocator_stats().cached, host.cached);  // there is nothing that would be given back
  EXPECT_EQ(allocator_stats().allocated, host.allocated);
  cuda::set_emulated_memory(0);
  EXPECT_EQ(
      difference({numbers({1 << 18}, DType::F64).to(kCuda).to(Device())}, {numbers({1 << 18}, DType::F64)}),
      "");
}

TEST(Gpus, AreRefusedWithTheReason) {
  EXPECT_THAT(error_of([] { Tensor::empty({2}, DType::F32, Device::parse("cuda:99")); }),
              HasSubstr("device 'cuda:99' cannot be used: there "));
  EXPECT_THAT(
      error_of([] { add(numbers({2}, DType::F32), numbers({2}, DType::F32).to(kCuda)); }),
      HasSubstr("Expected all tensors to be on the same device, but found at least two devices, cpu and "
                "cuda:0!"));
  EXPECT_EQ(add(numbers({2}, DType::F32).to(kCuda), Tensor::scalar(Scalar(2.0), DType::F32)).device(), kCuda);
}

TEST(Copies, HaveAnyStridesAndDtypes) {
  for (DType dtype : {DType::F32, DType::I64, DType::Bool, DType::C128, DType::BF16}) {
    const Tensor x = numbers({5, 7}, dtype), turned = x.as_strided({7, 5}, {1, 7}, 0);
    EXPECT_EQ(difference({turned.to(kCuda).to(Device())}, {turned}), "");
    EXPECT_EQ(difference({x.to(kCuda).to(DType::C64).to(Device())}, {x.to(DType::C64)}), "");
    EXPECT_EQ(difference({x.to(kCuda).as_strided({7, 5}, {1, 7}, 0).to(DType::F64).to(Device())},
                         {turned.to(DType::F64)}),
              "");
    const Tensor target = Tensor::full({5, 7}, Scalar(1), dtype, kCuda);
    target.copy_from(x.as_strided({7}, {1}, 7));
    EXPECT_EQ(target.at(8), x.at(8));
  }
}

}  // namespace
}  // namespace weft
