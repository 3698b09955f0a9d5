// Values of native loops: a static type, known when the loop is built, and C++ expressions for what varies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "capture/perform/state.h"
#include "loopir/expression.h"
#include "loopir/operations.h"
#include "weft/dtype.h"

namespace weft::capture {

using loopir::Expr;
using loopir::integer_literal;
namespace op = loopir::op;

enum class LoopKind : uint8_t {
  Unbound,       // a local that is not set, or that nothing reads again
  Null,          // CPython's NULL on the stack
  Const,         // the very object `object`
  Int,           // a Python int of 64 bits
  Float,         // a Python float
  Bool,          // a Python bool
  Numpy,         // a NumPy scalar of `dtype`
  Complex,       // a Python complex: items are two floats
  NumpyComplex,  // a NumPy complex128: items are two floats
  Object,        // object `index` of the entry, which the loop only passes on
  Array,         // array `index` of the entry
  Row,           // a view of array `index` whose first `dims` dimensions have been indexed
  Tuple,         // items
  Range,         // range(items[0], items[1], items[2])
  Cell,          // a closure's cell, object `index` of the entry or the one `object`; items[0]: its contents
  Function,    // a function made by the program, object `index` of the entry: `object` is its code, items its
               // cells
  RangeIter,   // an iterator: next is items[0], ends before items[1]; items[2]: the step; items[3], where
               // there is one: what it gives in place of the number n
  Elements,    // items[0][n]; this and the following: only within a RangeIter
  Counted,     // items[0] + n * items[1], which is known; items[2]: where it ends
  Enumerated,  // (items[0] + n, what items[1] gives)
  Zipped,      // what each of items gives
  Rest,        // an iterator over a tuple, of which items are left
  Vector,      // a list of numbers, which the loop does not change: array `index` of the entry
  Appended,    // a list, object `index` of the entry, with which the loop does nothing but append
  Resized,     // a list of numbers that the loop takes from and adds to: list `index` of the entry, or a
               // list the loop has made, with items of the types of list `index`; items[0]: which one
               // (resized.cc)
  ListAddress,  // of a ResizedList; only within a Resized
  Pointer,      // an address of elements of `dtype`; only within a view
  View,  // an array: items are the pointer, `dims` sizes, `dims` strides in elements; `index`: the array of
         // the entry that it is a view of, or -1 for memory of the loop (memory.h)
  Pending,    // what the ufunc `object` gives for items, not computed yet; it never leaves its block
  Slice,      // slice(items[0], items[1], items[2])
  List,       // items; only on the stack
  Method,     // the method named `object` of items[0]; only on the stack
  Either,     // a float, items[0]: NumPy's float64 where items[1] is true, Python's where not (either.cc)
  Closure,    // a function that the loop makes: `object` is one of its code and globals, items its cells
              // (closures.cc)
  Generator,  // of function or closure `object`, suspended before instruction `index`: items are its locals,
              // then its stack; one that has begun never leaves the code
  ScalarArray,  // an array without dimensions, in memory of the loop: items[0] is its address
  Dict,  // one that is written out: items are keys, which are pinned, each before its value; only on the
         // stack
};

// An int inside a loop as factor * (the loop's counter) + base, in what the loop does not change. An empty
// factor is 0. `degree`: how many numbers are multiplied; `atoms`: the numbers it is made of.
// The base is also `form`, empty for 0, plus a constant: two of one form differ by a number that is known.
struct LoopAffine {
  Expr factor, base;
  int degree = 0;
  std::set<Expr> atoms;
  Expr form = {};
  int64_t constant = 0;
  int counter = -1;  // in a nest of loops: the head of the one whose counter it is, -1 for the outermost
};
using LoopAffineRef = std::shared_ptr<const LoopAffine>;
LoopAffineRef affine_atom(const Expr& expr);
LoopAffineRef affine_literal(int64_t value);
// Null where the result is none, or an operand is null.
LoopAffineRef affine_sum(const LoopAffineRef& a, const LoopAffineRef& b, bool minus);
LoopAffineRef affine_product(const LoopAffineRef& a, const LoopAffineRef& b);
// Null is equal to nothing.
bool equal(const LoopAffineRef& a, const LoopAffineRef& b);

struct LoopValue {
  LoopKind kind = LoopKind::Unbound;
  DType dtype = DType::F64;
  bool nonnegative = false;           // Int
  PyObject* object = nullptr;         // Const; kept alive by the program
  int index = -1, dims = 0;           // Object, Array, Row
  std::vector<LoopValue> items;       // Tuple, Range, RangeIter
  std::optional<int64_t> known;       // Int: the value, if it is known here
  std::optional<double> known_float;  // Float: the same
  bool pinned = false;                // Int: its value is part of its type, no variable (unrolled.cc)
  LoopAffineRef affine;               // Int, in a loop's checked version
  std::optional<int64_t> most;  // Int, Numpy: where it is known to be from 0 to this, by a mask or a divisor
  Expr remainder;               // Int, Numpy: it is zero where this is, of a division that rounds to zero
  bool is_counter = false;      // in a loop's checked version: moved by little in a round (counters.cc)
  // Numpy: an element of array `counts_of`, which is only counted in (whole.cc); with is_count, one more or
  // less than that.
  int counts_of = -1;
  bool is_count = false;
  Expr expr;              // of the leaf: Int, Float, Bool, Numpy, Row, Pointer, ListAddress
  std::string operation;  // Pending: weft's operator, which computes with `compute`
  DType compute = DType::F64;
  std::vector<std::string> sizes;  // Pending
  std::string origin;              // View: the container and key it was taken by, in this block

