#include "frontend/guards.h"

#include <fmt/format.h>

#include "ir/text.h"

namespace weft::frontend {

std::vector<int8_t> stride_steps(const Tensor& tensor) {
  if (tensor.is_contiguous()) return {};
  std::vector<int8_t> steps;
  for (int64_t stride : tensor.strides())
    steps.push_back(stride < 0 ? -1 : stride > 1 ? 2 : static_cast<int8_t>(stride));
  return steps;
}

Guards::Guards(const ir::Graph& graph, const std::vector<Tensor>& arguments)
    : relations_(graph.env().guards()), num_symbols_(static_cast<size_t>(graph.env().num_symbols())) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ops::TensorType& type = graph.inputs()[i]->tensor();
    inputs_.push_back({type.dtype, type.device, type.shape, stride_steps(arguments[i])});
  }
}

namespace {

bool matches(const InputGuard& guard, const Tensor& tensor, std::vector<int64_t>& symbols) {
  if (!tensor.defined() || tensor.dtype() != guard.dtype || tensor.device() != guard.device) return false;
  const Shape& shape = tensor.shape();
  if (shape.size() != guard.shape.size()) return false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (guard.shape[d].is_constant()) {
      if (guard.shape[d].constant() != shape[d]) return false;
      continue;
    }
    // A symbol that stands for several sizes is bound by the first; sizes below 2 are never symbolic.
    int64_t& value = symbols[static_cast<size_t>(guard.shape[d].node()->symbol)];
    if (shape[d] < 2 || (value != 0 && value != shape[d])) return false;
    value = shape[d];
  }
  return guard.steps.empty() ? tensor.is_contiguous() : stride_steps(tensor) == guard.steps;
}

}  // namespace

bool Guards::hold(const std::vector<Tensor>& arguments, std::vector<int64_t>& symbols) const {
  if (arguments.size() != inputs_.size()) return false;
  symbols.assign(num_symbols_, 0);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!matches(inputs_[i], arguments[i], symbols)) return false;
  }
  for (const SymGuard& relation : relations_) {
    if (!relation.holds(symbols)) return false;
  }
  return true;
}

std::string Guards::str() const {
  std::string text;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const InputGuard& guard = inputs_[i];
    text += fmt::format("argument {}: {} {}", i,
                        ir::type_text(ops::TensorType{guard.dtype, guard.shape, guard.device}),
                        guard.steps.empty() ? "contiguous" : "strided");
    text += "\n";
  }
  for (const SymGuard& relation : relations_) text += ir::guard_text(relation) + "\n";
  return text;
}

}  // namespace weft::frontend
