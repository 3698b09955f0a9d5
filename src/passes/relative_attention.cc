// Attention with decomposed relative positions, as models write it: the scores of all queries and keys, the
// sums of what a row and a column of the grid of keys add, softmax, a product with the values. All of that is
// one operator.
#include "ir/symbols.h"
#include "ops/memory_order.h"
#include "passes/analysis.h"
#include "passes/pass.h"

namespace weft::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

bool is_result_of(const Value* value, std::string_view op) {
  return value && value->def && value->def->is(op);
}
bool only_used_once(const Value* value) { return value->uses.size() == 1; }

// What `value` is a conversion or another shape of, where nothing else uses these.
const Value* through(const Value* value, std::string_view op) {
  while (is_result_of(value, op) && only_used_once(value)) value = value->def->inputs[0];
  return value;
}

bool is_plain_sum(const Value* value) {
  if (!is_result_of(value, "add")) return false;
  const Scalar& alpha = value->def->attrs.get<Scalar>("alpha");
  return !alpha.is_complex() && alpha.to_double() == 1.0;
}

// Is `node` a reduction of the last dimension that keeps it?
bool reduces_last(const Value* value, std::string_view op) {
  if (!is_result_of(value, op)) return false;
  const Node& node = *value->def;
  const auto rank = static_cast<int64_t>(node.inputs[0]->tensor().shape.size());
  const std::vector<int64_t> dims = node.attrs.get_ints("dim");
  return node.attrs.get_bool("keepdim") && dims.size() == 1 && (dims[0] == -1 || dims[0] == rank - 1);
}

// The scores whose softmax over the last dimension `weights` is; null for anything else.
const Value* scores_of_softmax(const Value* weights) {
  const Value* quotient = through(weights, "cast");
  if (!is_result_of(quotient, "true_divide")) return nullptr;
  const Value *powers = quotient->def->inputs[0], *sum = quotient->def->inputs[1];
  if (!reduces_last(sum, "sum") || sum->def->inputs[0] != powers || !is_result_of(powers, "exp"))
    return nullptr;
  const Value* difference = powers->def->inputs[0];
  if (!is_result_of(difference, "sub")) return nullptr;
  const Value *scores = difference->def->inputs[0], *most = difference->def->inputs[1];
  if (!reduces_last(most, "amax") || most->def->inputs[0] != scores) return nullptr;
  const bool used_elsewhere = powers->uses.size() != 2 || scores->uses.size() != 2 || !only_used_once(sum) ||
                              !only_used_once(most) || !only_used_once(difference) ||
                              !only_used_once(quotient);
  return used_elsewhere ? nullptr : scores;
}

// The sums of what rows and columns of the grid of keys add: down [..., height, 1], across [..., 1, width].
struct GridSum {
  const Value *down = nullptr, *across = nullptr;
  const Value* scores = nullptr;  // the third summand, or null
};

// `shape`: of the sum. Is `x` of that shape but for a 1 in dimension -`at`, where the sum has more?
bool is_part(const Value* x, const SymShape& shape, size_t at) {
  SymShape expected = shape;
  Sym& size = expected[expected.size() - at];
  if (size.is_constant() && size.constant() == 1) return false;
  size = Sym(1);
  return ir::same_shape(x->tensor().shape, expected);
}

// Does `value` have the axes of `x` exchanged so that exchanging them by `back` gives x again?
bool is_exchanged(const Value* value, const std::vector<int64_t>& back) {
  if (!is_result_of(value, "permute")) return false;
  const std::vector<int64_t> dims = value->def->attrs.get_ints("dims");
  for (size_t i = 0; i < back.size(); ++i)
    if (dims[static_cast<size_t>(back[i])] != static_cast<int64_t>(i)) return false;
  return true;
}

