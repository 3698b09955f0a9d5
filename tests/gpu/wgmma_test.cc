// Products by wgmma, beside the host's operators: on the emulated device, where operands are read as their
// descriptors say and what is not waited for is not there, or on a GPU that has wgmma.
#include "device/cuda/wgmma.h"

#include "device/cuda/driver.h"
#include "gpu/same_call.h"

namespace weft {
namespace {

using namespace gpu_testing;

// What WEFT_CUDA_PRODUCTS says while it lives.
class Chosen {
 public:
  explicit Chosen(const char* products) { ::setenv("WEFT_CUDA_PRODUCTS", products, 1); }
  ~Chosen() {
    ::unsetenv("WEFT_CUDA_PRODUCTS");
    cuda::forget_wgmma_checks();
  }
};

bool has_wgmma() { return cuda::driver().facts(0).has_wgmma; }

constexpr cuda::WgmmaProduct kSmallest{0, DType::BF16, true, true, 64, 64, 64, 1};

TEST(WgmmaOnGpu, IsChosenBySizes) {
  if (!has_wgmma()) GTEST_SKIP() << "the GPU has no wgmma";
  const auto with = [](auto change) {
    cuda::WgmmaProduct product = kSmallest;
    change(product);
    return cuda::wgmma_tile(product);
  };
  const Chosen chosen("wgmma");
  EXPECT_EQ(with([](auto&) {})->rows, 64);
  EXPECT_FALSE(with([](auto& p) { p.rows = 63; }));
  EXPECT_FALSE(with([](auto& p) { p.columns = 63; }));
  EXPECT_FALSE(with([](auto& p) { p.depth = 63; }));
  EXPECT_EQ(with([](auto& p) { p.rows = 65; })->rows, 128);
  EXPECT_EQ(with([](auto& p) { p.rows = 65; })->columns, 128);
  const int64_t enough = cuda::driver().facts(0).multiprocessors;
  EXPECT_EQ(with([&](auto& p) { p.rows = 128, p.columns = 256 * (enough - 1); })->columns, 128);
  EXPECT_EQ(with([&](auto& p) { p.rows = 128, p.columns = 256 * enough; })->columns, 256);
  EXPECT_EQ(with([&](auto& p) { p.rows = 128, p.columns = 256, p.batches = enough; })->columns, 256);
  {
    const Chosen mma("mma");
    EXPECT_FALSE(cuda::wgmma_tile(kSmallest));
  }
  const Chosen automatic("auto");
  const bool is_chosen = !cuda::driver().is_emulated();
  EXPECT_EQ(with([&](auto& p) { p.columns = 256 * enough; }).has_value(), is_chosen);
  EXPECT_FALSE(with([&](auto& p) { p.columns = 256 * ((enough + 1) / 2 - 1); }));
}

class WgmmaProducts : public ::testing::TestWithParam<DType> {};

// Sizes on each side of tiles of 64 x 256, 128 x 128 and 128 x 256, of parts of depth and of 16 bytes; both
// orders in memory: all four of float16, which the long tier has, one of bfloat16 for each size. With rows
// that do not begin at multiples of 16 bytes it is mma.sync.
TEST_P(WgmmaProducts, EqualTheHost) {
  const DType dtype = GetParam();
  const Chosen chosen("wgmma");
  int size = 0;
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{64, 64, 64},
                                                                   {63, 64, 64},
                                                                   {64, 264, 72},
                                                                   {64, 128, 328},
                                                                   {65, 67, 65},
                                                                   {72, 136, 120},
                                                                   {128, 128, 128},
                                                                   {136, 128, 200},
                                                                   {144, 520, 136},
                                                                   {256, 512, 64}}) {
    for (const int order : {0, 1, 2, 3}) {
      if (dtype == DType::BF16 && order != size % 4) continue;
      const bool turns_a = order >= 2, turns_b = order % 2 == 1;
      SCOPED_TRACE(fmt::format("{} x {} x {} {} {}", m, n, k, turns_a, turns_b));
      const Tensor a = turns_a ? turned(sample({k, m}, dtype)) : sample({m, k}, dtype),
                   b = turns_b ? turned(sample({n, k}, dtype, 2)) : sample({k, n}, dtype, 2);
      expect_same("matmul", {a, b}, {}, bound_of(dtype), 3 * static_cast<double>(k));
    }
    ++size;
  }
}

// Bands of tiles: whole ones, and what is left of one.
TEST_P(WgmmaProducts, OfManyTiles) {
  const DType dtype = GetParam();
  const Chosen chosen("wgmma");
  for (const int64_t m : {2048, 2056, 4096 + 200}) {
    SCOPED_TRACE(m);
    expect_same("matmul", {sample({m, 64}, dtype), turned(sample({264, 64}, dtype, 2))}, {}, bound_of(dtype),
                192);
  }
}

