#include "compiler/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "weft/error.h"

namespace weft::compiler {

Shape PlannedShape::evaluate(const std::vector<int64_t>& symbols) const {
  if (is_constant) return known;
  Shape shape(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) shape[d] = sizes[d].evaluate(symbols);
  return shape;
}

namespace {

// The slots that a step reads or hands to a kernel, and those that it fills.
std::vector<int> read_slots(const PlanStep& step) {
  std::vector<int> slots;
  const auto is_filled = [&](int slot) {
    return step.kernel && std::any_of(step.outputs.begin(), step.outputs.end(),
                                      [&](const PlannedOutput& output) { return output.slot == slot; });
  };
  for (const int slot : step.arrays)
    if (!is_filled(slot)) slots.push_back(slot);
  for (const int slot : step.inputs)
    if (slot >= 0) slots.push_back(slot);
  return slots;
}

std::vector<int> filled_slots(const PlanStep& step) {
  std::vector<int> slots = step.results;
  if (step.kernel)
    for (const PlannedOutput& output : step.outputs) slots.push_back(output.slot);
  return slots;
}

std::string slots_text(std::string_view label, const std::vector<int>& slots) {
  return slots.empty() ? "" : fmt::format(" {} {}", label, fmt::join(slots, " "));
}

std::string in_place_text(const PlanStep& step) {
  std::string text;
  for (const PlannedOutput& output : step.outputs) {
    if (output.home >= 0) text += fmt::format(" {} in the memory of input {}", output.slot, output.home);
    if (output.over >= 0) text += fmt::format(" {} over {}", output.slot, output.over);
  }
  if (step.is_over_base)
    text += step.keeps_replaced ? " over its base, of which it keeps the part" : " over its base";
  else if (step.takes_base)
    text += " takes its base";
  return text.empty() ? "" : ";" + text;
}

}  // namespace

std::string Program::str() const {
  std::string text = fmt::format("{} inputs, {} slots\n", num_inputs, num_slots);
  for (const PlanStep& step : steps)
    text += fmt::format("  {};{}{}{}{}\n", step.description, slots_text("reads", read_slots(step)),
                        slots_text("fills", filled_slots(step)), in_place_text(step),
                        slots_text("releases", step.released));
  for (const PlannedWriteBack& write : write_backs)
    text += fmt::format("  slot {} is written back to input {}{}\n", write.slot, write.input,
                        write.is_home ? ", in its memory" : "");
  return text + fmt::format("  results{}\n", slots_text("in", output_slots));
}

void verify(const Program& program) {
  std::set<int> filled;
  for (int slot = 0; slot < program.num_inputs; ++slot) filled.insert(slot);
  for (const auto& [slot, constant] : program.constants) filled.insert(slot);
  const auto require = [&](int slot, std::string_view use, std::string_view where) {
    WEFT_ASSERT(slot >= 0 && slot < program.num_slots && filled.count(slot),
                fmt::format("{}: slot {} {} is not filled: {}", program.name, slot, use, where));
  };
  for (const PlanStep& step : program.steps) {
    for (const int slot : read_slots(step)) require(slot, "that is read", step.description);
    for (const int slot : filled_slots(step)) filled.insert(slot);
    for (const PlannedOutput& output : step.outputs)
      if (output.over >= 0) require(output.over, "that is written over", step.description);
    for (const int slot : step.released) {
      require(slot, "that is released", step.description);
      filled.erase(slot);
    }
  }
  for (const int slot : program.output_slots) require(slot, "that is a result", "at the end");
  for (const PlannedWriteBack& write : program.write_backs)
    require(write.slot, "that is written back", "at the end");
}

bool replaces_part(const PlanStep& step) {
  if (!step.node || !step.node->op) return false;
  return step.node->is("slice_update") ||
         (step.node->is("scatter_nd") && !step.node->attrs.get_bool("accumulate"));
}

std::vector<int> filled_by(const PlanStep& step) {
  std::vector<int> slots = step.results;
  for (const PlannedOutput& output : step.outputs) slots.push_back(output.slot);
  return slots;
}

void release_slots(Program& program) {
  std::set<int> kept(program.output_slots.begin(), program.output_slots.end());
  for (const PlannedWriteBack& write : program.write_backs) kept.insert(write.slot);
  for (int slot = 0; slot < program.num_inputs; ++slot) kept.insert(slot);
  for (const auto& [slot, tensor] : program.constants) kept.insert(slot);
  std::set<int> seen;
  for (size_t s = program.steps.size(); s-- > 0;) {
    PlanStep& step = program.steps[s];
    std::vector<int> used = step.arrays;
    used.insert(used.end(), step.inputs.begin(), step.inputs.end());
    used.insert(used.end(), step.results.begin(), step.results.end());
    for (const int slot : used)
      if (slot >= 0 && !kept.count(slot) && seen.insert(slot).second) step.released.push_back(slot);
  }
}

void reuse_operands(Program& program) {
  for (PlanStep& step : program.steps) {
    if (!step.kernel || step.outputs.size() != 1) continue;
    for (const int slot : step.like_output)
      if (contains(step.released, slot) && !contains(step.reads_elsewhere, slot)) step.outputs[0].over = slot;
  }
}

void take_bases(Program& program) {
  const auto releases = [](const PlanStep& step, int slot) { return contains(step.released, slot); };
  for (size_t s = 0; s < program.steps.size(); ++s) {
    PlanStep& step = program.steps[s];
    if (step.is_update) {
      const PlanStep* next = s + 1 < program.steps.size() ? &program.steps[s + 1] : nullptr;
      const bool writes_part =
          next && next->kernel && step.results.size() == 2 && contains(next->arrays, step.results[1]);
      const int base = step.inputs[0];
      step.takes_base = step.takes_base && (releases(step, base) || (writes_part && releases(*next, base)));
    } else if (replaces_part(step)) {
      step.takes_base = releases(step, step.inputs[0]);
    }
  }
}

}  // namespace weft::compiler
