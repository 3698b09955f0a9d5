// Where the data is that is too large for the checkout.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/tests_dir.h"

namespace weft::testing_support {

// WEFT_SHARED_DATA, else what lies beside the checkout; "" where there is none.
inline std::string shared_data() {
  if (const char* folder = std::getenv("WEFT_SHARED_DATA")) return folder;
  const std::filesystem::path beside = std::filesystem::path(kTestsDir) / "../../shared/data";
  return std::filesystem::exists(beside) ? beside.string() : "";
}

}  // namespace weft::testing_support
