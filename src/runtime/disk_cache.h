// Compiled kernels on disk: one file per kernel, a shared object with a trailer that tells a whole entry of
// this key from a damaged one and from another's before anything of it is executed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/toolchain.h"

namespace weft::runtime {

// 128 bits in hexadecimal, of everything that decides what machine code comes out.
std::string cache_key(const CompileRequest& request, const std::string& toolchain_id);

// nullptr when there is none; a damaged entry, or another's, is removed with a warning.
std::shared_ptr<const Module> disk_cache_load(const std::string& kernel, const std::string& key);
// Writes the entry, and loads it from there; nullptr when the cache is off or cannot be written.
std::shared_ptr<const Module> disk_cache_store(const std::string& kernel, const std::string& key,
                                               std::string_view bytes);

// Other files of the cache, with the same trailer: "NAME-KEY.pch". What was compiled, or measured.
std::optional<std::string> disk_cache_read(const std::string& name, const std::string& key);
bool disk_cache_write(const std::string& name, const std::string& key, std::string_view bytes);

// Bytes with their trailer, and what is before it in a file's text; nullopt where that is damaged or of
// another key.
std::string sealed(std::string_view bytes, const std::string& key);
std::optional<std::string> unsealed(std::string text, const std::string& key);

}  // namespace weft::runtime
