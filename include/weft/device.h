// Where a tensor's elements live.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

enum class DeviceType : uint8_t { CPU, CUDA, Meta };

// `meta` tensors have a shape and a dtype and no elements.
struct Device {
  DeviceType type = DeviceType::CPU;
  int index = 0;
  // "cpu", "cuda", "cuda:1", "meta"; ValueError for anything else.
  static Device parse(std::string_view text);
  std::string str() const;
  friend bool operator==(const Device&, const Device&) = default;
};

// Throws RuntimeError, naming the reason, where the device cannot be used on this machine.
void require_available(Device device);

}  // namespace weft
