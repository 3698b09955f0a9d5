// What follows a convolution or a matrix product, computed while its results are in registers.
#include <algorithm>

#include "ir/symbols.h"
#include "ops/tracer.h"
#include "passes/analysis.h"
#include "passes/pass.h"

namespace weft::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr std::string_view kActivations[] = {"relu", "relu6",    "hardswish", "hardsigmoid",
                                             "silu", "gelu_erf", "gelu_tanh"};

// Where an operator has what follows it, and whether its residual comes before the activation.
struct Epilogue {
  size_t bias, residual;
  bool residual_first;
};

bool is_constant(const Value* value) {
  return value && value->def && value->def->kind == ir::NodeKind::Constant && !is_written(value);
}
const Epilogue* epilogue_of(const Node* node) {
  static constexpr Epilogue kFused{2, 3, true}, kPacked{3, 4, false}, kInt8{4, 5, false};
  if (!node) return nullptr;
  if (node->is("conv2d_channels_last") || node->is("linear_fused")) return &kFused;
  if (node->is("linear_int8")) return &kInt8;
  return node->is("linear_packed") ? &kPacked : nullptr;
}
bool is_open(const Node& node) { return node.attrs.get<std::string>("activation") == "none"; }

Value* replace(Graph& graph, Node& at, const Node& node, std::vector<Value*> inputs, ir::Attrs attrs) {
  return graph.add_node(*at.parent, *node.op, std::move(inputs), std::move(attrs), node.location, &at)
      ->output();
}

// The transposed matrix, where it is a constant or one's transpose; undefined otherwise.
Tensor constant_weight(const Value* matrix) {
  if (matrix->tensor().shape.size() != 2 || !matrix->def) return {};
  const ops::TracerScope eager(nullptr);
  if (is_constant(matrix))
    return ops::call1("permute", {matrix->def->constant}, {{"dims", SymShape{1, 0}}}).contiguous();
  if (!matrix->def->is("permute") || !is_constant(matrix->def->inputs[0])) return {};
  const Tensor& constant = matrix->def->inputs[0]->def->constant;
  const std::vector<int64_t> dims = matrix->def->attrs.get_ints("dims");
  return (dims[0] + 2) % 2 == 1 ? constant.contiguous() : Tensor();
}

// x @ constant + constant of half precision, rounded once.
Value* linear_of_half(Graph& graph, Node& node) {
  const ops::OpDef& layer = ops::get_op("linear_packed");
  if (!is_constant(node.inputs[1]) || !is_constant(node.inputs[2]) ||
      !has_operator(*node.inputs[0], layer.name))
    return nullptr;
  const ops::TracerScope eager(nullptr);
  const Tensor weight = node.inputs[1]->def->constant.contiguous();
  Value* constant = graph.add_constant(*node.parent, weight, node.location, &node)->output();
  return graph
      .add_node(*node.parent, layer, {node.inputs[0], constant, nullptr, node.inputs[2], nullptr}, {},
                node.location, &node)
      ->output();
}

// x @ constant becomes a linear layer.
Value* linear_of(Graph& graph, Node& node) {
  const Value *x = node.inputs[0], *matrix = node.inputs[1];
  const DType dtype = x->tensor().dtype;
  const bool is_half = dtype == DType::F16 || dtype == DType::BF16;
  if (dtype != DType::F32 && !is_half) return nullptr;
  const ops::OpDef& layer = ops::get_op(is_half ? "linear_packed" : "linear_fused");
  if (!has_operator(*x, layer.name)) return nullptr;
  const Tensor weight = constant_weight(matrix);
  if (!weight.defined()) return nullptr;
  Value* constant = graph.add_constant(*node.parent, weight, node.location, &node)->output();
  std::vector<Value*> inputs{node.inputs[0], constant, nullptr, nullptr};
  if (is_half) inputs.push_back(nullptr);
  return graph.add_node(*node.parent, layer, std::move(inputs), {}, node.location, &node)->output();
}

bool only_use(const Value* value, const Node& user) {
  return value->uses.size() == 1 && value->uses[0].user == &user;
}

// The other operand of a sum, once `operand` of it is a fused node.
Value* add_into(Graph& graph, Node& node, size_t operand) {
  Value *sum = node.inputs[operand], *other = node.inputs[1 - operand];
  Node* fused = sum->def;
  const Epilogue* const epilogue = epilogue_of(fused);
  if (!epilogue || fused->parent != node.parent || !only_use(sum, node) || fused->inputs[epilogue->residual])
    return nullptr;
  if (other->tensor().dtype != sum->tensor().dtype || !ir::same_type(sum->tensor(), node.output()->tensor()))
    return nullptr;
  std::vector<Value*> inputs = fused->inputs;
  const SymShape& shape = other->tensor().shape;
  if (is_open(*fused) && !inputs[epilogue->bias] && is_constant(other) && shape.size() == 1 &&
      ir::same_shape(shape, {sum->tensor().shape.back()})) {
    inputs[epilogue->bias] = other;
  } else if ((is_open(*fused) || !epilogue->residual_first) && ir::same_shape(shape, sum->tensor().shape)) {
    inputs[epilogue->residual] = other;
  } else {
    return nullptr;
  }
  return replace(graph, node, *fused, std::move(inputs), fused->attrs);
}

