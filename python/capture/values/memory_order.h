// In which order NumPy lays out the axes of a result. Traced tensors of arrays have NumPy's strides, also
// where the graph computes their elements in C order: they decide which reshapes are views, and the order of
// what is made of them.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/values/value.h"

namespace weft::capture {

// Axes from the outermost in memory to the innermost; empty: C order.
using AxisOrder = std::vector<int64_t>;

AxisOrder fortran_order(int64_t ndim);
// Of what ufuncs and reductions allocate (order="K"): the order in which NumPy iterates over the operands,
// broadcast together. Axes that are repeated or of size one do not decide; where operands disagree, C order
// wins.
AxisOrder iteration_order(const std::vector<Tensor>& operands, int64_t ndim);
// The same of operands' strides along the axes of the iteration, 0 where they do not decide.
AxisOrder iteration_order(const std::vector<Strides>& operands, int64_t ndim);
Strides deciding_strides(const Tensor& tensor);
// Of an array's copy with order="K", and with order="A".
AxisOrder copy_order(const V& array);
AxisOrder order_if_fortran(const Tensor& tensor);
// Of what arrays of as many axes are joined in.
AxisOrder joined_order(const std::vector<Tensor>& parts);
// In which the elements of a tensor whose memory is dense lie, with the sizes of this call.
AxisOrder dense_order(const Tensor& tensor);
// What is left of an order of axes when some go; with `keepdims` they stay, of size one.
AxisOrder without_axes(const AxisOrder& order, const std::vector<int64_t>& axes, int64_t ndim, bool keepdims);

// Whether the array's memory is in one piece, in Fortran or C order.
bool is_contiguous(const Tensor& tensor, bool fortran);

// The array, whose memory is its own, laid out in this order.
V laid_out(V array, AxisOrder order);
// The array made of these operands element by element, as ufuncs lay it out.
V laid_out_as(V array, const std::vector<V>& operands);
// The result of functions of the operands' last axes, this number of them: its own lie in C order within the
// others.
V laid_out_in_batches(V array, const std::vector<Tensor>& operands, int64_t num_inner);
// A tensor of the operator's result with the strides of its operand, which it is read in place of.
Tensor with_strides_of(const Tensor& tensor, const Tensor& operand);

// The tensor with its axes in this order, and back.
Tensor to_order(const Tensor& tensor, const AxisOrder& order);
AxisOrder inverse(const AxisOrder& order);

}  // namespace weft::capture
