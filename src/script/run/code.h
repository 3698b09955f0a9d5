// A function's graph as instructions over a file of registers, one for each value of the graph.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "script/builtins/builtin.h"
#include "weft/jit/module.h"

namespace weft::jit {

struct FunctionImpl;

// Instructions name their operands by number; `dst` is the register of the result. The ones for numbers and
// lists do what the builtin of that name does, without a call.
enum class OpCode : uint16_t {
  // Control. Jump targets are in `dst`.
  Jump,
  JumpUnless,
  LoopHead,
  LoopNext,
  Return,
  // dst = a
  Move,
  Drop,
  CallBuiltin,
  CallFunction,
  CallMethod,
  Fork,
  GetSlot,
  SetSlot,
  GetAttribute,
  SetAttribute,
  CreateObject,
  MakeList,
  MakeDict,
  MakeTuple,
  UnpackTuple,
  TupleIndex,
  TupleSlice,
  UnpackList,
  IsInstance,
  Cast,
  Raise,
  Print,
  Format,
  EnumName,
  EnumValue,
  RunStretch,
  AddInt,
  SubInt,
  MulInt,
  FloorDivInt,
  ModInt,
  NegInt,
  AddFloat,
  SubFloat,
  MulFloat,
  DivFloat,
  NegFloat,
  LtInt,
  LeInt,
  GtInt,
  GeInt,
  EqInt,
  NeInt,
  LtFloat,
  LeFloat,
  GtFloat,
  GeFloat,
  EqFloat,
  NeFloat,
  Not,
  And,
  Or,
  IsNone,
  IsNotNone,
  ListLen,
  ListGet,
  ListAppend,
  ListSet,
};

// A register or a constant of the code; `moves` at a register's last use.
struct Ref {
  static constexpr uint32_t kConstant = 1u << 31, kMove = 1u << 30;
  uint32_t bits = 0;
  static Ref reg(uint32_t index, bool move = false) { return {index | (move ? kMove : 0)}; }
  static Ref constant(uint32_t index) { return {index | kConstant}; }
  bool is_constant() const { return (bits & kConstant) != 0; }
  bool moves() const { return (bits & kMove) != 0; }
  uint32_t index() const { return bits & ~(kConstant | kMove); }
};

struct Instruction {
  OpCode op = OpCode::Return;
  uint16_t num_results = 0;
  uint32_t num_operands = 0;
  uint32_t dst = 0;       // result, jump target, or the first of `results` when there are several
  uint32_t operands = 0;  // position in Code::refs
  Ref a, b;               // the first two operands
  union {
    const Builtin* builtin = nullptr;
    const ir::ScriptPayload* payload;
    size_t slot;
  };
  const Type* type = nullptr;  // of the result, where the instruction makes a container
};

class Code {
 public:
  Code(const ir::Graph& graph, std::string function_name);

  std::string function_name;
  size_t num_arguments = 0, num_results = 0;
  uint32_t num_registers = 0;
  uint32_t num_staged = 0;  // registers for a builtin's operands and results
  std::vector<Instruction> instructions;
  std::vector<ir::SourceLocation> locations;  // of the instructions
  std::vector<Ref> refs;
  std::vector<uint32_t> results;  // registers of several results
  std::vector<IValue> constants;

  const ir::SourceLocation& location(const Instruction* at) const {
    return locations[static_cast<size_t>(at - instructions.data())];
  }

 private:
  friend class Flattener;
  // What the instructions point to.
  std::vector<std::shared_ptr<const ir::ScriptPayload>> payloads_;
  std::vector<TypePtr> types_;
};

// A function's code, made when it is first asked for.
const Code& code_of(FunctionImpl& function);
// What a call from outside runs: the code with its calls inlined and its stretches compiled, once there is
// one.
const Code& code_to_call(FunctionImpl& function);

}  // namespace weft::jit
