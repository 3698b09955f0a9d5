#include "compiler/plan.h"

#include <algorithm>

#include "compiler/call_list.h"
#include "compiler/parts.h"
#include "compiler/recorded_runs.h"
#include "compiler/stages.h"
#include "core/memory_watch.h"
#include "core/profiling.h"
#include "ir/constants.h"
#include "ir/symbols.h"
#include "ops/effects.h"
#include "ops/memory_order.h"
#include "ops/tracer.h"
#include "ops/work.h"
#include "runtime/autotune.h"
#include "runtime/float_flags.h"

namespace weft::compiler {
namespace {

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

// The part of a slot's tensor, which the first of its writers allocates.
Tensor part_in(const PlannedPart& part, std::vector<Tensor>& slots, const std::vector<int64_t>& symbols) {
  Tensor& whole = slots[static_cast<size_t>(part.whole.slot)];
  if (!whole.defined())
    whole = Tensor::empty(part.whole.shape.evaluate(symbols), part.whole.dtype, part.whole.device);
  Shape shape = whole.shape();
  shape.back() = part.count;
  return whole.as_strided(shape, whole.strides(), whole.impl()->offset + part.first);
}

void note_storages(profiling::MemoryAction action, const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors)
    if (const Storage& storage = *tensor.storage(); storage.data() != nullptr)
      profiling::note_memory(action, storage.data(), storage.nbytes(), storage.device());
}

// Of a kernel: what it only reads.
const char* describe_operands(const PlanStep& step, const std::vector<Tensor>& slots) {
  std::vector<Tensor> operands;
  for (const int slot : step.arrays) {
    const bool is_written = std::any_of(step.outputs.begin(), step.outputs.end(),
                                        [&](const PlannedOutput& output) { return output.slot == slot; });
    if (!is_written) operands.push_back(slots[static_cast<size_t>(slot)]);
  }
  return ops::describe_inputs(operands);
}

// When a run ends, by an error, too.
struct GivenBack {
  CallLists& lists;
  std::unique_ptr<CallList>& list;
  ~GivenBack() { lists.give_back(std::move(list)); }
};

bool is_on_cpu(const Program& program) {
  const auto is_cpu = [](Device device) { return device.type == DeviceType::CPU; };
  return std::all_of(program.steps.begin(), program.steps.end(), [&](const PlanStep& step) {
    return is_cpu(step.device) &&
           std::all_of(step.outputs.begin(), step.outputs.end(),
                       [&](const PlannedOutput& output) { return is_cpu(output.device); });
  });
}

// That of all steps; the CPU where there are several.
Device one_device(const Program& program) {
  if (program.steps.empty()) return {};
  const Device device = program.steps[0].device;
  const bool is_one = std::all_of(program.steps.begin(), program.steps.end(),
                                  [&](const PlanStep& step) { return step.device == device; });
  return is_one ? device : Device{};
}

// Each run draws other random numbers, or asks the other ranks: a recorded one would not.
bool draws(const Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(),
                     [](const PlanStep& step) { return step.node && ops::draws(*step.node->op); });
}

}  // namespace

Plan::Plan(std::shared_ptr<const ir::Graph> graph, std::vector<Strides> input_strides,
           const CompileOptions& options)
    : graph_(std::move(graph)), input_strides_(std::move(input_strides)), autotunes_(options.autotunes) {
  input_strides_.resize(graph_->inputs().size());
  program_ = make_program(*graph_, input_strides_, options);
  name_ = profiling::intern(graph_->name);
  if (options.prepares_runs && is_on_cpu(program_)) lists_ = std::make_unique<CallLists>();
  if (const Device device = one_device(program_); options.prepares_runs && !draws(program_) &&
                                                  device != Device{} &&
                                                  backend_of(device).records_work(device.index)) {
    std::vector<size_t> written;
    for (const PlannedWriteBack& write : program_.write_backs) written.push_back(write.input);
    recorded_ = std::make_unique<RecordedRuns>(graph_->name, device, std::move(written));
  }
}

Plan::~Plan() = default;

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
  if (program_.bind_with_graph) {
    symbols = ir::bind_symbols(*graph_, inputs);
    return;
  }
  symbols.resize(static_cast<size_t>(graph_->env().num_symbols()));
  for (const SymbolSource& source : program_.symbol_sources)
    symbols[static_cast<size_t>(source.symbol)] = inputs[source.input].shape()[source.dim];
}

