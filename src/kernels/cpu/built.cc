#include "kernels/cpu/built.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/cpu/levels.h"
#include "runtime/interruption.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

using Table = std::unordered_map<std::string_view, const BuiltKernel*>;

const Table& table() {
  static const Table& built = *new Table([] {
    Table found;
    for (const BuiltKernels* file : built_level().files)
      for (int i = 0; file != nullptr && i < file->count; ++i)
        found.emplace(file->kernels[i].name, &file->kernels[i]);
    return found;
  }());
  return built;
}

// The arrays' places, written four at a time: a kernel loads several at once, and would wait until single
// ones, and with them all that the call before has stored, have reached the cache.
using Places = int64_t __attribute__((vector_size(32)));
constexpr int kMost = 8;

using Body = void (*)(void* context, int64_t begin, int64_t end);
void run_serially(int64_t begin, int64_t end, int64_t, Body body, void* context) {
  body(context, begin, end);
}

}  // namespace

int built_vector_bytes() {
  static const int bytes = table().empty() ? 0 : built_level().vector_bytes;
  return bytes;
}

const BuiltKernel* find_built(std::string_view name) {
  const auto found = table().find(name);
  return found != table().end() ? found->second : nullptr;
}

const BuiltKernel* find_built(std::initializer_list<std::string_view> parts) {
  constexpr size_t kLongest = 64;
  std::array<char, kLongest> name;
  size_t length = 0;
  for (const std::string_view part : parts) {
    if (length + part.size() > kLongest) return nullptr;
    std::copy(part.begin(), part.end(), name.begin() + length);
    length += part.size();
  }
  return find_built(std::string_view(name.data(), length));
}

void run_built(const BuiltKernel& kernel, void* result, std::span<const void* const> operands,
               std::span<const int64_t> sizes, bool is_parallel) {
  WEFT_ASSERT(kernel.num_arrays <= kMost, "too many arrays");
  const auto place = [&](int i) {
    if (i >= kernel.num_arrays) return int64_t{0};
    const int operand = kernel.arrays[i];
    return reinterpret_cast<int64_t>(operand < 0 ? result : operands[static_cast<size_t>(operand)]);
  };
  std::array<Places, 2> arrays;
  arrays[0] = Places{place(0), place(1), place(2), place(3)};
  if (kernel.num_arrays > 4) arrays[1] = Places{place(4), place(5), place(6), place(7)};
  kernel.function(reinterpret_cast<void* const*>(arrays.data()), sizes.data(), nullptr,
                  is_parallel ? &runtime::parallel_for_in_kernel : &run_serially);
  if (is_parallel) runtime::throw_if_interrupted();
}

void run_built_repeatedly(const BuiltKernel& kernel, std::span<std::byte* const> first,
                          std::span<const int64_t> steps, int64_t times, int64_t size) {
  WEFT_ASSERT(kernel.num_arrays <= kMost, "too many arrays");
  std::array<Places, 2> next{}, step{};
  for (size_t i = 0; i < static_cast<size_t>(kernel.num_arrays); ++i) {
    const bool is_result = kernel.arrays[i] < 0;
    const size_t operand = is_result ? first.size() - 1 : static_cast<size_t>(kernel.arrays[i]);
    next[i / 4][i % 4] = reinterpret_cast<int64_t>(first[operand]);
    step[i / 4][i % 4] = steps[operand];
  }
  for (int64_t time = 0; time < times; ++time) {
    const std::array<Places, 2> arrays = next;
    kernel.function(reinterpret_cast<void* const*>(arrays.data()), &size, nullptr, &run_serially);
    for (size_t half = 0; half < next.size(); ++half) next[half] += step[half];
  }
}

}  // namespace weft::kernels
