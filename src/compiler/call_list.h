// A plan prepared for runs of the same sizes: kernels with their addresses filled in, operators with their
// operands, views that need not be taken again. Results have memory of their own in each run.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "compiler/call_layout.h"
#include "compiler/plan.h"

namespace weft::compiler {

// Used by one run at a time.
class CallList {
 public:
  CallList(const Plan& plan, const std::vector<int64_t>& symbols, bool at_home);
  CallList(const CallList&) = delete;
  CallList& operator=(const CallList&) = delete;

  bool is_for(const std::vector<int64_t>& symbols, bool at_home) const {
    return run_.at_home == at_home && run_.symbols == symbols;
  }
  std::vector<Tensor> run(const std::vector<Tensor>& inputs);
  // False once somebody holds memory of the arena: then it is theirs.
  bool is_reusable() const { return !arena_ || arena_.use_count() == num_owners_; }
  std::string str() const;

 private:
  struct Call {
    StepWork work;
    const PlanStep* step;
    std::vector<void*> arrays;                    // Kernel
    std::vector<Tensor> operands;                 // CallInto, Call
    std::vector<std::pair<size_t, int>> from;     // of these, those of each run, and their slots
    std::vector<const PlannedOutput*> allocated;  // Kernel: results that are not in the arena
    ops::Attrs attrs;                             // Call
    bool is_checked = false;
    Tensor to, source;  // Copy
    // View: what it made last time of an operand in these strides; no memory of the operand while no run
    // has one.
    std::shared_ptr<TensorImpl> view;
    Strides operand_strides;
    int64_t bytes_in = 0;
    std::vector<int> released;
    std::vector<size_t> released_views;  // the calls that made them
  };

  const Plan& plan_;
  Plan::Run run_;  // slots that change are empty between runs
  std::vector<Call> calls_;
  std::vector<int> changing_;  // slots
  std::shared_ptr<Storage> arena_;
  long num_owners_ = 0;

  Tensor bound(const FixedValue& value, const CallLayout& layout) const;
  Call made(size_t step, const CallLayout& layout) const;
  void find_released();
  void perform(Call& call);
  void launch(Call& call);
  void call_operator(Call& call);
  void take_view(Call& call);
  void release(Call& call);
  static void forget(std::shared_ptr<TensorImpl>& view);
  void clear() noexcept;
};

// The lists of a plan that no run uses at the moment.
class CallLists {
 public:
  // One for these sizes; null when they come for the first time, and where there is none to be had.
  std::unique_ptr<CallList> take(const Plan& plan, const std::vector<int64_t>& symbols, bool at_home);
  void give_back(std::unique_ptr<CallList> list);
  std::string str() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<CallList>> idle_;  // the one used last at the end
  std::vector<std::pair<std::vector<int64_t>, bool>> seen_;
  int num_lost_ = 0;
};

}  // namespace weft::compiler
