// Files as memory, and files that appear whole or not at all.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "weft/tensor.h"

namespace weft::runtime {

// The file's bytes, mapped copy-on-write: what is written to the storage stays out of the file. RuntimeError
// with `what` ("archive", "safetensors file") and the path where that is not possible, or the file is a
// pointer of Git LFS; ValueError where the file is empty. A file may be removed while it is mapped; where one
// becomes shorter, the process ends with a message that names it (truncated_files.h).
std::shared_ptr<Storage> map_file(const std::string& path, std::string_view what);

// A new file beside `path` that takes its place when committed, and is removed otherwise. A link stays and
// the file behind it is replaced; what is there and is no regular file is refused. RuntimeError with `what`,
// the path and the system's reason for whatever fails.
class OutputFile {
 public:
  OutputFile(const std::string& path, std::string_view what);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, size_t nbytes);
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  void commit();  // flushed to the disk, then renamed

 private:
  [[noreturn]] void fail(std::string_view why) const;
  [[noreturn]] void fail() const;          // for what errno tells
  std::string name_, target_, temporary_;  // of messages; behind any links; "" once it has taken its place
  std::FILE* file_ = nullptr;
};

}  // namespace weft::runtime
