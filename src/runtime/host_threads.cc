// How many threads to use: MKL_NUM_THREADS, OMP_NUM_THREADS, or what affinity and control groups leave us.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "core/control_group.h"
#include "runtime/host.h"
#include "runtime/launcher.h"
#include "runtime/log.h"
#include "weft/env.h"
#include "weft/parallel.h"

namespace weft::runtime {
namespace {

int whole_cpus(double quota, double period) {
  return quota > 0 && period > 0 ? std::max(1, static_cast<int>(std::ceil(quota / period - 1e-9))) : 0;
}

int affinity_cores() {
  // A machine may have more CPUs than cpu_set_t names; the kernel then answers EINVAL until the set is large
  // enough.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    const size_t size = CPU_ALLOC_SIZE(cpus);
    const bool ok = set != nullptr && sched_getaffinity(0, size, set) == 0;
    const int count = ok ? CPU_COUNT_S(size, set) : 0;
    if (set != nullptr) CPU_FREE(set);
    if (count > 0) return count;
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

// OMP_NUM_THREADS may be a list, one number per nesting level: the first counts here. 0: unset or not a
// number.
int threads_from(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return 0;
  while (*text == ' ') ++text;
  int n = 0;
  const char* end = text + std::char_traits<char>::length(text);
  const auto [stop, error] = std::from_chars(text, end, n);
  if (error == std::errc() && n >= 1 && (stop == end || *stop == ',' || *stop == ' ')) return n;
  log::warning(
      fmt::format("{}: expected a number of threads >= 1, got '{}'; ignored", variable, env::shown(text)));
  return 0;
}

}  // namespace

int cgroup_cpu_limit(const std::string& cgroup_file, const std::string& mount) {
  int limit = 0;
  for (const ControlGroup& group : control_groups(cgroup_file)) {
    if (group.controllers == ",,") {
      limit = smaller_limit(
          limit, limit_along(mount, group.path, [](const std::string& folder) {
            std::istringstream words(first_line(folder + "/cpu.max"));  // "200000 100000" or "max 100000"
            double quota = 0, period = 0;
            return words >> quota >> period ? whole_cpus(quota, period) : 0;
          }));
    } else if (group.controllers.find(",cpu,") != std::string::npos) {
      for (const char* name : {"/cpu", "/cpu,cpuacct"}) {
        limit = smaller_limit(limit, limit_along(mount + name, group.path, [](const std::string& folder) {
                                const std::string quota =
                                    first_line(folder + "/cpu.cfs_quota_us");  // -1: none
                                const std::string period = first_line(folder + "/cpu.cfs_period_us");
                                return whole_cpus(std::atof(quota.c_str()), std::atof(period.c_str()));
                              }));
      }
    }
  }
  return limit;
}

ThreadDefault default_num_threads() {
  for (const char* variable : {"MKL_NUM_THREADS", "OMP_NUM_THREADS"}) {
    if (const int n = threads_from(variable)) return {n, variable};
  }
  const int cores = affinity_cores();
  const int limit = cgroup_cpu_limit("/proc/self/cgroup", "/sys/fs/cgroup");
  // The ranks of one machine share it; a launcher may have bound each to some cores already.
  if (const std::optional<Launch> launched = launch(); launched && launched->local_size > 1) {
    const int all = smaller_limit(limit, static_cast<int>(std::thread::hardware_concurrency()));
    const int share = std::max(1, all / launched->local_size);
    if (share < smaller_limit(limit, cores))
      return {share, fmt::format("cores shared by {} ranks", launched->local_size)};
  }
  if (limit > 0 && limit < cores)
    return {limit, fmt::format("CPU quota of the control group ({} cores)", cores)};
  return {cores, "usable cores"};
}

}  // namespace weft::runtime

namespace weft {

int num_usable_cores() {
  const int cores = runtime::affinity_cores();
  const int limit = runtime::cgroup_cpu_limit("/proc/self/cgroup", "/sys/fs/cgroup");
  return limit > 0 ? std::min(limit, cores) : cores;
}

}  // namespace weft
