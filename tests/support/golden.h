// What is generated, kept as text: a change of it is a diff to be reviewed. GOLDEN_UPDATE=1 rewrites the
// files.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "support/tests_dir.h"

namespace weft::testing_support {

inline void expect_file(const std::string& name, const std::string& got) {
  const std::filesystem::path path = std::filesystem::path(kTestsDir) / "golden" / name;
  if (std::getenv("GOLDEN_UPDATE") != nullptr) {
    std::ofstream(path) << got;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << "no " << path << ": GOLDEN_UPDATE=1 makes it";
  std::stringstream want;
  want << file.rdbuf();
  EXPECT_EQ(got, want.str()) << "GOLDEN_UPDATE=1 accepts this";
}

// Graphs whose kernels are kept for each device.
inline constexpr const char* kKMeansGraph = R"(graph kmeans(%X: f64[20000000, 2], %means: i64[2, 2]) {
  %2: i64[2, 1, 2] = reshape(%means) {shape=[2, 1, 2]}  # kmeans.py:4
  %3: f64[2, 1, 2] = cast(%2) {dtype=f64}  # kmeans.py:4
  %4: f64[2, 20000000, 2] = sub(%X, %3)  # kmeans.py:4
  %5: f64[2, 20000000, 2] = mul(%4, %4)  # kmeans.py:4
  %6: f64[2, 20000000] = sum(%5) {dim=[2], keepdim=false, dtype=none}  # kmeans.py:4
  %7: f64[2, 20000000] = sqrt(%6)  # kmeans.py:4
  %8: i64[20000000] = argmin(%7) {dim=0, keepdim=false}  # kmeans.py:4
  return %8
}
)";

inline constexpr const char* kSoftmaxGraph = R"(graph softmax[s0=100, s1=1000](%x: f32[s0, s1]) {
  %1: f32[s0, 1] = amax(%x) {dim=[1], keepdim=true}
  %2: f32[s0, s1] = sub(%x, %1)
  %3: f32[s0, s1] = exp(%2)
  %4: f32[s0, 1] = sum(%3) {dim=[1], keepdim=true, dtype=none}
  %5: f32[s0, s1] = true_divide(%3, %4)
  return %5
}
)";

}  // namespace weft::testing_support
