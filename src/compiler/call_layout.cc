#include "compiler/call_layout.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "ir/symbols.h"
#include "ops/registry.h"

namespace weft::compiler {
namespace {

constexpr int64_t kAlignment = 64;

bool is_view(const PlanStep& step) {
  return step.node && step.node->op && step.node->op->kind == ops::OpKind::View && step.inputs.size() == 1 &&
         step.results.size() == 1 && !step.through;
}
// Its last operand is where the result goes.
bool writes_where_told(const PlanStep& step) {
  return step.prepared && !step.part && !step.through &&
         (step.node->is("linear_fused") || step.node->is("conv2d_channels_last"));
}
// Its results may look at its operands' memory.
bool may_alias(const PlanStep& step) {
  if (step.kernel || writes_where_told(step)) return false;
  if (step.is_update) return true;
  const ops::OpKind kind = step.node->op->kind;
  return kind != ops::OpKind::Pointwise && kind != ops::OpKind::Reduction && kind != ops::OpKind::Creation;
}

// Free ranges of the arena, which grows at its end.
class Ranges {
 public:
  int64_t take(int64_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
    if (best == free_.end()) {
      // The last range may be a free one that is too small.
      const auto last = free_.empty() ? free_.end() : std::prev(free_.end());
      const bool at_end = last != free_.end() && last->first + last->second == end_;
      const int64_t first = at_end ? last->first : end_;
      if (at_end) free_.erase(last);
      end_ = first + bytes;
      return first;
    }
    const auto [first, size] = *best;
    free_.erase(best);
    if (size > bytes) free_[first + bytes] = size - bytes;
    return first;
  }
  void give_back(int64_t first, int64_t bytes) {
    auto next = free_.lower_bound(first);
    if (next != free_.end() && first + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == first) {
        before->second += bytes;
        return;
      }
    }
    free_[first] = bytes;
  }
  int64_t end() const { return end_; }

 private:
  std::map<int64_t, int64_t> free_;  // first byte -> bytes
  int64_t end_ = 0;
};

class Layouter {
 public:
  Layouter(const Program& program, const std::vector<int64_t>& symbols)
      : program_(program),
        symbols_(symbols),
        memory_(at(program.num_slots)),
        is_elsewhere_(at(program.num_slots)),
        shadows_(at(program.num_slots)) {}

  CallLayout run() {
    find_shared_memory();
    layout_.slots.resize(at(program_.num_slots));
    for (const auto& [slot, tensor] : program_.constants) {
      layout_.slots[at(slot)].constant = tensor;
      shadows_[at(slot)] = tensor;
    }
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      const PlanStep& step = program_.steps[s];
      layout_.copies.emplace_back();
      layout_.work.push_back(work_of(step, s));
      for (const int slot : step.released) shadows_[at(slot)] = Tensor();
    }
    place_blocks();
    return std::move(layout_);
  }

 private:
  struct Block {
    int64_t bytes;
    size_t step;     // that fills it
    int over = -1;   // an operand's slot, whose memory it may take
    size_t end = 0;  // the last step that reads it
  };

  const Program& program_;
  const std::vector<int64_t>& symbols_;
  std::vector<int> memory_;         // by slot: one that stands for all that may share memory through views
  std::vector<bool> is_elsewhere_;  // by what stands for it: others get to see it
  std::vector<Tensor> shadows_;     // values of the right sizes, for views
  std::vector<Block> blocks_;
  CallLayout layout_;

  int memory_of(int slot) const {
    while (memory_[at(slot)] != slot) slot = memory_[at(slot)];
    return slot;
  }
  void share(int slot, int other) { memory_[at(memory_of(slot))] = memory_of(other); }

