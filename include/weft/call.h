// Operators by name. weft/ops.h has a function for each.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/device.h"
#include "weft/dtype.h"
#include "weft/scalar.h"
#include "weft/tensor.h"

namespace weft {

// Axes or sizes: {0, 2}, or one number. For parameters that may be absent, an empty list is None.
struct IntList : std::vector<int64_t> {
  IntList() = default;
  IntList(int value) : IntList(int64_t{value}) {}
  IntList(int64_t value) : std::vector<int64_t>(1, value) {}
  IntList(std::initializer_list<int64_t> values) : std::vector<int64_t>(values) {}
  IntList(std::vector<int64_t> values) : std::vector<int64_t>(std::move(values)) {}
};

// What an elementwise operator takes: a tensor, or a number that adapts to the tensors' dtype. An undefined
// tensor is an absent optional operand.
struct Operand {
  Operand() = default;
  Operand(Tensor value) : tensor(std::move(value)) {}
  Operand(Scalar value) : number(value), is_number(true) {}
  Operand(bool value) : Operand(Scalar(value)) {}
  Operand(int value) : Operand(Scalar(value)) {}
  Operand(int64_t value) : Operand(Scalar(value)) {}
  Operand(double value) : Operand(Scalar(value)) {}
  Operand(std::complex<double> value) : Operand(Scalar(value)) {}

  Tensor tensor;
  Scalar number;
  bool is_number = false;
};

// A parameter that is not a tensor; monostate is None.
using Argument =
    std::variant<std::monostate, bool, int64_t, double, Scalar, std::string, DType, Device, IntList>;
struct NamedArgument {
  std::string_view name;
  Argument value;
};

// Calls the operator with PyTorch's promotion. Absent arguments take their defaults. TypeError for an unknown
// operator or argument; the operator's own errors.
std::vector<Tensor> call(std::string_view op, std::vector<Operand> operands,
                         std::vector<NamedArgument> arguments = {});

namespace detail {

template <class T>
Argument argument(const T& value) {
  return value;
}
template <class T>
Argument argument(const std::optional<T>& value) {
  return value ? Argument(*value) : Argument();
}
inline Argument optional_list(const IntList& list) { return list.empty() ? Argument() : Argument(list); }

inline std::vector<Operand> joined(std::vector<Operand> first, const std::vector<Tensor>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

template <size_t N>
std::array<Tensor, N> to_array(std::vector<Tensor> list) {
  std::array<Tensor, N> result;
  for (size_t i = 0; i < N; ++i) result[i] = std::move(list[i]);
  return result;
}

}  // namespace detail
}  // namespace weft
