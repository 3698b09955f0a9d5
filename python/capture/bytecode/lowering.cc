// CPython's instructions to ours: those that 3.11 to 3.13 have. What 3.14 and 3.15 add: python_3_14.cc.
#include "capture/bytecode/decoder.h"

namespace weft::capture {

void Decoder::lower(int opcode, int arg) {
#if PY_VERSION_HEX >= 0x030E0000
  note_hidden();
  if (lower_of_3_14(opcode, arg) || lower_across_hidden(opcode, arg)) return;
#endif
  if (!lower_common(opcode, arg)) unsupported("it uses an instruction that weft does not know");
}

bool Decoder::lower_common(int opcode, int arg) {
  return lower_simple(opcode, arg) || lower_variables(opcode, arg) || lower_control(opcode, arg) ||
         lower_calls(opcode, arg);
}

bool Decoder::lower_simple(int opcode, int arg) {
  switch (opcode) {
    case RESUME:
    case NOP: emit(Op::Nop); return true;
    case POP_TOP: emit(Op::PopTop); return true;
    case PUSH_NULL: emit(Op::PushNull); return true;
    case COPY: emit(Op::Copy, arg); return true;
    case SWAP: emit(Op::Swap, arg); return true;
    case UNARY_NEGATIVE: emit(Op::Negative); return true;
    case UNARY_NOT: emit(Op::Not); return true;
    case UNARY_INVERT: emit(Op::Invert); return true;
    case BINARY_OP: emit(Op::Binary, arg); return true;
    case IS_OP: emit(Op::Is, arg); return true;
    case CONTAINS_OP: emit(Op::Contains, arg); return true;
#ifdef BINARY_SUBSCR
    case BINARY_SUBSCR: emit(Op::Subscript); return true;
#endif
    case STORE_SUBSCR: emit(Op::StoreSubscript); return true;
    case DELETE_SUBSCR: emit(Op::DeleteSubscript); return true;
    case BUILD_TUPLE: emit(Op::BuildTuple, arg); return true;
    case BUILD_LIST: emit(Op::BuildList, arg); return true;
    case BUILD_SET: emit(Op::BuildSet, arg); return true;
    case BUILD_MAP: emit(Op::BuildMap, arg); return true;
#ifdef BUILD_CONST_KEY_MAP
    case BUILD_CONST_KEY_MAP: emit(Op::BuildConstKeyMap, arg); return true;
#endif
    case BUILD_SLICE: emit(Op::BuildSlice, arg); return true;
    case BUILD_STRING: emit(Op::BuildString, arg); return true;
    case LIST_APPEND: emit(Op::ListAppend, arg); return true;
    case SET_ADD: emit(Op::SetAdd, arg); return true;
    case MAP_ADD: emit(Op::MapAdd, arg); return true;
    case LIST_EXTEND: emit(Op::ListExtend, arg); return true;
    case SET_UPDATE: emit(Op::SetUpdate, arg); return true;
    case DICT_UPDATE: emit(Op::DictUpdate, arg); return true;
    case DICT_MERGE: emit(Op::DictMerge, arg); return true;
    case UNPACK_SEQUENCE: emit(Op::UnpackSequence, arg); return true;
    case UNPACK_EX: emit(Op::UnpackEx, arg); return true;
    case GET_LEN: emit(Op::GetLen); return true;
    case MATCH_MAPPING: emit(Op::MatchMapping); return true;
    case MATCH_SEQUENCE: emit(Op::MatchSequence); return true;
    case MATCH_KEYS: emit(Op::MatchKeys); return true;
    case MATCH_CLASS: emit(Op::MatchClass, arg); return true;
#if PY_VERSION_HEX >= 0x030D0000
    case COMPARE_OP: emit(Op::Compare, arg >> 5, arg >> 4 & 1); return true;
    case TO_BOOL: emit(Op::ToBool); return true;
    case CONVERT_VALUE: emit(Op::Convert, arg); return true;
    case FORMAT_SIMPLE: emit(Op::Format, 0, 0); return true;
    case FORMAT_WITH_SPEC: emit(Op::Format, 0, 1); return true;
#else
    case FORMAT_VALUE: emit(Op::Format, arg & 3, (arg & 4) != 0); return true;
#if PY_VERSION_HEX >= 0x030C0000
    case COMPARE_OP: emit(Op::Compare, arg >> 4); return true;
#else
    case COMPARE_OP: emit(Op::Compare, arg); return true;
    case UNARY_POSITIVE: emit(Op::Positive); return true;
    case LIST_TO_TUPLE: emit(Op::ListToTuple); return true;
#endif
#endif
#if PY_VERSION_HEX >= 0x030C0000
    case BINARY_SLICE: emit(Op::BinarySlice); return true;
    case STORE_SLICE: emit(Op::StoreSlice); return true;
    case END_FOR: emit(Op::Nop); return true;
    case END_SEND:
      emit(Op::Swap, 2);
      emit(Op::PopTop);
      return true;
    case CLEANUP_THROW: emit(Op::Unsupported); return true;
    case CALL_INTRINSIC_1:
      if (arg == 5)
        emit(Op::Positive);
      else if (arg == 6)
        emit(Op::ListToTuple);
      else if (arg == 3)
        emit(Op::StopIterationError);
      else
        unsupported("it uses an instruction that weft does not know");
      return true;
#endif
  }
  return false;
}

bool Decoder::lower_variables(int opcode, int arg) {
  switch (opcode) {
    case LOAD_CONST: emit(Op::LoadConst, arg); return true;
    case LOAD_FAST: emit(Op::LoadFast, arg); return true;
    case STORE_FAST: emit(Op::StoreFast, arg); return true;
    case DELETE_FAST: emit(Op::DeleteFast, arg); return true;
    case LOAD_GLOBAL:
      if ((arg & 1) != 0 && PY_VERSION_HEX < 0x030D0000) emit(Op::PushNull);
      emit(Op::LoadGlobal, arg >> 1);
      if ((arg & 1) != 0 && PY_VERSION_HEX >= 0x030D0000) emit(Op::PushNull);
      return true;
    case STORE_GLOBAL: emit(Op::StoreGlobal, arg); return true;
    case DELETE_GLOBAL: emit(Op::DeleteGlobal, arg); return true;
    case MAKE_CELL: emit(Op::MakeCell, arg); return true;
    case COPY_FREE_VARS: emit(Op::Nop); return true;  // frames are made with the cells in place
    case LOAD_DEREF: emit(Op::LoadDeref, arg); return true;
    case STORE_DEREF: emit(Op::StoreDeref, arg); return true;
    case DELETE_DEREF: emit(Op::DeleteDeref, arg); return true;
    case STORE_ATTR: emit(Op::StoreAttr, arg); return true;
    case DELETE_ATTR: emit(Op::DeleteAttr, arg); return true;
    case IMPORT_NAME: emit(Op::ImportName, PY_VERSION_HEX >= 0x030F0000 ? arg >> 2 : arg); return true;
    case IMPORT_FROM: emit(Op::ImportFrom, arg); return true;
#ifdef LOAD_ASSERTION_ERROR
    case LOAD_ASSERTION_ERROR: emit(Op::LoadAssertionError); return true;
#endif
    case LOAD_BUILD_CLASS: emit(Op::LoadBuildClass); return true;
#if PY_VERSION_HEX >= 0x030C0000
    case LOAD_ATTR: emit(arg & 1 ? Op::LoadMethod : Op::LoadAttr, arg >> 1); return true;
    case LOAD_SUPER_ATTR:
      emit(arg & 1 ? Op::LoadSuperMethod : Op::LoadSuperAttr, arg >> 2, arg >> 1 & 1);
      return true;
    case LOAD_FAST_CHECK: emit(Op::LoadFast, arg); return true;
    case LOAD_FAST_AND_CLEAR: emit(Op::LoadFastAndClear, arg); return true;
#else
    case LOAD_ATTR: emit(Op::LoadAttr, arg); return true;
    case LOAD_METHOD: emit(Op::LoadMethod, arg); return true;
#endif
#if PY_VERSION_HEX >= 0x030D0000
    case LOAD_FAST_LOAD_FAST:
      emit(Op::LoadFast, arg >> 4);
      emit(Op::LoadFast, arg & 15);
      return true;
    case STORE_FAST_LOAD_FAST:
      emit(Op::StoreFast, arg >> 4);
      emit(Op::LoadFast, arg & 15);
      return true;
    case STORE_FAST_STORE_FAST:
      emit(Op::StoreFast, arg >> 4);
      emit(Op::StoreFast, arg & 15);
      return true;
#else
    case LOAD_CLOSURE: emit(Op::LoadFast, arg); return true;
#endif
  }
  return false;
}

bool Decoder::lower_control(int opcode, int arg) {
  switch (opcode) {
    case GET_ITER: emit(Op::GetIter); return true;
    case FOR_ITER: jump(Op::ForIter, arg); return true;
    case JUMP_FORWARD: jump(Op::Jump, arg); return true;
    case JUMP_BACKWARD: jump(Op::JumpBack, -arg); return true;
    case JUMP_BACKWARD_NO_INTERRUPT: jump(Op::Jump, -arg); return true;
#if PY_VERSION_HEX >= 0x030C0000
    case POP_JUMP_IF_FALSE: jump(Op::PopJumpIfFalse, arg); return true;
    case POP_JUMP_IF_TRUE: jump(Op::PopJumpIfTrue, arg); return true;
    case POP_JUMP_IF_NONE: jump(Op::PopJumpIfNone, arg); return true;
    case POP_JUMP_IF_NOT_NONE: jump(Op::PopJumpIfNotNone, arg); return true;
#ifdef RETURN_CONST
    case RETURN_CONST:
      emit(Op::LoadConst, arg);
      emit(Op::Return);
      return true;
#endif
#else
    case POP_JUMP_FORWARD_IF_FALSE: jump(Op::PopJumpIfFalse, arg); return true;
    case POP_JUMP_FORWARD_IF_TRUE: jump(Op::PopJumpIfTrue, arg); return true;
    case POP_JUMP_FORWARD_IF_NONE: jump(Op::PopJumpIfNone, arg); return true;
    case POP_JUMP_FORWARD_IF_NOT_NONE: jump(Op::PopJumpIfNotNone, arg); return true;
    case POP_JUMP_BACKWARD_IF_FALSE: jump(Op::PopJumpIfFalse, -arg); return true;
    case POP_JUMP_BACKWARD_IF_TRUE: jump(Op::PopJumpIfTrue, -arg); return true;
    case POP_JUMP_BACKWARD_IF_NONE: jump(Op::PopJumpIfNone, -arg); return true;
    case POP_JUMP_BACKWARD_IF_NOT_NONE: jump(Op::PopJumpIfNotNone, -arg); return true;
    case JUMP_IF_TRUE_OR_POP: jump(Op::JumpIfTrueOrPop, arg); return true;
    case JUMP_IF_FALSE_OR_POP: jump(Op::JumpIfFalseOrPop, arg); return true;
#endif
    // A generator's frame starts with the None that is sent first.
    case RETURN_GENERATOR: emit(Op::PushNull); return true;
    case YIELD_VALUE: emit(Op::Yield); return true;
#ifdef GET_YIELD_FROM_ITER
    case GET_YIELD_FROM_ITER: emit(Op::GetIter); return true;
#endif
    case SEND: jump(Op::Send, arg); return true;
    case RETURN_VALUE: emit(Op::Return); return true;
    case RAISE_VARARGS: emit(Op::Raise, arg); return true;
    case RERAISE: emit(Op::Reraise, arg); return true;
    case PUSH_EXC_INFO: emit(Op::PushExcInfo); return true;
    case POP_EXCEPT: emit(Op::PopExcept); return true;
    case CHECK_EXC_MATCH: emit(Op::CheckExcMatch); return true;
    case WITH_EXCEPT_START: emit(Op::WithExceptStart); return true;
#ifdef BEFORE_WITH
    case BEFORE_WITH: emit(Op::BeforeWith); return true;
#endif
  }
  return false;
}

bool Decoder::lower_calls(int opcode, int arg) {
  switch (opcode) {
#if PY_VERSION_HEX >= 0x030D0000
    case CALL: emit(Op::Call, arg, -1); return true;
    case CALL_KW: emit(Op::CallKw, arg); return true;
    case MAKE_FUNCTION: emit(Op::MakeFunction, 0); return true;
    case SET_FUNCTION_ATTRIBUTE: emit(Op::SetFunctionAttribute, arg); return true;
#else
    case KW_NAMES:
      emit(Op::Nop);
      keyword_names_ = arg;
      return true;
    case CALL:
      emit(Op::Call, arg, keyword_names_);
      keyword_names_ = -1;
      return true;
    case MAKE_FUNCTION: emit(Op::MakeFunction, arg); return true;
#if PY_VERSION_HEX < 0x030C0000
    case PRECALL: emit(Op::Nop); return true;
#endif
#endif
    case CALL_FUNCTION_EX: emit(Op::CallEx, arg); return true;
  }
  return false;
}

}  // namespace weft::capture
