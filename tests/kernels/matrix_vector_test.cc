// Products of a matrix and a vector, one after the other: the order of the rows changes, no bit of the
// results does.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/cpu/blas.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

TEST(MatrixVector, RepeatedProductsAreTheSame) {
  const int before = get_num_threads();
  std::mt19937 random(5);
  std::uniform_int_distribution<int> small(-4, 4);
  for (const auto& [m, k] :
       {std::pair<int64_t, int64_t>{1, 5}, {63, 200}, {65, 300}, {200, 1}, {700, 130}, {3001, 40}}) {
    std::vector<double> a(static_cast<size_t>(m * k)), x(static_cast<size_t>(k)),
        want(static_cast<size_t>(m));
    for (double& value : a) value = small(random);
    for (double& value : x) value = small(random);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < k; ++j)
        want[static_cast<size_t>(i)] += a[static_cast<size_t>(i * k + j)] * x[static_cast<size_t>(j)];
    for (const int threads : {1, 2, 3, 5}) {
      set_num_threads(threads);
      for (int time = 0; time < 3; ++time) {
        std::vector<double> c(static_cast<size_t>(m), -1);
        matrix_product<double>(m, 1, k, {a.data(), k, 1}, {x.data(), 1, 1}, c.data());
        ASSERT_EQ(c, want) << m << " x " << k << ", " << threads << " threads, time " << time;
      }
    }
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace weft::kernels
