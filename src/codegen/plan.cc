#include "codegen/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/parts.h"
#include "codegen/prelude.h"
#include "codegen/views.h"
#include "ir/constants.h"
#include "ir/symbols.h"
#include "ops/result_memory.h"
#include "ops/tracer.h"
#include "passes/analysis.h"
#include "passes/fuse.h"
#include "runtime/float_flags.h"
#include "runtime/log.h"
#include "weft/env.h"
#include "weft/parallel.h"

namespace weft::codegen {

Shape PlannedShape::evaluate(const std::vector<int64_t>& symbols) const {
  if (is_constant) return known;
  Shape shape(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) shape[d] = sizes[d].evaluate(symbols);
  return shape;
}

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

bool is_contiguous(const Shape& shape, const Strides& strides) {
  int64_t expected = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

// No other tensor has this one's memory.
bool is_sole_owner(const Tensor& tensor) {
  return tensor.impl().use_count() == 1 && tensor.storage().use_count() == 1;
}

bool is_same_type(const ir::Value& a, const ir::Value& b) {
  const ops::TensorType &x = a.tensor(), &y = b.tensor();
  if (x.dtype != y.dtype || x.shape.size() != y.shape.size()) return false;
  for (size_t d = 0; d < x.shape.size(); ++d)
    if (!sym_known_equal(x.shape[d], y.shape[d])) return false;
  return true;
}

int vector_bytes_of(const CompileOptions& options) {
  return options.vector_bytes > 0 ? options.vector_bytes : runtime::host_vector_bytes();
}

}  // namespace

// The part of a slot's tensor, which the first of its writers allocates.
Tensor part_in(const PlannedPart& part, std::vector<Tensor>& slots, const std::vector<int64_t>& symbols) {
  Tensor& whole = slots[static_cast<size_t>(part.whole.slot)];
  if (!whole.defined()) whole = Tensor::empty(part.whole.shape.evaluate(symbols), part.whole.dtype);
  Shape shape = whole.shape();
  shape.back() = part.count;
  return whole.as_strided(shape, whole.strides(), whole.impl()->offset + part.first);
}

// Builds a Plan.
class Planner {
 public:
  Planner(Plan& plan, const CompileOptions& options) : plan_(plan), graph_(*plan.graph_), options_(options) {}

  void run() {
    for (const ir::Value* input : graph_.inputs()) slot_of(input);
    find_symbols();
    // Of empty arrays there is nothing to gain from loops, and index arithmetic over sizes of zero would need
    // care everywhere.
    if (!options_.use_kernels || has_empty_values()) {
      log::write(log::Channel::Fusion,
                 fmt::format("{}: {}, runs operator by operator", graph_.name,
                             options_.use_kernels ? "has empty arrays" : "without generated code"));
      for (const auto& node : graph_.body().nodes) add_call(*node);
      finish();
      return;
    }
    std::vector<SymShape> strides;
    for (const Strides& known : plan_.input_strides_) strides.emplace_back(known.begin(), known.end());
    fusion_ = passes::fuse(graph_, strides);
    for (const std::string& note : fusion_.notes)
      log::write(log::Channel::Fusion, fmt::format("{}: {}", graph_.name, note));
    for (const passes::FusionStep& step : fusion_.steps) {
      const auto update =
          fusion_.updates.find(step.node && !step.node->outputs.empty() ? step.node->outputs[0] : nullptr);
      if (update != fusion_.updates.end())
        add_update(update->second);
      else if (step.node)
        add_call(*step.node);
      else
        add_kernel(step.group);
    }
    finish();
  }

