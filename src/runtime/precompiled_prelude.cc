#include "runtime/precompiled_prelude.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "runtime/disk_cache.h"
#include "runtime/files.h"
#include "runtime/log.h"
#include "runtime/own_stack.h"
#include "runtime/processor.h"

namespace weft::runtime {
namespace {

std::string key_of(const PreludeCompiler& compiler, std::string_view prelude,
                   const std::vector<std::string>& flags) {
  const std::string text = fmt::format("weft prelude\n{}\n{}\n{}", compiler.version,
                                       fmt::join(prelude_flags(flags), " "), prelude);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string make(const PreludeCompiler& compiler, std::string_view prelude,
                 const std::vector<std::string>& flags) {
  const std::vector<std::string> wanted = prelude_flags(flags);
  std::vector<const char*> pointers;
  for (const std::string& flag : wanted) pointers.push_back(flag.c_str());
  const std::string text(prelude);
  WeftClangRequest request = {};
  request.name = "weft_prelude";
  request.flags = pointers.data();
  request.flag_count = pointers.size();
  request.prelude = {text.data(), text.size()};
  WeftClangResult result = {};
  with_stack(kCompilerStack, [&] { compiler.precompile(&request, &result); });
  std::string bytes = result.bytes != nullptr ? std::string(result.bytes, result.size) : "";
  if (bytes.empty())
    log::write(log::Channel::Cache,
               fmt::format("clang: no precompiled prelude: {}",
                           result.message != nullptr ? result.message : "out of memory"));
  compiler.release(&result);
  return bytes;
}

std::optional<std::string> shipped(const PreludeCompiler& compiler, const std::string& key,
                                   const std::vector<std::string>& flags) {
  std::optional<std::string> text = read_file(compiler.folder + "/" + shipped_prelude_name(flags));
  return text ? unsealed(std::move(*text), key) : std::nullopt;
}

std::string find_or_make(const PreludeCompiler& compiler, std::string_view prelude, const std::string& key,
                         const std::vector<std::string>& flags) {
  const auto start = std::chrono::steady_clock::now();
  const char* origin = "beside the library";
  std::optional<std::string> bytes = shipped(compiler, key, flags);
  if (!bytes) {
    origin = "disk cache";
    bytes = disk_cache_read("prelude", key);
  }
  if (!bytes) {
    origin = "made";
    bytes = make(compiler, prelude, flags);
    if (!bytes->empty()) disk_cache_write("prelude", key, *bytes);
  }
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  log::write(log::Channel::Cache,
             fmt::format("clang: precompiled prelude: {}, in {:.1f} ms", origin, elapsed.count()));
  return std::move(*bytes);
}

// By key; empty: there is none.
std::map<std::string, std::string>& known() {
  static std::map<std::string, std::string>& preludes = *new std::map<std::string, std::string>;
  return preludes;
}

}  // namespace

std::vector<std::string> prelude_flags(const std::vector<std::string>& flags) {
  return processor::flags_of_prelude(flags);
}

std::string shipped_prelude_name(const std::vector<std::string>& flags) {
  std::string processor = "any";
  for (const std::string& flag : flags)
    if (flag.starts_with("-march=")) processor = flag.substr(7);
  return fmt::format("weft_prelude_{}.pch", processor);
}

const std::string* precompiled_prelude(const PreludeCompiler& compiler, std::string_view prelude,
                                       const std::vector<std::string>& flags) {
  if (prelude.empty() || compiler.precompile == nullptr) return nullptr;
  const std::string key = key_of(compiler, prelude, flags);
  auto found = known().find(key);
  if (found == known().end()) found = known().emplace(key, find_or_make(compiler, prelude, key, flags)).first;
  return found->second.empty() ? nullptr : &found->second;
}

void drop_precompiled_prelude(const std::string* precompiled) {
  for (auto& [key, bytes] : known())
    if (&bytes == precompiled) bytes.clear();
}

std::string make_shipped_prelude(const PreludeCompiler& compiler, std::string_view prelude,
                                 const std::vector<std::string>& flags) {
  const std::string bytes = make(compiler, prelude, flags);
  return bytes.empty() ? "" : sealed(bytes, key_of(compiler, prelude, flags));
}

}  // namespace weft::runtime