  bool is_leaf() const {
    return kind == LoopKind::Int || kind == LoopKind::Float || kind == LoopKind::Bool ||
           kind == LoopKind::Numpy || kind == LoopKind::Row || kind == LoopKind::Pointer ||
           kind == LoopKind::ListAddress;
  }
  bool is_number() const {
    return is_leaf() && kind != LoopKind::Row && kind != LoopKind::Pointer && kind != LoopKind::ListAddress;
  }
  // Of a View.
  const LoopValue& size(int d) const { return items[static_cast<size_t>(1 + d)]; }
  const LoopValue& stride(int d) const { return items[static_cast<size_t>(1 + dims + d)]; }
  bool is_complex() const { return kind == LoopKind::Complex || kind == LoopKind::NumpyComplex; }
  bool is_double() const {
    return kind == LoopKind::Float || kind == LoopKind::Either ||
           (kind == LoopKind::Numpy && dtype == DType::F64);
  }
  bool is_python() const { return is_number() && kind != LoopKind::Numpy; }
};

LoopValue loop_int(Expr expr, bool nonnegative = false);
LoopValue loop_known_int(int64_t value);
LoopValue loop_float(Expr expr);
LoopValue loop_known_float(double value);
LoopValue loop_bool(Expr expr);
LoopValue loop_numpy(DType dtype, Expr expr);
// A Python number as the NumPy scalar that a ufunc of Python numbers takes it for.
LoopValue as_numpy_scalar(LoopValue value);
LoopValue loop_either(Expr number, Expr is_numpy);
LoopValue loop_complex(bool of_numpy, Expr real, Expr imaginary);
// A number as the element of a complex array.
Expr element_of_complex(const LoopValue& value);
LoopValue loop_const(PyObject* object);
LoopValue loop_tuple(std::vector<LoopValue> items);
LoopValue loop_iterator(LoopValue number, LoopValue end, LoopValue gives);
// The list that the loop may resize while this iterator goes over it; null where there is none.
const LoopValue* resized_under(const LoopValue& iterator);
LoopValue loop_view(DType dtype, int index, Expr pointer, std::vector<LoopValue> sizes,
                    std::vector<LoopValue> strides);
// Is it a range of few numbers, whose rounds are blocks of their own?
inline bool is_unrolled(const LoopValue& iterator) {
  return iterator.kind == LoopKind::RangeIter && iterator.items[0].pinned;
}
// Is item `i` a part of the value's type, and no variable? A range's step, a view's stride of one element.
bool is_static_item(const LoopValue& value, size_t i);

// The dtypes that loops compute with.
bool is_loop_dtype(DType dtype);
// Those of arrays whose elements they read and write.
inline bool is_element_dtype(DType dtype) { return is_loop_dtype(dtype) || dtype == DType::C128; }
std::string c_type(DType dtype);
// In memory, where a bool may be any byte.
std::string element_type(DType dtype);
// Of a leaf: "i64", "f64", "bool"; "f64*" for a row.
std::string c_type(const LoopValue& leaf);
// What tells types apart: values with equal keys can stand in one variable.
void append_key(const LoopValue& value, std::string& key);
// Leaves in order; `path` tells them apart within the value.
void for_each_leaf(LoopValue& value, const std::function<void(LoopValue&, const std::string& path)>& visit,
                   const std::string& path = "");
// Of an item of a list that a loop resizes; nothing where items cannot be of that type.
std::optional<LoopValue> item_type(LoopValue value);
// Whether items of all these types may be in one list: few, of as many words each.
bool may_be_in_one_list(const std::vector<LoopValue>& types);
// As a value that a variable holds: what was known of it is forgotten, but a range iterator's step.
LoopValue generalized(LoopValue value);
// The items of a subscript.
std::vector<LoopValue> parts_of_key(const LoopValue& key);
// NB_* of an operator, of its form in place too.
int operator_of(int op);
std::string float_literal(double value);
// Conversion, brackets, and two conditions.
Expr cast(const std::string& type, const Expr& value);
Expr in_brackets(const Expr& value);
Expr both(const Expr& a, const Expr& b);

// A frame inside a loop.
struct LoopFrame {
  const Code* code = nullptr;
  PyObject* globals = nullptr;
  PyObject* builtins = nullptr;
  std::vector<LoopValue> locals, stack;
  int ip = 0;
  OnReturn on_return = OnReturn::Push;
  LoopValue extra;
  enum class Role : uint8_t {
    Call,
    StandIn,    // a polyfill (polyfills.cc), for the call that is the next instruction of the frame around it
    Generator,  // of the generator on top of the stack of the frame around it
  };
  Role role = Role::Call;
};

// Does Python perform the call again that led to the frame, where the frame is left?
inline bool stands_in(const LoopFrame& frame) { return frame.role != LoopFrame::Role::Call; }

void append_key(const std::vector<LoopFrame>& frames, std::string& key);
void for_each_leaf(std::vector<LoopFrame>& frames, const std::function<void(LoopValue&)>& visit);
// Forgets locals that nothing reads again.
void drop_dead(std::vector<LoopFrame>& frames);

// The range that a loop with this head goes over, by a step that is known, or by any; null where it goes over
// something else.
const LoopValue* range_at_top(const LoopFrame& frame, bool any_step = false);
// The last number that an iterator over a range gives; a step that is not known is positive.
Expr last_of_range(const LoopValue& range);

// The operation of what a mask chooses: items are the array and the mask.
constexpr const char* kChosen = "chosen";
// Elements at indices that are known to be in range.
constexpr const char* kGather = "gather";
// numpy.roll: items are a view or another roll, the shift and the axis; `expr` is which element comes first.
constexpr const char* kRoll = "roll";

Expr as_word(const LoopValue& leaf);  // in the words of an exit

}  // namespace weft::capture
