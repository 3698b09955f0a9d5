// NumPy's ufuncs and the operators that they are.
#pragma once

#include <string_view>
#include <utility>

#include "capture/objects/py.h"

namespace weft::capture {

// NumPy's names of ufuncs and the operators'.
inline constexpr std::pair<const char*, const char*> kUfuncs[] = {
    {"add", "add"},
    {"subtract", "sub"},
    {"multiply", "mul"},
    {"divide", "true_divide"},
    {"true_divide", "true_divide"},
    {"floor_divide", "floor_divide"},
    {"remainder", "remainder"},
    {"mod", "remainder"},
    {"fmod", "fmod"},
    {"power", "pow"},
    {"negative", "neg"},
    {"positive", "positive"},
    {"absolute", "abs"},
    {"abs", "abs"},
    {"fabs", "fabs"},
    {"sqrt", "sqrt"},
    {"square", "square"},
    {"cbrt", "cbrt"},
    {"exp", "exp"},
    {"exp2", "exp2"},
    {"expm1", "expm1"},
    {"log", "log"},
    {"log2", "log2"},
    {"log10", "log10"},
    {"log1p", "log1p"},
    {"sin", "sin"},
    {"cos", "cos"},
    {"tan", "tan"},
    {"arcsin", "asin"},
    {"arccos", "acos"},
    {"arctan", "atan"},
    {"sinh", "sinh"},
    {"cosh", "cosh"},
    {"tanh", "tanh"},
    {"arcsinh", "asinh"},
    {"arccosh", "acosh"},
    {"arctanh", "atanh"},
    {"arctan2", "atan2"},
    {"hypot", "hypot"},
    {"maximum", "maximum"},
    {"minimum", "minimum"},
    {"fmax", "fmax"},
    {"fmin", "fmin"},
    {"floor", "floor"},
    {"ceil", "ceil"},
    {"trunc", "trunc"},
    {"rint", "rint"},
    {"sign", "sign"},
    {"signbit", "signbit"},
    {"isnan", "isnan"},
    {"isinf", "isinf"},
    {"isfinite", "isfinite"},
    {"copysign", "copysign"},
    {"nextafter", "nextafter"},
    {"logaddexp", "logaddexp"},
    {"logaddexp2", "logaddexp2"},
    {"heaviside", "heaviside"},
    {"deg2rad", "deg2rad"},
    {"radians", "deg2rad"},
    {"rad2deg", "rad2deg"},
    {"degrees", "rad2deg"},
    {"gcd", "gcd"},
    {"lcm", "lcm"},
    {"bitwise_and", "bitwise_and"},
    {"bitwise_or", "bitwise_or"},
    {"bitwise_xor", "bitwise_xor"},
    {"invert", "bitwise_not"},
    {"bitwise_not", "bitwise_not"},
    {"left_shift", "left_shift"},
    {"right_shift", "right_shift"},
    {"logical_and", "logical_and"},
    {"logical_or", "logical_or"},
    {"logical_xor", "logical_xor"},
    {"logical_not", "logical_not"},
    {"equal", "eq"},
    {"not_equal", "ne"},
    {"less", "lt"},
    {"less_equal", "le"},
    {"greater", "gt"},
    {"greater_equal", "ge"},
    {"conjugate", "conj"},
    {"conj", "conj"},
};

// The operator that a ufunc of that name is; null where it is none.
constexpr const char* operator_of_ufunc(std::string_view name) {
  for (const auto& [ufunc, op] : kUfuncs)
    if (name == ufunc) return op;
  return nullptr;
}
// ufunc.reduce() and the like are its methods.
inline bool is_ufunc(PyObject* object) { return std::string_view(Py_TYPE(object)->tp_name) == "numpy.ufunc"; }

}  // namespace weft::capture
