// What NumPy refuses by value: numbers that an array of integers cannot hold, integers to negative powers.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "capture/numpy/names.h"
#include "capture/objects/numpy_api.h"
#include "capture/values/memory_order.h"
#include "weft/dtype.h"

namespace weft::capture {

namespace {

// True if `number` is one that an array of integers takes as it is, its fraction dropped.
bool fits(const Scalar& number, DType into) {
  return visit_dtype(into, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (number.is_bool()) return true;
      if (number.is_int()) return std::in_range<T>(number.to_int());
      const double value = number.is_float() ? std::trunc(number.to_double()) : 0;
      return std::isfinite(value) && value >= static_cast<double>(std::numeric_limits<T>::min()) &&
             value < std::ldexp(1.0, std::numeric_limits<T>::digits);
    } else {
      return true;
    }
  });
}

// Guards that say on which side of the range a symbolic number lies.
bool symbol_fits(Sym number, DType into) {
  return visit_dtype(into, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const bool is_below =
          sizeof(T) == 8 || sym_le(number, Sym(static_cast<int64_t>(std::numeric_limits<T>::max())));
      return is_below && (std::is_same_v<T, int64_t> ||
                          sym_ge(number, Sym(static_cast<int64_t>(std::numeric_limits<T>::min()))));
    } else {
      return true;
    }
  });
}

}  // namespace

Tensor within_range(Evaluator& ev, const V& number, DType into) {
  Tensor tensor = ev.to_tensor(number);
  if (!is_integral(into) || into == DType::I64 || tensor.dtype() != DType::I64) return tensor;
  if (number->kind == Kind::SymInt) {
    if (!symbol_fits(number->sym, into))
      graph_break(fmt::format("a number that an array of {} cannot hold", info(into).name));
    return tensor;
  }
  // Beyond the type's numbers a cast changes it.
  const Tensor fits = into == DType::U64
                          ? ops::call1("ge", {tensor, Tensor::scalar(Scalar(int64_t{0}), DType::I64)})
                          : ops::call1("eq", {cast_to(cast_to(tensor, into), DType::I64), tensor});
  return ops::call1("require", {tensor, fits});
}

void check_storable(Evaluator& ev, const V& value, DType into) {
  if (is_floating(into) || is_complex(into) || into == DType::Bool) return;
  ev.realize(value);
  const bool is_sequence =
      value->is_const() && (PyTuple_Check(value->object.get()) || PyList_CheckExact(value->object.get()));
  if (value->kind == Kind::List || value->kind == Kind::Tuple || is_sequence) {
    for (const V& item : ev.elements(value)) check_storable(ev, item, into);
    return;
  }
  bool can_be = true;
  if (value->is_const()) {
    const auto number = scalar_of(value->object.get());
    can_be = !number || fits(*number, into);
  } else if (value->kind == Kind::SymInt) {
    can_be = symbol_fits(value->sym, into);
  } else if (value->kind == Kind::Scalar) {
    can_be = value->weak == WeakKind::Bool || (value->weak == WeakKind::Int && into == DType::I64);
  } else if (value->kind == Kind::Array && value->flavor != Flavor::NdArray) {
    const DType from = value->tensor.dtype();
    can_be = !is_floating(from) && promote_types(from, into, Promotion::NumPy) == into;
  }
  if (!can_be) graph_break(fmt::format("a number that an array of {} may not hold", info(into).name));
}

V without_negative_exponents(Evaluator& ev, const V& base, const V& exponent) {
  const auto is_integer = [&](const V& value) {
    const DType dtype = as_tensor(ev, value).dtype();
    return is_integral(dtype) || dtype == DType::Bool;
  };
  if (!is_integer(base) || !is_integer(exponent) || !is_signed(as_tensor(ev, exponent).dtype()))
    return exponent;
  if (exponent->is_const()) {
    const auto number = scalar_of(exponent->object.get());
    if (number && !number->is_bool() && number->to_int() < 0)
      graph_break("an integer to a negative power, which NumPy refuses");
    return exponent;
  }
  if (exponent->kind == Kind::SymInt && sym_specialize(exponent->sym) < 0)
    graph_break("an integer to a negative power, which NumPy refuses");
  if (exponent->kind != Kind::Array) return exponent;
  const V holds = numpy_pointwise(ev, "ge", {exponent, const_value(checked(PyLong_FromLong(0)))});
  V result = array_value(ops::call1("require", {exponent->tensor, holds->tensor}), exponent->flavor);
  return laid_out_as(result, {exponent});
}

}  // namespace weft::capture
