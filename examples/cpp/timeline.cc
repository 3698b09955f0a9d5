// What the threads do while independent parts of a program run at once: timeline [FILE.json]
//
// Four branches run as tasks of the inter-op pool, a fifth on the main thread; each is a few operators, which
// share the intra-op pool. The file opens in https://ui.perfetto.dev; examples/threads_timeline.py draws it.
#include <weft/error.h>
#include <weft/ops.h>
#include <weft/parallel.h>
#include <weft/profiler.h>
#include <weft/tensor.h>

#include <cstdio>
#include <latch>
#include <vector>

using weft::Tensor;

namespace {

Tensor branch(const Tensor& x, int rounds) {
  Tensor y = x;
  for (int i = 0; i < rounds; ++i) y = weft::tanh(weft::mul(weft::exp(weft::sin(y)), x));
  return weft::sum(y);
}

// Branch i works on i + 1 times as many elements as branch 0.
void run_branches(int count, int64_t elements, int rounds) {
  std::vector<Tensor> results(count);
  std::latch left(count - 1);
  for (int i = 0; i < count; ++i) {
    const Tensor x = Tensor::full({elements * (i + 1)}, 0.5, weft::DType::F32);
    const auto task = [&results, x, rounds, i] { results[i] = branch(x, rounds); };
    if (i == count - 1) {
      task();
    } else {
      weft::launch([task, &left] {
        task();
        left.count_down();
      });
    }
  }
  left.wait();
}

}  // namespace

int main(int argc, char** argv) {
  const char* file = argc > 1 ? argv[1] : "timeline.json";
  try {
    run_branches(5, 10'000, 1);  // starts the threads
    weft::profiler::start(file);
    run_branches(5, 40'000, 3);
    weft::profiler::stop();
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "timeline: %s\n", error.what());
    return 1;
  }
  std::printf("%s: %d intra-op and %d inter-op threads\n", file, weft::get_num_threads(),
              weft::get_num_interop_threads());
  return 0;
}
