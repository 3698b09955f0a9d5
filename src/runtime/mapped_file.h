// Files as memory, and files that appear whole or not at all.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "weft/tensor.h"

namespace weft::runtime {

// The file's bytes, mapped copy-on-write: what is written to the storage stays out of the file. RuntimeError with
// `what` ("archive", "safetensors file") and the path where that is not possible, an empty file included.
std::shared_ptr<Storage> map_file(const std::string& path, std::string_view what);

// A new file beside `path` that takes its place when committed, and is removed otherwise. RuntimeError with the path
// and the system's reason for whatever fails.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, size_t nbytes);
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  void commit();  // flushed to the disk, then renamed

 private:
  [[noreturn]] void fail() const;
  std::string path_, temporary_;
  std::FILE* file_ = nullptr;
};

}  // namespace weft::runtime