// Rows and columns that end within 16 bytes, behind which there is more.
TEST_P(WgmmaProducts, OfPartsOfArrays) {
  const DType dtype = GetParam();
  const Chosen chosen("wgmma");
  const int64_t m = 133, n = 67, k = 75;
  const auto part = [&](int64_t rows, int64_t columns, unsigned seed) {
    return slice(slice(sample({rows + 16, columns + 21}, dtype, seed), 0, 8, 8 + rows), 1, 8, 8 + columns);
  };
  for (const bool turns_a : {false, true}) {
    for (const bool turns_b : {false, true}) {
      const Tensor a = turns_a ? turned(part(k, 139, 1)) : part(m, k, 1),
                   b = turns_b ? turned(part(n, k, 2)) : part(k, n, 2);
      expect_same("matmul", {slice(a, 0, 0, m), b}, {}, bound_of(dtype), 3 * static_cast<double>(k));
    }
  }
}

TEST_P(WgmmaProducts, OfStacks) {
  const DType dtype = GetParam();
  const Chosen chosen("wgmma");
  const auto same = [&](const Tensor& a, const Tensor& b) {
    expect_same("matmul", {a, b}, {}, bound_of(dtype), 240);
  };
  same(sample({3, 72, 80}, dtype), sample({3, 80, 72}, dtype, 2));
  same(sample({2, 3, 72, 80}, dtype), turned(sample({3, 136, 80}, dtype, 2)));
  same(turned(sample({2, 1, 80, 136}, dtype)), sample({3, 80, 72}, dtype, 2));
  same(sample({5, 128, 64}, dtype), sample({5, 64, 256}, dtype, 2));
}

TEST_P(WgmmaProducts, AreFollowedByWhatOthersAre) {
  const DType dtype = GetParam();
  const Chosen chosen("wgmma");
  for (const int64_t rows : {64, 130}) {
    const int64_t in = 136, out = 72;
    const Tensor x = sample({rows, in}, dtype), weight = sample({out, in}, dtype, 2),
                 bias = sample({out}, dtype, 3), residual = sample({rows, out}, dtype, 4);
    const double scale = 3 * static_cast<double>(in);
    for (const char* activation : {"none", "gelu_tanh", "silu"})
      expect_same("linear_packed", {x, weight, Tensor(), bias, residual},
                  {{"group_size", Sym(0)},
                   {"activation", std::string(activation)},
                   {"precision", std::string("float32")}},
                  bound_of(dtype), scale);
    expect_same("linear_half", {x, weight, bias}, {}, bound_of(dtype), scale);
  }
}

std::string dtype_of(const testing::TestParamInfo<DType>& info) { return std::string(name(info.param)); }
INSTANTIATE_TEST_SUITE_P(Dtypes, WgmmaProducts, ::testing::Values(DType::BF16), dtype_of);
INSTANTIATE_TEST_SUITE_P(LongDtypes, WgmmaProducts, ::testing::Values(DType::F16), dtype_of);

TEST(WgmmaOnGpu, TakesBytes) {
  const Chosen chosen("wgmma");
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{
           {64, 64, 64}, {64, 264, 400}, {65, 67, 80}, {128, 128, 128}, {136, 129, 144}, {256, 512, 192}}) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", m, n, k));
    const Tensor x = sample({m, k}, DType::I8), weight = sample({n, k}, DType::I8, 2);
    expect_same("_int_mm", {x, turned(weight)}, {}, 0);
    expect_same("_int_mm", {x, turned(weight).contiguous()}, {}, 0);  // by mma.sync
    for (const char* activation : {"none", "relu"})
      expect_same("linear_int8",
                  {x, sample({m, 1}, DType::F32, 3), weight, sample({n}, DType::F32, 4),
                   sample({n}, DType::F32, 5), sample({m, n}, DType::F32, 6)},
                  {{"activation", std::string(activation)}, {"dtype", DType::F32}}, 1e-5, 100);
  }
}

// A GPU on which the first check fails is told of once, and computes by mma.sync.
TEST(WgmmaOnGpu, IsLeftWhereItGivesOtherNumbers) {
  if (!has_wgmma()) GTEST_SKIP() << "the GPU has no wgmma";
  const Chosen chosen("wgmma");
  cuda::forget_wgmma_checks(/*fails=*/true);
  const auto product = [](int64_t rows) {
    expect_same("matmul", {sample({rows, 64}, DType::BF16), sample({64, 64}, DType::BF16, 2)}, {},
                bound_of(DType::BF16), 192);
  };
  ::testing::internal::CaptureStderr();
  product(64);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("products of bfloat16 by wgmma, tiles of 64 x 256, give wrong numbers on cuda:0"));
  ::testing::internal::CaptureStderr();
  product(64);
  product(130);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(WgmmaOnGpu, IsNotCheckedWhileWorkIsRecorded) {
  if (!has_wgmma() || !cuda::driver().records()) GTEST_SKIP() << "the GPU has no wgmma, or does not record";
  const Chosen chosen("wgmma");
  cuda::forget_wgmma_checks();
  cuda::driver().begin_recording(0);
  const bool is_chosen = cuda::wgmma_tile(kSmallest).has_value();
  cuda::driver().end_recording(0, false);
  EXPECT_FALSE(is_chosen);
  EXPECT_TRUE(cuda::wgmma_tile(kSmallest));
  cuda::driver().begin_recording(0);
  const bool is_chosen_now = cuda::wgmma_tile(kSmallest).has_value();
  cuda::driver().end_recording(0, false);
  EXPECT_TRUE(is_chosen_now);
}

}  // namespace
}  // namespace weft
