#include "core/memory_limit.h"

#include <fmt/format.h>
#include <sys/sysinfo.h>

#include "core/control_group.h"
#include "weft/error.h"

namespace weft {

size_t total_memory() {
  static const size_t bytes = [] {
    struct sysinfo info;
    if (sysinfo(&info) != 0) return SIZE_MAX;
    const size_t memory = size_t{info.totalram} * size_t{info.mem_unit},
                 swap = size_t{info.totalswap} * size_t{info.mem_unit};
    return smaller_limit(memory, cgroup_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup")) + swap;
  }();
  return bytes;
}

namespace {

[[noreturn]] void does_not_fit(std::string_view what, const std::string& wanted, double bytes) {
  throw_error(
      ErrorKind::Memory,
      fmt::format("{}: {} needs {:.0f} bytes ({:.4g} GiB), and the process may have {:.4g} GiB of memory",
                  what, wanted, bytes, bytes / 0x1p30, static_cast<double>(total_memory()) / 0x1p30));
}

}  // namespace

void check_fits_memory(std::string_view what, const Shape& shape, DType dtype) {
  double bytes = itemsize(dtype);
  for (const int64_t size : shape) {
    WEFT_CHECK(size >= 0, fmt::format("{}: shape {}: sizes must not be negative", what, str(shape)));
    bytes *= static_cast<double>(size);
  }
  if (bytes > static_cast<double>(total_memory()))
    does_not_fit(what, fmt::format("{}{}", short_name(dtype), str(shape)), bytes);
}

void check_list_fits_memory(std::string_view what, int64_t count, size_t bytes_each) {
  const double bytes = static_cast<double>(count) * static_cast<double>(bytes_each);
  if (bytes > static_cast<double>(total_memory()))
    does_not_fit(what, fmt::format("{} times {} bytes", count, bytes_each), bytes);
}

}  // namespace weft
