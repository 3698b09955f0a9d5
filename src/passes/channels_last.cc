// Images with their channels last.
//
// A convolution reads a pixel's channels as one vector where they are contiguous. Each convolution becomes
// permute, conv2d_channels_last, permute; then the permutes move down through everything that does not care
// about the order of dimensions, and meet those of the next convolution, where canonicalize removes both.
#include <algorithm>
#include <array>

#include "ir/symbols.h"
#include "ops/tracer.h"
#include "passes/analysis.h"
#include "passes/pass.h"

namespace weft::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

const SymShape& shape_of(const Value* value) { return value->tensor().shape; }

SymShape sym_list(std::initializer_list<int64_t> values) { return SymShape(values.begin(), values.end()); }
const std::array<int64_t, 4> kToFirst{0, 3, 1, 2};

std::vector<int64_t> permutation(const Node& node) {
  std::vector<int64_t> dims = node.attrs.get_ints("dims");
  for (int64_t& d : dims) d = d < 0 ? d + static_cast<int64_t>(dims.size()) : d;
  return dims;
}

// The channels-last value that `value` shows with its channels first; null if it is none.
Value* channels_last_of(const Value* value) {
  if (!value || !value->def || !value->def->is("permute")) return nullptr;
  const std::vector<int64_t> dims = permutation(*value->def);
  return std::equal(dims.begin(), dims.end(), kToFirst.begin(), kToFirst.end()) ? value->def->inputs[0]
                                                                                : nullptr;
}

bool is_one(const Sym& size) { return size.is_constant() && size.constant() == 1; }
bool is_number(const Value* value) {
  return std::all_of(shape_of(value).begin(), shape_of(value).end(), is_one);
}
bool is_constant_node(const Value* value) { return value->def && value->def->kind == ir::NodeKind::Constant; }

class Rewriter {
 public:
  explicit Rewriter(Graph& graph) : graph_(graph) {}

  // The value that stands for the node's output, or null.
  Value* rewrite(Node& node) {
    if (node.kind != ir::NodeKind::Op || node.outputs.size() != 1 || node.output()->uses.empty())
      return nullptr;
    if (node.is("convolution")) return convolution(node);
    if (node.is("reshape")) return flatten(node);
    if (shape_of(node.output()).size() != 4 && node.op->kind != ops::OpKind::Reduction) return nullptr;
    if (node.op->kind == ops::OpKind::Pointwise) return pointwise(node);
    if (node.op->kind == ops::OpKind::Reduction) return reduction(node);
    if (node.is("join")) return concatenate(node);
    for (const auto& [name, replacement] : kWindows) {
      if (node.is(name) && has_operator(*node.inputs[0], replacement)) return window(node, replacement);
    }
    return nullptr;
  }

 private:
  // Operators on windows of an image, with the name of their form for channels-last images.
  static constexpr std::pair<std::string_view, std::string_view> kWindows[] = {
      {"max_pool2d", "max_pool2d_channels_last"},
      {"avg_pool2d", "avg_pool2d_channels_last"},
      {"adaptive_avg_pool2d", "adaptive_avg_pool2d_channels_last"},
  };

  Value* add(Node& node, std::string_view op, std::vector<Value*> inputs, ir::Attrs attrs = {}) {
    return graph_
        .add_node(*node.parent, ops::get_op(op), std::move(inputs), std::move(attrs), node.location, &node)
        ->output();
  }
  Value* to_last(Node& node, Value* value) {
    if (Value* source = channels_last_of(value)) return source;
    const SymShape& shape = shape_of(value);
    // One pixel: the same bytes in the same order.
    if (is_one(shape[2]) && is_one(shape[3]))
      return add(node, "reshape", {value}, {{"shape", SymShape{shape[0], 1, 1, shape[1]}}});
    return add(node, "permute", {value}, {{"dims", sym_list({0, 2, 3, 1})}});
  }
  Value* to_first(Node& node, Value* value) {
    return add(node, "permute", {value}, {{"dims", sym_list({0, 3, 1, 2})}});
  }

  Value* convolution(Node& node) {
    const Value *x = node.inputs[0], *weight = node.inputs[1],
                *bias = node.inputs.size() > 2 ? node.inputs[2] : nullptr;
    const DType dtype = x->tensor().dtype;
    const bool has_layout =
        dtype == DType::F32 || (dtype == DType::BF16 && node.attrs.get_int("groups") == 1);
    const bool wanted = has_operator(*x, "conv2d_channels_last") && has_layout && shape_of(x).size() == 4 &&
                        shape_of(weight).size() == 4 && !node.attrs.get_bool("transposed") &&
                        is_constant_node(weight) && (!bias || is_constant_node(bias));
    if (!wanted) return nullptr;
    const ir::Attrs attrs{{"stride", node.attrs.at("stride")},
                          {"padding", node.attrs.at("padding")},
                          {"dilation", node.attrs.at("dilation")},
                          {"groups", node.attrs.at("groups")}};
    Value* input = to_last(node, node.inputs[0]);
    return to_first(node, add(node, "conv2d_channels_last",
                              {input, node.inputs[1], bias ? node.inputs[2] : nullptr, nullptr}, attrs));
  }

