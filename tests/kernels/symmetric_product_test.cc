// a @ a.T and a.T @ a, of which half is computed: against the general product of a copy, on several numbers
// of threads.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/blas.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

template <class T>
class SymmetricProduct : public ::testing::Test {
 protected:
  ~SymmetricProduct() override { set_num_threads(threads_); }

  static void check(int64_t n, int64_t k, int64_t row_stride, int64_t column_stride) {
    SCOPED_TRACE(std::to_string(n) + "x" + std::to_string(k) + " strides " + std::to_string(row_stride) +
                 " " + std::to_string(column_stride));
    std::mt19937 random(7);
    std::uniform_real_distribution<T> uniform(-1, 1);
    std::vector<T> values(static_cast<size_t>((n - 1) * row_stride + (k - 1) * column_stride + 1));
    for (T& value : values) value = uniform(random);
    const std::vector<T> other = values;
    std::vector<T> half(static_cast<size_t>(n * n)), whole = half;
    matrix_product<T>(n, n, k, {values.data(), row_stride, column_stride},
                      {values.data(), column_stride, row_stride}, half.data());
    matrix_product<T>(n, n, k, {values.data(), row_stride, column_stride},
                      {other.data(), column_stride, row_stride}, whole.data());
    const T bound = static_cast<T>(k + 1) * std::numeric_limits<T>::epsilon() * static_cast<T>(k);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        ASSERT_NEAR(half[static_cast<size_t>(i * n + j)], whole[static_cast<size_t>(i * n + j)], bound)
            << i << " " << j;
        ASSERT_EQ(half[static_cast<size_t>(i * n + j)], half[static_cast<size_t>(j * n + i)])
            << i << " " << j;
      }
  }

 private:
  const int threads_ = get_num_threads();
};

using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SymmetricProduct, Floats);

TYPED_TEST(SymmetricProduct, EqualsTheGeneralOne) {
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    for (const int64_t n : {16, 17, 40, 130, 301})
      for (const int64_t k : {2, 33, 200}) {
        this->check(n, k, k, 1);      // rows contiguous
        this->check(n, k, 1, n + 3);  // columns contiguous, padded
        this->check(n, k, 2 * k, 2);  // neither
      }
  }
}

}  // namespace
}  // namespace weft::kernels