// The two summands of `value`, which nothing else uses; none where it is no sum. One whose memory is in
// another order is a sum of exchanged axes, exchanged back.
std::vector<const Value*> summands_of(const Value* value) {
  if (!only_used_once(value)) return {};
  if (is_plain_sum(value)) return {value->def->inputs[0], value->def->inputs[1]};
  if (!is_result_of(value, "permute")) return {};
  const Value* const sum = value->def->inputs[0];
  if (!is_plain_sum(sum) || !only_used_once(sum)) return {};
  const std::vector<int64_t> back = value->def->attrs.get_ints("dims");
  std::vector<const Value*> summands;
  for (const Value* operand : {sum->def->inputs[0], sum->def->inputs[1]}) {
    if (operand->tensor().shape.size() != back.size() || !is_exchanged(operand, back)) return {};
    summands.push_back(operand->def->inputs[0]);
  }
  return summands;
}

// Sorts two or three summands; false where they are no such sums.
bool sort_summands(const Value* sum, GridSum& found) {
  const std::vector<const Value*> outer = summands_of(sum);
  if (outer.empty() || sum->tensor().shape.size() < 3) return false;
  const SymShape& shape = sum->tensor().shape;
  std::vector<const Value*> summands;
  for (const Value* operand : outer) {
    const std::vector<const Value*> inner = summands_of(operand);
    if (inner.empty())
      summands.push_back(operand);
    else
      summands.insert(summands.end(), inner.begin(), inner.end());
  }
  for (const Value* summand : summands) {
    if (summand->tensor().dtype != sum->tensor().dtype) return false;
    const Value*& place = is_part(summand, shape, 1)                       ? found.down
                          : is_part(summand, shape, 2)                     ? found.across
                          : ir::same_shape(summand->tensor().shape, shape) ? found.scores
                                                                           : summand;
    if (&place == &summand || place) return false;
    place = summand;
  }
  return found.down && found.across;
}

// Are the last two sizes of `grid` those of a grid of `keys` keys?
bool holds_keys(const SymShape& grid, const Sym& keys) {
  const Sym &height = grid[grid.size() - 2], &width = grid.back();
  return height.is_constant() && width.is_constant() && keys.is_constant() &&
         height.constant() * width.constant() == keys.constant() && keys.constant() > 0;
}

// What `value` is `scale` times, or the value itself. A factor that 16 bits do not hold is one of float32
// between two conversions.
const Value* without_factor(const Value* value, double& scale) {
  const Value* scaled = value;
  const bool is_wide = is_result_of(value, "cast") && only_used_once(value) &&
                       value->def->inputs[0]->tensor().dtype == DType::F32;
  if (is_wide) scaled = value->def->inputs[0];
  if (!is_result_of(scaled, "mul") || !only_used_once(scaled)) return value;
  for (size_t i = 0; i < 2; ++i) {
    const std::optional<Scalar> factor = uniform_constant(scaled->def->inputs[i]);
    const Value* other = scaled->def->inputs[1 - i];
    if (!factor || factor->is_complex()) continue;
    if (is_wide) {
      if (!is_result_of(other, "cast") || !only_used_once(other)) return value;
      other = other->def->inputs[0];
      if (other->tensor().dtype != value->tensor().dtype) return value;
    }
    scale = factor->to_double();
    return other;
  }
  return value;
}

Value* mutable_value(const Value* value) { return const_cast<Value*>(value); }

class RelativeAttention {
 public:
  RelativeAttention(Graph& graph, Node& node) : graph_(graph), node_(node) {}

  // matmul(softmax(reshape(reshape(query @ key^T) + down + across)), value)
  Value* of_formula() {
    const Value *weights = node_.inputs[0], *value = node_.inputs[1];
    if (!only_used_once(weights) || weights->tensor().shape.size() < 2) return nullptr;
    const Value* scores = scores_of_softmax(weights);
    if (!scores) return nullptr;
    const SymShape shape = scores->tensor().shape;
    // The conversion and the shape before softmax.
    if (is_result_of(scores, "cast"))
      scores = through(scores->def->inputs[0], "reshape");
    else if (is_result_of(scores, "reshape"))
      scores = through(scores->def->inputs[0], "reshape");
    GridSum sum;
    if (!sort_summands(scores, sum) || !sum.scores || !holds_keys(scores->tensor().shape, shape.back()))
      return nullptr;
    double scale = 1;
    const Value* product = without_factor(through(sum.scores, "reshape"), scale);
    if (!is_result_of(product, "matmul") || !only_used_once(product) ||
        !ir::same_shape(product->tensor().shape, shape))
      return nullptr;
    const Value *query = product->def->inputs[0], *keys = product->def->inputs[1];
    if (!fits({query, keys, value, sum.down, sum.across})) return nullptr;
    return fused(query, transposed(keys), value, sum, shape, scale);
  }

