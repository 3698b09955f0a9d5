// Time merely to stream bytes: weft_stream READ_BYTES WRITE_BYTES THREADS prints {"seconds": median}.
//
// Reads READ_BYTES once and writes WRITE_BYTES once with non-temporal stores, interleaved as a fused loop
// would do it and on the library's own thread pool, with memory that has been touched before. READ_BYTES must
// be a multiple of WRITE_BYTES, unless WRITE_BYTES is 0.
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "weft/parallel.h"
#include "weft/tensor.h"

namespace {

constexpr int64_t kLine = 64;

// Each written line depends on the lines read for it, so that no read can be dropped.
__attribute__((target("avx2"))) void stream_lines(const char* in, char* out, int64_t lines,
                                                  int64_t reads_per_write) {
  for (int64_t i = 0; i < lines; ++i) {
    __m256i low = _mm256_setzero_si256(), high = low;
    for (int64_t r = 0; r < reads_per_write; ++r, in += kLine) {
      // One KiB ahead keeps more lines in flight than the hardware's own prefetcher does.
      _mm_prefetch(in + 1024, _MM_HINT_T0);
      low = _mm256_xor_si256(low, _mm256_load_si256(reinterpret_cast<const __m256i*>(in)));
      high = _mm256_xor_si256(high, _mm256_load_si256(reinterpret_cast<const __m256i*>(in) + 1));
    }
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out), low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out) + 1, high);
    out += kLine;
  }
  _mm_sfence();
}

__attribute__((target("avx2"))) uint64_t read_lines(const char* in, int64_t lines) {
  __m256i low = _mm256_setzero_si256(), high = low;
  for (int64_t i = 0; i < lines; ++i, in += kLine) {
    _mm_prefetch(in + 1024, _MM_HINT_T0);
    low = _mm256_xor_si256(low, _mm256_load_si256(reinterpret_cast<const __m256i*>(in)));
    high = _mm256_xor_si256(high, _mm256_load_si256(reinterpret_cast<const __m256i*>(in) + 1));
  }
  return static_cast<uint64_t>(_mm256_extract_epi64(_mm256_xor_si256(low, high), 0));
}

volatile uint64_t g_sink;

}  // namespace

int main(int argc, char** argv) {
  const int64_t read_bytes = argc == 4 ? std::atoll(argv[1]) / kLine * kLine : 0;
  const int64_t write_bytes = argc == 4 ? std::atoll(argv[2]) / kLine * kLine : 0;
  const int threads = argc == 4 ? std::atoi(argv[3]) : 0;
  if (read_bytes <= 0 || threads < 1 || (write_bytes > 0 && read_bytes % write_bytes != 0)) {
    std::fprintf(
        stderr, "usage: weft_stream READ_BYTES WRITE_BYTES THREADS (READ_BYTES a multiple of WRITE_BYTES)\n");
    return 2;
  }
  weft::set_num_threads(threads);
  const weft::Tensor in = weft::Tensor::full({read_bytes}, 1, weft::DType::U8);
  const weft::Tensor out = weft::Tensor::full({std::max<int64_t>(write_bytes, 1)}, 0, weft::DType::U8);
  const int64_t ratio = write_bytes ? read_bytes / write_bytes : 1;
  const int64_t lines = (write_bytes ? write_bytes : read_bytes) / kLine;
  const int64_t grain = (lines + threads - 1) / threads;

  std::vector<double> seconds;
  for (int repeat = 0; repeat < 15; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    weft::parallel_for(0, lines, grain, [&](int64_t begin, int64_t end) {
      const char* from = in.data_as<char>() + begin * ratio * kLine;
      if (write_bytes) {
        stream_lines(from, out.data_as<char>() + begin * kLine, end - begin, ratio);
      } else {
        g_sink = read_lines(from, end - begin);
      }
    });
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  std::printf("{\"seconds\": %.9f}\n", seconds[seconds.size() / 2]);
}