  // The operand of a pointwise node as its channels-last form wants it; null where that would cost a pass
  // over memory.
  Value* operand_to_last(Node& node, Value* value) {
    if (is_number(value)) return value;
    if (Value* source = channels_last_of(value)) return source;
    const SymShape& shape = shape_of(value);
    if (is_constant_node(value) && shape.size() >= 3) {
      const ops::TracerScope eager(nullptr);
      Tensor constant = value->def->constant;
      if (shape.size() == 3)
        constant = ops::call1("reshape", {constant}, {{"shape", SymShape{1, shape[0], shape[1], shape[2]}}});
      constant = ops::call1("permute", {constant}, {{"dims", sym_list({0, 2, 3, 1})}}).clone();
      return graph_.add_constant(*node.parent, constant, node.location, &node)->output();
    }
    if (shape.size() == 4 && is_one(shape[2]) && is_one(shape[3])) return to_last(node, value);
    return nullptr;
  }

  Value* pointwise(Node& node) {
    const bool has_image = std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value* input) {
      return input && channels_last_of(input) && ir::same_shape(shape_of(input), shape_of(node.output()));
    });
    if (!has_image) return nullptr;
    std::vector<Value*> inputs;
    for (Value* input : node.inputs) {
      Value* moved = input ? operand_to_last(node, input) : nullptr;
      if (input && !moved) return nullptr;
      inputs.push_back(moved);
    }
    return to_first(node, add(node, node.op->name, std::move(inputs), node.attrs));
  }

  Value* reduction(Node& node) {
    Value* source = channels_last_of(node.inputs[0]);
    if (!source || !node.attrs.find("dim") || !node.attrs.find("keepdim") || node.inputs.size() != 1)
      return nullptr;
    const std::vector<int64_t> dims = ops::reduction_axes(node.op->name, node.attrs, 4);
    SymShape moved;
    for (const int64_t d : dims) {
      if (d != 2 && d != 3) return nullptr;
      moved.push_back(d - 1);
    }
    if (moved.empty()) return nullptr;
    ir::Attrs attrs = node.attrs;
    attrs.set("dim", moved);
    Value* result = add(node, node.op->name, {source}, attrs);
    if (node.attrs.get_bool("keepdim")) return to_first(node, result);
    // [batch, rest, channels] as [batch, channels, rest], or [batch, channels].
    return dims.size() == 2 ? result : add(node, "permute", {result}, {{"dims", sym_list({0, 2, 1})}});
  }

  Value* concatenate(Node& node) {
    std::vector<Value*> inputs;
    const int64_t dim = node.attrs.get_int("dim");
    if (dim != 1 && dim != -3) return nullptr;
    for (const Value* input : node.inputs) {
      Value* source = channels_last_of(input);
      if (!source) return nullptr;
      inputs.push_back(source);
    }
    ir::Attrs attrs = node.attrs;
    attrs.set("dim", Sym(3));
    return to_first(node, add(node, node.op->name, std::move(inputs), attrs));
  }

  Value* window(Node& node, std::string_view replacement) {
    Value* source = channels_last_of(node.inputs[0]);
    const ops::OpDef* const op = ops::find_op(replacement);
    if (!source || !op || !(op->dtypes & ops::dtype_bit(source->tensor().dtype))) return nullptr;
    return to_first(node, add(node, replacement, {source}, node.attrs));
  }

  // A pixel's channels as a row.
  Value* flatten(Node& node) {
    Value* source = channels_last_of(node.inputs[0]);
    if (!source || !is_one(shape_of(source)[1]) || !is_one(shape_of(source)[2])) return nullptr;
    return add(node, "reshape", {source}, {{"shape", shape_of(node.output())}});
  }

  Graph& graph_;
};

}  // namespace

void channels_last(Graph& graph) {
  Rewriter rewriter(graph);
  ir::for_each_node(graph.body(), [&](Node& node) {
    Value* replacement = rewriter.rewrite(node);
    if (!replacement || !may_replace(node.output(), replacement)) return;
    graph.replace_uses(node.output(), replacement);
    graph.erase(&node);
  });
}

}  // namespace weft::passes
