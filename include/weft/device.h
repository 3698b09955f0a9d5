// Where a tensor's elements live.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Those that programs name in C++. Further devices get a number when they are registered
// (src/core/backend.h).
enum class DeviceType : uint8_t { CPU, CUDA, Meta };

// `meta` tensors have a shape and a dtype and no elements.
struct Device {
  DeviceType type = DeviceType::CPU;
  int index = 0;
  // "cpu", "cuda", "cuda:1", "meta", or a further device's name; ValueError for anything else.
  static Device parse(std::string_view text);
  std::string str() const;
  std::string_view name() const;  // without the index: "cuda"
  bool is_numbered() const;       // there may be several: "cuda:1"
  friend bool operator==(const Device&, const Device&) = default;
};

// Names that Device::parse reads, whether or not this machine has such a device.
std::vector<std::string> device_names();
// Throws RuntimeError, naming the reason, where the device cannot be used on this machine.
void require_available(Device device);

}  // namespace weft
