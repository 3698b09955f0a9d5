// Calls that other processes are needed for, begun and waited for with other steps between.
//
// One walk over the program. A step that needs the result of a call that is under way comes later, and so
// does what needs that one; all else is done at once. The call is waited for when a step that has a place in
// the order of effects needs it, or when as many steps have changed places as a run may hold the memory of.
// Fusion has made the kernels before, so that a residual and a norm behind a collective are one.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <set>

#include "compiler/program.h"
#include "ops/effects.h"
#include "passes/analysis.h"
#include "runtime/log.h"

namespace weft::compiler {
namespace {

constexpr size_t kMostChanges = 32;  // steps that come later than they stood, or before such

bool has_parts(const PlanStep& step) {
  return step.node && step.node->op && step.node->op->begin && !step.has_symbols && !step.through &&
         !step.prepared && step.device.type == DeviceType::CPU && !contains(step.inputs, -1);
}

class Overlap {
 public:
  explicit Overlap(Program& program) : program_(program) {}

  void run() {
    if (std::none_of(program_.steps.begin(), program_.steps.end(), has_parts)) return;
    std::vector<PlanStep> steps = std::move(program_.steps);
    program_.steps.clear();
    bool is_next = false;  // an update's kernel stands behind it
    for (PlanStep& step : steps) {
      const bool is_update = step.is_update;
      place(std::move(step), is_next);
      is_next = is_update;
    }
    while (!under_way_.empty()) wait_for_oldest();
  }

 private:
  struct UnderWay {
    PlanStep whole;
    size_t call, begun_at;  // `begun_at`: the step
  };

  Program& program_;
  std::deque<UnderWay> under_way_;
  std::vector<PlanStep> late_;  // in the program's order
  std::set<int> awaited_;       // slots that what is under way, or late, will fill
  size_t num_before_late_ = 0;

  // A kernel's arrays are those that it fills, too.
  bool needs_awaited(const PlanStep& step) const {
    const std::vector<int> filled = filled_by(step);
    const auto is_awaited = [&](int slot) { return awaited_.count(slot) > 0 && !contains(filled, slot); };
    return std::any_of(step.arrays.begin(), step.arrays.end(), is_awaited) ||
           std::any_of(step.inputs.begin(), step.inputs.end(), is_awaited);
  }
  // It stays where it is among all others.
  static bool keeps_place(const PlanStep& step) {
    if (step.is_update || step.part) return true;
    return step.node && (passes::has_effects(*step.node) || ops::refuses_by_value(*step.node->op));
  }

  void place(PlanStep&& step, bool is_next) {
    if (has_parts(step)) {
      while (needs_awaited(step)) wait_for_oldest();
      return begin(std::move(step));
    }
    if (is_next || keeps_place(step)) {
      const bool writes = step.node && passes::writes_memory(*step.node);
      while (!late_.empty() || needs_awaited(step) || (writes && !under_way_.empty())) wait_for_oldest();
      program_.steps.push_back(std::move(step));
    } else if (needs_awaited(step)) {
      for (const int slot : filled_by(step)) awaited_.insert(slot);
      late_.push_back(std::move(step));
      if (late_.size() == kMostChanges) wait_for_oldest();
    } else {
      program_.steps.push_back(std::move(step));
      if (!late_.empty() && ++num_before_late_ == kMostChanges) wait_for_oldest();
    }
  }

  void begin(PlanStep&& whole) {
    PlanStep step = whole;
    step.call_part = CallPart::Begin;
    step.call = program_.num_calls_in_parts++;
    step.results.clear();
    step.description = "begin " + whole.description;
    for (const int slot : whole.results) awaited_.insert(slot);
    under_way_.push_back({std::move(whole), step.call, program_.steps.size()});
    program_.steps.push_back(std::move(step));
  }

  // And then the late steps that need nothing else.
  void wait_for_oldest() {
    UnderWay oldest = std::move(under_way_.front());
    under_way_.pop_front();
    for (const int slot : oldest.whole.results) awaited_.erase(slot);
    const size_t between = program_.steps.size() - oldest.begun_at - 1;
    if (between == 0) {
      program_.steps.back() = std::move(oldest.whole);
    } else {
      note(oldest);
      PlanStep step = std::move(oldest.whole);
      step.call_part = CallPart::Wait;
      step.call = oldest.call;
      step.description = "wait for " + step.description;
      program_.steps.push_back(std::move(step));
    }
    num_before_late_ = 0;
    std::vector<PlanStep> late = std::move(late_);
    late_.clear();
    for (PlanStep& step : late) {
      if (needs_awaited(step)) {
        late_.push_back(std::move(step));
        continue;
      }
      for (const int slot : filled_by(step)) awaited_.erase(slot);
      program_.steps.push_back(std::move(step));
    }
  }

  void note(const UnderWay& call) const {
    if (!log::enabled(log::Channel::Fusion)) return;
    std::string text = fmt::format("{}: {} is under way during", program_.name, call.whole.description);
    for (size_t s = call.begun_at + 1; s < program_.steps.size(); ++s)
      text += fmt::format("{} {}", s == call.begun_at + 1 ? "" : ",", program_.steps[s].name);
    log::write(log::Channel::Fusion, text);
  }
};

}  // namespace

void overlap_calls(Program& program) { Overlap(program).run(); }

}  // namespace weft::compiler
