// The tensors that a model's checkpoint has to have.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/checkpoint.h"

namespace weft::models {

enum class Role : uint8_t {
  Query,
  Key,
  Value,
  Output,
  Gate,
  Up,
  Down,
  Router,
  ExpertGate,
  ExpertUp,
  ExpertDown,
  SharedGate,
  SharedUp,
  SharedDown,
  SharedScale,
  LatentQueryIn,
  LatentQueryOut,
  LatentIn,
  LatentOut,
  ConvolutionIn,
  ConvolutionOut,
  DeltaQuery,
  DeltaKey,
  DeltaValue,
  DeltaGate,
  DeltaBeta,
  DeltaDecay,
  DeltaOutput,
  AttentionGate
};

// A matrix [out, in] of a layer.
struct NamedMatrix {
  MatrixName name;
  int64_t out, in;
  bool has_bias;
};
NamedMatrix named_matrix(const DecoderConfig& config, int64_t layer, Role role, int64_t expert = -1);
// Those that the layer has, each once; of experts, those of all.
void for_each_matrix(const DecoderConfig& config, int64_t layer,
                     const std::function<void(const NamedMatrix&)>& use);
// Its other tensors: the name, and the shape.
void for_each_vector(const DecoderConfig& config, int64_t layer,
                     const std::function<void(const std::string& name, const Shape& shape)>& use);
// Where a norm of heads has a tensor for each ("norms.{}"), their names; else nothing.
std::vector<std::string> names_of_heads(const std::string& name, int64_t heads);
Shape correction_shape(const DecoderConfig& config);
std::string layer_prefix(const TensorNames& names, int64_t layer);

// ValueError for a tensor of a layer that the model would not read: it belongs to another model.
void check_tensors(const Checkpoint& checkpoint);

}  // namespace weft::models
