// Weights of a model's folder or file, by the names that its description has, memory-mapped.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/block_format.h"
#include "weft/models/config.h"
#include "weft/quantization.h"
#include "weft/tensor.h"

namespace weft::models {

// Rows of a matrix as blocks: uint8 [..., bytes of a row].
struct BlockRows {
  Tensor rows;
  BlockFormat format = BlockFormat::None;
};

class Checkpoint {
 public:
  // GGUF files;
  // Hugging Face folders (model.safetensors, its shards with model.safetensors.index.json, pytorch_model.bin
  // and its shards) with config.json, and Meta folders (consolidated.*.pth) with params.json. RuntimeError
  // for a folder that is none of them, naming what was looked for; ValueError for shards that are missing.
  // `verify`: the checksums of all files are compared first, as of jit::load; ValueError for safetensors,
  // which hold none.
  static std::unique_ptr<Checkpoint> open(const std::string& folder, bool verify = false);
  virtual ~Checkpoint() = default;

  const DecoderConfig& config() const { return config_; }
  // The scheme that `weft quantize` wrote the folder with: "int8", "int4-g32"; "none".
  const std::string& quantization() const { return quantization_; }
  virtual bool has(const std::string& name) const = 0;
  // ValueError, naming both, for a tensor that is missing or has another shape.
  virtual Tensor tensor(const std::string& name, const Shape& shape) const = 0;
  // Those of a table of this shape that is stored so; nothing of others.
  virtual std::optional<BlockRows> blocks(const std::string&, const Shape&) const { return std::nullopt; }
  // All `rows` of the tensor that a matrix lies in, where the file has them quantized in another way than
  // weft's.
  virtual std::optional<LinearWeight> quantized_rows(const MatrixName&, int64_t, int64_t) const {
    return std::nullopt;
  }
  // What stands behind a matrix's name in the names of such a tensor's parts.
  virtual std::vector<std::string> suffixes() const { return {}; }
  // Does each of its floating matrices say how exact it is? Else the configuration says it for all.
  virtual bool has_own_dtypes() const { return false; }
  virtual std::string stored_as() const { return quantization_; }  // for people
  // The file that it is in, for messages.
  virtual std::string file_of(const std::string& name) const = 0;
  virtual std::vector<std::string> names() const = 0;
  // Tensors of a model of several kinds of input that are not of its text part: nobody reads them.
  const std::vector<std::string>& passed_over() const { return passed_over_; }

 protected:
  // The description's name of a tensor; nothing for one that is passed over.
  std::optional<std::string> own_name(const std::string& stored, const std::string& folder);
  // Of a text part, the tensors say whether it has a head of its own.
  void settle_head();
  DecoderConfig config_;
  std::string quantization_ = "none";
  std::vector<std::string> passed_over_;
};

}  // namespace weft::models
