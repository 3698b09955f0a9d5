#include "weft/device.h"

#include <fmt/format.h>

#include <charconv>

#include "core/printable.h"
#include "weft/error.h"

namespace weft {

namespace {

[[noreturn]] void bad_device(std::string_view text) {
  throw_error(
      ErrorKind::Value,
      fmt::format("device: expected 'cpu', 'cuda', 'cuda:<index>' or 'meta', got '{}'", printable(text)));
}

}  // namespace

Device Device::parse(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  Device device;
  if (kind == "cpu")
    device.type = DeviceType::CPU;
  else if (kind == "cuda")
    device.type = DeviceType::CUDA;
  else if (kind == "meta")
    device.type = DeviceType::Meta;
  else
    bad_device(text);
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), device.index);
    if (digits.empty() || status != std::errc() || end != digits.data() + digits.size() || device.index < 0)
      bad_device(text);
    if (device.type != DeviceType::CUDA && device.index != 0) bad_device(text);
  }
  return device;
}

std::string Device::str() const {
  switch (type) {
    case DeviceType::CPU: return "cpu";
    case DeviceType::CUDA: return fmt::format("cuda:{}", index);
    case DeviceType::Meta: return "meta";
  }
  return "?";
}

void require_available(Device device) {
  if (device.type == DeviceType::CUDA) {
    throw_error(
        ErrorKind::Runtime,
        fmt::format("device '{}' cannot be used: this build of weft has no CUDA support", device.str()));
  }
}

}  // namespace weft
