#include "runtime/disk_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>

#include "runtime/files.h"
#include "runtime/log.h"
#include "runtime/module.h"
#include "weft/env.h"
#include "weft/error.h"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[9] = "WEFTKRN2";
constexpr size_t kKeyLength = 32;

// What an entry ends with. The key says what the bytes before it are: a file's name can be another's.
struct Trailer {
  XXH128_canonical_t checksum;  // of the bytes and the key
  char key[kKeyLength];
  uint64_t size;  // of the bytes
  char magic[8];
};
static_assert(sizeof(Trailer) == 64);

Trailer trailer_of(std::string_view bytes, const std::string& key) {
  WEFT_ASSERT(key.size() == kKeyLength, fmt::format("a key of {} characters", key.size()));
  Trailer trailer;
  const XXH64_hash_t seed = XXH3_64bits(key.data(), key.size());
  XXH128_canonicalFromHash(&trailer.checksum, XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed));
  std::memcpy(trailer.key, key.data(), kKeyLength);
  trailer.size = bytes.size();
  std::memcpy(trailer.magic, kMagic, sizeof trailer.magic);
  return trailer;
}
std::string_view text_of(const Trailer& trailer) {
  return {reinterpret_cast<const char*>(&trailer), sizeof trailer};
}

// What is wrong with an entry; "": nothing.
std::string problem_of(std::string_view entry, const std::string& key) {
  const char* damaged = "it is damaged: its checksum does not match";
  if (entry.size() < sizeof(Trailer)) return damaged;
  const std::string_view bytes = entry.substr(0, entry.size() - sizeof(Trailer));
  Trailer found;
  std::memcpy(&found, entry.data() + bytes.size(), sizeof found);
  const std::string of(found.key, kKeyLength);
  if (text_of(trailer_of(bytes, of)) != text_of(found)) return damaged;
  return of == key ? "" : "it is the entry of another kernel";
}

void warn_once(const std::string& message) {
  static std::mutex mutex;
  static std::set<std::string>& said = *new std::set<std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  if (said.insert(message).second) log::warning(message);
}

// The folder, made if needed; "" (after a warning, once) when it cannot be trusted or made. Code is executed
// from there, so nobody else may be able to put a file into it.
std::string usable_directory(bool create) {
  if (env::flag("WEFT_DISABLE_CACHE")) return "";
  const std::string folder = cache_directory();
  if (folder.empty()) {
    warn_once("kernel cache is off: neither WEFT_CACHE_DIR, XDG_CACHE_HOME nor HOME is set");
    return "";
  }
  struct stat status;
  if (::stat(folder.c_str(), &status) != 0) {
    if (!create) return "";
    std::error_code error;
    fs::create_directories(fs::path(folder).parent_path(), error);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      warn_once(fmt::format("kernel cache is off: cannot make the folder {}: {} (WEFT_CACHE_DIR moves it)",
                            folder, std::strerror(errno)));
      return "";
    }
    if (::stat(folder.c_str(), &status) != 0) return "";
  }
  const char* problem = !S_ISDIR(status.st_mode)       ? "it is not a folder"
                        : status.st_uid != ::geteuid() ? "it belongs to another user"
                        : (status.st_mode & 022) != 0  ? "other users can write to it"
                                                       : nullptr;
  if (problem != nullptr) {
    warn_once(fmt::format("kernel cache is off: {}: {} (WEFT_CACHE_DIR moves it)", folder, problem));
    return "";
  }
  return folder;
}

constexpr std::string_view kKernel = ".so", kPrecompiled = ".pch";

std::string entry_path(const std::string& folder, const std::string& name, const std::string& key,
                       std::string_view extension) {
  return fmt::format("{}/{}-{}{}", folder, name.substr(0, 80), key, extension);
}

struct Entry {
  fs::path path;
  int64_t size;
  fs::file_time_type used;
};

std::vector<Entry> entries(const std::string& folder) {
  std::vector<Entry> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path extension = it->path().extension();
    const bool ours = extension == kKernel || extension == kPrecompiled ||
                      it->path().filename().string().starts_with(".tmp-");
    std::error_code gone;
    Entry entry{it->path(), static_cast<int64_t>(it->file_size(gone)), {}};
    if (!gone) entry.used = it->last_write_time(gone);
    if (ours && !gone) found.push_back(std::move(entry));
  }
  return found;
}

// Looks at the folder's size at a process's first store and then after every 16 MiB that it writes.
bool time_to_evict(const std::string& folder, int64_t written) {
  static std::mutex mutex;
  static std::string& last_folder = *new std::string;
  static int64_t since = 0;
  const std::lock_guard<std::mutex> lock(mutex);
  since += written;
  if (folder == last_folder && since < (16 << 20)) return false;
  last_folder = folder;
  since = 0;
  return true;
}

// Removes the least recently used, down to three quarters of the limit.
void evict(const std::string& folder) {
  const int64_t limit = env::number("WEFT_CACHE_LIMIT_MB").value_or(0) << 20;
  if (limit == 0) return;
  std::vector<Entry> all = entries(folder);
  int64_t total = 0;
  for (const Entry& entry : all) total += entry.size;
  if (total <= limit) return;
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : all) {
    if (total <= limit / 4 * 3) break;
    std::error_code ignored;
    if (fs::remove(entry.path, ignored)) total -= entry.size;
  }
  log::write(log::Channel::Cache, fmt::format("removed old kernels from {}", folder));
}

