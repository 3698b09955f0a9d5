// The value of a scalar expression, one element at a time: the plain definition that eager loops and
// generated code are compared with, and what constant folding uses.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "scalar/expr.h"

namespace weft::scalar {

// One element of any dtype.
struct Element {
  DType dtype = DType::F32;
  alignas(16) std::byte bytes[16] = {};

  template <class T>
  static Element of(T value) {
    Element element;
    element.dtype = dtype_of<T>::value;
    std::memcpy(element.bytes, &value, sizeof(T));
    return element;
  }
  static Element from(Scalar value, DType dtype);
  template <class T>
  T as() const {
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    return value;
  }
};

// Internal error where a primitive is not defined on its operands' dtype.
Element apply(Prim prim, DType result, std::span<const Element> operands);
Element evaluate(const Expr& expression, std::span<const Element> arguments);

}  // namespace weft::scalar
