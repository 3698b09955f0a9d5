// Arrays made from nothing. Graphs contain two primitives: full and iota.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstring>

#include "core/default_dtype.h"
#include "core/memory_limit.h"
#include "core/profiling.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/composite.h"
#include "ops/range.h"
#include "weft/detail/visit_dtype.h"
#include "weft/parallel.h"

namespace weft::ops {
namespace {

using Tensors = std::vector<Tensor>;

DType made_float(Promotion rules) { return rules == Promotion::Torch ? default_float() : DType::F64; }

DType dtype_of_scalar(const Scalar& value, Promotion rules) {
  switch (value.kind()) {
    case WeakKind::Bool: return DType::Bool;
    case WeakKind::Int: return DType::I64;
    case WeakKind::Float: return made_float(rules);
    case WeakKind::Complex: return rules == Promotion::Torch ? default_complex() : DType::C128;
  }
  return DType::F64;
}

Shape constants(const SymShape& shape) {
  Shape result;
  for (const Sym& size : shape) result.push_back(size.constant());
  return result;
}

void check_sizes(const OpDef& op, const SymShape& shape) {
  for (const Sym& size : shape) {
    WEFT_CHECK(sym_ge(size, Sym(0)),
               fmt::format("{}: sizes must not be negative: got {}", op.name, weft::str(shape)));
  }
}

// ---- primitives
// --------------------------------------------------------------------------------------------
std::vector<TensorType> infer_full(const OpDef& op, std::span<const TensorType>, const Attrs& attrs) {
  const SymShape shape = list_arg(attrs, "shape");
  check_sizes(op, shape);
  const DType dtype =
      dtype_arg(attrs).value_or(dtype_of_scalar(scalar_arg(attrs, "value"), Promotion::Torch));
  return {{dtype, shape, device_arg(attrs)}};
}

Tensors eager_full(const OpDef& op, std::span<const Tensor>, const Attrs& attrs) {
  const TensorType type = infer_full(op, {}, attrs)[0];
  require_available(type.device);
  return {Tensor::full(constants(type.shape), scalar_arg(attrs, "value"), type.dtype, type.device)};
}

std::vector<TensorType> infer_iota(const OpDef& op, std::span<const TensorType>, const Attrs& attrs) {
  const SymShape shape = {sym_arg(attrs, "size")};
  check_sizes(op, shape);
  const DType dtype = attrs.get<DType>("dtype");
  WEFT_CHECK_TYPE(
      dtype != DType::Bool,
      fmt::format("{}: dtype not supported: expected integer, floating or complex, got bool", op.name));
  return {{dtype, shape, device_arg(attrs)}};
}

// As generated code computes it: the position, the product and the sum each in the computation's type.
template <class T>
void fill_iota(Tensor& result, Scalar start, Scalar step) {
  T* out = result.data_as<T>();
  const int64_t n = result.numel();
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    const U first = static_cast<U>(start.to_int()), width = static_cast<U>(step.to_int());
    for (int64_t i = 0; i < n; ++i)
      out[i] = static_cast<T>(static_cast<U>(first + static_cast<U>(i) * width));
  } else if constexpr (std::is_floating_point_v<T>) {
    const T first = static_cast<T>(start.to_double()), width = static_cast<T>(step.to_double());
    for (int64_t i = 0; i < n; ++i) out[i] = first + static_cast<T>(i) * width;
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    const float first = static_cast<float>(start.to_double()), width = static_cast<float>(step.to_double());
    for (int64_t i = 0; i < n; ++i) out[i] = T(first + static_cast<float>(i) * width);
  } else if constexpr (!std::is_same_v<T, bool>) {
    const T first(start.to_complex()), width(step.to_complex());
    for (int64_t i = 0; i < n; ++i) out[i] = first + static_cast<typename T::value_type>(i) * width;
  }
}

Tensors eager_iota(const OpDef& op, std::span<const Tensor>, const Attrs& attrs) {
  const TensorType type = infer_iota(op, {}, attrs)[0];
  require_available(type.device);
  Tensor result = Tensor::empty(constants(type.shape), type.dtype, type.device);
  if (!result.data()) return {result};
  visit_dtype(type.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, bool>)
      fill_iota<T>(result, scalar_arg(attrs, "start"), scalar_arg(attrs, "step"));
  });
  return {result};
}

