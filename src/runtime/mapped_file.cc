#include "runtime/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/printable.h"
#include "runtime/files.h"
#include "runtime/truncated_files.h"
#include "weft/error.h"

namespace weft::runtime {

std::shared_ptr<Storage> map_file(const std::string& path, std::string_view what) {
  const auto fail = [&](const std::string& why, ErrorKind kind = ErrorKind::Runtime) {
    throw_error(kind, fmt::format("{} '{}': {}", what, printable(path), why));
  };
  // Of a pipe that nobody writes to, opening would wait for ever.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) fail(fmt::format("cannot open: {}", std::strerror(errno)));
  struct stat status{};
  if (fstat(file.get(), &status) != 0) fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail("not a regular file");
  const size_t size = static_cast<size_t>(status.st_size);
  if (size == 0) fail("the file is empty", ErrorKind::Value);
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (data == MAP_FAILED) fail(fmt::format("cannot map {} bytes: {}", size, std::strerror(errno)));
  MappedRange* const range = watch_range(data, size, printable(path));
  auto storage = Storage::wrap(data, size, [data, size, range] {
    forget_range(range);
    munmap(data, size);
  });
  check_no_lfs_pointer({static_cast<const char*>(data), size}, fmt::format("{} '{}'", what, printable(path)));
  return storage;
}

OutputFile::OutputFile(const std::string& path, std::string_view what)
    : name_(fmt::format("{} '{}'", what, printable(path))), target_(path) {
  std::error_code missing;
  if (const std::filesystem::path target = std::filesystem::canonical(path, missing); !missing) {
    if (!std::filesystem::is_regular_file(target)) fail("it is there and not a regular file");
    target_ = target.string();
  }
  temporary_ = target_ + ".XXXXXX";
  const int fd = mkostemp(temporary_.data(), O_CLOEXEC);
  if (fd < 0) fail();
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(fd, 0666 & ~mask);
  file_ = fdopen(fd, "wb");
  if (file_ == nullptr) {
    const int error = errno;
    ::close(fd);
    ::unlink(temporary_.c_str());
    errno = error;
    fail();
  }
}

OutputFile::~OutputFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::fail(std::string_view why) const {
  throw_error(ErrorKind::Runtime, fmt::format("{}: cannot write: {}", name_, why));
}

void OutputFile::fail() const { fail(std::strerror(errno)); }

void OutputFile::write(const void* data, size_t nbytes) {
  if (nbytes != 0 && std::fwrite(data, 1, nbytes, file_) != nbytes) fail();
}

void OutputFile::commit() {
  if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) fail();
  const int status = std::fclose(file_);
  file_ = nullptr;
  if (status != 0 || std::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
  temporary_.clear();
}

}  // namespace weft::runtime
