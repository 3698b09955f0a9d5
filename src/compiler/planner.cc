#include "compiler/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/profiling.h"
#include "ir/symbols.h"
#include "nest/passes.h"
#include "nest/views.h"
#include "nest/work.h"
#include "ops/memory_order.h"
#include "ops/result_memory.h"
#include "passes/analysis.h"

namespace weft::compiler {
namespace {

PlannedShape planned_shape(const SymShape& sizes) {
  PlannedShape shape;
  shape.sizes = sizes;
  shape.is_constant = true;
  for (const Sym& size : sizes) shape.is_constant = shape.is_constant && size.is_constant();
  if (shape.is_constant)
    for (const Sym& size : sizes) shape.known.push_back(size.constant());
  return shape;
}

bool has_symbols(const ops::Attrs& attrs) {
  for (const auto& [name, attr] : attrs.items()) {
    if (const Sym* sym = std::get_if<Sym>(&attr); sym && !sym->is_constant()) return true;
    if (const SymShape* shape = std::get_if<SymShape>(&attr); shape && !ir::is_constant(*shape)) return true;
  }
  return false;
}

bool is_same_type(const ir::Value& a, const ir::Value& b) {
  const ops::TensorType &x = a.tensor(), &y = b.tensor();
  if (x.dtype != y.dtype || x.shape.size() != y.shape.size()) return false;
  for (size_t d = 0; d < x.shape.size(); ++d)
    if (!sym_known_equal(x.shape[d], y.shape[d])) return false;
  return true;
}

// "model.py(42): forward", a call per line, the innermost first.
const char* place_of(const ir::Node* node, const std::string& graph) {
  std::string text;
  for (const ir::SourceLocation* at = node ? &node->location : nullptr; at && at->file && !at->file->empty();
       at = at->inlined ? &at->inlined->location : nullptr)
    text += fmt::format("{}{}({}): {}", text.empty() ? "" : "\n", *at->file, at->line,
                        at->inlined ? at->inlined->function : graph);
  return text.empty() ? "" : profiling::intern(text);
}

class Planner {
 public:
  Planner(const ir::Graph& graph, const FusionPlan& fusion, std::vector<Kernel> kernels)
      : graph_(graph), fusion_(fusion), kernels_(std::move(kernels)) {}

  Program run() {
    program_.name = graph_.name;
    for (const ir::Value* input : graph_.inputs()) slot_of(input);
    find_symbols();
    for (const FusionStep& step : fusion_.steps) {
      const auto update =
          fusion_.updates.find(step.node && !step.node->outputs.empty() ? step.node->outputs[0] : nullptr);
      if (update != fusion_.updates.end())
        add_update(update->second);
      else if (step.node)
        add_call(*step.node);
      else
        add_kernel(step.group, kernels_[program_.kernels.size()]);
    }
    return finish();
  }

 private:
  Program finish() {
    for (const ir::Value* output : graph_.outputs()) {
      program_.output_slots.push_back(slot_of(output));
      const ir::Value* base = output;
      while (base->def && base->def->op && !base->def->inputs.empty() &&
             base->def->op->kind == ops::OpKind::View)
        base = base->def->inputs[0];
      for (const auto& [slot, constant] : program_.constants)
        if (slot == slot_of(base)) program_.given_constants.push_back(constant);
    }
    for (const ir::WriteBack& write : graph_.write_backs) {
      const auto update = fusion_.in_place.find(write.value);
      if (update == fusion_.in_place.end())
        program_.write_backs.push_back({write.input, slot_of(write.value), {}});
      else
        program_.write_backs.push_back({write.input, slot_of(update->second.source), update->second.starts});
    }
    program_.num_inputs = static_cast<int>(graph_.inputs().size());
    program_.num_slots = static_cast<int>(slots_.size());
    return std::move(program_);
  }

  Program program_;
  const ir::Graph& graph_;
  const FusionPlan& fusion_;
  const std::vector<Kernel> kernels_;
  std::map<const ir::Value*, int> slots_;

  int slot_of(const ir::Value* value) {
    return slots_.try_emplace(value, static_cast<int>(slots_.size())).first->second;
  }

  PlannedOutput planned_output(const ir::Value* value) {
    const ops::TensorType& type = value->tensor();
    return {slot_of(value), type.dtype, type.device, planned_shape(type.shape)};
  }

