#include "script/run/code.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "script/builtins/prim.h"
#include "script/run/stretch.h"
#include "weft/error.h"

namespace weft::jit {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

// May a register of this type hold memory or a reference?
bool owns(const Value* value) {
  if (value->type.kind != ir::Type::Kind::Script) return true;
  switch (value->type.script->kind()) {
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Bool:
    case TypeKind::None:
    case TypeKind::Device: return false;
    default: return true;
  }
}

// Which uses of a value are its last, and where values end that have no last use on a path.
class Liveness {
 public:
  using Set = std::unordered_set<const Value*>;
  explicit Liveness(const ir::Graph& graph) { analyze(graph.body(), {}); }

  bool is_last(const Node* node, size_t operand) const { return contains(last_operands_, {node, operand}); }
  bool is_last_return(const Block* block, size_t i) const { return contains(last_operands_, {block, i}); }
  const std::vector<const Value*>& dead_at_start(const Block* block) const { return dead(block); }
  const std::vector<const Value*>& dead_after(const Node* node) const { return dead(node); }

 private:
  struct Key {
    const void* where;
    size_t index;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const { return std::hash<const void*>()(key.where) * 31 + key.index; }
  };
  using Keys = std::unordered_set<Key, Hash>;
  static bool contains(const Keys& keys, Key key) { return keys.contains(key); }
  const std::vector<const Value*>& dead(const void* where) const {
    static const auto& none = *new std::vector<const Value*>;
    const auto found = dead_.find(where);
    return found == dead_.end() ? none : found->second;
  }

  void use(Set& live, const Value* value, const void* where, size_t index) {
    if (live.insert(value).second) last_operands_.insert({where, index});
  }

  // Backwards through the block; `live` is what is needed after it, the result what is needed before it.
  Set analyze(const Block& block, Set live) {
    for (size_t i = block.returns.size(); i-- > 0;) use(live, block.returns[i], &block, i);
    for (auto it = block.nodes.rbegin(); it != block.nodes.rend(); ++it) {
      const Node& node = **it;
      for (const Value* output : node.outputs) {
        if (live.erase(output) == 0 && owns(output)) dead_[&node].push_back(output);
      }
      if (node.kind == NodeKind::If) live = analyze_if(node, live);
      if (node.kind == NodeKind::Loop) live = analyze_loop(node, std::move(live));
      for (size_t i = node.inputs.size(); i-- > 0;) use(live, node.inputs[i], &node, i);
    }
    return live;
  }

  Set analyze_if(const Node& node, const Set& live) {
    std::vector<Set> before;
    Set all;
    for (const auto& branch : node.blocks) {
      before.push_back(analyze(*branch, live));
      all.insert(before.back().begin(), before.back().end());
    }
    for (size_t i = 0; i < before.size(); ++i) {
      for (const Value* value : all) {
        if (owns(value) && !before[i].contains(value)) dead_[node.blocks[i].get()].push_back(value);
      }
    }
    return all;
  }

  // What the body reads from outside lives through all iterations.
  Set analyze_loop(const Node& node, Set live) {
    const Block& body = *node.blocks[0];
    Set defined(body.params.begin(), body.params.end()), used;
    collect(body, defined, used);
    for (const Value* value : used) {
      if (live.insert(value).second && owns(value)) dead_[&node].push_back(value);
    }
    Set after_body = live;
    after_body.insert(body.params[0]);
    analyze(body, std::move(after_body));
    return live;
  }

  static void collect(const Block& block, Set& defined, Set& used) {
    const auto note = [&](const Value* value) {
      if (!defined.contains(value)) used.insert(value);
    };
    for (const auto& node : block.nodes) {
      for (const Value* input : node->inputs) note(input);
      for (const auto& inner : node->blocks) {
        defined.insert(inner->params.begin(), inner->params.end());
        collect(*inner, defined, used);
      }
      defined.insert(node->outputs.begin(), node->outputs.end());
    }
    for (const Value* value : block.returns) note(value);
  }

