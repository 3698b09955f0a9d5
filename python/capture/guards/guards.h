// Guards: a flat program that checks a concrete state, in about a microsecond, and on the way loads into
// registers the objects that inputs and recipes are made of.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/objects/array_memory.h"
#include "capture/perform/state.h"
#include "capture/values/value.h"
#include "weft/sym.h"

namespace weft::capture {

// What an array must look like. Dimensions: a size, or ~k for symbol k (at least 2).
struct ArrayGuard {
  enum class Layout : uint8_t { C, Fortran, Other };
  DType dtype;
  Layout layout = Layout::C;
  bool writable = false;
  std::vector<int64_t> dims;
  bool is_tensor = false;  // a weft.Tensor
  Device device = {};
  std::vector<uint8_t> strides = {};  // Other: how the strides are related (relations_of_strides)
  std::string str() const;
};

enum class GuardOp : uint8_t {
  // Loads: register `dst` = …; they fail where there is nothing to load.
  Local,
  Stack,
  Extra,
  Pinned,
  Global,
  ModuleAttr,
  Attribute,
  InstanceDict,
  DictItem,
  TupleItem,
  ListItem,
  CellContents,
  TensorArray,
  Size,      // of the expression `imm` over sizes
  Computed,  // from numbers: operation `imm` of `a` and `b`, or what the function `object` gives for them
  MethodSelf,
  // Checks of register `a`.
  Is,
  Type,
  TypeVersion,
  Equal,
  Int,
  Float,
  Compared,  // a float: its comparison with a number, `imm` is 2 * Py_LT and so on, + 1 where it holds
  Length,
  Set,         // a set of the elements of the tuple `object`; imm: in this order
  CacheGives,  // a call of the cached function `object` with object2 = (arguments, keywords, result) gives
               // this result
  DictKeys,
  DictLacks,
  AttributeLacks,  // has no attribute `object`, of which Python's own lookup tells
  Array,
  Tensor,
  Same,
  NotSame,
  AllDistinct,  // the registers of set `imm`
  NoOverlap,
  SymInt,
  Unbound,
  FunctionCode,
  FunctionDefaults,
  FunctionKwDefaults,
  GlobalLacks,
  EmptyCell,
  GradMode,     // of this thread: imm is packed(grad_mode())
  RangeLeft,    // an iterator over a range, of which the range `object` is left
  EndsQuietly,  // or does not end where the state lets go of it
};

struct GuardStep {
  GuardOp op;
  int32_t dst = -1, a = -1, b = -1;
  int64_t imm = 0;
  PyObject* object = nullptr;  // kept alive by the program
  PyObject* object2 = nullptr;
};

// Objects the loads found. `owned` holds those that a load created.
struct Registers {
  std::vector<PyObject*> values;
  std::vector<Ref> owned;
  std::vector<int64_t> symbols;
};

class Guards {
 public:
  // True if the state satisfies every guard; fills the registers. Never leaves an exception set.
  bool check(std::span<const Frame> frames, Registers& registers) const;
  // Of the failing guard of the last check that failed, for WEFT_LOGS=recompiles.
  std::string explain_failure(std::span<const Frame> frames) const;
  std::vector<std::string> describe() const;
  int num_registers() const { return num_registers_; }

  // ---- building ----
  // The register of a source's object; appends the loads that are not there yet.
  int load(const SourceRef& source);
  void add(GuardStep step, std::string text);
  void is(const SourceRef& source, PyObject* object);
  void type(const SourceRef& source, PyTypeObject* type);
  int array(const SourceRef& source, ArrayGuard guard);
  void sym_guards(const SymEnv& env);
  PyObject* keep(PyObject* object);
  // The objects of these sources are different ones.
  void all_distinct(const std::vector<SourceRef>& sources);
  std::vector<ArrayGuard>& arrays() { return arrays_; }
  void set_num_symbols(int n) { num_symbols_ = n; }

 private:
  // Of a check that passed: what lies in dicts that have not changed since is not looked at again.
  struct Unchanged {
    struct Root {  // an object that the state holds
      GuardStep load;
      PyObject* object;
    };
    struct Dict {
      PyObject* owner = nullptr;  // the object whose __dict__ it is; null where a dict holds it
      PyObject* dict = nullptr;
      uint64_t version = 0;
    };
    bool is_known = false;
    int misses = 0;  // in a row
    std::vector<Root> roots;
    std::vector<Dict> dicts;
    std::vector<std::pair<int, PyObject*>> registers;
    std::vector<size_t> others;  // steps that are run all the same
  };
  bool is_unchanged(std::span<const Frame> frames) const;
  void remember(const Registers& registers) const;
  mutable Unchanged unchanged_;

  int failing_step(std::span<const Frame> frames, Registers& registers) const;
  bool run_load(const GuardStep& step, std::span<const Frame> frames, Registers& registers) const;
  bool run_check(const GuardStep& step, std::span<const Frame> frames, Registers& registers) const;

  std::vector<GuardStep> steps_;
  std::vector<size_t> cached_calls_;  // of steps_
  std::vector<std::string> texts_;    // beside steps_; empty for loads
  std::vector<ArrayGuard> arrays_;
  std::vector<std::vector<int>> sets_;  // of registers
  std::vector<Sym> sizes_;              // expressions that numbers are computed from
  std::vector<SymGuard> sym_guards_;
  std::vector<Ref> kept_;
  std::unordered_map<std::string, int> register_of_;
  std::unordered_map<std::string, bool> seen_;
  int num_registers_ = 0;
  int num_symbols_ = 0;
};

ArrayGuard::Layout layout_of(const ArrayMemory& memory);
// What NumPy decides by: which strides are 0, one element or negative, which of two is larger, and which
// dimensions could be one. Dimensions of size one say nothing.
std::vector<uint8_t> relations_of_strides(PyObject* array);
// True when the arrays may share memory (extent test).
bool arrays_overlap(PyObject* a, PyObject* b);

}  // namespace weft::capture
