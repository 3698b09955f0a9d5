// Figures as Prometheus reads them.
#pragma once

#include <fmt/format.h>

#include <string>

namespace weft::serve {

inline std::string metric_header(const char* name, const char* kind, const char* help) {
  return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, kind);
}
template <class T>
std::string counter(const char* name, const char* help, T value) {
  return metric_header(name, "counter", help) + fmt::format("{} {}\n", name, value);
}
template <class T>
std::string gauge(const char* name, const char* help, T value) {
  return metric_header(name, "gauge", help) + fmt::format("{} {}\n", name, value);
}

}  // namespace weft::serve
