// What machine this is: CPU features for the code generator, and how many threads it can really run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

// "AMD EPYC 9R14", for people.
std::string host_cpu_brand();

// The CPU limit that control groups set, in whole CPUs rounded up; 0: none. `cgroup_file` has the format of
// /proc/self/cgroup, `mount` that of /sys/fs/cgroup.
int cgroup_cpu_limit(const std::string& cgroup_file, const std::string& mount);

struct ThreadDefault {
  int threads = 1;
  std::string source;  // "OMP_NUM_THREADS", "CPU affinity", …
};
ThreadDefault default_num_threads();

}  // namespace weft::runtime
