// What the form's expressions mean: the definition of each operation (operations.h) on single numbers, with
// C++'s conversions. The interpreter computes with it, and the verifier asks it for types.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "loopir/expression.h"

namespace weft::loopir {

// An element of an array: which one from `base`, the array's first.
struct Address {
  size_t array = 0;  // of what gives addresses a meaning
  size_t type = 0;   // of elements: a place in Value
  int64_t index = 0;
  bool operator==(const Address&) const = default;
};

using Value = std::variant<bool, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t,
                           float, double, std::complex<double>, Address>;

// "bool", "i8", …, "f64", "c128"; std::variant_npos for another.
size_t type_place(std::string_view type);
std::string_view type_at(size_t place);
// "f64*" of an address.
std::string type_name(const Value& value);
bool is_floating(const Value& value);

// An expression whose meaning is not known here: C++ of another kind, functions of the library.
struct NotKnown {
  std::string reason;
};
// An expression that C++ gives no meaning: a division by zero, a float that is no integer, an element that is
// not there.
struct Undefined {
  std::string reason;
};

class Meanings {
 public:
  virtual ~Meanings() = default;
  virtual Value name(const std::string& name) = 0;
  virtual void set(const std::string& name, const Value& value) = 0;
  virtual Value element(const Address& address) = 0;
  virtual Value call(const std::string& function, const std::vector<Value>& operands) = 0;
};

Value evaluate(const Expr& expr, Meanings& meanings);
// As C++ converts to the type.
Value converted(const Value& value, std::string_view type);
bool is_true(const Value& value);
int64_t as_word(const Value& value);  // an integer's

// Of an instruction that is left where the result does not fit: false there. `function`: as it names it,
// "__builtin_add_overflow", "int_power_into".
bool compute_fitting(std::string_view function, std::string_view type, const Value& a, const Value& b,
                     Value* result);

}  // namespace weft::loopir
