// The floating-point dtype of tensors that are made of Python's floats, and of integers where a function's result is
// no integer: PyTorch's default dtype. NumPy's rules have their own.
#pragma once

#include "weft/dtype.h"

namespace weft {

// F32 until it is set; for the whole process.
DType default_float();
void set_default_float(DType dtype);
// The complex dtype of its precision; there is no 32-bit complex type: C64 for float16 and bfloat16.
inline DType default_complex() { return default_float() == DType::F64 ? DType::C128 : DType::C64; }

}  // namespace weft
