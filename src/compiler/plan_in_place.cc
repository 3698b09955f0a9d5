// Which steps of a plan write over memory that nothing reads later.
#include <algorithm>
#include <numeric>

#include "compiler/program.h"
#include "ops/effects.h"
#include "passes/analysis.h"

namespace weft::compiler {
namespace {

class InPlace {
 public:
  explicit InPlace(Program& program)
      : steps_(program.steps),
        write_backs_(program.write_backs),
        output_slots_(program.output_slots),
        num_inputs_(program.num_inputs),
        memory_(static_cast<size_t>(program.num_slots)),
        producer_(static_cast<size_t>(program.num_slots), kNone) {
    std::iota(memory_.begin(), memory_.end(), 0);
    for (size_t s = 0; s < steps_.size(); ++s) {
      const PlanStep& step = steps_[s];
      if (step.keeps_views) memory_[at(step.results[0])] = memory_of(step.inputs[0]);
      for (const int slot : step.results) producer_[at(slot)] = s;
      if (step.kernel)
        for (const PlannedOutput& output : step.outputs) producer_[at(output.slot)] = s;
    }
  }

  void run() {
    for (const PlanStep& step : steps_)
      if (step.node && passes::writes_memory(*step.node)) return;
    for (size_t s = 0; s < steps_.size(); ++s)
      if (replaces(steps_[s]) && is_made_here(steps_[s].inputs[0]))
        steps_[s].is_over_base = may_write_over_base(s);
    // One home makes room for the others: what allocates may fail. Then those for which what they replace
    // must be kept.
    for (const bool may_keep : {false, true}) {
      for (bool found = true; found;) {
        found = false;
        for (PlannedWriteBack& write : write_backs_)
          found = (!write.is_home && find_home(write, may_keep)) || found;
      }
    }
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  std::vector<PlanStep>& steps_;
  std::vector<PlannedWriteBack>& write_backs_;
  const std::vector<int>& output_slots_;
  const int num_inputs_;
  std::vector<int> memory_;       // by slot: the slot whose memory it is a view of
  std::vector<size_t> producer_;  // by slot

  static size_t at(int slot) { return static_cast<size_t>(slot); }
  int memory_of(int slot) const { return memory_[at(slot)]; }

  static bool replaces(const PlanStep& step) { return step.is_update || replaces_part(step); }
  // A new tensor, which no other shares memory with but by steps of this plan.
  bool is_made_here(int slot) const {
    const size_t producer = producer_[at(slot)];
    return producer != kNone && (steps_[producer].kernel || replaces(steps_[producer]));
  }

  bool reads(const PlanStep& step, int memory) const {
    const auto is_it = [&](int slot) { return slot >= 0 && memory_of(slot) == memory; };
    return std::any_of(step.arrays.begin(), step.arrays.end(), is_it) ||
           std::any_of(step.inputs.begin(), step.inputs.end(), is_it);
  }
  bool is_read_after(size_t index, int memory) const {
    for (size_t s = index + 1; s < steps_.size(); ++s)
      if (reads(steps_[s], memory)) return true;
    const auto is_it = [&](int slot) { return memory_of(slot) == memory; };
    return std::any_of(output_slots_.begin(), output_slots_.end(), is_it) ||
           std::any_of(write_backs_.begin(), write_backs_.end(),
                       [&](const PlannedWriteBack& write) { return is_it(write.slot); });
  }

  // The kernel that writes the part, or the step itself.
  size_t writer_of(size_t index) const {
    const PlanStep& step = steps_[index];
    if (!step.is_update || step.results.size() < 2) return index;
    const bool is_next = index + 1 < steps_.size() && steps_[index + 1].kernel &&
                         contains(steps_[index + 1].arrays, step.results[1]);
    return is_next ? index + 1 : kNone;
  }
  bool may_write_over_base(size_t index) const {
    const PlanStep& step = steps_[index];
    const int base = step.inputs[0];
    const size_t writer = writer_of(index);
    if (writer == kNone || memory_of(base) != base || is_read_after(writer, base)) return false;
    return writer == index || !step.keeps_base || !reads(steps_[writer], base);
  }
  bool may_write_over_input(const PlanStep& kernel, size_t index, int input) const {
    const auto is_it = [&](int slot) { return memory_of(slot) == input; };
    const auto is_view = [&](int slot) { return is_it(slot) && slot != input; };
    return kernel.outputs.size() == 1 && !is_read_after(index, input) &&
           std::none_of(kernel.arrays.begin(), kernel.arrays.end(), is_view) &&
           std::none_of(kernel.reads_elsewhere.begin(), kernel.reads_elsewhere.end(), is_it);
  }

  // What fails, if only for want of memory, leaves the inputs as they were.
  bool may_fail_after(size_t index) const {
    return std::any_of(steps_.begin() + static_cast<std::ptrdiff_t>(index) + 1, steps_.end(),
                       [](const PlanStep& step) {
                         const auto is_new = [](const PlannedOutput& output) { return output.home < 0; };
                         if (step.kernel)
                           return std::any_of(step.outputs.begin(), step.outputs.end(), is_new);
                         const bool is_scatter = step.node && step.node->op && step.node->is("scatter_nd");
                         if (replaces(step) && step.is_over_base && !is_scatter) return step.keeps_replaced;
                         return !step.keeps_views;
                       });
  }

  // From the value that is written back over the updates that it went through to the first that may be in the
  // input.
  bool find_home(PlannedWriteBack& write, bool may_keep) {
    const int input = static_cast<int>(write.input);
    const auto same_input = [&](const PlannedWriteBack& other) { return other.input == write.input; };
    if (!write.starts.empty() || std::count_if(write_backs_.begin(), write_backs_.end(), same_input) != 1)
      return false;
    std::vector<size_t> updates;
    for (int slot = write.slot; slot >= num_inputs_;) {
      const size_t s = producer_[at(slot)];
      if (s == kNone || memory_of(slot) != slot) return false;
      PlanStep& step = steps_[s];
      if (step.kernel) {
        if (!may_write_over_input(step, s, input) || may_fail_after(s)) return false;
        if (step.outputs[0].home >= 0) return false;  // another input's, which is given the same value
        step.outputs[0].home = input;
        return write.is_home = true;
      }
      if (!replaces(step) || !may_write_over_base(s)) return false;
      updates.push_back(s);
      slot = step.inputs[0];
      if (slot != input) continue;
      if (may_fail_after(s)) {
        if (!may_keep) return false;
        for (const size_t update : updates) steps_[update].keeps_replaced = true;
      }
      step.is_over_base = true;
      return write.is_home = true;
    }
    return false;
  }
};

}  // namespace

void plan_in_place(Program& program) { InPlace(program).run(); }

}  // namespace weft::compiler
