// One compiled version of a segment: guards, a graph, and how to rebuild Python's state from its outputs.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/guards/guards.h"
#include "capture/perform/state.h"
#include "core/grad_mode.h"
#include "ir/graph.h"
#include "ir/trace.h"
#include "ops/autocast.h"
#include "weft/error.h"

namespace weft::capture {

// Rebuilds one object or performs one deferred side effect. Operands and results are slots: first the guards'
// registers, then the results of steps.
struct BuildStep {
  enum class Op : uint8_t {
    Const,
    Output,
    SymInt,
    Tuple,
    List,
    Dict,
    Slice,
    Function,
    Method,
    Bound,
    DictView,
    Cell,
    IterSequence,
    IterReversed,  // of a list, at `imm`
    IterAdvanced,  // of what method `object` of a dict gives, or of a set, `imm` elements on
    IterRange,
    IterEnumerate,
    IterZip,
    Instance,
    Exception,
    Handled,
    Generator,
    Set,
    Tensor,  // over an array's memory
    SetList,
    AppendToList,
    SetDict,
    SetAttribute,
    SetCell,
    SetGlobal,
    SetHandled,
    SetAutocast,
    SetGradMode,
  };
  Op op;
  int dst = -1;
  std::vector<int> args;  // -1: null
  Ref object, object2;
  int64_t imm = 0;
  Sym sym;
  Flavor flavor = Flavor::NdArray;
  WeakKind weak = WeakKind::Float;
  bool is_tensor = false;      // Output: a weft.Tensor, not an array of NumPy's
  bool requires_grad = false;  // Output that is a tensor: the flag
  bool is_array = false;       // Output: an array of weft.numpy
  bool is_scalar = false;      // Output: a Python bool, int or float
  std::vector<int64_t> order;  // Output in NumPy's memory order: the axes of the result that its own are
  int root = -1;               // Output: arrays of one root may share memory, others must not; -1: an input's
  int input = -1;              // Output: `views` are taken of this graph input when it has been updated
  bool is_of_root =
      false;  // the output is what all arrays of this root look at, and `views` what to take of it
  std::vector<int64_t> root_order;  // the order of the root's memory; empty: C order
  ir::ViewSteps views;
  bool is_view = false;       // Output: of another array's memory; others are in one piece
  bool has_base = false;      // Output: NumPy has another array that owns the memory
  bool is_read_only = false;  // Output: NumPy lets nobody write through it
  ops::Autocast autocast = {};
  GradMode grad_mode = {};
  bool shares_root = false;  // Output: another result looks at the same memory, so this one cannot be copied
};

struct GraphInput {
  enum class Type : uint8_t { Array, Tensor, NumpyScalar, Float, Int, Sym } type;
  int reg;  // -1 for Sym
  DType dtype;
  Sym sym = {};  // the value of an expression over sizes
};

struct FrameRecipe {
  const Code* code;
  Ref globals, builtins;
  int ip;
  OnReturn on_return;
  int extra = -1;
  std::vector<int> locals, stack;  // slots
  // Of the locals, those that nothing reads any more: they stay where the program would see their end.
  std::vector<bool> fading;
};

// Something that runs a graph: compiled, or the reference interpreter where nothing can compile.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual std::vector<Tensor> run(const std::vector<Tensor>& inputs) const = 0;
};

struct KernelSummary {
  std::string name, source;
  double compile_ms = 0;
  bool from_cache = false;
};
// A loop of which the graph holds many rounds.
struct UnrolledLoop {
  const Code* code;
  int head, rounds;
  std::string why;  // it is not native
};

// Of a generator that a graph draws from: what an input or a constant says.
struct DrawnHandle {
  int input;  // -1: the constant
  Tensor constant;
};

// Thrown when the graph cannot be computed for the values it met (an index out of range). Graphs change their
// inputs when all is computed, so the state is as it was.
struct GraphFailed {
  ErrorKind kind;
  std::string message;
};

class Variant {
 public:
  Guards guards;
  std::unique_ptr<ir::Graph> graph;        // as captured; owns the symbols of guards and recipes
  std::shared_ptr<Executable> executable;  // null when there is nothing to compute
  Device device;                           // on which the graph is computed
  std::vector<Device> result_devices;      // where its results lie for the program; empty: all on the host
  std::vector<GraphInput> inputs;
  std::vector<int> held_registers;  // kept alive while the graph runs
  std::vector<BuildStep> steps;
  int num_slots = 0;  // registers included
  bool returns = false;
  bool enters_plain_loop = false;   // ends at the head of a loop that Python performs
  bool enters_loop = false;         // ends at the head of a loop that is native code
  bool ends_planned = false;        // ends before what is no array work of Python's (GraphBreak::is_planned)
  bool is_last = false;             // Python performs all that follows (GraphBreak::is_last)
  int result = -1;                  // slot, when it returns
  std::vector<FrameRecipe> frames;  // the state at the break otherwise

  // Did something leave the graph that Python performs?
  bool is_broken() const { return !returns && !enters_loop && !ends_planned; }

  // For people.
  std::string break_reason, break_file;
  int break_line = 0;
  int num_nodes = 0;
  std::vector<KernelSummary> kernels;
  std::vector<UnrolledLoop> unrolled;
  double capture_ms = 0, compile_ms = 0;
  mutable double run_ms = 0;
  mutable int64_t runs = 0;
  mutable std::optional<std::vector<DrawnHandle>> drawn_handles;  // once it has run

  // The guards have passed and filled `registers`. Gives the returned value, or null after replacing `state`.
  // Throws GraphFailed; WarningRaised (float_warnings.h), the state one where a handler begins.
  Ref run(Registers& registers, State& state) const;
  // What it returns with tensors on 'meta' for arrays: nothing is computed. Throws Error.
  Ref run_on_meta(Registers& registers) const;

  // How often NumPy was asked in vain for warnings, in a row, since their filters last changed
  // (float_warnings.h), and how many runs that raise flags pass before it is asked again.
  mutable int vain_questions = 0;
  mutable std::atomic<int64_t> passes{0};
  mutable int64_t asked_under = 0;
};

}  // namespace weft::capture
