// Batch normalization with known statistics is a scale and a shift of each channel, which the weights and the
// bias of the layer before can do.
#include <algorithm>
#include <cmath>
#include <optional>

#include "script/builtins/builtin.h"
#include "script/builtins/prim.h"
#include "script/optimize/graph_passes.h"

namespace weft::jit {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Positions in aten::batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps,
// cudnn).
enum { kInput, kWeight, kBias, kMean, kVariance, kTraining, kMomentum, kEps };

bool is_layer(const Node& node) {
  return node.is("aten::conv1d") || node.is("aten::conv2d") || node.is("aten::conv3d") ||
         node.is("aten::linear") || node.is("aten::_convolution");
}

// aten::_convolution has `transposed` after dilation.
bool is_transposed(const Node& layer) {
  if (!layer.is("aten::_convolution")) return false;
  const IValue* transposed = known_constant(layer.inputs[6]);
  return !transposed || transposed->to_bool();
}

// A constant float32 vector or weight, or an absent one.
std::optional<Tensor> known(const Value* value) {
  const IValue* constant = known_constant(value);
  if (!constant || !(constant->is_none() || constant->is_tensor())) return std::nullopt;
  if (constant->is_none()) return Tensor();
  if (constant->to_tensor().dtype() != DType::F32) return std::nullopt;
  return constant->to_tensor().contiguous();
}

// Does nothing but the normalization read the layer's elements? Its shape stays.
bool is_only_reader(const Value* result, const Node& norm) {
  return std::all_of(result->uses.begin(), result->uses.end(), [&](const ir::Use& use) {
    const Node* user = use.user;
    return user && (user == &norm || user->is("aten::dim") || user->is("aten::size") ||
                    user->is("aten::len") || user->is("prim::dtype"));
  });
}

bool fold(Graph& graph, Node& norm) {
  Node* layer = norm.inputs[kInput]->def;
  if (!layer || !is_layer(*layer) || !is_only_reader(layer->outputs[0], norm) || is_transposed(*layer))
    return false;
  const IValue *training = known_constant(norm.inputs[kTraining]), *eps = known_constant(norm.inputs[kEps]);
  if (!training || training->to_bool() || !eps) return false;
  std::optional<Tensor> parameters[5];
  for (const int i : {kWeight, kBias, kMean, kVariance}) {
    if (!(parameters[i] = known(norm.inputs[static_cast<size_t>(i)]))) return false;
  }
  const std::optional<Tensor> weight = known(layer->inputs[1]), bias = known(layer->inputs[2]);
  if (!weight || !weight->defined() || !bias || !parameters[kMean]->defined() ||
      !parameters[kVariance]->defined())
    return false;

  const int64_t channels = weight->shape()[0], per_channel = weight->numel() / channels;
  const auto at = [](const Tensor& vector, int64_t i, double absent) {
    return vector.defined() ? vector.data_as<float>()[i] : absent;
  };
  Tensor new_weight = weight->clone(), new_bias = Tensor::empty({channels}, DType::F32);
  for (int64_t c = 0; c < channels; ++c) {
    const double scale =
        at(*parameters[kWeight], c, 1) / std::sqrt(at(*parameters[kVariance], c, 1) + eps->to_double());
    float* const row = new_weight.data_as<float>() + c * per_channel;
    for (int64_t i = 0; i < per_channel; ++i) row[i] = static_cast<float>(row[i] * scale);
    new_bias.data_as<float>()[c] = static_cast<float>(
        (at(*bias, c, 0) - at(*parameters[kMean], c, 0)) * scale + at(*parameters[kBias], c, 0));
  }
  graph.set_input(layer, 1, add_constant(graph, *layer->parent, new_weight, Type::tensor(), layer));
  graph.set_input(layer, 2, add_constant(graph, *layer->parent, new_bias, Type::tensor(), layer));
  graph.replace_uses(norm.outputs[0], layer->outputs[0]);
  graph.erase(&norm);
  return true;
}

}  // namespace

void fold_batch_norm(Graph& graph) {
  std::vector<Node*> norms;
  ir::for_each_node(graph.body(), [&](Node& node) {
    if (node.is("aten::batch_norm")) norms.push_back(&node);
  });
  for (Node* norm : norms) fold(graph, *norm);
}

}  // namespace weft::jit