// ---- composites
// --------------------------------------------------------------------------------------------
// As build::full has it: on the host without the way through the operator.
Tensor full(const SymShape& shape, Scalar value, DType dtype, Device device) {
  static const OpDef& op = get_op("full");
  if (device != Device() || profiling::is_on() || is_recorded(op, {}))
    return build::full(shape, value, dtype, device);
  check_sizes(op, shape);
  const Shape sizes = constants(shape);
  check_fits_memory(op.name, sizes, dtype);
  return Tensor::full(sizes, value, dtype);
}

Tensors filled(const OpArgs& args, Scalar value) {
  return {full(list_arg(args.attrs, "shape"), value, dtype_arg(args.attrs).value_or(made_float(args.rules)),
               device_arg(args.attrs))};
}

Tensors filled_like(const OpArgs& args, Scalar value) {
  const Tensor& x = args.tensors[0];
  const Device device = args.attrs.is_none("device") ? x.device() : device_arg(args.attrs);
  return {full(sym_shape(x), value, dtype_arg(args.attrs).value_or(x.dtype()), device)};
}

Tensors empty(const OpDef& op, const OpArgs& args) {
  const SymShape shape = list_arg(args.attrs, "shape");
  check_sizes(op, shape);
  if (is_recorded(get_op("full"), {})) return filled(args, Scalar(0));
  const Device device = device_arg(args.attrs);
  require_available(device);
  return {Tensor::empty(constants(shape), dtype_arg(args.attrs).value_or(made_float(args.rules)), device)};
}

Tensors empty_like(const OpDef&, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  if (x.is_traced() || is_recorded(get_op("full"), {})) return filled_like(args, Scalar(0));
  return {Tensor::empty(x.shape(), dtype_arg(args.attrs).value_or(x.dtype()),
                        args.attrs.is_none("device") ? x.device() : device_arg(args.attrs))};
}

bool is_integer(const Attr& attr) {
  if (std::holds_alternative<Sym>(attr) || std::holds_alternative<bool>(attr)) return true;
  const Scalar* scalar = std::get_if<Scalar>(&attr);
  return scalar && (scalar->is_int() || scalar->is_bool());
}

Sym to_sym(const Attr& attr) {
  if (const Sym* sym = std::get_if<Sym>(&attr)) return *sym;
  if (const bool* value = std::get_if<bool>(&attr)) return Sym(static_cast<int64_t>(*value));
  return Sym(std::get<Scalar>(attr).to_int());
}

// arange(stop), arange(start, stop), arange(start, stop, step).
Tensors arange(const OpDef& op, const OpArgs& args) {
  const Attrs& attrs = args.attrs;
  const bool only_stop = attrs.is_none("stop");
  const Attr zero = Sym(0);
  const Attr &start = only_stop ? zero : attrs.at("start"),
             &stop = only_stop ? attrs.at("start") : attrs.at("stop");
  const Attr& step = attrs.at("step");
  const Device device = device_arg(attrs);
  const bool integers = is_integer(start) && is_integer(stop) && is_integer(step);
  const DType dtype = dtype_arg(attrs).value_or(integers ? DType::I64 : made_float(args.rules));
  if (integers) {
    const Sym first = to_sym(start), last = to_sym(stop);
    const int64_t width = sym_specialize(to_sym(step));
    WEFT_CHECK(width != 0, fmt::format("{}: step must not be zero", op.name));
    const Sym distance = width > 0 ? last - first : first - last;
    if (args.rules == Promotion::Torch && sym_le(distance, Sym(0)))
      WEFT_CHECK(sym_eq(distance, Sym(0)), fmt::format("{}: the step leads away from the end", op.name));
    const int64_t size = std::abs(width);
    Sym count = sym_le(distance, Sym(0)) ? Sym(0)
                : size == 1              ? distance
                                         : floor_div(distance + Sym(size - 1), Sym(size));
    const Scalar begin(sym_specialize(first));
    if (args.rules == Promotion::Torch && count.is_constant())
      return {torch_range(count.constant(), begin, Scalar(width), dtype, device)};
    return {build::iota(count, begin, Scalar(width), dtype, device)};
  }
  const auto number = [&](const Attr& attr) {
    return std::holds_alternative<double>(attr)   ? std::get<double>(attr)
           : std::holds_alternative<Scalar>(attr) ? std::get<Scalar>(attr).to_double()
                                                  : static_cast<double>(sym_specialize(to_sym(attr)));
  };
  const double first = number(start), last = number(stop), width = number(step);
  WEFT_CHECK(width != 0, fmt::format("{}: step must not be zero", op.name));
  WEFT_CHECK(args.rules == Promotion::NumPy || !((last - first) / width < 0),
             fmt::format("{}: the step leads away from the end", op.name));
  const double count = std::ceil((last - first) / width);
  WEFT_CHECK(std::isfinite(count) && count < 0x1p62,
             fmt::format("{}: the number of elements is not finite: got start {}, stop {}, step {}", op.name,
                         first, last, width));
  const auto size = static_cast<int64_t>(std::max(count, 0.0));
  if (args.rules == Promotion::Torch) return {torch_range(size, Scalar(first), Scalar(width), dtype, device)};
  // NumPy's step is the difference of the first two elements, with their rounding.
  return {build::iota(Sym(size), Scalar(first), Scalar((first + width) - first), dtype, device)};
}

