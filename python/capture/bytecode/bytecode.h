// Code objects lowered to one small instruction set, the same for every supported CPython version.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/objects/py.h"

namespace weft::capture {

// Stack effects are CPython's, except that the two slots below a call's arguments are read in one way for
// all versions: (null, callable) or (callable, self-or-null).
enum class Op : uint8_t {
  Nop,
  PopTop,
  PushNull,
  Copy,
  Swap,
  LoadConst,
  LoadFast,
  LoadFastAndClear,
  StoreFast,
  DeleteFast,
  LoadGlobal,
  StoreGlobal,
  DeleteGlobal,
  MakeCell,
  LoadDeref,
  StoreDeref,
  DeleteDeref,
  LoadAttr,
  LoadMethod,
  StoreAttr,
  DeleteAttr,
  LoadSuperAttr,
  LoadSuperMethod,
  Negative,
  Positive,
  Not,
  Invert,
  ToBool,
  Binary,   // arg: NB_*
  Compare,  // arg: Py_LT…; arg2: 1 when the result is converted to bool
  Is,
  Contains,
  Subscript,
  StoreSubscript,
  DeleteSubscript,
  BinarySlice,
  StoreSlice,
  BuildTuple,
  BuildList,
  BuildSet,
  BuildMap,
  BuildConstKeyMap,
  BuildSlice,
  BuildString,
  BuildTemplate,       // 3.14
  BuildInterpolation,  // arg: conversion; arg2: 1 when a format specification is on the stack
  ListAppend,
  SetAdd,
  MapAdd,
  ListExtend,
  SetUpdate,
  DictUpdate,
  DictMerge,
  ListToTuple,
  Convert,  // arg: 1 str, 2 repr, 3 ascii
  Format,   // arg: conversion; arg2: 1 when a format specification is on the stack
  UnpackSequence,
  UnpackEx,
  GetIter,
  ForIter,  // exhausted: pops the iterator and goes to the target
  Jump,
  JumpBack,
  PopJumpIfTrue,
  PopJumpIfFalse,
  PopJumpIfNone,
  PopJumpIfNotNone,
  JumpIfTrueOrPop,
  JumpIfFalseOrPop,
  Call,    // arg: arguments; arg2: index of the keyword names among the constants, or -1
  CallKw,  // the keyword names are on the stack
  CallEx,
  MakeFunction,
  SetFunctionAttribute,
  ImportName,
  ImportFrom,
  LoadAssertionError,
  LoadBuildClass,
  Return,
  Raise,
  Reraise,
  PushExcInfo,
  PopExcept,
  CheckExcMatch,
  WithExceptStart,
  BeforeWith,
  Yield,  // of a generator: the value; what is sent back is always None
  Send,   // `yield from`: the next element, or the value of an iterator at its end, and on to the target
  StopIterationError,  // 3.12: a StopIteration that leaves a generator becomes a RuntimeError
  GetLen,
  MatchMapping,
  MatchSequence,
  MatchKeys,
  MatchClass,
  Unsupported,
};

struct Instruction {
  Op op;
  int32_t arg = 0;  // operand; for jumps the index of the target instruction
  int32_t arg2 = 0;
  int32_t offset = 0;  // in bytes, in the code object
};

struct Handler {
  int32_t start, end;  // byte offsets
  int32_t target;      // instruction index
  int32_t depth;
  bool push_lasti;
  int32_t depth_of_cpython;  // hidden slots counted
};

// A decoded code object. Lives as long as the process, as does the code object it holds.
struct Code {
  Ref object;
  std::vector<Instruction> instructions;
  std::vector<Handler> handlers;
  std::vector<Ref> constants;
  std::vector<Ref> names;
  std::vector<Ref> local_names;  // of the locals, cells and free variables, in slot order
  int num_locals = 0;            // slots: locals, cells and free variables
  int num_free = 0;
  int positional = 0, positional_only = 0, keyword_only = 0;
  bool var_args = false, var_keywords = false;
  bool is_generator = false;  // a plain one, with its instructions decoded
  bool iterates_argument = false;  // 3.15: a generator expression, whose call makes an iterator of its argument
  // live[i]: which slots may still be read at instruction i (bit per slot; all set beyond 64 slots).
  std::vector<uint64_t> live;
  std::vector<int> lines;  // per instruction
  // Per instruction that has such: slots, from the bottom, above which CPython's stack has a null that ours does not.
  std::unordered_map<int, std::vector<int>> null_above;
  // Not empty when functions with this code are always called as they are: why.
  std::string unsupported;

  PyCodeObject* code() const { return reinterpret_cast<PyCodeObject*>(object.get()); }
  std::string name() const;
  std::string file() const;
  int line(int instruction) const;
  // The slot still matters at the instruction: a later path reads it.
  bool is_live(int instruction, int slot) const {
    return slot >= 64 || (live[static_cast<size_t>(instruction)] >> slot & 1) != 0;
  }
  const Handler* find_handler(int offset) const;
};

// Decodes, once per code object.
const Code& decode(PyCodeObject* code);
// Does the instruction go, always or sometimes, to the one that `arg` numbers?
bool is_jump(Op op);
std::string_view op_name(Op op);

}  // namespace weft::capture