  void find_symbols() {
    std::set<int> wanted;
    for (int i = 0; i < graph_.env().num_symbols(); ++i) wanted.insert(i);
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const SymShape& shape = graph_.inputs()[i]->tensor().shape;
      for (size_t d = 0; d < shape.size(); ++d) {
        const SymNode* node = shape[d].node();
        if (node && node->op == SymOp::Symbol && wanted.erase(node->symbol))
          program_.symbol_sources.push_back({node->symbol, i, d});
      }
    }
    program_.bind_with_graph = !wanted.empty();
  }

  void add_kernel(const FusionGroup& group, const Kernel& kernel) {
    const LoopNest& nest = kernel.nest;
    PlanStep step;
    step.kernel = kernel.loaded;
    step.device = nest.device;
    step.description = fmt::format("kernel {}:", nest.name);
    for (const std::string& comment : nest.comments) step.description += " " + comment + ";";
    for (const ir::Value* root : group.roots)
      if (const auto elsewhere = fusion_.elsewhere.find(root); elsewhere != fusion_.elsewhere.end())
        for (const ir::Value* value : elsewhere->second) step.reads_elsewhere.push_back(slot_of(value));
    for (const Buffer& buffer : nest.buffers) {
      step.arrays.push_back(slot_of(buffer.value));
      if (buffer.written && !fusion_.updating.count(buffer.value))
        step.outputs.push_back(planned_output(buffer.value));
    }
    keep_operands(nest, step);
    if (group.roots.size() == 1)
      for (const Buffer& buffer : nest.buffers)
        if (!buffer.written && is_same_type(*buffer.value, *group.roots[0]))
          step.like_output.push_back(slot_of(buffer.value));
    const nest::NestWork work = nest::work_of(nest);
    step.name = profiling::intern(nest.name);
    step.place = place_of(group.roots[0]->def, graph_.name);
    step.kernel_bytes = work.bytes;
    step.kernel_operations = work.operations;
    step.arithmetic = work.arithmetic;
    program_.kernels.push_back({nest.name, kernel.printed.body, kernel.compile_ms, kernel.from_cache});
    program_.steps.push_back(std::move(step));
  }

  // What the kernel reads after it has stored something else than its result may not be in the result's
  // memory.
  void keep_operands(const LoopNest& nest, PlanStep& kernel) {
    std::vector<int> kept;
    for (const int buffer : nest::operands_read_after_stores(nest))
      kept.push_back(slot_of(nest.buffers[static_cast<size_t>(buffer)].value));
    kernel.reads_elsewhere.insert(kernel.reads_elsewhere.end(), kept.begin(), kept.end());
    if (kept.empty() || program_.steps.empty()) return;
    PlanStep& update = program_.steps.back();
    if (!update.is_update || update.results.size() < 2 || !contains(kernel.arrays, update.results[1]) ||
        !contains(kept, update.inputs[0]))
      return;
    update.takes_base = false;
    update.keeps_base = true;
  }

  void add_update(const Update& update) {
    PlanStep step;
    step.is_update = true;
    step.starts = update.starts;
    step.inputs = {slot_of(update.base)};
    if (update.is_copied) step.inputs.push_back(slot_of(update.source));
    for (const ir::Value* value : {update.result, update.source})
      step.outputs.push_back(planned_output(value));
    step.results = {slot_of(update.result)};
    if (!update.is_copied) step.results.push_back(slot_of(update.source));
    step.description = "copy of what is not replaced";
    step.name = "slice_update";
    step.place = place_of(update.result->def, graph_.name);
    step.takes_base = !update.keeps_base;
    step.keeps_base = update.keeps_base;
    program_.steps.push_back(std::move(step));
  }