// PyTorch counts from both ends; NumPy from the start, and sets the last element.
Tensor linspace(const OpArgs& args, double start, double stop, int64_t count, DType compute, bool endpoint) {
  const Device device = device_arg(args.attrs);
  const int64_t intervals = endpoint ? count - 1 : count;
  if (count == 0 || intervals <= 0) return build::full({Sym(count)}, Scalar(start), compute, device);
  const double step = (stop - start) / static_cast<double>(intervals);
  const Tensor position = build::iota(Sym(count), Scalar(0), Scalar(1), DType::I64, device);
  const Tensor forward = build::iota(Sym(count), Scalar(start), Scalar(step), compute, device);
  if (!endpoint) return forward;
  if (args.rules == Promotion::NumPy) {
    return invoke("where",
                  {invoke("eq", {position, Scalar(count - 1)}), Tensor::scalar(stop, compute), forward});
  }
  const Tensor backward = build::iota(Sym(count), Scalar(stop - step * static_cast<double>(count - 1)),
                                      Scalar(step), compute, device);
  return invoke("where", {invoke("lt", {position, Scalar(count / 2)}), forward, backward});
}

// PyTorch's with an end or a dtype that is complex: real and imaginary parts are spaced by themselves.
Tensor complex_linspace(const OpArgs& args, int64_t count, DType dtype, bool logarithmic) {
  const std::complex<double> start = scalar_arg(args.attrs, "start").to_complex(),
                             end = scalar_arg(args.attrs, "end").to_complex();
  const DType part = logarithmic ? DType::F64 : real_dtype(dtype);
  const Tensor result = invoke("complex", {linspace(args, start.real(), end.real(), count, part, true),
                                           linspace(args, start.imag(), end.imag(), count, part, true)});
  if (!logarithmic) return result;
  return build::cast(invoke("pow", {Scalar(float_arg(args.attrs, "base")), result}), dtype);
}

Tensor linspace_op(const OpDef& op, const OpArgs& args, bool logarithmic) {
  const int64_t count = int_arg(args.attrs, "steps");
  WEFT_CHECK(count >= 0, fmt::format("{}: steps must not be negative, got {}", op.name, count));
  if (args.rules == Promotion::Torch) {
    const bool has_complex_end =
        scalar_arg(args.attrs, "start").is_complex() || scalar_arg(args.attrs, "end").is_complex();
    const std::optional<DType> wanted = dtype_arg(args.attrs);
    WEFT_CHECK(!has_complex_end || !wanted || is_complex(*wanted),
               fmt::format("{}: complex ends need a complex dtype, got {}", op.name, name(*wanted)));
    if (has_complex_end || (wanted && is_complex(*wanted)))
      return complex_linspace(args, count, wanted.value_or(default_complex()), logarithmic);
  }
  const DType dtype = dtype_arg(args.attrs).value_or(made_float(args.rules));
  const bool endpoint = logarithmic || args.attrs.get_bool("endpoint");
  double start = float_arg(args.attrs, "start"), end = float_arg(args.attrs, "end");
  // PyTorch's ends have the result's dtype.
  if (is_integral(dtype) && args.rules == Promotion::Torch) start = std::trunc(start), end = std::trunc(end);
  if (itemsize(dtype) == 2 && logarithmic && count != 1 && args.rules == Promotion::Torch)
    for (double* const each : {&start, &end})
      *each = Tensor::full({1}, Scalar(*each), dtype).item().to_double();
  Tensor result =
      linspace(args, start, end, count, logarithmic || is_integral(dtype) ? DType::F64 : dtype, endpoint);
  if (logarithmic) result = invoke("pow", {Scalar(float_arg(args.attrs, "base")), result});
  if (is_integral(dtype) && args.rules == Promotion::NumPy) result = invoke("floor", {result});
  return build::cast(result, dtype);
}