Value* activate(Graph& graph, Node& node) {
  Node* fused = node.inputs[0]->def;
  const Epilogue* const epilogue = epilogue_of(fused);
  if (!epilogue || fused->parent != node.parent || !is_open(*fused) || !only_use(node.inputs[0], node))
    return nullptr;
  if (!epilogue->residual_first && fused->inputs[epilogue->residual]) return nullptr;
  if (!ir::same_type(node.inputs[0]->tensor(), node.output()->tensor())) return nullptr;
  ir::Attrs attrs = fused->attrs;
  attrs.set("activation", node.op->name);
  return replace(graph, node, *fused, fused->inputs, attrs);
}

// ---- int8: sums in int32, to float32, times scales, which may be rounded ----------------------------------
constexpr size_t kInputScales = 1, kScales = 3, kInt8Bias = 4, kInt8Residual = 5;

// float32 of int8 rows times a constant int8 matrix.
Value* int8_layer_of(Graph& graph, Node& node) {
  Node* const product = node.inputs[0]->def;
  if (!product || !product->is("_int_mm") || product->parent != node.parent ||
      !only_use(node.inputs[0], node) || node.output()->tensor().dtype != DType::F32)
    return nullptr;
  const ops::OpDef& layer = ops::get_op("linear_int8");
  const Tensor weight = constant_weight(product->inputs[1]);
  if (!has_operator(*product->inputs[0], layer.name) || !weight.defined()) return nullptr;
  Value* const constant = graph.add_constant(*node.parent, weight, node.location, &node)->output();
  return graph
      .add_node(*node.parent, layer, {product->inputs[0], nullptr, constant, nullptr, nullptr, nullptr}, {},
                node.location, &node)
      ->output();
}

// A layer that a node takes alone, and after whose scales nothing came.
Node* plain_int8(const Value* value, const Node& user) {
  Node* const layer = value->def;
  const bool plain = layer && layer->is("linear_int8") && layer->parent == user.parent && is_open(*layer) &&
                     only_use(value, user) && !layer->inputs[kInt8Bias] && !layer->inputs[kInt8Residual] &&
                     value->tensor().dtype == DType::F32;
  return plain ? layer : nullptr;
}

Value* scale_int8(Graph& graph, Node& node, size_t operand) {
  Value *sums = node.inputs[operand], *other = node.inputs[1 - operand];
  Node* const layer = plain_int8(sums, node);
  if (!layer || layer->inputs[kScales] || other->tensor().dtype != DType::F32 ||
      !ir::same_type(sums->tensor(), node.output()->tensor()))
    return nullptr;
  std::vector<Value*> inputs = layer->inputs;
  SymShape rows = sums->tensor().shape;
  const SymShape columns{rows.back()}, &shape = other->tensor().shape;
  rows.back() = Sym(1);
  if (!inputs[kInputScales] && ir::same_shape(shape, rows))
    inputs[kInputScales] = other;
  else if (is_constant(other) && ir::same_shape(shape, columns))
    inputs[kScales] = other;
  else
    return nullptr;
  return replace(graph, node, *layer, std::move(inputs), layer->attrs);
}

Value* round_int8(Graph& graph, Node& node) {
  Node* const layer = node.inputs[0]->def;
  const DType dtype = node.output()->tensor().dtype;
  if (!layer || !layer->is("linear_int8") || layer->parent != node.parent ||
      !only_use(node.inputs[0], node) || node.inputs[0]->tensor().dtype != DType::F32 ||
      layer->inputs[kInt8Residual] || (dtype != DType::BF16 && dtype != DType::F16))
    return nullptr;
  ir::Attrs attrs = layer->attrs;
  attrs.set("dtype", dtype);
  return replace(graph, node, *layer, layer->inputs, attrs);
}

Value* fuse_one(Graph& graph, Node& node) {
  if (node.kind != ir::NodeKind::Op || node.outputs.size() != 1 || node.output()->uses.empty())
    return nullptr;
  if (node.is("matmul")) return linear_of(graph, node);
  if (node.is("linear_half")) return linear_of_half(graph, node);
  if (node.is("cast")) {
    Value* const layer = int8_layer_of(graph, node);
    return layer ? layer : round_int8(graph, node);
  }
  if (node.is("mul")) {
    Value* const first = scale_int8(graph, node, 0);
    return first ? first : scale_int8(graph, node, 1);
  }
  if (node.is("add")) {
    const Scalar& alpha = node.attrs.get<Scalar>("alpha");
    if (alpha.is_complex() || alpha.to_double() != 1.0) return nullptr;
    Value* first = add_into(graph, node, 0);
    return first ? first : add_into(graph, node, 1);
  }
  if (std::find(std::begin(kActivations), std::end(kActivations), node.op->name) != std::end(kActivations))
    return activate(graph, node);
  return nullptr;
}

}  // namespace

void fuse_epilogues(Graph& graph) {
  // The nodes fused into others are left unused, for dead code elimination.
  ir::for_each_node(graph.body(), [&](Node& node) {
    Value* replacement = fuse_one(graph, node);
    if (!replacement || !may_replace(node.output(), replacement)) return;
    graph.replace_uses(node.output(), replacement);
    graph.erase(&node);
  });
}

}  // namespace weft::passes
