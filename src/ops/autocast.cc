// source: PyTorch 2.15's operators with a kernel for the dispatch key AutocastCPU, and those that are made of
// them.
#include "ops/autocast.h"

#include <fmt/format.h>

#include <string>
#include <unordered_map>

#include "weft/error.h"

namespace weft::ops {
namespace {

thread_local Autocast state;

// Recurrent: products of narrow numbers beside states that keep their dtype, which the result has.
enum class Rule : uint8_t { Narrow, Float32, Widest, Recurrent };

const std::unordered_map<std::string_view, Rule>& rules() {
  static const auto& table = *new std::unordered_map<std::string_view, Rule>([] {
    std::unordered_map<std::string_view, Rule> made;
    for (std::string_view name : {"addmm",
                                  "baddbmm",
                                  "bmm",
                                  "conv1d",
                                  "conv2d",
                                  "conv3d",
                                  "conv_transpose1d",
                                  "conv_transpose2d",
                                  "conv_transpose3d",
                                  "inner",
                                  "linear",
                                  "matmul",
                                  "matrix_power",
                                  "mm",
                                  "multi_head_attention_forward",
                                  "_native_multi_head_attention",
                                  "native_multi_head_attention",
                                  "prelu",
                                  "relative_position_attention",
                                  "rnn_relu",
                                  "rnn_tanh",
                                  "lstm",
                                  "rnn_relu_cell",
                                  "rnn_tanh_cell",
                                  "rnn_relu_packed",
                                  "rnn_tanh_packed",
                                  "scaled_dot_product_attention",
                                  "tensordot",
                                  "_transformer_encoder_layer_fwd",
                                  "transformer_encoder_layer_fwd"})
      made.emplace(name, Rule::Narrow);
    for (std::string_view name : {"adaptive_avg_pool3d",
                                  "adaptive_max_pool3d",
                                  "adaptive_max_pool3d_with_indices",
                                  "avg_pool3d",
                                  "binary_cross_entropy",
                                  "binary_cross_entropy_with_logits",
                                  "cdist",
                                  "cholesky",
                                  "cholesky_ex",
                                  "cross_entropy",
                                  "eig",
                                  "eigh",
                                  "eigvals",
                                  "eigvalsh",
                                  "geqrf",
                                  "grid_sample",
                                  "householder_product",
                                  "huber_loss",
                                  "inv",
                                  "kl_div",
                                  "l1_loss",
                                  "lp_pool3d",
                                  "lu_solve",
                                  "max_pool3d",
                                  "max_pool3d_with_indices",
                                  "max_unpool1d",
                                  "max_unpool2d",
                                  "max_unpool3d",
                                  "mse_loss",
                                  "nll_loss",
                                  "prod",
                                  "qr",
                                  "quantile",
                                  "smooth_l1_loss",
                                  "solve",
                                  "svd",
                                  "svdvals",
                                  "trace"})
      made.emplace(name, Rule::Float32);
    for (std::string_view name : {"cat", "column_stack", "concat", "concatenate", "dstack", "hstack",
                                  "index_copy", "row_stack", "stack", "vstack"})
      made.emplace(name, Rule::Widest);
    for (std::string_view name : {"gru", "gru_cell", "gru_packed", "lstm_cell", "lstm_packed"})
      made.emplace(name, Rule::Recurrent);
    // As programs name them, where weft's operator has another name.
    for (const auto& [name, same] : {std::pair("cross_entropy_loss", "cross_entropy"),
                                     std::pair("nll_loss2d", "nll_loss"),
                                     std::pair("nll_loss_nd", "nll_loss"),
                                     std::pair("grid_sampler", "grid_sample"),
                                     std::pair("inverse", "inv"),
                                     std::pair("orgqr", "householder_product"),
                                     std::pair("linalg_householder_product", "householder_product"),
                                     std::pair("linalg_cholesky", "cholesky"),
                                     std::pair("linalg_cholesky_ex", "cholesky_ex"),
                                     std::pair("linalg_eig", "eig"),
                                     std::pair("linalg_eigh", "eigh"),
                                     std::pair("linalg_eigvals", "eigvals"),
                                     std::pair("linalg_eigvalsh", "eigvalsh"),
                                     std::pair("linalg_inv", "inv"),
                                     std::pair("linalg_inv_ex", "inv"),
                                     std::pair("linalg_qr", "qr"),
                                     std::pair("linalg_solve", "solve"),
                                     std::pair("linalg_svd", "svd"),
                                     std::pair("linalg_svdvals", "svdvals"),
                                     std::pair("_native_multi_head_attention", "linear"),
                                     std::pair("_scaled_dot_product_flash_attention_for_cpu", "linear")})
      made.emplace(name, made.at(same));
    return made;
  }());
  return table;
}

bool is_cast(DType dtype) { return is_floating(dtype) && dtype != DType::F64; }

void cast_operands(std::span<Operand> operands, DType dtype) {
  for (Operand& operand : operands) {
    Tensor* const tensor = std::get_if<Tensor>(&operand);
    if (tensor && tensor->defined() && is_cast(tensor->dtype()) && tensor->dtype() != dtype)
      *tensor = call1("cast", {*tensor}, {{"dtype", dtype}});
  }
}

// float32 where an operand has it; half-precision operands have the region's dtype.
DType widest(const OpDef& op, const std::vector<Operand>& operands) {
  bool has_float32 = false;
  for (const Operand& operand : operands) {
    const Tensor* const tensor = std::get_if<Tensor>(&operand);
    if (!tensor || !tensor->defined() || !is_cast(tensor->dtype())) continue;
    has_float32 = has_float32 || tensor->dtype() == DType::F32;
    WEFT_CHECK(has_float32 || tensor->dtype() == state.dtype,
               fmt::format("{}: under autocast to {} operands must be {} or float32, got {}", op.name,
                           name(state.dtype), name(state.dtype), name(tensor->dtype())));
  }
  return has_float32 ? DType::F32 : state.dtype;
}

void cast_beside_states(const OpDef& op, std::vector<Operand>& operands) {
  size_t first = 0, count = 0;
  for (const Param& param : op.params) {
    count = static_cast<size_t>(param.num_operands());
    if (param.name == "hx") break;
    first += count;
  }
  const DType kept = std::get<Tensor>(operands.at(first)).dtype();
  const std::span<Operand> all(operands);
  cast_operands(all.first(first), state.dtype);
  cast_operands(all.subspan(first + count), state.dtype);
  if (is_cast(kept)) cast_operands(all, kept);
}

// Are dimensions that two operands share summed over? What is only multiplied, or summed by itself, keeps its
// dtype.
bool contracts(std::string_view equation) {
  const size_t arrow = equation.find("->");
  const std::string_view given = equation.substr(0, arrow);
  for (size_t i = 0; i < given.size(); ++i) {
    const char label = given[i];
    if (label == ',' || label == ' ' || label == '.') continue;
    const size_t comma = given.find(',', i);
    if (comma == std::string_view::npos || given.find(label, comma) == std::string_view::npos) continue;
    if (arrow == std::string_view::npos || equation.find(label, arrow + 2) == std::string_view::npos)
      return true;
  }
  return false;
}

// Constant values around an image are no matter of precision.
bool pads_in_float32(const Attrs& attrs) {
  const std::string& mode = attrs.get<std::string>("mode");
  const size_t sides = attrs.get<SymShape>("pad").size();
  return mode == "replicate" || (mode == "reflect" && sides <= 4);
}

}  // namespace

Autocast autocast() { return state; }
void set_autocast(const Autocast& wanted) { state = wanted; }

void autocast_operands(const OpDef& op, std::vector<Operand>& operands, const Attrs& attrs) {
  if (!state.enabled) return;
  if (op.name == "einsum") {
    if (contracts(attrs.get<std::string>("equation"))) cast_operands(operands, state.dtype);
    return;
  }
  if (op.name == "pad") {
    if (pads_in_float32(attrs)) cast_operands(operands, DType::F32);
    return;
  }
  const auto rule = rules().find(op.name);
  if (rule == rules().end()) return;
  switch (rule->second) {
    case Rule::Narrow: return cast_operands(operands, state.dtype);
    case Rule::Float32: return cast_operands(operands, DType::F32);
    case Rule::Recurrent: return cast_beside_states(op, operands);
    case Rule::Widest: return cast_operands(operands, widest(op, operands));
  }
}

bool autocast_keeps_states(std::string_view name) {
  const auto rule = rules().find(name);
  return rule != rules().end() && rule->second == Rule::Recurrent;
}

std::optional<DType> autocast_dtype(std::string_view name, const Attrs& attrs, bool has_float32, DType narrow) {
  if (name == "einsum")
    return contracts(attrs.get<std::string>("equation")) ? std::optional(narrow) : std::nullopt;
  if (name == "pad") return pads_in_float32(attrs) ? std::optional(DType::F32) : std::nullopt;
  const auto rule = rules().find(name);
  if (rule == rules().end()) return std::nullopt;
  switch (rule->second) {
    case Rule::Float32: return DType::F32;
    case Rule::Widest: return has_float32 ? DType::F32 : narrow;
    default: return narrow;
  }
}

}  // namespace weft::ops