  Keys last_operands_;
  std::unordered_map<const void*, std::vector<const Value*>> dead_;
};

const std::unordered_map<std::string_view, OpCode>& direct_opcodes() {
  static const auto& table = *new std::unordered_map<std::string_view, OpCode>{
      {"aten::add.int", OpCode::AddInt},
      {"aten::sub.int", OpCode::SubInt},
      {"aten::mul.int", OpCode::MulInt},
      {"aten::floordiv.int", OpCode::FloorDivInt},
      {"aten::remainder.int", OpCode::ModInt},
      {"aten::neg.int", OpCode::NegInt},
      {"aten::add.float", OpCode::AddFloat},
      {"aten::add.int_float", OpCode::AddFloat},
      {"aten::add.float_int", OpCode::AddFloat},
      {"aten::sub.float", OpCode::SubFloat},
      {"aten::sub.int_float", OpCode::SubFloat},
      {"aten::sub.float_int", OpCode::SubFloat},
      {"aten::mul.float", OpCode::MulFloat},
      {"aten::mul.int_float", OpCode::MulFloat},
      {"aten::mul.float_int", OpCode::MulFloat},
      {"aten::div.float", OpCode::DivFloat},
      {"aten::div.int", OpCode::DivFloat},
      {"aten::neg.float", OpCode::NegFloat},
      {"aten::lt.int", OpCode::LtInt},
      {"aten::le.int", OpCode::LeInt},
      {"aten::gt.int", OpCode::GtInt},
      {"aten::ge.int", OpCode::GeInt},
      {"aten::eq.int", OpCode::EqInt},
      {"aten::ne.int", OpCode::NeInt},
      {"aten::lt.float", OpCode::LtFloat},
      {"aten::lt.int_float", OpCode::LtFloat},
      {"aten::lt.float_int", OpCode::LtFloat},
      {"aten::le.float", OpCode::LeFloat},
      {"aten::le.int_float", OpCode::LeFloat},
      {"aten::le.float_int", OpCode::LeFloat},
      {"aten::gt.float", OpCode::GtFloat},
      {"aten::gt.int_float", OpCode::GtFloat},
      {"aten::gt.float_int", OpCode::GtFloat},
      {"aten::ge.float", OpCode::GeFloat},
      {"aten::ge.int_float", OpCode::GeFloat},
      {"aten::ge.float_int", OpCode::GeFloat},
      {"aten::eq.float", OpCode::EqFloat},
      {"aten::eq.int_float", OpCode::EqFloat},
      {"aten::eq.float_int", OpCode::EqFloat},
      {"aten::ne.float", OpCode::NeFloat},
      {"aten::ne.int_float", OpCode::NeFloat},
      {"aten::ne.float_int", OpCode::NeFloat},
      {"aten::__not__", OpCode::Not},
      {"aten::__and__.bool", OpCode::And},
      {"aten::__or__.bool", OpCode::Or},
      {"aten::len.t", OpCode::ListLen},
      {"aten::__getitem__.t", OpCode::ListGet},
      {"aten::append.t", OpCode::ListAppend},
      {"aten::_set_item.t", OpCode::ListSet},
  };
  return table;
}

const std::unordered_map<const ir::ScriptOp*, OpCode>& prim_opcodes() {
  static const auto& table = *new std::unordered_map<const ir::ScriptOp*, OpCode>{
      {&prim::kGetAttr, OpCode::GetAttribute},
      {&prim::kSetAttr, OpCode::SetAttribute},
      {&prim::kCreateObject, OpCode::CreateObject},
      {&prim::kCallFunction, OpCode::CallFunction},
      {&prim::kCallMethod, OpCode::CallMethod},
      {&prim::kListConstruct, OpCode::MakeList},
      {&prim::kDictConstruct, OpCode::MakeDict},
      {&prim::kTupleConstruct, OpCode::MakeTuple},
      {&prim::kTupleUnpack, OpCode::UnpackTuple},
      {&prim::kTupleIndex, OpCode::TupleIndex},
      {&prim::kTupleSlice, OpCode::TupleSlice},
      {&prim::kListUnpack, OpCode::UnpackList},
      {&prim::kIsInstance, OpCode::IsInstance},
      {&prim::kUncheckedCast, OpCode::Move},
      {&prim::kCast, OpCode::Cast},
      {&prim::kRaise, OpCode::Raise},
      {&prim::kFork, OpCode::Fork},
      {&prim::kPrint, OpCode::Print},
      {&prim::kFormat, OpCode::Format},
      {&prim::kEnumName, OpCode::EnumName},
      {&prim::kEnumValue, OpCode::EnumValue},
      {&kStretch, OpCode::RunStretch},
  };
  return table;
}

// Its operands are read where they are: a last use does not move them.
bool reads_in_place(OpCode op) {
  switch (op) {
    case OpCode::GetSlot:
    case OpCode::GetAttribute:
    case OpCode::SetSlot:
    case OpCode::SetAttribute:
    case OpCode::UnpackTuple:
    case OpCode::TupleIndex:
    case OpCode::TupleSlice:
    case OpCode::UnpackList:
    case OpCode::IsInstance:
    case OpCode::Raise:
    case OpCode::Print:
    case OpCode::Format:
    case OpCode::EnumName:
    case OpCode::EnumValue:
    case OpCode::RunStretch: return true;
    default: return op >= OpCode::AddInt;
  }
}

}  // namespace