// Nothing else may see an input change before the end.
bool Plan::may_write_homes(const std::vector<Tensor>& inputs) const {
  for (const PlannedWriteBack& write : program_.write_backs) {
    if (!write.is_home) continue;
    const Tensor& home = inputs[write.input];
    if (home.storage()->read_only() || !is_contiguous(home.shape(), home.strides())) return false;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (i != write.input && may_overlap(inputs[i], home)) return false;
  }
  return true;
}

std::vector<Tensor> Plan::run(const std::vector<Tensor>& inputs) const {
  const profiling::Span span(name_, profiling::Kind::Graph);
  const runtime::AutotuneScope scope(autotunes_);
  if (profiling::is_on(profiling::kMemory)) note_storages(profiling::MemoryAction::IsInput, inputs);
  Run run;
  bind_symbols(inputs, run.symbols);
  run.at_home = !runtime::watched_flags() && may_write_homes(inputs);
  std::unique_ptr<CallList> list = lists_ ? lists_->take(*this, run.symbols, run.at_home) : nullptr;
  std::vector<Tensor> outputs;
  if (list) {
    const GivenBack given_back{*lists_, list};
    outputs = list->run(inputs);
  } else if (recorded_) {
    outputs = recorded_->run(run.symbols, inputs, [&](const std::vector<Tensor>& known) {
      Run once;
      once.symbols = run.symbols;
      once.at_home = run.at_home;
      return run_steps(known, once);
    });
  } else {
    outputs = run_steps(inputs, run);
  }
  if (profiling::is_on(profiling::kMemory)) note_storages(profiling::MemoryAction::IsOutput, outputs);
  return outputs;
}

std::vector<Tensor> Plan::run_steps(const std::vector<Tensor>& inputs, Run& run) const {
  run.slots.resize(static_cast<size_t>(program_.num_slots));
  std::copy(inputs.begin(), inputs.end(), run.slots.begin());
  for (const auto& [slot, tensor] : program_.constants) run.slots[static_cast<size_t>(slot)] = tensor;
  try {
    for (const PlanStep& step : program_.steps) {
      perform(step, run);
      for (int slot : step.released) run.slots[static_cast<size_t>(slot)] = Tensor();
    }
    return finish(inputs, run);
  } catch (...) {
    run.restore();
    throw;
  }
}

void Plan::Run::advance_begun() {
  for (const auto& call : begun)
    if (call) call->advance();
}

void Plan::Run::restore() {
  begun.clear();
  num_begun = 0;
  for (; !replaced.empty(); replaced.pop_back()) {
    const auto& [what, values] = replaced.back();
    if (const Tensor* part = std::get_if<Tensor>(&what))
      part->copy_from(values);
    else if (const Elsewhere* there = std::get_if<Elsewhere>(&what))
      backend_of(there->base.device()).set_indexed(there->base, there->indices, values);
    else
      std::get<IndexedElements>(what).set(values);
  }
}

void Plan::perform(const PlanStep& step, Run& run) const {
  run.advance();
  if (step.kernel)
    run_kernel(step, run);
  else if (step.is_update)
    run_update(step, run);
  else if (step.call_part == CallPart::Begin)
    begin_call(step, run);
  else if (step.call_part == CallPart::Wait)
    wait_for_call(step, run);
  else
    run_call(step, run);
}

std::vector<Tensor> Plan::finish(const std::vector<Tensor>& inputs, Run& run) const {
  runtime::report_flags();
  std::vector<Tensor> outputs;
  outputs.reserve(program_.output_slots.size());
  for (int slot : program_.output_slots) outputs.push_back(run.slots[static_cast<size_t>(slot)]);
  if (!program_.given_constants.empty()) ir::copy_constants(outputs, program_.given_constants);
  if (!program_.write_backs.empty()) write_back(inputs, run, outputs);
  return outputs;
}

