// A library with the functions of libcufft that weft calls, for emulated GPUs: sums on the host. FAKE_CUFFT
// names a function that fails, or "memory": the first plan has none. Plans are told on stderr, and how many
// there are.
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

using Complex = std::complex<double>;

int status_of(const char* function) {
  const char* set = std::getenv("FAKE_CUFFT");
  return set != nullptr && std::string(set) == function ? 6 : 0;
}

struct Plan {
  long long n = 0, given = 0, result = 0, count = 0;
  int kind = 0;
  bool allocates = true;
  void *stream = nullptr, *workspace = nullptr;
};
std::map<int, Plan> plans;

constexpr size_t kWorkspace = 1000;

// The process's address of memory of an emulated GPU.
template <class T>
T* here(void* there) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(there) ^ (uintptr_t{1} << 63));
}

std::vector<Complex> transformed(const std::vector<Complex>& x, int sign) {
  const size_t n = x.size();
  std::vector<Complex> y(n);
  for (size_t k = 0; k < n; ++k)
    for (size_t j = 0; j < n; ++j)
      y[k] +=
          x[j] * std::polar(1.0, sign * 2 * M_PI * static_cast<double>(k * j % n) / static_cast<double>(n));
  return y;
}

// kind: of what the plan must be for.
template <class T>
int execute(const char* function, int handle, void* from, void* to, int sign, int kind) {
  if (const int status = status_of(function)) return status;
  if (plans.count(handle) == 0 || plans[handle].kind != kind) return 1;
  const Plan& plan = plans[handle];
  if (plan.allocates || plan.stream == nullptr || plan.workspace == nullptr) return 13;
  std::memset(here<char>(plan.workspace), 0x5a, kWorkspace);
  const bool is_real = (kind & 0xf) == 0xa, to_real = (kind & 0xf) == 0xc;
  const auto n = static_cast<size_t>(plan.n);
  for (long long signal = 0; signal < plan.count; ++signal) {
    T* const x = here<T>(from) + signal * plan.given * (is_real ? 1 : 2);
    T* const y = here<T>(to) + signal * plan.result * (to_real ? 1 : 2);
    std::vector<Complex> points(n);
    for (size_t k = 0; k < n; ++k) {
      if (is_real) {
        points[k] = x[k];
      } else if (to_real && k > n / 2) {
        points[k] = {x[2 * (n - k)], -x[2 * (n - k) + 1]};
      } else {
        points[k] = {x[2 * k], x[2 * k + 1]};
      }
    }
    // As cuFFT's may, it writes to what it reads.
    if (to_real) std::memset(x, 0x7f, static_cast<size_t>(plan.given) * 2 * sizeof(T));
    const std::vector<Complex> result = transformed(points, sign);
    for (size_t k = 0; k < static_cast<size_t>(plan.result); ++k) {
      if (to_real) {
        // Imaginary parts that are to be zero would show.
        y[k] = static_cast<T>(result[k].real() + result[k].imag());
      } else {
        y[2 * k] = static_cast<T>(result[k].real()), y[2 * k + 1] = static_cast<T>(result[k].imag());
      }
    }
  }
  return 0;
}

}  // namespace

extern "C" {
int weft_emulated_device = 1;
int cufftCreate(int* made) {
  static int last = 0;
  if (const int status = status_of("cufftCreate")) return status;
  plans[++last] = Plan();
  return *made = last, 0;
}
int cufftDestroy(int ended) {
  const bool is_there = plans.erase(ended) == 1;
  std::fprintf(stderr, "fake cufftDestroy %zu\n", plans.size());
  return is_there ? 0 : 1;
}
int cufftSetAutoAllocation(int changed, int allocates) {
  return plans[changed].allocates = allocates != 0, status_of("cufftSetAutoAllocation");
}
int cufftMakePlanMany64(int made, int rank, long long* n, long long* given_sizes, long long given_step,
                        long long given_distance, long long* result_sizes, long long result_step,
                        long long result_distance, int kind, long long count, size_t* workspace) {
  static int tries = 0;
  if (status_of("memory") != 0 && tries++ == 0) return 2;
  if (const int status = status_of("cufftMakePlanMany64")) return status;
  Plan& plan = plans[made];
  plan.n = n[0], plan.given = given_distance, plan.result = result_distance, plan.count = count,
  plan.kind = kind;
  const int shape = kind & 0xf;
  if (rank != 1 || given_step != 1 || result_step != 1 || given_sizes[0] != given_distance ||
      result_sizes[0] != result_distance || given_distance != (shape == 0xc ? n[0] / 2 + 1 : n[0]) ||
      result_distance != (shape == 0xa ? n[0] / 2 + 1 : n[0]))
    return 8;
  std::fprintf(stderr, "fake cufftMakePlanMany64 %zu\n", plans.size());
  return *workspace = kWorkspace, 0;
}
int cufftSetStream(int changed, void* stream) {
  return plans[changed].stream = stream, status_of("cufftSetStream");
}
int cufftSetWorkArea(int changed, void* workspace) {
  return plans[changed].workspace = workspace, status_of("cufftSetWorkArea");
}
int cufftExecC2C(int plan, void* from, void* to, int direction) {
  return execute<float>("cufftExecC2C", plan, from, to, direction, 0x29);
}
int cufftExecR2C(int plan, void* from, void* to) {
  return execute<float>("cufftExecR2C", plan, from, to, -1, 0x2a);
}
int cufftExecC2R(int plan, void* from, void* to) {
  return execute<float>("cufftExecC2R", plan, from, to, 1, 0x2c);
}
int cufftExecZ2Z(int plan, void* from, void* to, int direction) {
  return execute<double>("cufftExecZ2Z", plan, from, to, direction, 0x69);
}
int cufftExecD2Z(int plan, void* from, void* to) {
  return execute<double>("cufftExecD2Z", plan, from, to, -1, 0x6a);
}
int cufftExecZ2D(int plan, void* from, void* to) {
  return execute<double>("cufftExecZ2D", plan, from, to, 1, 0x6c);
}
}