 private:
  void finish() {
    for (const ir::Value* output : graph_.outputs()) {
      plan_.output_slots_.push_back(slot_of(output));
      const ir::Value* base = output;
      while (base->def && base->def->op && !base->def->inputs.empty() &&
             base->def->op->kind == ops::OpKind::View)
        base = base->def->inputs[0];
      for (const auto& [slot, constant] : plan_.constants_)
        if (slot == slot_of(base)) plan_.given_constants_.push_back(constant);
    }
    for (const ir::WriteBack& write : graph_.write_backs) {
      const auto update = fusion_.in_place.find(write.value);
      if (update == fusion_.in_place.end())
        plan_.write_backs_.push_back({write.input, slot_of(write.value), {}});
      else
        plan_.write_backs_.push_back({write.input, slot_of(update->second.source), update->second.starts});
    }
    find_last_uses();
    find_overwritten_operands();
    find_taken_bases();
    plan_.num_slots_ = static_cast<int>(slots_.size());
    plan_in_place(plan_.steps_, plan_.write_backs_, plan_.output_slots_,
                  static_cast<int>(graph_.inputs().size()), plan_.num_slots_);
    if (log::enabled(log::Channel::Schedule)) log::write(log::Channel::Schedule, plan_.describe());
  }

  bool has_empty_values() const {
    const auto is_empty = [](const ir::Value* value) {
      const SymShape& shape = value->tensor().shape;
      return std::any_of(shape.begin(), shape.end(), [](Sym size) { return sym_known_equal(size, Sym(0)); });
    };
    for (const ir::Value* input : graph_.inputs())
      if (is_empty(input)) return true;
    for (const auto& node : graph_.body().nodes)
      if (std::any_of(node->outputs.begin(), node->outputs.end(), is_empty)) return true;
    return false;
  }

  Plan& plan_;
  const ir::Graph& graph_;
  const CompileOptions& options_;
  passes::FusionPlan fusion_;
  std::map<const ir::Value*, int> slots_;
  std::set<std::string> kernel_names_;
  std::map<std::string, std::pair<std::string, runtime::LoadedKernel>>
      kernels_by_code_;  // with the symbol's name

  int slot_of(const ir::Value* value) {
    return slots_.try_emplace(value, static_cast<int>(slots_.size())).first->second;
  }

  void find_symbols() {
    std::set<int> wanted;
    for (int i = 0; i < graph_.env().num_symbols(); ++i) wanted.insert(i);
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const SymShape& shape = graph_.inputs()[i]->tensor().shape;
      for (size_t d = 0; d < shape.size(); ++d) {
        const SymNode* node = shape[d].node();
        if (node && node->op == SymOp::Symbol && wanted.erase(node->symbol))
          plan_.symbol_sources_.push_back({node->symbol, i, d});
      }
    }
    plan_.bind_with_graph_ = !wanted.empty();
  }

  void add_kernel(const FusionGroup& group) {
    LowerOptions lower_options;
    lower_options.vector_bytes = vector_bytes_of(options_);
    lower_options.streamed = streamed(group);
    LoopNest nest = lower(group, fusion_.memory, lower_options);
    std::string base = nest.name;
    for (int number = 2; !kernel_names_.insert(nest.name).second; ++number)
      nest.name = fmt::format("{}_{}", base, number);
    PrintedKernel printed = print_cpp(nest);
    if (log::enabled(log::Channel::OutputCode)) log::write(log::Channel::OutputCode, "\n" + printed.body);
    log::dump(nest.name + ".cc", printed.source);
    const auto [same, is_new] =
        kernels_by_code_.try_emplace(code_of(printed.body, nest.name), nest.name, runtime::LoadedKernel{});
    auto& [symbol, loaded] = same->second;
    if (is_new) loaded = runtime::load_kernel(compile_request(nest.name, printed.source), options_.toolchain);

    PlanStep step;
    step.kernel = reinterpret_cast<KernelFn>(loaded.module->symbol(symbol));
    step.functions = printed.functions;
    step.description = fmt::format("kernel {}:", nest.name);
    for (const std::string& comment : nest.comments) step.description += " " + comment + ";";
    for (const ir::Value* root : group.roots)
      for (const ir::Value* value : fusion_.elsewhere[root]) step.reads_elsewhere.push_back(slot_of(value));
    for (const Buffer& buffer : nest.buffers) {
      step.arrays.push_back(slot_of(buffer.value));
      if (buffer.written && !fusion_.updating.count(buffer.value))
        step.outputs.push_back({slot_of(buffer.value), buffer.value->tensor().dtype,
                                planned_shape(buffer.value->tensor().shape)});
    }
    if (group.roots.size() == 1)
      for (const Buffer& buffer : nest.buffers)
        if (!buffer.written && is_same_type(*buffer.value, *group.roots[0]))
          step.like_output.push_back(slot_of(buffer.value));
    plan_.modules_.push_back(loaded.module);
    plan_.kernels_.push_back({nest.name, printed.body, is_new ? loaded.compile_ms : 0,
                              !is_new || std::string_view(loaded.origin) != "compiled"});
    plan_.steps_.push_back(std::move(step));
  }