// An entry's file, if nobody else can have written it.
class EntryFile {
 public:
  explicit EntryFile(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}

  bool is_ours() const {
    if (!file_.valid()) return false;
    struct stat status;
    if (::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
        (status.st_mode & 022) == 0)
      return true;
    warn_once(fmt::format("kernel cache: {} is not a file that only this user can write; ignored", path_));
    return false;
  }
  std::optional<std::string> read() const { return read_all(file_.get()); }
  void mark_used() const { ::futimens(file_.get(), nullptr); }
  void drop(const std::string& problem) const {
    log::warning(fmt::format("kernel cache: dropped {}: {}; made again", path_, problem));
    ::unlink(path_.c_str());
  }

 private:
  std::string path_;
  FileDescriptor file_;
};

// For what errno tells.
void warn_of_write(const std::string& where) {
  warn_once(
      fmt::format("kernel cache: cannot write to {}: {} (WEFT_CACHE_DIR moves it, WEFT_DISABLE_CACHE=1 "
                  "turns it off)",
                  where, std::strerror(errno)));
}

// The path of the entry that now holds `bytes`; "" when the cache is off or cannot be written.
std::string write_entry(const std::string& name, const std::string& key, std::string_view extension,
                        std::string_view bytes) {
  const std::string folder = usable_directory(true);
  if (folder.empty()) return "";
  std::string temporary = folder + "/.tmp-XXXXXX";
  const Trailer trailer = trailer_of(bytes, key);
  {
    const FileDescriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
    if (!file.valid() || !write_all(file.get(), bytes) || !write_all(file.get(), text_of(trailer))) {
      warn_of_write(folder);
      if (file.valid()) ::unlink(temporary.c_str());
      return "";
    }
  }
  std::string path = entry_path(folder, name, key, extension);
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    warn_of_write(path);
    ::unlink(temporary.c_str());
    return "";
  }
  if (time_to_evict(folder, static_cast<int64_t>(bytes.size()))) evict(folder);
  return path;
}

}  // namespace

std::string cache_directory() {
  const std::string set = env::get("WEFT_CACHE_DIR");
  if (!set.empty()) return set;
  if (const char* base = std::getenv("XDG_CACHE_HOME"); base != nullptr && *base == '/')
    return std::string(base) + "/weft";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::string(home) + "/.cache/weft";
  return "";
}

std::string cache_key(const CompileRequest& request, const std::string& toolchain_id) {
  // Lengths keep the parts apart. The kernel's name is no part: equal code is equal under any name.
  const std::string flags = fmt::format("{}", fmt::join(kernel_flags(), " "));
  const std::string text =
      fmt::format("weft {} {}\n{} {}\n{}\n{}\n{}", WEFT_VERSION_STRING, kMagic, toolchain_id.size(),
                  flags.size(), toolchain_id, flags, request.source);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::shared_ptr<const Module> disk_cache_load(const std::string& kernel, const std::string& key) {
  const std::string folder = usable_directory(false);
  if (folder.empty()) return nullptr;
  const std::string path = entry_path(folder, kernel, key, kKernel);
  const EntryFile file(path);
  if (!file.is_ours()) return nullptr;
  const std::string entry = file.read().value_or("");
  std::string problem = problem_of(entry, key);
  if (problem.empty()) {
    const std::string_view bytes = std::string_view(entry).substr(0, entry.size() - sizeof(Trailer));
    if (auto module = load_module_file(path, bytes, kernel, &problem)) {
      file.mark_used();
      return module;
    }
  }
  file.drop(problem);
  return nullptr;
}

std::shared_ptr<const Module> disk_cache_store(const std::string& kernel, const std::string& key,
                                               std::string_view bytes) {
  const std::string path = write_entry(kernel, key, kKernel, bytes);
  std::string error;
  return path.empty() ? nullptr : load_module_file(path, bytes, kernel, &error);
}

std::optional<std::string> disk_cache_read(const std::string& name, const std::string& key) {
  const std::string folder = usable_directory(false);
  if (folder.empty()) return std::nullopt;
  const EntryFile file(entry_path(folder, name, key, kPrecompiled));
  if (!file.is_ours()) return std::nullopt;
  std::string text = file.read().value_or("");
  if (const std::string problem = problem_of(text, key); !problem.empty()) {
    file.drop(problem);
    return std::nullopt;
  }
  file.mark_used();
  text.resize(text.size() - sizeof(Trailer));
  return text;
}

bool disk_cache_write(const std::string& name, const std::string& key, std::string_view bytes) {
  return !write_entry(name, key, kPrecompiled, bytes).empty();
}

std::string sealed(std::string_view bytes, const std::string& key) {
  const Trailer trailer = trailer_of(bytes, key);
  return std::string(bytes) + std::string(text_of(trailer));
}

std::optional<std::string> unsealed(std::string text, const std::string& key) {
  if (!problem_of(text, key).empty()) return std::nullopt;
  text.resize(text.size() - sizeof(Trailer));
  return text;
}

CacheStats cache_stats() {
  CacheStats stats;
  for (const Entry& entry : entries(cache_directory())) {
    if (entry.path.extension() != kKernel) continue;
    ++stats.entries;
    stats.bytes += entry.size;
  }
  return stats;
}

void clear_disk_cache() {
  for (const Entry& entry : entries(cache_directory())) {
    std::error_code ignored;
    fs::remove(entry.path, ignored);
  }
}

}  // namespace weft::runtime
