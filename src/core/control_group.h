// What the process's control groups allow, of both versions of the interface.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace weft {

struct ControlGroup {
  std::string controllers;  // ",cpu,cpuacct,"; ",," of version 2, whose groups have all
  std::string path;         // "/outer/inner"
};

// `cgroup_file` has the format of /proc/self/cgroup.
std::vector<ControlGroup> control_groups(const std::string& cgroup_file);

std::string first_line(const std::string& path);  // empty where there is none

// Of limits, where 0 is none.
template <class T>
T smaller_limit(T a, T b) {
  return a == 0 ? b : b == 0 ? a : std::min(a, b);
}

// The smallest limit of the group and its ancestors, each a folder below `base`.
template <class Read>
auto limit_along(const std::string& base, std::string group, const Read& read) {
  auto limit = read(base);
  while (group.size() > 1) {
    limit = smaller_limit(limit, read(base + group));
    group.resize(group.rfind('/'));
  }
  return limit;
}

// Bytes of memory; 0: none. `mount` has the format of /sys/fs/cgroup.
size_t cgroup_memory_limit(const std::string& cgroup_file, const std::string& mount);

}  // namespace weft