class Flattener {
 public:
  Flattener(const ir::Graph& graph, Code& code) : liveness_(graph), code_(code) {
    const Block& body = graph.body();
    for (const Value* input : body.params) registers_[input] = new_register();
    code_.num_arguments = body.params.size();
    code_.num_results = body.returns.size();
    flatten_nodes(body);
    Instruction& end = emit(OpCode::Return);
    set_operands(end, body.returns, [&](size_t i) { return liveness_.is_last_return(&body, i); });
  }

 private:
  uint32_t new_register() { return code_.num_registers++; }
  uint32_t position() const { return static_cast<uint32_t>(code_.instructions.size()); }

  // The register that `value` is computed into.
  uint32_t register_of(const Value* value) {
    const auto [found, is_new] = registers_.try_emplace(value, 0);
    if (is_new) found->second = new_register();
    return found->second;
  }

  Ref ref(const Value* value, bool move) {
    if (prim::is_constant(value->def)) return Ref::constant(constant_of(value));
    return Ref::reg(registers_.at(value), move && owns(value));  // a number stays where it is read again
  }

  uint32_t constant_of(const Value* value) {
    const auto [found, is_new] = constants_.try_emplace(value, static_cast<uint32_t>(code_.constants.size()));
    if (is_new) {
      const Node* node = value->def;
      if (node->kind == NodeKind::Constant)
        code_.constants.emplace_back(node->constant);
      else
        code_.constants.push_back(node->payload ? node->payload->value : IValue());
    }
    return found->second;
  }
  Ref constant(IValue value) {
    code_.constants.push_back(std::move(value));
    return Ref::constant(static_cast<uint32_t>(code_.constants.size() - 1));
  }

  Instruction& emit(OpCode op) {
    code_.instructions.emplace_back().op = op;
    code_.locations.push_back(location_);
    return code_.instructions.back();
  }
  void emit_move(uint32_t dst, Ref from) {
    if (!from.is_constant() && from.index() == dst) return;
    Instruction& move = emit(OpCode::Move);
    move.dst = dst;
    move.a = from;
  }
  void emit_drop(const Value* value) {
    if (!registers_.contains(value)) return;  // a constant
    emit(OpCode::Drop).dst = registers_.at(value);
  }

  template <class IsLast>
  void set_operands(Instruction& instruction, const std::vector<Value*>& values, IsLast is_last) {
    instruction.num_operands = static_cast<uint32_t>(values.size());
    instruction.operands = static_cast<uint32_t>(code_.refs.size());
    for (size_t i = 0; i < values.size(); ++i) code_.refs.push_back(ref(values[i], is_last(i)));
    if (!values.empty()) instruction.a = code_.refs[instruction.operands];
    if (values.size() > 1) instruction.b = code_.refs[instruction.operands + 1];
  }

  void flatten_nodes(const Block& block) {
    for (const Value* value : liveness_.dead_at_start(&block)) emit_drop(value);
    for (const auto& node : block.nodes) {
      location_ = node->location;
      switch (node->kind) {
        case NodeKind::Constant: break;
        case NodeKind::If: flatten_if(*node); break;
        case NodeKind::Loop: flatten_loop(*node); break;
        case NodeKind::Script:
          if (!prim::is_constant(node.get())) flatten_script(*node);
          break;
        case NodeKind::Op:
          throw_error(ErrorKind::Internal, fmt::format("{}: '{}' is an operator of compiled graphs",
                                                       code_.function_name, node->kind_name()));
      }
      for (const Value* value : liveness_.dead_after(node.get())) emit_drop(value);
    }
  }

