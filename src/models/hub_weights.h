// Weights that other programs quantized, as the checkpoints of the hub have them: `quantization_config` of
// config.json says how.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/json.h"
#include "weft/models/config.h"
#include "weft/quantization.h"

namespace weft::models {

// The tensors of a checkpoint, for messages its name.
struct HubTensors {
  std::string where;
  std::function<bool(const std::string&)> has;
  std::function<Tensor(const std::string&)> read;
};

class HubWeights {
 public:
  // ValueError naming a method, or a setting of one, that weft does not have.
  static std::unique_ptr<HubWeights> make(const Json& quantization, const std::string& where);
  virtual ~HubWeights() = default;
  // For people: "gptq, 4 bits, groups of 128".
  virtual std::string name() const = 0;
  // What stands behind a matrix's name in the names of its parts.
  virtual std::vector<std::string> suffixes() const = 0;
  // The matrix [rows, in]; nothing where the checkpoint has it as it is. ValueError naming a tensor that is
  // missing or of another shape.
  virtual std::optional<LinearWeight> matrix(const HubTensors& tensors, const MatrixName& matrix,
                                             int64_t rows, int64_t in) const = 0;
};

}  // namespace weft::models