  // What a kernel does, without its name and comments: steps of an unrolled loop are the same.
  static std::string code_of(const std::string& body, const std::string& name) {
    std::string code;
    for (size_t begin = 0, end; begin < body.size(); begin = end + 1) {
      end = std::min(body.find('\n', begin), body.size());
      if (body.compare(begin, 2, "//") != 0) code.append(body, begin, end - begin + 1);
    }
    if (const size_t at = code.find(" " + name + "("); at != std::string::npos)
      code.erase(at, name.size() + 1);
    return code;
  }

  // True if what the kernel writes is not read again by the plan, so that it need not stay in the caches.
  bool streamed(const FusionGroup& group) {
    for (const ir::Value* root : group.roots)
      for (const ir::Use& use : root->uses)
        if (use.user) return false;
    return true;
  }

  void add_update(const passes::Update& update) {
    PlanStep step;
    step.is_update = true;
    step.starts = update.starts;
    step.inputs = {slot_of(update.base)};
    if (update.is_copied) step.inputs.push_back(slot_of(update.source));
    for (const ir::Value* value : {update.result, update.source}) {
      const ops::TensorType& type = value->tensor();
      step.outputs.push_back({slot_of(value), type.dtype, planned_shape(type.shape)});
    }
    step.results = {slot_of(update.result)};
    if (!update.is_copied) step.results.push_back(slot_of(update.source));
    step.description = "copy of what is not replaced";
    step.takes_base = !update.keeps_base;
    step.keeps_base = update.keeps_base;
    plan_.steps_.push_back(std::move(step));
  }