// Row and column numbers of the last two dimensions, as [rows, 1] and [1, columns].
std::pair<Tensor, Tensor> positions(Sym rows, Sym columns, Device device) {
  const Tensor row = build::iota(rows, Scalar(0), Scalar(1), DType::I64, device);
  const Tensor column = build::iota(columns, Scalar(0), Scalar(1), DType::I64, device);
  return {build::unsqueeze(row, 1), build::unsqueeze(column, 0)};
}

Tensors eye(const OpDef&, const OpArgs& args) {
  const Sym rows = sym_arg(args.attrs, "n"), columns = optional_sym_arg(args.attrs, "m").value_or(rows);
  const auto [row, column] = positions(rows, columns, device_arg(args.attrs));
  const Tensor shifted = invoke("add", {row, size_operand(sym_arg(args.attrs, "k"))});
  return {
      build::cast(invoke("eq", {shifted, column}), dtype_arg(args.attrs).value_or(made_float(args.rules)))};
}

Tensor lower_mask(Sym rows, Sym columns, Sym diagonal, Device device) {
  const auto [row, column] = positions(rows, columns, device);
  return invoke("ge", {invoke("add", {row, size_operand(diagonal)}), column});
}

Tensors tri(const OpDef&, const OpArgs& args) {
  const Sym rows = sym_arg(args.attrs, "n"), columns = optional_sym_arg(args.attrs, "m").value_or(rows);
  return {build::cast(lower_mask(rows, columns, sym_arg(args.attrs, "k"), device_arg(args.attrs)),
                      dtype_arg(args.attrs).value_or(made_float(args.rules)))};
}

// Rows are copied up to the diagonal, or from it on, and filled with zeros.
Tensor copy_triangle(const Tensor& given, int64_t wanted_diagonal, bool lower) {
  const Tensor x = given.contiguous(), result = Tensor::empty(x.shape(), x.dtype());
  const int64_t size = itemsize(x.dtype()), columns = x.shape().back(),
                rows = x.shape()[x.shape().size() - 2];
  const int64_t diagonal = std::clamp(wanted_diagonal, -rows - 1, columns);
  const auto* const from = static_cast<const std::byte*>(x.data());
  auto* const to = static_cast<std::byte*>(result.data());
  if (x.numel() == 0) return result;
  parallel_for(0, x.numel() / columns, std::max<int64_t>(1, (64 << 10) / (columns * size)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const int64_t border =
                       std::clamp<int64_t>(row % rows + diagonal + (lower ? 1 : 0), 0, columns);
                   const int64_t first = lower ? 0 : border, last = lower ? border : columns;
                   std::byte* const target = to + row * columns * size;
                   std::memset(target, 0, static_cast<size_t>(first * size));
                   std::memcpy(target + first * size, from + (row * columns + first) * size,
                               static_cast<size_t>((last - first) * size));
                   std::memset(target + last * size, 0, static_cast<size_t>((columns - last) * size));
                 }
               });
  return result;
}

Tensors triangle(const OpDef& op, const OpArgs& args, bool lower) {
  const Tensor& x = args.tensors[0];
  WEFT_CHECK(x.dim() >= 2, fmt::format("{}: expected at least 2 dimensions, got {}", op.name, describe(x)));
  const SymShape shape = sym_shape(x);
  if (!x.is_traced() && x.device().type == DeviceType::CPU)
    return {copy_triangle(x, int_arg(args.attrs, "diagonal"), lower)};
  const Sym diagonal = sym_arg(args.attrs, "diagonal");
  const Tensor mask =
      lower_mask(shape[shape.size() - 2], shape.back(), lower ? diagonal : diagonal - Sym(1), x.device());
  const Tensor zero = build::full({}, Scalar(0), x.dtype(), x.device());
  return {lower ? call1("where", {mask, x, zero}) : call1("where", {mask, zero, x})};
}

