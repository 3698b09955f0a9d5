// What NumPy's operators, functions and methods mean as operator calls; a file for each family.
#pragma once

#include <optional>

#include "capture/evaluate/evaluator.h"
#include "capture/objects/ufuncs.h"

namespace weft::capture {

// Pointwise operator on arrays and Python numbers with NumPy's promotion. The result is a NumPy scalar where
// NumPy gives one (all operands 0-d), laid out as NumPy does.
V numpy_pointwise(Evaluator& ev, std::string_view op, std::vector<V> operands);
V numpy_binary(Evaluator& ev, int op, const V& a, const V& b);  // op: NB_*
V numpy_compare(Evaluator& ev, int op, const V& a, const V& b);
V numpy_unary(Evaluator& ev, Op op, const V& a);
V numpy_subscript(Evaluator& ev, const V& array, const V& key);
void numpy_store(Evaluator& ev, const V& array, const V& key, const V& value);
V numpy_attribute(Evaluator& ev, const V& array, const std::string& name);  // null: no such attribute here

// ndarray.flags, an object: null where `flags` is none that was given.
V flags_attribute(Evaluator& ev, const V& flags, const std::string& name);
V flags_item(Evaluator& ev, const V& flags, const V& key);
// Ends the segment where the assignment changes how an array's memory is seen: Python performs it.
void refuse_new_layout(const V& owner, const std::string& name);
// The elements of array.flat as an array of one dimension; null where `value` is something else.
V flat_elements(Evaluator& ev, const V& value);

// ufunc.reduce() and the like.
V numpy_ufunc_method(Evaluator& ev, PyObject* ufunc, const std::string& method, CallArgs& args);

// Arithmetic between Python numbers that depend on data, or between them and constants.
V scalar_binary(Evaluator& ev, int op, const V& a, const V& b);
V scalar_compare(Evaluator& ev, int op, const V& a, const V& b);

// An argument that is there and not None.
bool given(Evaluator& ev, const V& value);
// A Python bool, int, float or complex; breaks where an int does not fit 64 bits.
std::optional<Scalar> scalar_of(PyObject* object);
// The value's traced tensor with its own dtype; Python numbers and nested lists become arrays as asarray
// makes them.
Tensor as_tensor(Evaluator& ev, const V& value);
// Whether NumPy would give a scalar instead of a 0-d array.
V array_or_scalar(Tensor tensor);
DType to_dtype(Evaluator& ev, const V& value, const char* what);
// NumPy asks for the memory of an array when it makes it, whether anything needs it or not.
void refuse_beyond_memory(const V& array);
// Where NumPy wants an integer it takes no truth values, or does as it likes.
void refuse_bool(Evaluator& ev, const V& value, const char* what);
int64_t to_axis(Evaluator& ev, const V& axis);
std::vector<int64_t> to_axes(Evaluator& ev, const V& axis, int64_t ndim, const char* op);  // None: all
SymShape to_shape(Evaluator& ev, const V& shape, const char* what);
Tensor cast_to(const Tensor& tensor, DType dtype);
// A new array with the same values. The graph may drop the copy; results that need memory of their own get it
// when they are given to Python.
Tensor copy_tensor(const Tensor& tensor, DType dtype);
Tensor copy_tensor(const Tensor& tensor);
V copy_of(const V& array, DType dtype);  // in the same memory order
// A view of `base`'s memory.
V view(const V& base, Tensor tensor);
const V& array_argument(Evaluator& ev, const V& value);  // breaks where it is not an array
// start, start + step, … below stop, as int64, where one of them is a symbolic integer (`start` may be null:
// 0); an undefined tensor for all others.
Tensor symbolic_range(Evaluator& ev, const V& start, const V& stop, const V& step);
// Assigns in place, as target[...] = source.
void assign(Evaluator& ev, const V& target, const Tensor& view, const V& source);

// Does the call make an array of the items of a long list that was given? Then Python performs it between two
// segments: a segment that took them one by one would be of that length only.
bool joins_long_list(PyObject* callable, const CallArgs& args);

void register_numpy_ufuncs();
void register_numpy_reductions();
void register_numpy_shapes();
void register_numpy_creation();
void register_numpy_linalg();
void register_numpy_sorting();
void register_numpy_positions();
void register_numpy_ufunc_methods();
void register_numpy_making();
void register_numpy_memory();
void register_numpy_index();

// A number of Python's that is not known at capture, as an operand in this dtype: NumPy neither wraps nor
// truncates it. A graph break, or a check while running, where an array of integers cannot hold it.
Tensor within_range(Evaluator& ev, const V& number, DType into);
// NumPy refuses a number of Python's that an array of integers cannot hold, also in lists, and asks single
// floats for their int(): a graph break where that could be.
void check_storable(Evaluator& ev, const V& value, DType into);
// The exponent of a power; where both are integers, a graph that meets one below zero gives up: NumPy refuses
// it.
V without_negative_exponents(Evaluator& ev, const V& base, const V& exponent);

}  // namespace weft::capture
