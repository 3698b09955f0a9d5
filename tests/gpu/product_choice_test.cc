// Products by a library in place of cuBLASLt (tests/python/fake_cublaslt.cc) while work is recorded.
#include <cstdlib>

#include "core/backend.h"
#include "device/cuda/driver.h"
#include "gpu/same_call.h"
#include "runtime/autotune.h"

extern "C" int fake_cublaslt_products();

namespace weft::gpu_testing {
namespace {

TEST(ProductChoices, AreNotMadeWhileWorkIsRecorded) {
  if (std::getenv("WEFT_TEST_GPU") != nullptr)
    GTEST_SKIP() << "the library in place of cuBLASLt computes on the host";
  cuda::set_emulated_times(1, 0.5);  // the library is faster
  const Backend& gpu = backend_of(kThere);
  const runtime::AutotuneScope scope(true);
  const Tensor a = sample({20, 24}, DType::F32).to(kThere), b = sample({24, 28}, DType::F32, 2).to(kThere);
  const auto expect_product = [&](const Tensor& result) {
    EXPECT_EQ(difference({result.to(Device())}, {matmul(a.to(Device()), b.to(Device()))},
                         [](DType, double x, double y) { return std::abs(x - y) <= 1e-4; }),
              "");
  };
  Tensor result;
  // Nothing is known yet: weft's kernel, and nothing is kept.
  auto recorded = gpu.record_work(0, [&] { result = matmul(a, b); });
  ASSERT_NE(recorded, nullptr);
  recorded->repeat();
  expect_product(result);
  EXPECT_EQ(fake_cublaslt_products(), 0);
  expect_product(matmul(a, b));
  const int measured = fake_cublaslt_products();
  EXPECT_GT(measured, 3);
  // The choice that is known is recorded, and made again by each repetition.
  recorded = gpu.record_work(0, [&] { result = matmul(a, b); });
  ASSERT_NE(recorded, nullptr);
  EXPECT_EQ(fake_cublaslt_products(), measured);
  for (int round = 1; round <= 2; ++round) {
    a.copy_from(sample({20, 24}, DType::F32, static_cast<unsigned>(round) + 5));
    recorded->repeat();
    expect_product(result);
    EXPECT_EQ(fake_cublaslt_products(), measured + round);
  }
  cuda::set_emulated_times(0, 0);
}

}  // namespace
}  // namespace weft::gpu_testing
