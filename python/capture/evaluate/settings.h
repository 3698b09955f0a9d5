// What weft.compile was called with, and what the program has chosen besides (choices.h).
#pragma once

#include <cstdint>
#include <string>

#include "weft/device.h"
#include "weft/dtype.h"

namespace weft::capture {

struct Settings {
  bool fullgraph = false;
  enum class Dynamic : uint8_t { Auto, Always, Never } dynamic = Dynamic::Auto;
  std::string mode = "default";
  DType default_float = DType::F64;
  Device device;              // that `with weft.device(...)` has chosen
  bool keeps_errors = false;  // Choices::keeps_errors
  bool on_meta() const { return device.type == DeviceType::Meta; }
  bool is_usual() const { return default_float == DType::F64 && !on_meta(); }
};

}  // namespace weft::capture