  // ---- one operator ------------------------------------------------------------------------------------
  void flatten_script(const Node& node) {
    const auto found = prim_opcodes().find(node.script);
    Instruction instruction;
    if (found != prim_opcodes().end()) {
      instruction.op = found->second;
      instruction.payload = node.payload.get();
      if (node.payload) code_.payloads_.push_back(node.payload);
      resolve_slot(node, instruction);
    } else {
      instruction.builtin = static_cast<const Builtin*>(node.script);
      instruction.op = opcode_of(node, *instruction.builtin);
    }
    if (!node.outputs.empty()) {
      code_.types_.push_back(node.output()->type.script);
      instruction.type = code_.types_.back().get();
    }
    const bool in_place = reads_in_place(instruction.op);
    set_operands(instruction, node.inputs,
                 [&](size_t i) { return !in_place && liveness_.is_last(&node, i); });
    set_results(node, instruction);
    stage(instruction);
    code_.instructions.push_back(instruction);
    code_.locations.push_back(location_);
    if (in_place) drop_last_uses(node);
  }

  // Of a class known now, the attribute's position.
  static void resolve_slot(const Node& node, Instruction& instruction) {
    if (instruction.op != OpCode::GetAttribute && instruction.op != OpCode::SetAttribute) return;
    const TypePtr& type = node.inputs[0]->type.script;
    if (!type->is(TypeKind::Class)) return;
    const auto slot = static_cast<const ClassType&>(*type).find_slot(node.payload->text);
    if (!slot) return;
    instruction.op = instruction.op == OpCode::GetAttribute ? OpCode::GetSlot : OpCode::SetSlot;
    instruction.slot = *slot;
  }

  static OpCode opcode_of(const Node& node, const Builtin& builtin) {
    const std::string name =
        builtin.overload.empty() ? builtin.qualified : builtin.qualified + "." + builtin.overload;
    if (name == "aten::__is__" || name == "aten::__isnot__") {
      if (node.inputs.size() != 2 || !node.inputs[1]->type.script->is(TypeKind::None))
        return OpCode::CallBuiltin;
      return name == "aten::__is__" ? OpCode::IsNone : OpCode::IsNotNone;
    }
    const auto found = direct_opcodes().find(name);
    return found == direct_opcodes().end() ? OpCode::CallBuiltin : found->second;
  }

  void set_results(const Node& node, Instruction& instruction) {
    instruction.num_results = static_cast<uint16_t>(node.outputs.size());
    if (node.outputs.size() == 1) {
      instruction.dst = register_of(node.output());
      return;
    }
    instruction.dst = static_cast<uint32_t>(code_.results.size());
    for (const Value* output : node.outputs) code_.results.push_back(register_of(output));
  }

  void stage(const Instruction& instruction) {
    if (instruction.op != OpCode::CallBuiltin) return;
    const size_t returns =
        std::max<size_t>(instruction.builtin->schema.returns.size(), instruction.num_results);
    code_.num_staged = std::max(code_.num_staged, static_cast<uint32_t>(instruction.num_operands + returns));
  }

