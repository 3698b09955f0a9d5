#include "compiler/call_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/copy.h"
#include "core/profiling.h"
#include "ir/symbols.h"
#include "ops/memory_order.h"
#include "runtime/float_flags.h"

namespace weft::compiler {

// ---- preparing -------------------------------------------------------------------------------------------
CallList::CallList(const Plan& plan, const std::vector<int64_t>& symbols, bool at_home) : plan_(plan) {
  const Program& program = plan.program_;
  const CallLayout layout = lay_out(program, symbols);
  run_.symbols = symbols;
  run_.at_home = at_home;
  run_.slots.resize(at(program.num_slots));
  if (layout.arena_bytes > 0) arena_ = Storage::allocate(static_cast<size_t>(layout.arena_bytes));
  for (size_t slot = 0; slot < layout.slots.size(); ++slot) {
    if (layout.slots[slot].is_fixed())
      run_.slots[slot] = bound(layout.slots[slot], layout);
    else
      changing_.push_back(static_cast<int>(slot));
  }
  for (size_t s = 0; s < program.steps.size(); ++s)
    if (layout.work[s] != StepWork::None) calls_.push_back(made(s, layout));
  find_released();
  num_owners_ = arena_.use_count();
}

Tensor CallList::bound(const FixedValue& value, const CallLayout& layout) const {
  if (value.constant.defined()) return value.constant;
  const int64_t first = layout.block_at[at(value.block)] + value.first_byte;
  return Tensor(arena_, value.dtype, value.shape, value.strides, first / itemsize(value.dtype));
}

CallList::Call CallList::made(size_t s, const CallLayout& layout) const {
  const PlanStep& step = plan_.program_.steps[s];
  Call call;
  call.work = layout.work[s];
  call.step = &step;
  const auto is_fixed = [&](int slot) { return layout.slots[at(slot)].is_fixed(); };
  switch (call.work) {
    case StepWork::Kernel:
      for (size_t i = 0; i < step.arrays.size(); ++i) {
        const int slot = step.arrays[i];
        call.arrays.push_back(is_fixed(slot) ? run_.slots[at(slot)].data() : nullptr);
        if (!is_fixed(slot)) call.from.emplace_back(i, slot);
      }
      for (const PlannedOutput& output : step.outputs)
        if (!is_fixed(output.slot)) call.allocated.push_back(&output);
      break;
    case StepWork::Call:
    case StepWork::CallInto:
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        const int slot = step.inputs[i];
        const bool is_known = slot < 0 || is_fixed(slot);
        call.operands.push_back(slot >= 0 && is_known ? run_.slots[at(slot)] : Tensor());
        if (!is_known) call.from.emplace_back(i, slot);
      }
      if (call.work == StepWork::CallInto) call.operands.push_back(run_.slots[at(step.results[0])]);
      call.attrs = step.has_symbols ? ir::evaluate(step.attrs, run_.symbols) : step.attrs;
      call.is_checked = step.prepared || step.is_checked;
      break;
    case StepWork::Copy:
      call.to = bound(layout.copies[s].to, layout);
      call.source = bound(layout.copies[s].from, layout);
      break;
    default: break;
  }
  return call;
}

void CallList::find_released() {
  std::vector<size_t> viewed(run_.slots.size(), calls_.size());  // by slot: the call that makes a view for it
  for (size_t c = 0; c < calls_.size(); ++c) {
    Call& call = calls_[c];
    if (call.work == StepWork::View) viewed[at(call.step->results[0])] = c;
    for (const int slot : call.step->released) {
      if (std::find(changing_.begin(), changing_.end(), slot) == changing_.end()) continue;
      call.released.push_back(slot);
      if (viewed[at(slot)] < calls_.size()) call.released_views.push_back(viewed[at(slot)]);
    }
  }
}

std::string CallList::str() const {
  return fmt::format("{} calls for {} steps, an arena of {} bytes", calls_.size(),
                     plan_.program_.steps.size(), arena_ ? arena_->nbytes() : 0);
}

// ---- running ---------------------------------------------------------------------------------------------
std::vector<Tensor> CallList::run(const std::vector<Tensor>& inputs) {
  struct Cleaner {
    CallList& list;
    ~Cleaner() { list.clear(); }
  } const cleaner{*this};
  std::copy(inputs.begin(), inputs.end(), run_.slots.begin());
  std::vector<Tensor> outputs;
  try {
    for (Call& call : calls_) perform(call);
    outputs = plan_.finish(inputs, run_);
  } catch (...) {
    run_.restore();
    throw;
  }
  // An operator gave one of its operands.
  for (Tensor& output : outputs)
    if (arena_ && output.storage() == arena_) output = output.clone();
  return outputs;
}

void CallList::perform(Call& call) {
  run_.advance();
  switch (call.work) {
    case StepWork::Kernel: launch(call); break;
    case StepWork::CallInto:
    case StepWork::Call: call_operator(call); break;
    case StepWork::Copy: {
      const profiling::Span span(call.step->name, profiling::Kind::Operator, call.step->place);
      copy_strided({call.to.data(), call.to.dtype(), call.to.strides()},
                   {call.source.data(), call.source.dtype(), call.source.strides()}, call.to.shape());
      break;
    }
    case StepWork::View: take_view(call); break;
    default: plan_.perform(*call.step, run_); break;
  }
  if (!call.released.empty()) release(call);
}

