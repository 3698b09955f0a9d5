#include "nest/vocabulary.h"

namespace weft::nest {

using scalar::Prim;

const char* infix(Prim prim, DType operand) {
  bool integral = is_integral(operand);
  switch (prim) {
    case Prim::Add: return "+";
    case Prim::Sub: return "-";
    case Prim::Mul: return "*";
    case Prim::Div: return integral ? nullptr : "/";
    case Prim::Eq: return "==";
    case Prim::Ne: return "!=";
    case Prim::Lt: return "<";
    case Prim::Le: return "<=";
    case Prim::And: return "&";
    case Prim::Or: return "|";
    case Prim::Xor: return "^";
    default: return nullptr;
  }
}

const char* prelude_function(Prim prim, DType operand) {
  bool integral = is_integral(operand);
  switch (prim) {
    case Prim::Abs: return "absolute";
    case Prim::Sqrt: return "square_root";
    case Prim::Floor: return "floor";
    case Prim::Ceil: return "ceil";
    case Prim::Trunc: return "trunc";
    case Prim::RoundEven: return "round_even";
    case Prim::IsNan: return "is_nan";
    case Prim::Min: return "minimum";
    case Prim::Max: return "maximum";
    case Prim::FMin: return "fmin";
    case Prim::FMax: return "fmax";
    case Prim::CopySign: return "copy_sign";
    case Prim::Fma: return "fused_multiply_add";
    case Prim::Div: return integral ? "int_div" : nullptr;
    case Prim::FloorDiv: return integral ? "int_floor_div" : "float_floor_div";
    case Prim::Mod: return integral ? "int_mod" : "float_mod";
    case Prim::Rem: return integral ? "int_rem" : nullptr;
    case Prim::Pow: return integral ? "int_pow" : nullptr;
    case Prim::Shl: return "shift_left";
    case Prim::Shr: return "shift_right";
    default: return nullptr;
  }
}

const char* mask_function(Prim prim) {
  switch (prim) {
    case Prim::And:
    case Prim::Mul:
    case Prim::Div:
    case Prim::Min: return "mask_and";
    case Prim::Or:
    case Prim::Add:
    case Prim::Max: return "mask_or";
    case Prim::Xor:
    case Prim::Sub:
    case Prim::Ne: return "mask_xor";
    default: return nullptr;
  }
}

bool is_printable(Prim prim, DType operand) {
  if (is_complex(operand)) return false;
  if (prim == Prim::Arg || prim == Prim::Const || prim == Prim::Cast || prim == Prim::Select) return true;
  if (operand == DType::Bool)
    return mask_function(prim) || prim == Prim::Not || prim == Prim::Eq || prim == Prim::Lt ||
           prim == Prim::Le;
  if (prim == Prim::FloorDiv || prim == Prim::Mod) return is_integral(operand);
  if (infix(prim, operand) || prelude_function(prim, operand) || prim == Prim::Neg || prim == Prim::Not)
    return true;
  return is_floating(operand) && scalar::math_function(prim, compute_dtype(operand)).has_value();
}

}  // namespace weft::nest
