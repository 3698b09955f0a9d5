// What a graph becomes: a list of steps over slots, each a kernel or an operator call.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/print_cpp.h"
#include "compiler/compiled_graph.h"
#include "core/backend.h"
#include "ir/graph.h"

namespace weft::compiler {

// A size or stride known when the plan is made, or computed from the symbols at each run.
struct PlannedShape {
  SymShape sizes;
  Shape known;  // all sizes, where they are constant
  bool is_constant = false;
  Shape evaluate(const std::vector<int64_t>& symbols) const;
};

struct PlannedOutput {
  int slot;
  DType dtype;
  Device device;
  PlannedShape shape;
  int home = -1;  // the input that it is written back to, and whose memory it may take at once
  int over = -1;  // an operand of this type that nothing uses later: its memory, where no other tensor has it
};

// Elements of the last dimension, from `first` on.
struct PlannedPart {
  PlannedOutput whole;
  int64_t first, count;
};

// Of an operator call that others are needed for: all of it, or a part of it, with other steps between.
enum class CallPart : uint8_t { Whole, Begin, Wait };

struct PlanStep {
  Device device;  // where it runs
  // A kernel …
  std::shared_ptr<const DeviceKernel> kernel;
  std::vector<int> arrays;             // slots, in the kernel's order
  std::vector<PlannedOutput> outputs;  // allocated before it runs
  std::vector<int> reads_elsewhere;    // at other positions than the kernel writes
  std::vector<int> like_output;        // operands of the type of its one output
  // … or an operator call.
  const ir::Node* node = nullptr;
  ops::Attrs attrs;
  bool has_symbols = false;             // among the attributes
  const ops::OpDef* through = nullptr;  // what is computed of inputs[0] first
  ops::PreparedFn prepared;  // instead of `node`, where the operator has work that one preparation does
  bool is_checked =
      false;  // all sizes were known when the graph was made: its check of the operands has been passed
  std::vector<int> inputs;  // -1: absent
  std::vector<int> results;
  // Both parts have the operands, which stay what they are until the second, and the second has the results.
  CallPart call_part = CallPart::Whole;
  size_t call = 0;  // of a part: which of the program's calls in parts
  // … or room for what replaces a part of inputs[0], and a copy of the rest; `outputs`: the result, and the
  // part, which is filled from inputs[1] or, where there is none, by a kernel.
  bool is_update = false;
  std::vector<std::pair<size_t, Sym>> starts;
  // Of an update, and of an operator call that gives inputs[0] with something replaced: nothing uses
  // inputs[0] later. Where no other tensor has its memory either, the result is written there.
  bool takes_base = false;
  bool keeps_base = false;  // the kernel that writes the part reads the base elsewhere
  // The same, and no other tensor has its memory: it is the result of an earlier step, or an input that is
  // written back.
  bool is_over_base = false;
  // Over an input, and a later step may fail: what is replaced is kept until the end of the run.
  bool keeps_replaced = false;

  // … whose result is a part of a slot's tensor: these channels of a concatenation.
  std::optional<PlannedPart> part;

  bool keeps_views = false;  // a view: its result need not be contiguous

  std::vector<int> released;  // slots whose last use this is
  std::string description;

  // For the profiler.
  const char* name = "";   // the kernel's or the operator's, for the rest of the process
  const char* place = "";  // in the program, a call per line
  Sym kernel_bytes = 0, kernel_operations = 0;
  DType arithmetic = DType::F32;
};

struct PlannedWriteBack {
  size_t input;
  int slot;
  std::vector<std::pair<size_t, Sym>> starts;  // of the part that is written; none: all
  bool is_home = false;                        // computed in the input's memory, where that may be
};

// Of an operator that gives its first operand with another one in place of a part: slice_update, or
// scatter_nd that does not add.
bool replaces_part(const PlanStep& step);
// The slots of its results and of what its kernel writes.
std::vector<int> filled_by(const PlanStep& step);

inline bool contains(const std::vector<int>& slots, int slot) {
  return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

struct SymbolSource {
  int symbol;
  size_t input, dim;
};

// The slots of the inputs are the first.
struct Program {
  std::string name;  // the graph's
  std::vector<PlanStep> steps;
  std::vector<std::pair<int, Tensor>> constants;
  std::vector<int> output_slots;
  std::vector<Tensor> given_constants;  // those that outputs are, or are views of
  std::vector<PlannedWriteBack> write_backs;
  std::vector<SymbolSource> symbol_sources;
  bool bind_with_graph = false;  // symbols that are not plain sizes
  int num_inputs = 0;
  int num_slots = 0;
  size_t num_calls_in_parts = 0;
  std::vector<KernelInfo> kernels;

  // A line per step: what it does, the slots that it reads, writes and releases, and where it writes in
  // place.
  std::string str() const;
};

// Throws an internal error unless every slot is written before it is read and not read after its release.
void verify(const Program& program);

// ---- stages over programs (stages.cc lists them) ----

// Calls of all ranks (ops::OpDef::begin) are begun where they stand and waited for where their results are
// used; what needs neither is done between. They begin in the program's order, as all other effects.
void overlap_calls(Program& program);

// Slots are emptied after the last step that uses them; inputs and results stay.
void release_slots(Program& program);
// A kernel may write its result over an operand that it reads at the same positions and nothing reads later.
void reuse_operands(Program& program);
// An update may write to its base's memory if nothing reads the base later but the kernel that writes the
// part.
void take_bases(Program& program);
// Which steps write over what nothing needs any more: over a base, or over an input that is written back
// (is_over_base, home, is_home).
void plan_in_place(Program& program);

}  // namespace weft::compiler
