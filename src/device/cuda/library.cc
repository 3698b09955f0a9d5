#include "device/cuda/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "device/cuda/driver.h"

namespace weft::cuda {
namespace {

constexpr const char* kForEmulation = "weft_emulated_device";

}  // namespace

OpenedLibrary open_library(const char* what, std::initializer_list<const char*> names) {
  OpenedLibrary library;
  std::string reason;
  for (const char* name : names) {
    library.handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    // NVIDIA's own knows nothing of an emulated device's memory.
    const bool is_usable = library.handle != nullptr &&
                           (!driver().is_emulated() || ::dlsym(library.handle, kForEmulation) != nullptr);
    if (is_usable) return library;
    const char* const said = library.handle == nullptr ? ::dlerror() : "the device is emulated";
    if (said != nullptr && reason.empty()) reason = said;
    library.handle = nullptr;
  }
  library.problem = fmt::format("there is no {} ({}): {}", what, fmt::join(names, ", "), reason);
  return library;
}

void* find_function(OpenedLibrary& library, const char* what, const char* name) {
  if (library.handle == nullptr) return nullptr;
  void* const function = ::dlsym(library.handle, name);
  if (function == nullptr && library.problem.empty())
    library.problem = fmt::format("{} has no {}", what, name);
  return function;
}

}  // namespace weft::cuda
