// Which values operators of arrays take, and what tensors these are.
#include "capture/evaluate/evaluator.h"
#include "capture/numpy/names.h"

namespace weft::capture {

bool Evaluator::is_arraylike(const V& value) {
  realize(value);
  switch (value->kind) {
    case Kind::Array:
    case Kind::Scalar:
    case Kind::SymInt: return true;
    case Kind::Const: {
      PyObject* o = value->object.get();
      return PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyComplex_CheckExact(o);
    }
    default: return false;
  }
}

Tensor Evaluator::to_tensor(const V& value) {
  realize(value);
  if (value->kind == Kind::Array || value->kind == Kind::Scalar) return value->tensor;
  if (value->kind == Kind::SymInt) {
    V& input = symbol_inputs_[value->sym.str()];
    if (!input) {
      input = make_value(Kind::Scalar);
      input->weak = WeakKind::Int;
      input->tensor = tracer_.input({DType::I64, {}, {}});
      variant_->inputs.push_back({GraphInput::Type::Sym, -1, DType::I64, value->sym});
    }
    return input->tensor;
  }
  if (value->is_const()) {
    if (const auto scalar = scalar_of(value->object.get())) {
      const DType dtype = scalar->is_bool()    ? DType::Bool
                          : scalar->is_int()   ? DType::I64
                          : scalar->is_float() ? DType::F64
                                               : DType::C128;
      return Tensor::scalar(*scalar, dtype);
    }
  }
  graph_break("an operand that is not an array or a number");
}

}  // namespace weft::capture
