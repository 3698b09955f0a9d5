#include "core/control_group.h"

#include <charconv>
#include <fstream>

namespace weft {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<ControlGroup> control_groups(const std::string& cgroup_file) {
  std::ifstream file(cgroup_file);
  std::vector<ControlGroup> groups;
  for (std::string line; std::getline(file, line);) {
    // "0::/group" (version 2), or "4:cpu,cpuacct:/group" (version 1).
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    groups.push_back({"," + line.substr(first + 1, second - first - 1) + ",", line.substr(second + 1)});
  }
  return groups;
}

size_t cgroup_memory_limit(const std::string& cgroup_file, const std::string& mount) {
  const auto read = [](const std::string& path) {
    const std::string text = first_line(path);  // "max" where there is none
    size_t bytes = 0;
    std::from_chars(text.data(), text.data() + text.size(), bytes);
    return bytes;
  };
  size_t limit = 0;
  for (const ControlGroup& group : control_groups(cgroup_file)) {
    if (group.controllers == ",,")
      limit = smaller_limit(limit, limit_along(mount, group.path, [&](const std::string& folder) {
                              return read(folder + "/memory.max");
                            }));
    else if (group.controllers.find(",memory,") != std::string::npos)
      limit = smaller_limit(limit, limit_along(mount + "/memory", group.path, [&](const std::string& folder) {
                              return read(folder + "/memory.limit_in_bytes");
                            }));
  }
  return limit;
}

}  // namespace weft