void CallList::launch(Call& call) {
  profiling::Span span(call.step->name, profiling::Kind::Kernel, call.step->place);
  if (span.is_recorded()) [[unlikely]]
    Plan::describe_work(*call.step, run_, span);
  for (const PlannedOutput* output : call.allocated)
    run_.slots[at(output->slot)] = Plan::room_for(*output, run_);
  for (const auto& [index, slot] : call.from) call.arrays[index] = run_.slots[at(slot)].data();
  call.step->kernel->launch(call.arrays.data(), run_.symbols.data(), Stream());
}

void CallList::call_operator(Call& call) {
  const PlanStep& step = *call.step;
  for (const auto& [index, slot] : call.from) call.operands[index] = run_.slots[at(slot)];
  std::vector<Tensor> results;
  try {
    results = Plan::call(step, call.operands, call.attrs, call.is_checked);
  } catch (const Error& error) {
    Plan::rethrow_with_place(step, error);
  }
  // Sizes are the same in all runs.
  call.is_checked = call.is_checked || step.node->op->eager;
  for (const auto& [index, slot] : call.from) call.operands[index] = Tensor();
  if (call.work == StepWork::CallInto) return;
  for (size_t i = 0; i < step.results.size(); ++i)
    run_.slots[at(step.results[i])] =
        step.keeps_views ? results[i] : ops::in_memory_order(step.attrs, results[i]);
}

void CallList::take_view(Call& call) {
  const PlanStep& step = *call.step;
  const TensorImpl& from = *run_.slots[at(step.inputs[0])].impl();
  const int64_t first = from.offset * itemsize(from.dtype);
  Tensor& slot = run_.slots[at(step.results[0])];
  if (call.view && from.strides == call.operand_strides) {
    const int64_t size = itemsize(call.view->dtype);
    if ((first + call.bytes_in) % size == 0) {
      call.view->storage = from.storage;
      call.view->offset = (first + call.bytes_in) / size;
      slot = Tensor(call.view);
      return;
    }
  }
  plan_.perform(step, run_);
  if (slot.storage() != from.storage || slot.impl().get() == &from) return;
  call.operand_strides = from.strides;
  call.bytes_in = slot.offset() * itemsize(slot.dtype()) - first;
  call.view = slot.impl();
}

// The view's storage goes with the slot; what somebody else has of it stays theirs.
void CallList::forget(std::shared_ptr<TensorImpl>& view) {
  if (!view) return;
  if (view.use_count() > 1) {
    view.reset();
    return;
  }
  view->storage.reset();
}

void CallList::release(Call& call) {
  for (const int slot : call.released) run_.slots[at(slot)] = Tensor();
  for (const size_t view : call.released_views) forget(calls_[view].view);
}

void CallList::clear() noexcept {
  run_.replaced.clear();
  for (const int slot : changing_) run_.slots[at(slot)] = Tensor();
  for (Call& call : calls_) {
    if (call.view && call.view->storage) forget(call.view);
    if (call.work != StepWork::Kernel)
      for (const auto& [index, slot] : call.from) call.operands[index] = Tensor();
  }
}

// ---- lists that wait -------------------------------------------------------------------------------------
namespace {

constexpr size_t kMostIdle = 8, kMostSeen = 8;
constexpr int kMostLost = 4;  // lists whose memory somebody kept; then no more are made

}  // namespace

std::unique_ptr<CallList> CallLists::take(const Plan& plan, const std::vector<int64_t>& symbols,
                                          bool at_home) {
  {
    const std::lock_guard lock(mutex_);
    for (auto it = idle_.rbegin(); it != idle_.rend(); ++it) {
      if (!(*it)->is_for(symbols, at_home)) continue;
      std::unique_ptr<CallList> list = std::move(*it);
      idle_.erase(std::next(it).base());
      return list;
    }
    if (num_lost_ >= kMostLost) return nullptr;
    const auto sizes = std::pair(symbols, at_home);
    if (std::find(seen_.begin(), seen_.end(), sizes) == seen_.end()) {
      if (seen_.size() == kMostSeen) seen_.erase(seen_.begin());
      seen_.push_back(sizes);
      return nullptr;
    }
  }
  try {
    return std::make_unique<CallList>(plan, symbols, at_home);
  } catch (const Error&) {  // there is no memory for all of it at once
    const std::lock_guard lock(mutex_);
    ++num_lost_;
    return nullptr;
  }
}

void CallLists::give_back(std::unique_ptr<CallList> list) {
  std::unique_ptr<CallList> oldest;  // ends when the lock has been given back
  const std::lock_guard lock(mutex_);
  if (!list->is_reusable()) {
    ++num_lost_;
    oldest = std::move(list);
    return;
  }
  if (idle_.size() == kMostIdle) {
    oldest = std::move(idle_.front());
    idle_.erase(idle_.begin());
  }
  idle_.push_back(std::move(list));
}

std::string CallLists::str() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& list : idle_) text += list->str() + "\n";
  return text;
}

}  // namespace weft::compiler
