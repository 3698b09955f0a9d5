// What this machine can do at most, measured in about a second: the yardstick of every benchmark.
#pragma once

#include <string>
#include <vector>

namespace weft::runtime {

struct Ceiling {
  std::string key;   // "read_gbs", "copy_nt_gbs", "float32_gflops", …
  std::string unit;  // "GB/s", "GFLOP/s", "GOP/s"
  std::string doc;
  std::vector<double> rates;  // one per number of threads; 0: the machine has no such instruction
};

// For each of these numbers of threads; run it while nothing else does.
std::vector<Ceiling> measure_ceilings(const std::vector<int>& threads);
// Reading memory, in GB/s on the current number of threads; 0 where there is no memory to measure with.
double measure_read_bandwidth();

}  // namespace weft::runtime
