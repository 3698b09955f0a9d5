// GGUF files: metadata and named tensors, read through a memory map.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/json.h"
#include "weft/block_format.h"
#include "weft/tensor.h"

namespace weft::models {

bool is_gguf(const std::string& path);  // a regular file that begins as one

class GgufFile {
 public:
  // Reads metadata and the tensors' descriptions. RuntimeError for a file that cannot be read; ValueError
  // with the path for anything in it that is damaged or that weft does not know, element types included.
  explicit GgufFile(const std::string& path);
  // The same of bytes in memory; `name` is for messages.
  static GgufFile from_bytes(std::string bytes, const std::string& name = "<bytes>");

  const std::string& path() const { return path_; }
  const Json& metadata() const { return metadata_; }  // an object
  std::vector<std::string> names() const;             // sorted
  bool has(const std::string& name) const { return entries_.contains(name); }
  // Outermost size first; of blocks, the number of weights. ValueError for an unknown name, as below.
  const Shape& shape(const std::string& name) const { return entry(name).shape; }
  BlockFormat blocks(const std::string& name) const { return entry(name).blocks; }
  DType dtype(const std::string& name) const { return entry(name).dtype; }  // float32 of blocks
  int64_t bytes(const std::string& name) const { return static_cast<int64_t>(entry(name).bytes); }
  // A view of the file's pages; blocks as bytes, of which a row has so many.
  Tensor stored(const std::string& name) const;
  // Blocks in float32.
  Tensor tensor(const std::string& name) const;

 private:
  struct Entry {
    Shape shape;
    DType dtype = DType::F32;
    BlockFormat blocks = BlockFormat::None;
    size_t begin = 0, bytes = 0;
  };
  GgufFile(std::string path, std::shared_ptr<Storage> file);
  const Entry& entry(const std::string& name) const;

  std::string path_;
  std::shared_ptr<Storage> file_;
  Json metadata_ = Json::object();
  std::map<std::string, Entry> entries_;
};

// What a writer is given: dense tensors, or blocks as bytes [..., bytes of a row].
struct GgufTensor {
  Tensor tensor;
  BlockFormat blocks = BlockFormat::None;
};

// Writes a new file and moves it into place. Of metadata: texts, booleans,
// integers (uint32, or int64 where that does not hold them), numbers (float32), and lists of one of these.
// ValueError for a tensor or a value that the format does not have.
void save_gguf(const std::string& path, const nlohmann::ordered_json& metadata,
               const std::vector<std::pair<std::string, GgufTensor>>& tensors);

// A floating [..., in] in blocks of Q8_0 or Q4_0. ValueError where rows are not whole blocks.
Tensor blocks_of(const Tensor& weight, BlockFormat format);
// Back to float32, of this shape.
Tensor blocks_in_float32(const Tensor& rows, BlockFormat format, const Shape& shape);

}  // namespace weft::models
