// Calls of weft's functions with numbers that change from call to call, where an operator has them as
// attributes: the same is computed from the numbers as tensors.
#pragma once

#include "capture/evaluate/evaluator.h"

namespace weft::capture {

// A traced tensor of no dimension for an int that follows from sizes and for a float that changes; undefined
// for all other values.
Tensor changing_number(Evaluator& ev, const V& value);

// weft.full(), full_like(), masked_fill(), linspace() and scaled_dot_product_attention() with such numbers;
// null for other calls.
V call_with_changing_numbers(Evaluator& ev, PyObject* callable, const CallArgs& args);
// weft.arange(start, stop, step) of floats of which some follow from sizes, in this dtype; null for other
// numbers.
V range_of_changing_floats(Evaluator& ev, const V& start, const V& stop, const V& step, DType dtype);
// tensor.fill_() with one; null for other calls.
V fill_with_changing_number(Evaluator& ev, const V& self, const CallArgs& args);
// weft.tensor() of one, or of nested lists with such in them; null for other calls.
V tensor_of_changing_numbers(Evaluator& ev, const CallArgs& args);

}  // namespace weft::capture
