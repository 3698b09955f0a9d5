#include "runtime/files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "weft/error.h"

namespace weft::runtime {

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

std::string temporary_directory() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

TemporaryFolder::TemporaryFolder() : path_(temporary_directory() + "/weft-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) {
    throw_error(ErrorKind::Runtime, fmt::format("cannot make a temporary folder {} (TMPDIR moves it): {}",
                                                path_, std::strerror(errno)));
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

std::optional<std::string> read_all(int fd) {
  std::string bytes;
  struct stat status;
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
    bytes.reserve(static_cast<size_t>(status.st_size) + 1);
  char buffer[16384];
  while (true) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(n));
  }
}

std::optional<std::string> read_file(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  return read_all(file.get());
}

void check_no_lfs_pointer(std::string_view beginning, const std::string& name) {
  // source: the specification of Git LFS's pointers.
  if (beginning.starts_with("version https://git-lfs.github.com/spec/"))
    throw_error(ErrorKind::Runtime,
                fmt::format("{}: this is a pointer that Git LFS left in the file's place; `git lfs pull` "
                            "fetches the file",
                            name));
}

std::string file_identity(const std::string& path) {
  char resolved[PATH_MAX];
  struct stat status;
  if (::realpath(path.c_str(), resolved) == nullptr || ::stat(resolved, &status) != 0 ||
      !S_ISREG(status.st_mode)) {
    return "";
  }
  return fmt::format("{} {} {}.{:09}", resolved, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

std::string own_library_path() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(&own_library_path), &info) == 0 || info.dli_fname == nullptr)
    return "";
  char resolved[PATH_MAX];
  return ::realpath(info.dli_fname, resolved) != nullptr ? resolved : info.dli_fname;
}

}  // namespace weft::runtime
