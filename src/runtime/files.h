// Small file helpers shared by the toolchains and the cache.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::runtime {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor();
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

// $TMPDIR or /tmp.
std::string temporary_directory();

// A new folder that only this user can enter, removed with what is in it at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();  // throws Error(Runtime)
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

bool write_all(int fd, std::string_view bytes);  // errno tells why not
std::optional<std::string> read_all(int fd);
std::optional<std::string> read_file(const std::string& path);
// RuntimeError that says so where the beginning of a file shows a pointer that Git LFS left in its place.
// `name` begins the message: "safetensors file 'model.safetensors'".
void check_no_lfs_pointer(std::string_view beginning, const std::string& name);
// Path, size and modification time of the file behind any links; "" when there is none.
std::string file_identity(const std::string& path);
// The shared library that holds this function.
std::string own_library_path();

}  // namespace weft::runtime
