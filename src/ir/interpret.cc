// The reference interpreter: what a graph means, one eager operator call after another.
#include <fmt/format.h>

#include <unordered_map>

#include "ir/constants.h"
#include "ir/graph.h"
#include "ir/symbols.h"
#include "ir/text.h"
#include "ops/tracer.h"
#include "runtime/float_flags.h"

namespace weft::ir {

std::vector<int64_t> bind_symbols(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto& params = graph.inputs();
  WEFT_CHECK(inputs.size() == params.size(),
             fmt::format("{}: expected {} inputs, got {}", graph.name, params.size(), inputs.size()));
  std::vector<int64_t> values = graph.env().hints();
  std::vector<bool> bound(values.size(), false);
  const auto complain = [&](size_t i, const std::string& rule) {
    throw_error(ErrorKind::Value,
                fmt::format("{}: input {} ({}): {}\n  expected {}, got {}", graph.name, i,
                            params[i]->name.empty() ? fmt::format("%{}", params[i]->id) : params[i]->name,
                            rule, type_text(params[i]->type), describe(inputs[i])));
  };
  const auto bind = [&](size_t i, int symbol, int64_t value) {
    const auto s = static_cast<size_t>(symbol);
    if (!bound[s]) {
      bound[s] = true;
      values[s] = value;
      if (graph.env().is_size(symbol) && value < 2)
        complain(i, fmt::format("size s{} must be at least 2, got {}", s, value));
    } else if (values[s] != value) {
      complain(i, fmt::format("size s{} is {} elsewhere, got {}", s, values[s], value));
    }
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = params[i]->tensor();
    if (!inputs[i].defined()) complain(i, "undefined tensor");
    if (inputs[i].dtype() != type.dtype) complain(i, "dtype differs");
    if (inputs[i].shape().size() != type.shape.size()) complain(i, "number of dimensions differs");
    for (size_t d = 0; d < type.shape.size(); ++d) {
      const SymNode* node = type.shape[d].node();
      if (node && node->op == SymOp::Symbol) bind(i, node->symbol, inputs[i].shape()[d]);
    }
    if (params[i]->symbol >= 0) bind(i, params[i]->symbol, inputs[i].item().to_int());
  }
  // Every symbol is known now: what is left are constants and expressions.
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = params[i]->tensor();
    for (size_t d = 0; d < type.shape.size(); ++d) {
      const int64_t expected = type.shape[d].evaluate(values);
      if (expected != inputs[i].shape()[d]) {
        complain(i,
                 fmt::format("size of dimension {} must be {}, got {}", d, expected, inputs[i].shape()[d]));
      }
    }
  }
  return values;
}

namespace {

class Interpreter {
 public:
  Interpreter(const Graph& graph, const std::vector<Tensor>& inputs)
      : graph_(graph), inputs_(inputs), symbols_(bind_symbols(graph, inputs)) {}

  std::vector<Tensor> run() {
    for (const SymGuard& guard : graph_.env().guards()) {
      WEFT_CHECK(guard.holds(symbols_),
                 fmt::format("{}: guard does not hold: {}", graph_.name, guard_text(guard)));
    }
    for (size_t i = 0; i < inputs_.size(); ++i) values_[graph_.inputs()[i]] = inputs_[i];
    std::vector<Tensor> outputs = run_block(graph_.body());
    copy_constants(outputs, constants_);
    runtime::report_flags();
    apply_write_backs(outputs);
    return outputs;
  }

 private:
  std::vector<Tensor> run_block(const Block& block) {
    for (const auto& node : block.nodes) run_node(*node);
    std::vector<Tensor> returns;
    for (const Value* value : block.returns) returns.push_back(values_.at(value));
    return returns;
  }

  void run_node(const Node& node) {
    std::vector<Tensor> results;
    switch (node.kind) {
      case NodeKind::Op: results = run_op(node); break;
      case NodeKind::Constant:
        results = {node.constant};
        constants_.push_back(node.constant);
        break;
      case NodeKind::If:
        results = run_block(*node.blocks[values_.at(node.inputs[0]).item().to_bool() ? 0 : 1]);
        break;
      case NodeKind::Loop: results = run_loop(node); break;
      case NodeKind::Script:
        throw_error(ErrorKind::Internal, fmt::format("{}: '{}' is TorchScript's; its interpreter runs it",
                                                     graph_.name, node.kind_name()));
    }
    WEFT_ASSERT(results.size() == node.outputs.size(),
                fmt::format("{} gave {} results", node.kind_name(), results.size()));
    for (size_t i = 0; i < results.size(); ++i) values_[node.outputs[i]] = results[i];
  }