  // Results have memory of their own, as have the bases of updates: whether they are written over is known
  // when they come.
  void find_shared_memory() {
    std::iota(memory_.begin(), memory_.end(), 0);
    for (const PlanStep& step : program_.steps) {
      if (is_view(step)) share(step.results[0], step.inputs[0]);
      if (step.is_update)
        for (const int slot : filled_by(step)) share(slot, step.inputs[0]);
    }
    const auto leave = [&](int slot) { is_elsewhere_[at(memory_of(slot))] = true; };
    for (const int slot : program_.output_slots) leave(slot);
    for (int slot = 0; slot < program_.num_inputs; ++slot) leave(slot);
    for (const PlanStep& step : program_.steps) {
      if (step.is_update || step.takes_base || step.is_over_base) leave(step.inputs[0]);
      if (step.part) leave(step.part->whole.slot);
      for (const PlannedOutput& output : step.outputs)
        if (output.home >= 0) leave(output.slot);
    }
  }

  bool may_be_fixed(int slot) const { return !is_elsewhere_[at(memory_of(slot))]; }

  FixedValue new_block(const Shape& shape, DType dtype, size_t step, int over = -1) {
    FixedValue value;
    value.block = static_cast<int>(blocks_.size());
    value.dtype = dtype;
    value.shape = shape;
    value.strides = contiguous_strides(shape);
    const int64_t bytes = numel(shape) * itemsize(dtype);
    blocks_.push_back({std::max((bytes + kAlignment - 1) / kAlignment, int64_t{1}) * kAlignment, step, over});
    return value;
  }
  void set_fixed(int slot, const Shape& shape, DType dtype, size_t step, int over = -1) {
    layout_.slots[at(slot)] = new_block(shape, dtype, step, over);
    shadows_[at(slot)] = Tensor::empty(shape, dtype);
  }

  StepWork work_of(const PlanStep& step, size_t s) {
    if (step.kernel) {
      for (const PlannedOutput& output : step.outputs)
        if (may_be_fixed(output.slot))
          set_fixed(output.slot, output.shape.evaluate(symbols_), output.dtype, s, output.over);
      return StepWork::Kernel;
    }
    if (step.is_update || step.takes_base || step.is_over_base || step.part || step.through ||
        step.call_part != CallPart::Whole)
      return StepWork::AsPlanned;
    if (writes_where_told(step) && may_be_fixed(step.results[0])) {
      const ops::TensorType& type = step.node->outputs[0]->tensor();
      set_fixed(step.results[0], ir::evaluate(type.shape, symbols_), type.dtype, s);
      return StepWork::CallInto;
    }
    if (!is_view(step)) return StepWork::Call;
    if (layout_.slots[at(step.inputs[0])].is_fixed()) return work_of_fixed_view(step, s);
    return step.keeps_views && may_be_fixed_view(step) ? StepWork::View : StepWork::Call;
  }

  // Nobody keeps it: it is not among the results.
  bool may_be_fixed_view(const PlanStep& step) const {
    const int memory = memory_of(step.results[0]);
    return std::none_of(program_.output_slots.begin(), program_.output_slots.end(),
                        [&](int slot) { return memory_of(slot) == memory; });
  }

  StepWork work_of_fixed_view(const PlanStep& step, size_t s) {
    const Tensor& operand = shadows_[at(step.inputs[0])];
    const FixedValue& from = layout_.slots[at(step.inputs[0])];
    const Tensor result = ops::call(*step.node->op, {{operand}, ir::evaluate(step.attrs, symbols_)}).at(0);
    const bool is_copy = result.storage() != operand.storage();
    const bool in_order = step.keeps_views || result.is_contiguous();
    FixedValue value = fixed_view(from, operand, result);
    if (!is_copy && in_order && value.first_byte % itemsize(result.dtype()) == 0) {
      layout_.slots[at(step.results[0])] = std::move(value);
      shadows_[at(step.results[0])] = result;
      return StepWork::None;
    }
    const bool keeps_order = step.node->is("reshape");
    const bool can_copy =
        is_copy ? keeps_order : !in_order && value.first_byte % itemsize(result.dtype()) == 0;
    if (!can_copy || !may_be_fixed(step.results[0])) return StepWork::Call;
    FixedCopy& copy = layout_.copies[s];
    copy.from = is_copy ? from : std::move(value);
    const Shape shape = is_copy ? operand.shape() : result.shape();
    if (copy.from.constant.defined()) copy.from.constant = is_copy ? operand : result;
    set_fixed(step.results[0], result.shape(), result.dtype(), s);
    copy.to = layout_.slots[at(step.results[0])];
    copy.to.shape = shape;
    copy.to.strides = contiguous_strides(shape);
    return StepWork::Copy;
  }

