// Names of devices, and the table of their backends.
#include "weft/device.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "core/backend.h"
#include "core/printable.h"
#include "weft/error.h"

namespace weft {

constinit const Backend* detail::backends[detail::kMaxDeviceTypes] = {};

namespace {

// Devices that programs name whether or not this build has a backend for them, by type.
struct KnownDevice {
  std::string_view name;
  bool is_numbered;
};
constexpr std::array<KnownDevice, 3> kKnown{{{"cpu", false}, {"cuda", true}, {"meta", false}}};

const Backend* backend(size_t type) { return detail::backends[type]; }

std::string_view name_of(size_t type) {
  if (type < kKnown.size()) return kKnown[type].name;
  return type < detail::kMaxDeviceTypes && backend(type) ? std::string_view(backend(type)->name) : "?";
}
bool is_numbered(size_t type) {
  return type < kKnown.size() ? kKnown[type].is_numbered : backend(type) && backend(type)->is_numbered;
}

[[noreturn]] void bad_device(std::string_view text) {
  std::string others;
  for (size_t type = kKnown.size(); type < detail::kMaxDeviceTypes && backend(type); ++type)
    others += fmt::format(", '{}'", name_of(type));
  throw_error(ErrorKind::Value,
              fmt::format("device: expected 'cpu', 'cuda', 'cuda:<index>'{} or 'meta', got '{}'", others,
                          printable(text)));
}

}  // namespace

DeviceType register_backend(std::unique_ptr<const Backend> added) {
  size_t type = 0;
  while (type < detail::kMaxDeviceTypes && name_of(type) != added->name && name_of(type) != "?") ++type;
  WEFT_ASSERT(type < detail::kMaxDeviceTypes, "there are too many kinds of devices");
  WEFT_ASSERT(backend(type) == nullptr, fmt::format("device '{}' has two backends", added->name));
  detail::backends[type] = added.release();  // for as long as the process lives
  return static_cast<DeviceType>(type);
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (size_t type = 0; type < detail::kMaxDeviceTypes && name_of(type) != "?"; ++type)
    names.emplace_back(name_of(type));
  return names;
}

Device Device::parse(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  size_t type = 0;
  while (type < detail::kMaxDeviceTypes && (name_of(type) != name || name == "?")) ++type;
  if (type == detail::kMaxDeviceTypes) bad_device(text);
  Device device;
  device.type = static_cast<DeviceType>(type);
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), device.index);
    if (digits.empty() || status != std::errc() || end != digits.data() + digits.size() || device.index < 0)
      bad_device(text);
    if (!device.is_numbered() && device.index != 0) bad_device(text);
  }
  return device;
}

std::string_view Device::name() const { return name_of(static_cast<size_t>(type)); }
bool Device::is_numbered() const { return weft::is_numbered(static_cast<size_t>(type)); }
std::string Device::str() const {
  return is_numbered() ? fmt::format("{}:{}", name(), index) : std::string(name());
}

void require_available(Device device) {
  const Backend* found = backend(static_cast<size_t>(device.type));
  std::string why;
  if (found != nullptr)
    why = found->why_unavailable(device.index);
  else if (device.type == DeviceType::CUDA)
    why = "this build of weft has no CUDA support";
  else
    why = "this build of weft does not have it";
  if (!why.empty())
    throw_error(ErrorKind::Runtime, fmt::format("device '{}' cannot be used: {}", device.str(), why));
}

std::function<std::vector<Tensor>(std::span<const Tensor>)> Backend::prepare(const ops::OpDef&,
                                                                             std::span<const Tensor>,
                                                                             const ops::Attrs&) const {
  return nullptr;
}

}  // namespace weft
