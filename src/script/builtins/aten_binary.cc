// Elementwise functions of two and three tensors, arithmetic and comparisons.
#include "script/builtins/aten.h"

namespace weft::jit::aten {
namespace {

// self other; overloads "Tensor" and "Scalar", in place too.
template <Name... kNames>
void arithmetic(std::string_view tensor_suffix = ".Tensor") {
  const auto add = [&](std::string_view name, BuiltinFn run, BuiltinFn inplace) {
    define_functions(std::string(name) + std::string(tensor_suffix) + "(Tensor self, Tensor other) -> Tensor",
                     run, inplace);
    define_functions(std::string(name) + ".Scalar(Tensor self, Scalar other) -> Tensor", run, inplace);
  };
  (add(kNames.text, &forward_to<kNames>, &run_inplace<&forward_to<kNames>>), ...);
}

// kNew is another name of kName.
template <Name kNew, Name kName>
void same_arithmetic() {
  for (const char* rest :
       {".Tensor(Tensor self, Tensor other) -> Tensor", ".Scalar(Tensor self, Scalar other) -> Tensor"})
    same_with_inplace<kName>(std::string(kNew.text) + rest);
}

// Tensors only.
template <Name... kNames>
void binary_functions() {
  (same_with_inplace<kNames>(std::string(kNames.text) + "(Tensor self, Tensor other) -> Tensor"), ...);
}
template <Name... kNames>
void binary_functions_only() {
  (same<kNames>(std::string(kNames.text) + "(Tensor self, Tensor other) -> Tensor"), ...);
}

// Python's operators: "__and__", "__iand__".
template <Name kOperator, Name kName>
void python_operator() {
  const std::string name(kOperator.text);
  for (const char* other : {"Tensor", "Scalar"}) {
    define_function("__" + name + "__." + other + "(Tensor self, " + other + " other) -> Tensor",
                    &forward_to<kName>);
    define_function("__i" + name + "__." + other + "(Tensor(a!) self, " + other + " other) -> Tensor(a!)",
                    &run_inplace<&forward_to<kName>>, false);
  }
}

[[maybe_unused]] const bool kBinary = [] {
  same_with_inplace<"add">("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  same_with_inplace<"add">("add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor");
  same_with_inplace<"sub">("sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  same_with_inplace<"sub">("sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor");
  same_with_inplace<"sub">("subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  same_with_inplace<"sub">("subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor");
  define("rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
         [](const Tensor& self, const Tensor& other, Scalar alpha) {
           return promoted(op<"sub">(), {other, self}, {{"alpha", alpha}});
         });
  define("rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
         [](const Tensor& self, Scalar other, Scalar alpha) {
           return promoted(op<"sub">(), {other, self}, {{"alpha", alpha}});
         });
  arithmetic<"mul", "eq", "ne", "lt", "le", "gt", "ge", "remainder", "fmod", "bitwise_and", "bitwise_or",
             "bitwise_xor">();
  arithmetic<"floor_divide">("");
  same_arithmetic<"div", "true_divide">();
  same_arithmetic<"divide", "true_divide">();
  same_arithmetic<"true_divide", "true_divide">();
  same_arithmetic<"multiply", "mul">();
  same_arithmetic<"greater", "gt">();
  same_arithmetic<"greater_equal", "ge">();
  same_arithmetic<"less", "lt">();
  same_arithmetic<"less_equal", "le">();
  same_arithmetic<"not_equal", "ne">();
  arithmetic<"copysign">();
  same_with_inplace<"div">("div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor");
  same_with_inplace<"div">("div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor");
  same_with_inplace<"div">("divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor");
  same_with_inplace<"div">("divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor");
  binary_functions<"atan2", "gcd", "lcm", "hypot", "nextafter", "logical_and", "logical_or", "logical_xor">();
  binary_functions_only<"maximum", "minimum", "fmax", "fmin", "logaddexp", "logaddexp2">();
  same_with_inplace<"atan2">("arctan2(Tensor self, Tensor other) -> Tensor");
  same_with_inplace<"ldexp">("ldexp.Tensor(Tensor self, Tensor other) -> Tensor");
  same<"maximum">("max.other(Tensor self, Tensor other) -> Tensor");
  same<"minimum">("min.other(Tensor self, Tensor other) -> Tensor");
  same<"pow">("pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor");
  same<"pow">("pow.Scalar(Scalar self, Tensor exponent) -> Tensor");
  same<"pow">("pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor");
  same<"float_power">("float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor");
  same<"float_power">("float_power.Scalar(Scalar self, Tensor exponent) -> Tensor");
  same<"float_power">("float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor");
  same<"remainder">("remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor");
  define_function("pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
                  &run_inplace<&forward_to<"pow">>, false);
  define_function("pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)",
                  &run_inplace<&forward_to<"pow">>, false);
  define_function("float_power_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
                  &run_inplace<&forward_to<"float_power">>, false);
  define_function("float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)",
                  &run_inplace<&forward_to<"float_power">>, false);
  same<"bitwise_and">("bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor");
  same<"bitwise_or">("bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor");
  same<"bitwise_xor">("bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor");
  same_with_inplace<"left_shift">("bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor");
  same_with_inplace<"left_shift">("bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor");
  same<"left_shift">("bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor");
  same_with_inplace<"right_shift">("bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor");
  same_with_inplace<"right_shift">("bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor");
  same<"right_shift">("bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor");
  python_operator<"and", "bitwise_and">();
  python_operator<"or", "bitwise_or">();
  python_operator<"xor", "bitwise_xor">();
  python_operator<"lshift", "left_shift">();
  python_operator<"rshift", "right_shift">();
  same_with_inplace<"xlogy">("xlogy.Tensor(Tensor self, Tensor other) -> Tensor");
  same<"xlogy">("xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor");
  same<"xlogy">("xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor");
  same_with_inplace<"addcmul">(
      "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor");
  same_with_inplace<"addcdiv">(
      "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor");
  same_with_inplace<"lerp">("lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor");
  same_with_inplace<"lerp">("lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor");
  same<"isclose">(
      "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) "
      "-> Tensor");
  same_with_inplace<"clip">("clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor");
  same_with_inplace<"clip">("clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor");
  same_with_inplace<"clip">("clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor");
  same_with_inplace<"clip">("clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor");
  same_with_inplace<"maximum">("clamp_min(Tensor self, Scalar min) -> Tensor");
  same_with_inplace<"maximum">("clamp_min.Tensor(Tensor self, Tensor min) -> Tensor");
  same_with_inplace<"minimum">("clamp_max(Tensor self, Scalar max) -> Tensor");
  same_with_inplace<"minimum">("clamp_max.Tensor(Tensor self, Tensor max) -> Tensor");
  same<"where">("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor");
  same<"where">("where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor");
  same<"where">("where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor");
  same<"where">("where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor");
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