void Plan::write_back(const std::vector<Tensor>& inputs, const Run& run, std::vector<Tensor>& outputs) const {
  // All values are those before any input changes.
  auto detach = [&](Tensor& tensor) {
    for (const PlannedWriteBack& write : program_.write_backs)
      if (may_overlap(tensor, inputs[write.input])) {
        tensor = tensor.clone();
        return;
      }
  };
  std::vector<Tensor> sources;
  for (const PlannedWriteBack& write : program_.write_backs) {
    const bool is_there = write.is_home && run.at_home;
    sources.push_back(is_there ? Tensor() : run.slots[static_cast<size_t>(write.slot)]);
    if (!is_there) detach(sources.back());
  }
  for (Tensor& output : outputs) detach(output);
  for (size_t i = 0; i < sources.size(); ++i) {
    const Tensor& target = inputs[program_.write_backs[i].input];
    if (!sources[i].defined()) {
      note_write(*target.storage());
      continue;
    }
    if (program_.write_backs[i].starts.empty())
      target.copy_from(sources[i]);
    else
      part_of(target, first_positions(program_.write_backs[i].starts, target.shape(), run.symbols),
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
  return Tensor::empty(output.shape.evaluate(run.symbols), output.dtype, output.device);
}

void Plan::describe_work(const PlanStep& step, const Run& run, profiling::Span& span) {
  span.work = {.bytes = static_cast<double>(step.kernel_bytes.evaluate(run.symbols)),
               .operations = static_cast<double>(step.kernel_operations.evaluate(run.symbols)),
               .arithmetic = step.arithmetic,
               .is_known = true};
  if (profiling::is_on(profiling::kInputs)) span.inputs = describe_operands(step, run.slots);
}

void Plan::run_kernel(const PlanStep& step, Run& run) const {
  std::vector<Tensor>& slots = run.slots;
  profiling::Span span(step.name, profiling::Kind::Kernel, step.place);
  if (span.is_recorded()) [[unlikely]]
    describe_work(step, run, span);
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
  step.kernel->launch(arrays, run.symbols.data(), backend_of(step.device).current_stream(step.device.index));
}

bool Plan::is_over_base(const PlanStep& step, const Run& run) const {
  const bool is_input = static_cast<size_t>(step.inputs[0]) < input_strides_.size();
  return step.is_over_base && (run.at_home || !is_input);
}

void Plan::run_update(const PlanStep& step, Run& run) const {
  std::vector<Tensor>& slots = run.slots;
  const profiling::Span span(step.name, profiling::Kind::Operator, step.place);
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
  if (in_place && step.keeps_replaced && run.at_home) run.replaced.push_back({room, room.clone()});
  if (step.inputs.size() > 1)
    room.copy_from(slots[static_cast<size_t>(step.inputs[1])]);
  else
    slots[static_cast<size_t>(step.outputs[1].slot)] = room;
}

// A replaced part without a copy of the first operand. False: it is needed.
bool Plan::replace_in_place(const PlanStep& step, Run& run) const {
  const Tensor& base = run.slots[static_cast<size_t>(step.inputs[0])];
  // One element may stand for many (an expanded number).
  if (!is_contiguous(base.shape(), base.strides())) return false;
  if (!(step.takes_base && is_sole_owner(base)) && !is_over_base(step, run)) return false;
  const profiling::Span span(step.name, profiling::Kind::Operator, step.place);
  const Tensor& values = run.slots[static_cast<size_t>(step.inputs[1])];
  const bool keeps = step.keeps_replaced && run.at_home;
  if (step.node->is("scatter_nd")) {
    if (!is_on_host(base.device())) {
      std::vector<Tensor> indices;
      for (size_t i = 2; i < step.inputs.size(); ++i)
        indices.push_back(step.inputs[i] >= 0 ? run.slots[static_cast<size_t>(step.inputs[i])] : Tensor());
      std::vector<Tensor> named = indices;
      named.insert(named.begin(), base);
      const Tensor before = keeps ? ops::call(ops::get_op("gather_nd"), {std::move(named), {}})[0] : Tensor();
      const Tensor dense = values.storage() == base.storage() ? values.clone() : values.contiguous();
      if (backend_of(base.device()).set_indexed(base, indices, dense)) {
        if (keeps) run.replaced.push_back({Run::Elsewhere{base, std::move(indices)}, before});
        run.slots[static_cast<size_t>(step.results[0])] = base;
        return true;
      }
      std::vector<Tensor> operands;
      for (const int input : step.inputs)
        operands.push_back(input >= 0 ? run.slots[static_cast<size_t>(input)] : Tensor());
      const Tensor changed = call(step, operands, step.attrs, step.is_checked).at(0);
      if (keeps) run.replaced.push_back({base, base.clone()});
      base.copy_from(changed);
      run.slots[static_cast<size_t>(step.results[0])] = base;
      return true;
    }
    std::vector<Tensor> indices;
    for (size_t i = 2; i < step.inputs.size(); ++i)
      indices.push_back(step.inputs[i] >= 0 ? run.slots[static_cast<size_t>(step.inputs[i])] : Tensor());
    const IndexedElements elements(base, indices);
    const Tensor dense = values.storage() == base.storage() ? values.clone() : values.contiguous();
    if (keeps) run.replaced.push_back({elements, elements.get()});
    elements.set(dense);
  } else {
    ops::Attrs attrs = step.has_symbols ? ir::evaluate(step.attrs, run.symbols) : step.attrs;
    const Tensor part = ops::call(ops::get_op("slice"), {{base}, std::move(attrs)})[0];
    if (keeps) run.replaced.push_back({part, part.clone()});
    part.copy_from(values);
  }
  run.slots[static_cast<size_t>(step.results[0])] = base;
  return true;
}

std::vector<Tensor> Plan::call(const PlanStep& step, const std::vector<Tensor>& operands,
                               const ops::Attrs& attrs, bool is_checked) {
  const ops::OpDef& op = *step.node->op;
  if (!step.prepared && !is_checked) return ops::call(op, {operands, attrs});
  profiling::Span span(step.name, profiling::Kind::Operator, step.place);
  std::vector<Tensor> results = step.prepared
                                    ? step.prepared(operands)
                                    : backend_of(step.device).run(op, operands, attrs, step.device.index);
  if (span.is_recorded()) [[unlikely]] {
    span.work = ops::work_of(op, operands, results, attrs);
    if (profiling::is_on(profiling::kInputs)) span.inputs = ops::describe_inputs(operands);
  }
  return results;
}

void Plan::rethrow_with_place(const PlanStep& step, const Error& error) {
  const std::string where = step.node->location.str();
  if (where.empty()) throw error;
  throw error.with_note("at " + where);
}

void Plan::run_call(const PlanStep& step, Run& run) const {
  std::vector<Tensor>& slots = run.slots;
  try {
    if ((step.takes_base || step.is_over_base) && replace_in_place(step, run)) return;
  } catch (const Error& error) {
    rethrow_with_place(step, error);
  }
  std::vector<Tensor> operands;
  operands.reserve(step.inputs.size());
  for (int slot : step.inputs) operands.push_back(slot >= 0 ? slots[static_cast<size_t>(slot)] : Tensor());
  if (step.part) operands.push_back(part_in(*step.part, slots, run.symbols));
  std::vector<Tensor> results;
  try {
    if (step.through) operands[0] = ops::call(*step.through, {{operands[0]}, {}})[0];
    results = step.has_symbols ? call(step, operands, ir::evaluate(step.attrs, run.symbols), step.is_checked)
                               : call(step, operands, step.attrs, step.is_checked);
  } catch (const Error& error) {
    rethrow_with_place(step, error);
  }
  if (step.part) return;
  for (size_t i = 0; i < step.results.size(); ++i)
    slots[static_cast<size_t>(step.results[i])] =
        step.keeps_views ? results[i] : ops::in_memory_order(step.attrs, results[i]);
}

void Plan::begin_call(const PlanStep& step, Run& run) const {
  run.begun.resize(program_.num_calls_in_parts);
  std::vector<Tensor> operands;
  for (const int slot : step.inputs) operands.push_back(run.slots[static_cast<size_t>(slot)]);
  try {
    run.begun[step.call] = step.node->op->begin(*step.node->op, operands, step.attrs);
  } catch (const Error& error) {
    rethrow_with_place(step, error);
  }
  ++run.num_begun;
}

void Plan::wait_for_call(const PlanStep& step, Run& run) {
  std::vector<Tensor> results;
  try {
    results = run.begun[step.call]->wait();
  } catch (const Error& error) {
    rethrow_with_place(step, error);
  }
  run.begun[step.call].reset();
  --run.num_begun;
  for (size_t i = 0; i < step.results.size(); ++i)
    run.slots[static_cast<size_t>(step.results[i])] = ops::in_memory_order(step.attrs, results[i]);
}

std::string Plan::describe() const {
  std::string text;
  for (const PlanStep& step : program_.steps) text += step.description + "\n";
  if (recorded_) text += recorded_->str();
  return lists_ ? text + lists_->str() : text;
}

}  // namespace weft::compiler
