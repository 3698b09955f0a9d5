// What becomes of an operator's results: Python's values, or elements of tensors that are there.
#pragma once

#include <span>
#include <vector>

#include "bindings.h"
#include "op_arguments.h"

namespace weft::python {

// Into a tensor of the result's shape, whose dtype may be a narrower one of its kind; else an error says why.
void store_result(const ops::OpDef& op, const Tensor& target, const Tensor& result, Promotion rules);
// out=: PyTorch gives a tensor of another shape the result's.
void store_out(const ops::OpDef& op, PyObject* out, const Tensor& result, Promotion rules,
               std::span<const Tensor> inputs);
// What makes tensors of numbers makes none of another dtype than out has.
void check_made_dtype(const ops::OpDef& op, const OpArguments& arguments, PyObject* out);

// One tensor, or the tuple or list of several.
nb::object wrap_results(const ops::OpDef& op, const std::vector<Tensor>& results, Promotion rules);
// weft.return_types has the named tuples of what gives several tensors.
nb::object named_results(const ops::OpDef& op, const nb::list& values, bool of_out = false);
// The result of a function that makes tensors, as its other keywords say.
nb::object as_made(nb::object result, PyObject* requires_grad, PyObject* memory_format);
// As PyTorch lays it out beside a tensor whose elements lie densely in another order.
nb::object in_order_beside(nb::object result, PyObject* beside);

}  // namespace weft::python