  static FixedValue fixed_view(const FixedValue& from, const Tensor& operand, const Tensor& result) {
    FixedValue value = from;
    if (from.constant.defined()) {
      value.constant = result;
      return value;
    }
    value.dtype = result.dtype();
    value.shape = result.shape();
    value.strides = result.strides();
    value.first_byte +=
        result.offset() * itemsize(result.dtype()) - operand.offset() * itemsize(operand.dtype());
    return value;
  }

  // By slot: the last step that may read the memory of its value.
  std::vector<size_t> last_uses() const {
    std::vector<size_t> last(at(program_.num_slots), 0);
    const auto use = [&](int slot, size_t step) {
      if (slot >= 0) last[at(slot)] = std::max(last[at(slot)], step);
    };
    for (const int slot : program_.output_slots) use(slot, program_.steps.size());
    for (const PlannedWriteBack& write : program_.write_backs) use(write.slot, program_.steps.size());
    for (size_t s = program_.steps.size(); s-- > 0;) {
      const PlanStep& step = program_.steps[s];
      std::vector<int> read = step.arrays;
      read.insert(read.end(), step.inputs.begin(), step.inputs.end());
      const std::vector<int> filled = filled_by(step);
      for (const int slot : read) use(slot, s);
      for (const int slot : filled) use(slot, s);
      if (!may_alias(step) || layout_.work[s] == StepWork::Copy) continue;
      for (const int slot : filled)
        for (const int from : read) use(from, last[at(slot)]);
    }
    return last;
  }

  void place_blocks() {
    const std::vector<size_t> last = last_uses();
    for (size_t slot = 0; slot < layout_.slots.size(); ++slot)
      if (const int block = layout_.slots[slot].block; block >= 0)
        blocks_[at(block)].end = std::max(blocks_[at(block)].end, last[slot]);
    std::vector<std::vector<size_t>> ending(program_.steps.size() + 1);
    for (size_t b = 0; b < blocks_.size(); ++b) ending[blocks_[b].end].push_back(b);
    layout_.block_at.resize(blocks_.size());
    Ranges ranges;
    for (size_t b = 0, s = 0; s < program_.steps.size(); ++s) {
      std::vector<int> taken;  // blocks of operands
      for (; b < blocks_.size() && blocks_[b].step == s; ++b) {
        const int operand = operand_under(blocks_[b]);
        if (operand >= 0 && std::find(taken.begin(), taken.end(), operand) == taken.end()) {
          layout_.block_at[b] = layout_.block_at[at(operand)];
          taken.push_back(operand);
        } else {
          layout_.block_at[b] = ranges.take(blocks_[b].bytes);
        }
      }
      for (const size_t ended : ending[s])
        if (std::find(taken.begin(), taken.end(), static_cast<int>(ended)) == taken.end())
          ranges.give_back(layout_.block_at[ended], blocks_[ended].bytes);
    }
    layout_.arena_bytes = ranges.end();
  }

  // The block of the operand that the kernel's one result may be written over, or -1.
  int operand_under(const Block& block) const {
    if (block.over < 0) return -1;
    const FixedValue& operand = layout_.slots[at(block.over)];
    if (operand.block < 0 || operand.first_byte != 0) return -1;
    const Block& under = blocks_[at(operand.block)];
    if (under.end != block.step || under.bytes != block.bytes) return -1;
    if (operand.strides != contiguous_strides(operand.shape)) return -1;
    const std::vector<int>& arrays = program_.steps[block.step].arrays;
    const auto is_other = [&](int slot) {
      return slot != block.over && layout_.slots[at(slot)].block == operand.block;
    };
    return std::any_of(arrays.begin(), arrays.end(), is_other) ? -1 : operand.block;
  }
};

}  // namespace

CallLayout lay_out(const Program& program, const std::vector<int64_t>& symbols) {
  return Layouter(program, symbols).run();
}

}  // namespace weft::compiler
