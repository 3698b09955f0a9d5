// Loading shared objects.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/toolchain.h"

namespace weft::runtime {

// Loads the shared object `bytes`, which the file holds; nullptr with the reason in *error.
std::shared_ptr<const Module> load_module_file(const std::string& path, std::string_view bytes,
                                               const std::string& kernel, std::string* error);
// Loads the bytes of a shared object; throws Error(Runtime).
std::shared_ptr<const Module> load_module_bytes(std::string_view bytes, const std::string& kernel);

}  // namespace weft::runtime