  void add_call(const ir::Node& node) {
    if (node.kind == ir::NodeKind::Constant) {
      plan_.constants_.emplace_back(slot_of(node.output()), node.constant.contiguous());
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
    step.is_checked = node.op->eager && !has_symbols(step.attrs) && has_known_types(node);
    if (node.op->prepare && !has_symbols(step.attrs)) {
      std::vector<Tensor> constants;
      for (const ir::Value* input : node.inputs) {
        const bool known =
            input && input->def && input->def->kind == ir::NodeKind::Constant && !passes::is_written(input);
        constants.push_back(known ? input->def->constant : Tensor());
      }
      step.prepared = node.op->prepare(*node.op, constants, step.attrs);
    }
    step.description = fmt::format("call {}{}", node.op->name,
                                   node.location.str().empty() ? "" : "  # " + node.location.str());
    if (const ir::Node* join = joined_by(node); join && step.prepared) set_part(step, node, *join);
    plan_.steps_.push_back(std::move(step));
  }

  // Of operands; and there is memory for results, as far as they are known.
  static bool has_known_types(const ir::Node& node) {
    std::vector<ops::TensorType> results;
    for (const ir::Value* output : node.outputs) results.push_back(output->tensor());
    if (!ops::results_fit_memory(*node.op, results)) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [](const ir::Value* input) {
      if (!input) return true;
      const ops::TensorType& type = input->tensor();
      return type.device.type == DeviceType::CPU &&
             std::all_of(type.shape.begin(), type.shape.end(),
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
    const ops::TensorType& type = join.output()->tensor();
    const PlannedOutput whole{slot_of(join.output()), type.dtype, planned_shape(type.shape)};
    step.part = PlannedPart{whole, first, node.output()->tensor().shape[3].constant()};
    step.results = {whole.slot};
    step.description += fmt::format(", channels {} … {} of a join", first, first + step.part->count);
  }

  // Slots are emptied after the last step that uses them; inputs and results stay.
  void find_last_uses() {
    std::set<int> kept(plan_.output_slots_.begin(), plan_.output_slots_.end());
    for (const PlannedWriteBack& write : plan_.write_backs_) kept.insert(write.slot);
    for (size_t i = 0; i < graph_.inputs().size(); ++i) kept.insert(slot_of(graph_.inputs()[i]));
    for (const auto& [slot, tensor] : plan_.constants_) kept.insert(slot);
    std::set<int> seen;
    for (size_t s = plan_.steps_.size(); s-- > 0;) {
      PlanStep& step = plan_.steps_[s];
      std::vector<int> used = step.arrays;
      used.insert(used.end(), step.inputs.begin(), step.inputs.end());
      used.insert(used.end(), step.results.begin(), step.results.end());
      for (int slot : used)
        if (slot >= 0 && !kept.count(slot) && seen.insert(slot).second) step.released.push_back(slot);
    }
  }

  // A kernel may write its result over an operand that it reads at the same positions and nothing reads
  // later.
  void find_overwritten_operands() {
    for (PlanStep& step : plan_.steps_) {
      if (!step.kernel || step.outputs.size() != 1) continue;
      for (const int slot : step.like_output)
        if (contains(step.released, slot) && !contains(step.reads_elsewhere, slot))
          step.outputs[0].over = slot;
    }
  }

  // An update may write to its base's memory if nothing reads the base later but the kernel that writes the
  // part.
  void find_taken_bases() {
    const auto releases = [](const PlanStep& step, int slot) { return contains(step.released, slot); };
    for (size_t s = 0; s < plan_.steps_.size(); ++s) {
      PlanStep& step = plan_.steps_[s];
      if (step.is_update) {
        const PlanStep* next = s + 1 < plan_.steps_.size() ? &plan_.steps_[s + 1] : nullptr;
        const bool is_kernel = next && next->kernel && step.results.size() == 2;
        const bool writes_part =
            is_kernel && std::count(next->arrays.begin(), next->arrays.end(), step.results[1]) > 0;
        const int base = step.inputs[0];
        step.takes_base = step.takes_base && (releases(step, base) || (writes_part && releases(*next, base)));
      } else if (step.node && step.node->op && step.node->is("slice_update")) {
        step.takes_base = releases(step, step.inputs[0]);
      }
    }
  }
};

Plan::Plan(std::shared_ptr<const ir::Graph> graph, std::vector<Strides> input_strides,
           const CompileOptions& options)
    : graph_(std::move(graph)), input_strides_(std::move(input_strides)) {
  input_strides_.resize(graph_->inputs().size());
  Planner(*this, options).run();
}

bool Plan::accepts(const std::vector<Tensor>& inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorImpl& impl = *inputs[i].impl();
    if (input_strides_[i].empty() ? !is_contiguous(impl.shape, impl.strides)
                                  : input_strides_[i] != impl.strides)
      return false;
  }
  return true;
}

void Plan::bind_symbols(const std::vector<Tensor>& inputs, std::vector<int64_t>& symbols) const {
  if (bind_with_graph_) {
    symbols = ir::bind_symbols(*graph_, inputs);
    return;
  }
  symbols.resize(static_cast<size_t>(graph_->env().num_symbols()));
  for (const SymbolSource& source : symbol_sources_)
    symbols[static_cast<size_t>(source.symbol)] = inputs[source.input].shape()[source.dim];
}

// Nothing else may see an input change before the end.
bool Plan::may_write_homes(const std::vector<Tensor>& inputs) const {
  for (const PlannedWriteBack& write : write_backs_) {
    if (!write.is_home) continue;
    const Tensor& home = inputs[write.input];
    if (home.storage()->read_only() || !is_contiguous(home.shape(), home.strides())) return false;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (i != write.input && may_overlap(inputs[i], home)) return false;
  }
  return true;
}

std::vector<Tensor> Plan::run(const std::vector<Tensor>& inputs) const {
  Run run;
  bind_symbols(inputs, run.symbols);
  run.slots.resize(static_cast<size_t>(num_slots_));
  run.at_home = !runtime::watched_flags() && may_write_homes(inputs);
  std::copy(inputs.begin(), inputs.end(), run.slots.begin());
  for (const auto& [slot, tensor] : constants_) run.slots[static_cast<size_t>(slot)] = tensor;
  for (const PlanStep& step : steps_) {
    if (step.kernel)
      run_kernel(step, run);
    else if (step.is_update)
      run_update(step, run);
    else
      run_call(step, run);
    for (int slot : step.released) run.slots[static_cast<size_t>(slot)] = Tensor();
  }
  runtime::report_flags();
  std::vector<Tensor> outputs;
  outputs.reserve(output_slots_.size());
  for (int slot : output_slots_) outputs.push_back(run.slots[static_cast<size_t>(slot)]);
  if (!given_constants_.empty()) ir::copy_constants(outputs, given_constants_);
  if (!write_backs_.empty()) write_back(inputs, run, outputs);
  return outputs;
}

void Plan::write_back(const std::vector<Tensor>& inputs, const Run& run, std::vector<Tensor>& outputs) const {
  // All values are those before any input changes.
  auto detach = [&](Tensor& tensor) {
    for (const PlannedWriteBack& write : write_backs_)
      if (may_overlap(tensor, inputs[write.input])) {
        tensor = tensor.clone();
        return;
      }
  };
  std::vector<Tensor> sources;
  for (const PlannedWriteBack& write : write_backs_) {
    const bool is_there = write.is_home && run.at_home;
    sources.push_back(is_there ? Tensor() : run.slots[static_cast<size_t>(write.slot)]);
    if (!is_there) detach(sources.back());
  }
  for (Tensor& output : outputs) detach(output);
  for (size_t i = 0; i < sources.size(); ++i) {
    const Tensor& target = inputs[write_backs_[i].input];
    if (!sources[i].defined()) continue;
    if (write_backs_[i].starts.empty())
      target.copy_from(sources[i]);
    else
      part_of(target, first_positions(write_backs_[i].starts, target.shape(), run.symbols),
              sources[i].shape())
          .copy_from(sources[i]);
  }
}

Tensor Plan::room_for(const PlannedOutput& output, const Run& run) {
  if (output.home >= 0 && run.at_home) return run.slots[static_cast<size_t>(output.home)];
  if (output.over >= 0) {
    const Tensor& operand = run.slots[static_cast<size_t>(output.over)];
    if (is_sole_owner(operand) && is_contiguous(operand.shape(), operand.strides())) return operand;
  }
  return Tensor::empty(output.shape.evaluate(run.symbols), output.dtype);
}

void Plan::run_kernel(const PlanStep& step, Run& run) const {
  std::vector<Tensor>& slots = run.slots;
  for (const PlannedOutput& output : step.outputs)
    slots[static_cast<size_t>(output.slot)] = room_for(output, run);
  constexpr size_t kFew = 32;
  void* few[kFew];
  std::vector<void*> many;
  void** arrays = few;
  if (step.arrays.size() > kFew) {
    many.resize(step.arrays.size());
    arrays = many.data();
  }
  for (size_t i = 0; i < step.arrays.size(); ++i)
    arrays[i] = slots[static_cast<size_t>(step.arrays[i])].data();
  step.kernel(arrays, run.symbols.data(), step.functions.data(), reinterpret_cast<void*>(&parallel_for_raw));
}

bool Plan::is_over_base(const PlanStep& step, const Run& run) const {
  const bool is_input = static_cast<size_t>(step.inputs[0]) < input_strides_.size();
  return step.is_over_base && (run.at_home || !is_input);
}

void Plan::run_update(const PlanStep& step, Run& run) const {
  std::vector<Tensor>& slots = run.slots;
  const Tensor base = slots[static_cast<size_t>(step.inputs[0])];
  const Shape shape = step.outputs[0].shape.evaluate(run.symbols),
              part = step.outputs[1].shape.evaluate(run.symbols);
  const Shape first = first_positions(step.starts, shape, run.symbols);
  // The slot and `base` are two.
  const bool is_owned = step.takes_base && base.impl().use_count() == 2 && base.storage().use_count() == 1;
  const bool in_place = (is_owned || is_over_base(step, run)) && is_contiguous(base.shape(), base.strides());
  const Tensor result = in_place ? base : copy_around(base, first, part);
  slots[static_cast<size_t>(step.outputs[0].slot)] = result;
  const Tensor room = part_of(result, first, part);
  if (step.inputs.size() > 1)
    room.copy_from(slots[static_cast<size_t>(step.inputs[1])]);
  else
    slots[static_cast<size_t>(step.outputs[1].slot)] = room;
}

// slice_update without a copy of its first operand. False: it is needed.
bool Plan::replace_in_place(const PlanStep& step, Run& run) const {
  const Tensor& base = run.slots[static_cast<size_t>(step.inputs[0])];
  // One element may stand for many (an expanded number).
  if (!is_contiguous(base.shape(), base.strides())) return false;
  if (!(step.takes_base && is_sole_owner(base)) && !is_over_base(step, run)) return false;
  ops::Attrs attrs = has_symbols(step.attrs) ? ir::evaluate(step.attrs, run.symbols) : step.attrs;
  ops::call(ops::get_op("slice"), {{base}, std::move(attrs)})[0].copy_from(
      run.slots[static_cast<size_t>(step.inputs[1])]);
  run.slots[static_cast<size_t>(step.results[0])] = base;
  return true;
}

void Plan::run_call(const PlanStep& step, Run& run) const {
  std::vector<Tensor>& slots = run.slots;
  if ((step.takes_base || step.is_over_base) && replace_in_place(step, run)) return;
  std::vector<Tensor> operands;
  operands.reserve(step.inputs.size());
  for (int slot : step.inputs) operands.push_back(slot >= 0 ? slots[static_cast<size_t>(slot)] : Tensor());
  if (step.part) operands.push_back(part_in(*step.part, slots, run.symbols));
  std::vector<Tensor> results;
  try {
    if (const ops::Attr* through = step.node->attrs.find("through"))
      operands[0] = ops::call1(std::get<std::string>(*through), {operands[0]});
    if (step.prepared)
      results = step.prepared(operands);
    else if (step.is_checked)
      results = step.node->op->eager(*step.node->op, operands, step.attrs);
    else
      results =
          ops::call(*step.node->op,
                    {operands, has_symbols(step.attrs) ? ir::evaluate(step.attrs, run.symbols) : step.attrs});
  } catch (const Error& error) {
    std::string where = step.node->location.str();
    if (where.empty()) throw;
    throw error.with_note("at " + where);
  }
  if (step.part) return;
  for (size_t i = 0; i < step.results.size(); ++i)
    slots[static_cast<size_t>(step.results[i])] = step.keeps_views ? results[i] : results[i].contiguous();
}

std::string Plan::describe() const {
  std::string text;
  for (const PlanStep& step : steps_) text += step.description + "\n";
  return text;
}

}  // namespace weft::codegen
