// Safetensors: named tensors behind a JSON header, read through a memory map.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/tensor.h"

namespace weft {

class SafetensorsFile {
 public:
  // Reads the header only. RuntimeError for a file that cannot be read; ValueError, with the path and the
  // tensor, for a header that is over 100 MB, not JSON, has a key twice, or describes bytes that overlap or
  // lie outside the file.
  explicit SafetensorsFile(const std::string& path);
  // The same of bytes in memory; `name` is for messages.
  static SafetensorsFile from_bytes(std::string bytes, const std::string& name = "<bytes>");

  const std::string& path() const { return path_; }
  std::vector<std::string> names() const;  // sorted
  bool has(const std::string& name) const { return entries_.contains(name); }
  // A view of the file's pages, copy-on-write; a copy where the file does not align it. ValueError for an
  // unknown name.
  Tensor tensor(const std::string& name) const;
  // Of one tensor, without a view being made.
  DType dtype(const std::string& name) const { return entry(name).dtype; }
  const Shape& shape(const std::string& name) const { return entry(name).shape; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  struct Entry {
    DType dtype;
    Shape shape;
    size_t begin = 0, end = 0;  // bytes of the file
  };
  const Entry& entry(const std::string& name) const;
  SafetensorsFile(std::string path, std::shared_ptr<Storage> file);

  std::string path_;
  std::shared_ptr<Storage> file_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

// Writes a new file and moves it into place. RuntimeError where that fails; TypeError for complex128, which
// the format does not have.
void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace weft