Tensors diag(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const int64_t k = int_arg(args.attrs, "diagonal");
  WEFT_CHECK(x.dim() == 1 || x.dim() == 2,
             fmt::format("{}: expected 1 or 2 dimensions, got {}", op.name, describe(x)));
  const Attrs attrs = {{"offset", Sym(k)}, {"dim1", Sym(0)}, {"dim2", Sym(1)}};
  if (x.dim() == 2) return {call1("diagonal", {x}, attrs)};
  const Sym size = sym_shape(x)[0] + Sym(std::abs(k));
  return {call1("diagonal_update", {build::full({size, size}, Scalar(0), x.dtype(), x.device()), x}, attrs)};
}

Tensors meshgrid(const OpDef& op, const OpArgs& args) {
  const std::string by_rules = args.rules == Promotion::NumPy ? "xy" : "ij";
  const std::string indexing =
      args.attrs.is_none("indexing") ? by_rules : args.attrs.get<std::string>("indexing");
  WEFT_CHECK(indexing == "ij" || indexing == "xy",
             fmt::format("{}: indexing must be 'ij' or 'xy', got '{}'", op.name, indexing));
  const size_t n = args.tensors.size();
  const bool swap = indexing == "xy" && n >= 2;
  SymShape shape;
  for (const Tensor& x : args.tensors) {
    WEFT_CHECK(x.dim() <= 1,
               fmt::format("{}: expected tensors of at most 1 dimension, got {}", op.name, describe(x)));
    shape.push_back(x.dim() == 0 ? Sym(1) : sym_shape(x)[0]);
  }
  if (swap) std::swap(shape[0], shape[1]);
  Tensors results;
  for (size_t i = 0; i < n; ++i) {
    const size_t d = swap && i < 2 ? 1 - i : i;
    SymShape lined(n, Sym(1));
    lined[d] = shape[d];
    results.push_back(build::expand(build::reshape(args.tensors[i], lined), shape));
  }
  return results;
}

Tensors vander(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  WEFT_CHECK(x.dim() == 1, fmt::format("{}: expected 1 dimension, got {}", op.name, describe(x)));
  const Sym columns = optional_sym_arg(args.attrs, "N").value_or(sym_shape(x)[0]);
  Tensor powers = build::iota(columns, Scalar(0), Scalar(1), DType::I64, x.device());
  if (!args.attrs.get_bool("increasing")) powers = build::slice(powers, 0, std::nullopt, std::nullopt, -1);
  return {invoke("pow", {build::unsqueeze(x, 1), build::unsqueeze(build::cast(powers, x.dtype()), 0)})};
}

#define WEFT_PLACE "*, dtype? dtype=None, device? device=None"