  // scaled_dot_product_attention(query, key, value, reshape(down + across))
  Value* of_mask() {
    const Value* mask = node_.inputs[3];
    if (!mask || node_.attrs.get_bool("is_causal") || node_.attrs.get_bool("enable_gqa")) return nullptr;
    const Value *query = node_.inputs[0], *key = node_.inputs[1], *value = node_.inputs[2];
    const SymShape& shape = mask->tensor().shape;
    const SymShape& queries = query->tensor().shape;
    if (shape.size() < 2 || !ir::same_shape({shape[shape.size() - 2]}, {queries[queries.size() - 2]}))
      return nullptr;
    if (mask->tensor().dtype != query->tensor().dtype || !only_used_once(mask)) return nullptr;
    const Value* grid = through(mask, "reshape");
    GridSum sum;
    if (!sort_summands(grid, sum) || sum.scores || !holds_keys(grid->tensor().shape, shape.back()))
      return nullptr;
    if (!fits({query, key, value, sum.down, sum.across})) return nullptr;
    return fused(query, mutable_value(key), value, sum, shape, node_.attrs.at("scale"));
  }

 private:
  // Can these be the operator's operands, and be read where the node is?
  bool fits(std::initializer_list<const Value*> values) const {
    for (const Value* value : values)
      if (is_written(value) || value->tensor().dtype != node_.output()->tensor().dtype ||
          value->tensor().shape.size() < 2)
        return false;
    return true;
  }

  Value* add(std::string_view op, std::vector<Value*> inputs, ir::Attrs attrs) {
    return graph_
        .add_node(*node_.parent, ops::get_op(op), std::move(inputs), std::move(attrs), node_.location, &node_)
        ->output();
  }

  // The matrices [..., E, S] as [..., S, E].
  Value* transposed(const Value* x) {
    const auto rank = static_cast<int64_t>(x->tensor().shape.size());
    SymShape dims;
    for (int64_t d = 0; d + 2 < rank; ++d) dims.push_back(d);
    dims.insert(dims.end(), {Sym(rank - 1), Sym(rank - 2)});
    return add("permute", {mutable_value(x)}, {{"dims", dims}});
  }

  // `scores`: the shape [..., L, S].
  Value* fused(const Value* query, Value* key, const Value* value, const GridSum& sum, const SymShape& scores,
               const ops::Attr& scale) {
    const auto rows = [&](const Value* part, size_t at) {
      SymShape shape(scores.begin(), scores.end() - 1);
      shape.push_back(part->tensor().shape[part->tensor().shape.size() - at]);
      return add("reshape", {mutable_value(part)}, {{"shape", shape}});
    };
    Value* down = rows(sum.down, 2);
    Value* across = rows(sum.across, 1);
    ir::Attrs attrs{{"scale", scale}};
    if (const ops::Attr* order = node_.attrs.find(ops::kMemoryOrder)) attrs.set(ops::kMemoryOrder, *order);
    return add("relative_position_attention", {mutable_value(query), key, mutable_value(value), down, across},
               std::move(attrs));
  }

  Graph& graph_;
  Node& node_;
};

bool is_computed_by_kernel(const Value& value) {
  const DType dtype = value.tensor().dtype;
  return (dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16) &&
         has_operator(value, "relative_position_attention");
}

}  // namespace

void relative_attention(Graph& graph) {
  ir::for_each_node(graph.body(), [&](Node& node) {
    const bool is_product = node.is("matmul");
    if (!is_product && !node.is("scaled_dot_product_attention")) return;
    if (!is_computed_by_kernel(*node.output())) return;
    RelativeAttention attention(graph, node);
    Value* replacement = is_product ? attention.of_formula() : attention.of_mask();
    if (!replacement || !ir::same_type(replacement->tensor(), node.output()->tensor())) return;
    graph.replace_uses(node.output(), replacement);
    graph.erase(&node);
  });
}

}  // namespace weft::passes
