#include "script/builtins/prim.h"

namespace weft::jit::prim {

const ir::ScriptOp kConstant{"prim::Constant"};
const ir::ScriptOp kUninitialized{"prim::Uninitialized"};
const ir::ScriptOp kGetAttr{"prim::GetAttr"};
const ir::ScriptOp kSetAttr{"prim::SetAttr"};
const ir::ScriptOp kCreateObject{"prim::CreateObject"};
const ir::ScriptOp kCallFunction{"prim::CallFunction"};
const ir::ScriptOp kCallMethod{"prim::CallMethod"};
const ir::ScriptOp kListConstruct{"prim::ListConstruct"};
const ir::ScriptOp kDictConstruct{"prim::DictConstruct"};
const ir::ScriptOp kTupleConstruct{"prim::TupleConstruct"};
const ir::ScriptOp kTupleUnpack{"prim::TupleUnpack"};
const ir::ScriptOp kTupleIndex{"prim::TupleIndex"};
const ir::ScriptOp kTupleSlice{"prim::TupleSlice"};
const ir::ScriptOp kListUnpack{"prim::ListUnpack"};
const ir::ScriptOp kIsInstance{"prim::isinstance"};
const ir::ScriptOp kUncheckedCast{"prim::unchecked_cast"};
const ir::ScriptOp kCast{"prim::Cast"};
const ir::ScriptOp kRaise{"prim::RaiseException"};
const ir::ScriptOp kFork{"prim::fork"};
const ir::ScriptOp kPrint{"prim::Print"};
const ir::ScriptOp kFormat{"aten::format"};
const ir::ScriptOp kEnumName{"prim::EnumName"};
const ir::ScriptOp kEnumValue{"prim::EnumValue"};

bool is_constant(const ir::Node* node) {
  return node && (node->kind == ir::NodeKind::Constant || node->script == &kConstant ||
                  node->script == &kUninitialized);
}

}  // namespace weft::jit::prim
