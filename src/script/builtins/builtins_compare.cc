// Comparisons and identity.
#include <complex>

#include "script/builtins/builtin.h"

namespace weft::jit {
namespace {

using Complex = std::complex<double>;

#define WEFT_COMPARE(NAME, OP)                                                                            \
  builtin("aten::" NAME ".int(int a, int b) -> bool", [](int64_t a, int64_t b) { return a OP b; });       \
  builtin("aten::" NAME ".float(float a, float b) -> bool", [](double a, double b) { return a OP b; });   \
  builtin("aten::" NAME ".int_float(int a, float b) -> bool", [](double a, double b) { return a OP b; }); \
  builtin("aten::" NAME ".float_int(float a, int b) -> bool", [](double a, double b) { return a OP b; }); \
  builtin("aten::" NAME "(Scalar a, Scalar b) -> bool", [](IValue& a, IValue& b) {                        \
    if (a.is_int() && b.is_int()) return a.to_int() OP b.to_int();                                        \
    return a.to_double() OP b.to_double();                                                                \
  });                                                                                                     \
  builtin("aten::" NAME ".str(str a, str b) -> bool",                                                     \
          [](const std::string& a, const std::string& b) { return a OP b; });

// == of everything that is compared by value.
#define WEFT_EQUAL(NAME, SIGN)                                    \
  WEFT_EQUAL_OF(NAME ".int(int a, int b)", SIGN)                  \
  WEFT_EQUAL_OF(NAME ".float(float a, float b)", SIGN)            \
  WEFT_EQUAL_OF(NAME ".int_float(int a, float b)", SIGN)          \
  WEFT_EQUAL_OF(NAME ".float_int(float a, int b)", SIGN)          \
  WEFT_EQUAL_OF(NAME ".complex(complex a, complex b)", SIGN)      \
  WEFT_EQUAL_OF(NAME ".complex_float(complex a, float b)", SIGN)  \
  WEFT_EQUAL_OF(NAME ".float_complex(float a, complex b)", SIGN)  \
  WEFT_EQUAL_OF(NAME "(Scalar a, Scalar b)", SIGN)                \
  WEFT_EQUAL_OF(NAME ".str(str a, str b)", SIGN)                  \
  WEFT_EQUAL_OF(NAME ".bool(bool a, bool b)", SIGN)               \
  WEFT_EQUAL_OF(NAME ".device(Device a, Device b)", SIGN)         \
  WEFT_EQUAL_OF(NAME ".enum(AnyEnumType a, AnyEnumType b)", SIGN) \
  WEFT_EQUAL_OF(NAME ".int_list(int[] a, int[] b)", SIGN)         \
  WEFT_EQUAL_OF(NAME ".float_list(float[] a, float[] b)", SIGN)   \
  WEFT_EQUAL_OF(NAME ".bool_list(bool[] a, bool[] b)", SIGN)      \
  WEFT_EQUAL_OF(NAME ".str_list(str[] a, str[] b)", SIGN)
#define WEFT_EQUAL_OF(SCHEMA, SIGN) \
  builtin("aten::" SCHEMA " -> bool", [](IValue& a, IValue& b) { return SIGN a.equals(b); });

int register_comparisons() {
  WEFT_COMPARE("lt", <)
  WEFT_COMPARE("le", <=)
  WEFT_COMPARE("gt", >)
  WEFT_COMPARE("ge", >=)
  WEFT_EQUAL("eq", )
  WEFT_EQUAL("ne", !)
  builtin("aten::__is__(t1 self, t2 obj) -> bool",
          [](IValue& self, IValue& obj) { return self.is_same(obj); });
  builtin("aten::__isnot__(t1 self, t2 obj) -> bool",
          [](IValue& self, IValue& obj) { return !self.is_same(obj); });
  return 0;
}

[[maybe_unused]] const int registered_compare = register_comparisons();

}  // namespace
}  // namespace weft::jit