  std::vector<Tensor> run_op(const Node& node) {
    ops::OpArgs args;
    for (const Value* value : node.inputs) args.tensors.push_back(value ? values_.at(value) : Tensor());
    args.attrs = evaluate(without_annotations(node.attrs), symbols_);
    if (const ops::Attr* through = node.attrs.find("through")) {
      args.tensors.at(0) = ops::call1(std::get<std::string>(*through), {args.tensors.at(0)});
    }
    try {
      const std::vector<Tensor> operands = args.tensors;
      std::vector<Tensor> results = ops::call(*node.op, std::move(args));
      if (node.op->kind == ops::OpKind::Pointwise) make_fresh(results[0], operands);
      return results;
    } catch (const Error& error) {
      const std::string where = node.location.str();
      if (where.empty()) throw;
      throw error.with_note("at " + where);
    }
  }

  // Only views share memory with their operand; an eager cast to the same dtype does, too.
  static void make_fresh(Tensor& result, const std::vector<Tensor>& operands) {
    for (const Tensor& operand : operands) {
      if (operand.defined() && operand.storage() == result.storage()) {
        result = result.clone();
        return;
      }
    }
  }

  std::vector<Tensor> run_loop(const Node& node) {
    const Block& body = *node.blocks[0];
    const int64_t trip_count = values_.at(node.inputs[0]).item().to_int();
    bool go_on = values_.at(node.inputs[1]).item().to_bool();
    std::vector<Tensor> carried;
    for (size_t i = 2; i < node.inputs.size(); ++i) carried.push_back(values_.at(node.inputs[i]));
    for (int64_t i = 0; i < trip_count && go_on; ++i) {
      values_[body.params[0]] = Tensor::scalar(i, DType::I64);
      if (body.params[0]->symbol >= 0) symbols_[static_cast<size_t>(body.params[0]->symbol)] = i;
      for (size_t k = 0; k < carried.size(); ++k) values_[body.params[k + 1]] = carried[k];
      std::vector<Tensor> returns = run_block(body);
      go_on = returns.at(0).item().to_bool();
      carried.assign(returns.begin() + 1, returns.end());
    }
    return carried;
  }

  // Values are those before any input changes: copy what shares memory with an input that is written.
  void apply_write_backs(std::vector<Tensor>& outputs) {
    if (graph_.write_backs.empty()) return;
    const auto detach = [&](Tensor& tensor) {
      for (const WriteBack& write : graph_.write_backs) {
        if (may_overlap(tensor, inputs_[write.input])) {
          tensor = tensor.clone();
          return;
        }
      }
    };
    std::vector<Tensor> sources;
    for (const WriteBack& write : graph_.write_backs) sources.push_back(values_.at(write.value));
    for (Tensor& source : sources) detach(source);
    for (Tensor& output : outputs) detach(output);
    for (size_t i = 0; i < sources.size(); ++i) inputs_[graph_.write_backs[i].input].copy_from(sources[i]);
  }

  const Graph& graph_;
  const std::vector<Tensor>& inputs_;
  std::vector<int64_t> symbols_;
  std::unordered_map<const Value*, Tensor> values_;
  std::vector<Tensor> constants_;
};

}  // namespace

void copy_constants(std::vector<Tensor>& results, const std::vector<Tensor>& constants) {
  std::unordered_map<const Storage*, Tensor> copies;
  for (Tensor& result : results) {
    if (!result.defined() || !result.storage()) continue;
    for (const Tensor& constant : constants) {
      if (constant.storage() != result.storage() || !constant.is_contiguous()) continue;
      Tensor& copy = copies[constant.storage().get()];
      if (!copy.defined()) copy = constant.clone();
      result = copy.as_strided(result.shape(), result.strides(), result.offset() - constant.offset());
      break;
    }
  }
}

std::vector<Tensor> interpret(const Graph& graph, const std::vector<Tensor>& inputs) {
  ops::TracerScope eager(nullptr);
  return Interpreter(graph, inputs).run();
}

}  // namespace weft::ir