  void add_call(const ir::Node& node) {
    if (node.kind == ir::NodeKind::Constant) {
      program_.constants.emplace_back(slot_of(node.output()), node.constant.contiguous());
      return;
    }
    if (node.kind != ir::NodeKind::Op)
      throw_error(ErrorKind::NotImplemented,
                  fmt::format("{}: '{}' is not compiled", graph_.name, node.kind_name()));
    // What it would join is written in its place.
    if (node.is("join") && node.inputs[0]->def && joined_by(*node.inputs[0]->def) == &node) return;
    PlanStep step;
    step.node = &node;
    step.attrs = ir::without_annotations(node.attrs);
    for (const ir::Value* input : node.inputs) step.inputs.push_back(input ? slot_of(input) : -1);
    for (const ir::Value* output : node.outputs) step.results.push_back(slot_of(output));
    step.keeps_views = is_index_view(node);
    // What kernels rely on is the node's, not what a call's operands would ask for.
    if (node.op->result_order) {
      const ops::Attr* const order = node.attrs.find(ops::kMemoryOrder);
      step.attrs.set(ops::kMemoryOrder, order ? *order : ops::Attr(std::string()));
    }
    step.has_symbols = has_symbols(step.attrs);
    if (const ops::Attr* through = node.attrs.find("through"))
      step.through = &ops::get_op(std::get<std::string>(*through));
    step.is_checked = node.op->eager && !step.has_symbols && has_known_types(node);
    step.device = device_of(node);
    if (node.op->prepare && !step.has_symbols) {
      std::vector<Tensor> constants;
      for (const ir::Value* input : node.inputs) {
        const bool known =
            input && input->def && input->def->kind == ir::NodeKind::Constant && !passes::is_written(input);
        constants.push_back(known ? input->def->constant : Tensor());
      }
      step.prepared = backend_of(step.device).prepare(*node.op, constants, step.attrs);
    }
    step.description = fmt::format("call {}{}", node.op->name,
                                   node.location.str().empty() ? "" : "  # " + node.location.str());
    step.name = node.op->name.c_str();
    step.place = place_of(&node, graph_.name);
    if (const ir::Node* join = joined_by(node); join && step.prepared) set_part(step, node, *join);
    program_.steps.push_back(std::move(step));
  }

  static Device device_of(const ir::Node& node) {
    for (const ir::Value* value : node.inputs)
      if (value) return value->tensor().device;
    return node.outputs.empty() ? Device() : node.outputs[0]->tensor().device;
  }

  // Of operands; and there is memory for results, as far as they are known.
  static bool has_known_types(const ir::Node& node) {
    std::vector<ops::TensorType> results;
    for (const ir::Value* output : node.outputs) results.push_back(output->tensor());
    if (!ops::results_fit_memory(*node.op, results)) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [](const ir::Value* input) {
      if (!input) return true;
      const ops::TensorType& type = input->tensor();
      return has_memory(type.device) && std::all_of(type.shape.begin(), type.shape.end(),
                                                    [](const Sym& size) { return size.is_constant(); });
    });
  }

  // The concatenation of channels-last images that convolutions write their channels of, this node's among
  // them.
  static const ir::Node* joined_by(const ir::Node& node) {
    if (!writes_parts(node)) return nullptr;
    const ir::Node* join = node.output()->uses[0].user;
    const auto fits = [](const ir::Value* value) { return value->def && writes_parts(*value->def); };
    return std::all_of(join->inputs.begin(), join->inputs.end(), fits) ? join : nullptr;
  }
  static bool writes_parts(const ir::Node& node) {
    if (!node.is("conv2d_channels_last") || node.output()->uses.size() != 1) return false;
    const ir::Node* user = node.output()->uses[0].user;
    const bool has_weights = node.inputs[1]->def && node.inputs[1]->def->kind == ir::NodeKind::Constant;
    return has_weights && !has_symbols(node.attrs) && user && user->is("join") &&
           user->parent == node.parent &&
           (user->attrs.get_int("dim") == 3 || user->attrs.get_int("dim") == -1);
  }
  void set_part(PlanStep& step, const ir::Node& node, const ir::Node& join) {
    int64_t first = 0;
    for (size_t i = 0; join.inputs[i]->def != &node; ++i)
      first += join.inputs[i]->tensor().shape[3].constant();
    const PlannedOutput whole = planned_output(join.output());
    step.part = PlannedPart{whole, first, node.output()->tensor().shape[3].constant()};
    step.results = {whole.slot};
    step.description += fmt::format(", channels {} … {} of a join", first, first + step.part->count);
  }
};

}  // namespace

Program plan(const ir::Graph& graph, const FusionPlan& fusion, std::vector<Kernel> kernels) {
  return Planner(graph, fusion, std::move(kernels)).run();
}

}  // namespace weft::compiler