  void drop_last_uses(const Node& node) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value* input = node.inputs[i];
      // A result in the operand's own register has replaced it.
      const bool is_replaced =
          std::any_of(node.outputs.begin(), node.outputs.end(), [&](const Value* output) {
            return registers_.contains(input) && registers_.at(output) == registers_.at(input);
          });
      if (liveness_.is_last(&node, i) && owns(input) && !is_replaced) emit_drop(input);
    }
  }

  // ---- control flow ------------------------------------------------------------------------------------
  void flatten_if(const Node& node) {
    std::vector<uint32_t> outputs;
    for (const Value* output : node.outputs) outputs.push_back(register_of(output));
    const Ref condition = ref(node.inputs[0], false);
    const uint32_t branch = position();
    emit(OpCode::JumpUnless).a = condition;
    flatten_branch(*node.blocks[0], outputs);
    const uint32_t skip = position();
    emit(OpCode::Jump);
    code_.instructions[branch].dst = position();
    flatten_branch(*node.blocks[1], outputs);
    code_.instructions[skip].dst = position();
    if (code_.instructions[skip].dst == skip + 1) {  // an empty else
      code_.instructions.pop_back();
      code_.locations.pop_back();
      code_.instructions[branch].dst = position();
    }
  }

  // A value made in the branch is computed into the register of the output.
  void flatten_branch(const Block& block, const std::vector<uint32_t>& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Value* value = block.returns[i];
      if (value->def && value->def->parent == &block && !prim::is_constant(value->def))
        registers_.try_emplace(value, outputs[i]);
    }
    flatten_nodes(block);
    for (size_t i = 0; i < outputs.size(); ++i) emit_move(outputs[i], returned(block, i, outputs));
  }

  // A returned value that sits in the register of an output stays there.
  Ref returned(const Block& block, size_t i, const std::vector<uint32_t>& outputs) {
    const Ref from = ref(block.returns[i], false);
    if (from.is_constant() || std::count(outputs.begin(), outputs.end(), from.index())) return from;
    return ref(block.returns[i], liveness_.is_last_return(&block, i));
  }

  void flatten_loop(const Node& node) {
    const Block& body = *node.blocks[0];
    const size_t carried = node.outputs.size();
    std::vector<uint32_t> registers;
    for (size_t i = 0; i < carried; ++i) {
      registers.push_back(register_of(node.outputs[i]));
      registers_[body.params[i + 1]] = registers[i];
      emit_move(registers[i], ref(node.inputs[i + 2], liveness_.is_last(&node, i + 2)));
    }
    const uint32_t counter = register_of(body.params[0]), condition = new_register();
    emit_move(counter, constant(0));
    emit_move(condition, ref(node.inputs[1], false));
    // The loop ends when the counter reaches the trip count or the condition is false.
    const uint32_t head = position();
    Instruction& test = emit(OpCode::LoopHead);
    test.a = ref(node.inputs[0], false);
    test.b = Ref::reg(condition);
    test.slot = counter;
    share_registers(body, registers);
    flatten_nodes(body);
    flatten_loop_end(body, registers, condition);
    Instruction& next = emit(OpCode::LoopNext);
    next.dst = head + 1;
    next.a = ref(node.inputs[0], false);
    next.b = Ref::reg(condition);
    next.slot = counter;
    code_.instructions[head].dst = position();
  }

  // A carried value's next is computed into its register when nothing reads the old one afterwards.
  void share_registers(const Block& body, const std::vector<uint32_t>& registers) {
    std::unordered_map<const Node*, size_t> order;
    for (const auto& node : body.nodes) order.emplace(node.get(), order.size());
    for (size_t i = 0; i < registers.size(); ++i) {
      const Value* next = body.returns[i + 1];
      if (!next->def || next->def->parent != &body || prim::is_constant(next->def)) continue;
      const Value* old = body.params[i + 1];
      const bool is_free = std::all_of(old->uses.begin(), old->uses.end(), [&](const ir::Use& use) {
        const Node* user = use.user;
        if (!user && use.block == &body) return false;
        if (!user) user = use.block->owner;
        while (user->parent != &body) user = user->parent->owner;
        if (user == next->def) return next->def->blocks.empty();
        return order.at(user) < order.at(next->def);
      });
      if (is_free) registers_.try_emplace(next, registers[i]);
    }
  }

  // The carried values for the next iteration, all at once: what would be overwritten too early goes by a
  // temporary.
  void flatten_loop_end(const Block& body, const std::vector<uint32_t>& registers, uint32_t condition) {
    std::vector<std::pair<uint32_t, uint32_t>> late;
    std::vector<std::pair<uint32_t, Ref>> direct;
    emit_move(condition, ref(body.returns[0], false));
    for (size_t i = 0; i < registers.size(); ++i) {
      const Value* value = body.returns[i + 1];
      const bool is_param = std::count(body.params.begin() + 1, body.params.end(), value) > 0;
      if (is_param && registers_.at(value) != registers[i]) {
        late.emplace_back(registers[i], new_register());
        emit_move(late.back().second, ref(value, false));
      } else {
        direct.emplace_back(registers[i], returned(body, i + 1, registers));
      }
    }
    for (const auto& [to, from] : direct) emit_move(to, from);
    for (const auto& [to, from] : late) emit_move(to, Ref::reg(from, true));
  }

  Liveness liveness_;
  Code& code_;
  std::unordered_map<const Value*, uint32_t> registers_, constants_;
  ir::SourceLocation location_;
};

Code::Code(const ir::Graph& graph, std::string name) : function_name(std::move(name)) {
  Flattener(graph, *this);
}

}  // namespace weft::jit