[[maybe_unused]] const OpDef* const kCreationOps[] = {
    &register_op({.name = "full",
                  .schema = "(int[] shape, Scalar value, " WEFT_PLACE ") -> Tensor",
                  .kind = OpKind::Creation,
                  .doc = "An array with the same value everywhere. dtype: by default bool, int64, float32 or "
                         "complex64 after the value.",
                  .numpy = "numpy.full(shape, value, dtype)",
                  .infer = infer_full,
                  .eager = eager_full}),
    &register_op(
        {.name = "iota",
         .schema = "(int size, Scalar start, Scalar step, dtype dtype, device? device=None) -> Tensor",
         .kind = OpKind::Creation,
         .doc = "start + i * step, computed in dtype (float16 and bfloat16: in float32).",
         .infer = infer_iota,
         .eager = eager_iota}),
    &define_composite("zeros", "(int[] shape, " WEFT_PLACE ") -> Tensor",
                      "An array of zeros; float32 by default (NumPy's rules: float64).",
                      "numpy.zeros(shape, dtype)",
                      [](const OpDef&, const OpArgs& args) { return filled(args, Scalar(0)); }),
    &define_composite("ones", "(int[] shape, " WEFT_PLACE ") -> Tensor",
                      "An array of ones; float32 by default (NumPy's rules: float64).",
                      "numpy.ones(shape, dtype)",
                      [](const OpDef&, const OpArgs& args) { return filled(args, Scalar(1)); }),
    &define_composite(
        "empty", "(int[] shape, " WEFT_PLACE ") -> Tensor",
        "An array with arbitrary contents (in graphs: zeros); float32 by default (NumPy's rules: float64).",
        "", empty),
    &define_composite("zeros_like", "(Tensor x, " WEFT_PLACE ") -> Tensor",
                      "Zeros of x's shape, and dtype and device unless given.", "numpy.zeros_like(x, dtype)",
                      [](const OpDef&, const OpArgs& args) { return filled_like(args, Scalar(0)); }),
    &define_composite("ones_like", "(Tensor x, " WEFT_PLACE ") -> Tensor",
                      "Ones of x's shape, and dtype and device unless given.", "numpy.ones_like(x, dtype)",
                      [](const OpDef&, const OpArgs& args) { return filled_like(args, Scalar(1)); }),
    &define_composite(
        "full_like", "(Tensor x, Scalar value, " WEFT_PLACE ") -> Tensor",
        "One value in x's shape, and dtype and device unless given.", "numpy.full_like(x, value, dtype)",
        [](const OpDef&, const OpArgs& args) { return filled_like(args, scalar_arg(args.attrs, "value")); }),
    &define_composite("empty_like", "(Tensor x, " WEFT_PLACE ") -> Tensor",
                      "Arbitrary contents in x's shape, and dtype and device unless given.", "", empty_like),
    &define_composite(
        "arange", "(Scalar start, Scalar? stop=None, Scalar step=1, " WEFT_PLACE ") -> Tensor",
        "start, start + step, … up to but not including stop; arange(n) counts from 0 to n - 1.\n"
        "dtype: int64 for integers, else float32 (NumPy's rules: float64). ValueError for step 0.",
        "numpy.arange(start, stop, step, dtype)", arange),
    &define_composite(
        "linspace",
        "(Scalar start, Scalar end, int steps=50, *, bool endpoint=True, dtype? dtype=None, device? "
        "device=None) -> Tensor",
        "`steps` numbers from start to end, evenly spaced; `endpoint` says whether end is the last of them.",
        "numpy.linspace(start, end, steps, endpoint, dtype=dtype)",
        [](const OpDef& op, const OpArgs& args) -> Tensors { return {linspace_op(op, args, false)}; }),
    &define_composite(
        "logspace", "(Scalar start, Scalar end, int steps=50, float base=10.0, " WEFT_PLACE ") -> Tensor",
        "base ** linspace(start, end, steps).", "numpy.logspace(start, end, steps, base=base, dtype=dtype)",
        [](const OpDef& op, const OpArgs& args) -> Tensors { return {linspace_op(op, args, true)}; }),
    &define_composite("eye", "(int n, int? m=None, int k=0, " WEFT_PLACE ") -> Tensor",
                      "n x m (None: n) with ones on diagonal k, zeros elsewhere.",
                      "numpy.eye(n, m, k, dtype)", eye),
    &define_composite("tri", "(int n, int? m=None, int k=0, " WEFT_PLACE ") -> Tensor",
                      "n x m (None: n) with ones on and below diagonal k.", "numpy.tri(n, m, k, dtype)", tri),
    &define_composite("tril", "(Tensor x, int diagonal=0) -> Tensor",
                      "x with zeros above the diagonal, in the last two dimensions.",
                      "numpy.tril(x, diagonal)",
                      [](const OpDef& op, const OpArgs& args) { return triangle(op, args, true); }, {}, {""}),
    &define_composite(
        "triu", "(Tensor x, int diagonal=0) -> Tensor",
        "x with zeros below the diagonal, in the last two dimensions.", "numpy.triu(x, diagonal)",
        [](const OpDef& op, const OpArgs& args) { return triangle(op, args, false); }, {}, {""}),
    &define_composite("diag", "(Tensor x, int diagonal=0) -> Tensor",
                      "The diagonal of a matrix (a view); of a vector, the matrix with it on that diagonal.",
                      "numpy.diag(x, diagonal)", diag, {}, {""}),
    &define_composite("meshgrid", "(Tensor[] tensors, *, str? indexing=None) -> Tensor[]",
                      "Coordinate arrays of the grid spanned by vectors, as views. indexing 'xy': the first "
                      "two dimensions exchanged.",
                      "numpy.meshgrid(*tensors, indexing=indexing)", meshgrid),
    &define_composite("vander", "(Tensor x, int? N=None, bool increasing=False) -> Tensor",
                      "Powers of x's elements, one per column (N of them; None: as many as rows), falling "
                      "unless increasing.",
                      "numpy.vander(x, N, increasing)", vander),
};

#undef WEFT_PLACE

}  // namespace
}  // namespace weft::ops
