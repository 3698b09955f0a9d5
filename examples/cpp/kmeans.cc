// k-means' assignment step, written over whole arrays and compiled into one loop: kmeans [POINTS]
//
// The labels are checked against a plain C++ loop. Exits with 1 if any differs.
#include <weft/compile.h>
#include <weft/ops.h>
#include <weft/parallel.h>
#include <weft/tensor.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

using weft::Tensor;

namespace {

std::vector<double> make_points(int64_t count) {
  std::mt19937_64 engine(0);
  std::normal_distribution<double> normal;
  std::vector<double> xy(2 * count);
  for (int64_t i = 0; i < 2 * count; ++i) xy[i] = (i < count ? 5 : 10) + normal(engine);
  return xy;
}

std::vector<int64_t> plain_loop(const std::vector<double>& xy, const std::vector<double>& means) {
  std::vector<int64_t> labels(xy.size() / 2);
  for (size_t i = 0; i < labels.size(); ++i) {
    double best = INFINITY;
    for (size_t k = 0; k < means.size() / 2; ++k) {
      const double dx = xy[2 * i] - means[2 * k], dy = xy[2 * i + 1] - means[2 * k + 1];
      const double distance = std::sqrt(dx * dx + dy * dy);
      if (distance < best) {
        best = distance;
        labels[i] = static_cast<int64_t>(k);
      }
    }
  }
  return labels;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t count = argc > 1 ? std::atoll(argv[1]) : 20'000'000;
  if (count < 1) {
    std::fprintf(stderr, "usage: kmeans [POINTS]\n");
    return 2;
  }
  const std::vector<double> points = make_points(count), means = {5, 5, 10, 10};
  const Tensor x = Tensor::of(points, {count, 2}), m = Tensor::of(means, {2, 2});

  auto assign = weft::compile([](Tensor x, Tensor means) {
    return weft::argmin(weft::norm(x - weft::unsqueeze(means, 1), 2.0, {2}), 0);
  });

  auto start = std::chrono::steady_clock::now();
  Tensor labels = assign(x, m);
  std::printf("first call  %8.2f ms (traces and compiles)\n", milliseconds_since(start));
  labels = Tensor();  // its memory serves the next call
  start = std::chrono::steady_clock::now();
  labels = assign(x, m);
  std::printf("second call %8.2f ms on %d threads\n", milliseconds_since(start), weft::get_num_threads());

  const std::vector<int64_t> expected = plain_loop(points, means);
  const int64_t* got = labels.data_as<int64_t>();
  int64_t differing = 0;
  for (int64_t i = 0; i < count; ++i) differing += got[i] != expected[i];
  std::printf("%lld of %lld labels differ from a plain loop's\n", static_cast<long long>(differing),
              static_cast<long long>(count));
  return differing == 0 ? 0 : 1;
}
