// A stretch of a function's operators, compiled.
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "frontend/variant.h"
#include "ir/graph.h"
#include "weft/ivalue.h"

namespace weft::jit {

class Code;

// A value taken apart: its tensors in order, and what is left, which compiled code takes as known.
struct Pattern {
  IValue value;  // a number, string, device or None; the list or tuple whose elements follow; what is copied
  bool is_tensor = false;
  bool is_copied = false;  // a result's tensor that depends on no input: every call makes its own
  std::vector<Pattern> elements;

  // NotImplementedError for a value that cannot be taken apart, an undefined tensor among them.
  static Pattern of(const IValue& value, std::vector<Tensor>& tensors);
  // Is the value the same but for its tensors? These are appended.
  bool matches(const IValue& value, std::vector<Tensor>& tensors) const;
  IValue build(std::span<const Tensor>& tensors) const;
  size_t hash() const;
};

struct StretchDefinition {
  std::unique_ptr<ir::Graph> graph;   // (values…) -> values…
  std::vector<size_t> must_be_false;  // inputs that, true, make an operator random or change its statistics
  std::vector<size_t> steady;  // inputs that are attributes, which nearly every call finds as they were
  bool compile_at_once = false;       // rather than when the same types come again
  std::string mode = "default";       // that it is compiled in (weft::CompileOptions)
};

// Thread-safe: while one thread compiles, others find nothing and interpret.
class Stretch {
 public:
  Stretch(StretchDefinition definition, std::string name);
  ~Stretch();

  // False where there is no compiled code for these inputs, or it failed: the operators are interpreted then,
  // and raise the error with the script's stack.
  bool run(std::span<const IValue* const> inputs, std::span<IValue> outputs) const;
  // No compiled code, now or later?
  bool is_idle() const {
    return is_closed_.load(std::memory_order_relaxed) && !specializations_[0].load(std::memory_order_relaxed);
  }
  size_t num_specializations() const;
  const std::string& name() const { return name_; }

 private:
  struct Specialization;
  const Specialization* specialize(std::span<const IValue* const> inputs) const;
  std::unique_ptr<const Specialization> compile(std::span<const IValue* const> inputs) const;
  void note_failure(const std::exception& error) const;
  bool is_expected(const std::vector<Pattern>& patterns, const std::vector<Tensor>& tensors) const;

  static constexpr size_t kMostSpecializations = 8;
  const StretchDefinition definition_;
  const std::string name_;
  mutable std::array<std::atomic<const Specialization*>, kMostSpecializations> specializations_{};
  mutable std::atomic<bool> is_closed_ = false;  // no more specializations are made
  mutable std::mutex mutex_;                     // of what follows: one thread compiles
  mutable std::vector<std::unique_ptr<const Specialization>> owned_;
  mutable std::unique_ptr<const Code> code_;  // of the graph, to be traced
  mutable frontend::DimensionHistory history_;
  mutable std::vector<size_t> missed_;  // hashes of inputs seen once
  mutable int failures_ = 0, misses_ = 0;
};

// (values…) -> (bool, values…): false, and no values, where the stretch did not run.
extern const ir::ScriptOp kStretch;
struct StretchPayload : ir::ScriptPayload {
  std::shared_ptr<const Stretch> stretch;
};

}  // namespace weft::jit
