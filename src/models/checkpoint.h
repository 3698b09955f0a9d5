// Weights of a model's folder, by the names Hugging Face gives them, memory-mapped.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/models/config.h"
#include "weft/tensor.h"

namespace weft::models {

class Checkpoint {
 public:
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
  // The file that it is in, for messages.
  virtual std::string file_of(const std::string& name) const = 0;
  virtual std::vector<std::string> names() const = 0;

 protected:
  DecoderConfig config_;
  std::string quantization_ = "none";
};

}  // namespace weft::models
