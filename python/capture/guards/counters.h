// What weft.compiler.stats() tells.
#pragma once

#include <cstdint>

namespace weft::capture {

struct Counters {
  int64_t calls = 0, captures = 0, graphs = 0, breaks = 0, recompiles = 0, kernels = 0, eager_calls = 0,
          runs = 0, warning_runs = 0;
};
inline Counters& counters() {
  static constinit Counters instance;
  return instance;
}

}  // namespace weft::capture
