// New tensors. Layouts other than strided and pinned memory do not exist here; memory formats are hints.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "script/builtins/aten.h"

namespace weft::jit::aten {
namespace {

constexpr const char* kOptions =
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None";

std::string with_options(std::string_view name, std::string_view arguments) {
  return fmt::format("{}({}, *, {}) -> Tensor", name, arguments, kOptions);
}
std::string like_options(std::string_view name, std::string_view more = "") {
  return fmt::format("{}(Tensor self{}, *, {}, MemoryFormat? memory_format=None) -> Tensor", name, more,
                     kOptions);
}

Tensor full(const Ints& size, Scalar value, OptionalDType dtype, OptionalDevice device) {
  return call(
      op<"full">(), {},
      {{"shape", sizes(size)}, {"value", value}, {"dtype", optional(dtype)}, {"device", optional(device)}});
}

// Elements of memory from the first of such a tensor to its last.
int64_t extent_of(std::string_view name, const Ints& size, const Ints& stride) {
  const auto negative = [](int64_t value) { return value < 0; };
  WEFT_CHECK(size.size() == stride.size() && std::none_of(size.begin(), size.end(), negative) &&
                 std::none_of(stride.begin(), stride.end(), negative),
             fmt::format("{}: expected as many strides as sizes, none negative, got {} and {}", name,
                         str(size), str(stride)));
  if (numel(size) == 0) return 0;
  Sym extent = 1;
  for (size_t d = 0; d < size.size(); ++d) extent = extent + Sym(size[d] - 1) * Sym(stride[d]);
  return extent.constant();
}

DType dtype_for(Scalar value) {
  if (value.is_complex()) return DType::C64;
  if (value.is_bool()) return DType::Bool;
  return value.is_float() ? DType::F32 : DType::I64;
}

template <Name kName>
Tensor of_size(const Ints& size, OptionalDType dtype, OptionalDevice device) {
  return call(op<kName>(), {},
              {{"shape", sizes(size)}, {"dtype", dtype.value_or(DType::F32)}, {"device", optional(device)}});
}
template <Name kName>
Tensor like(const Tensor& x, OptionalDType dtype, OptionalDevice device) {
  return call(op<kName>(), {x}, {{"dtype", dtype.value_or(x.dtype())}, {"device", optional(device)}});
}
template <Name kName>
Tensor new_of_size(const Tensor& x, const Ints& size, OptionalDType dtype, OptionalDevice device) {
  return of_size<kName>(size, dtype.value_or(x.dtype()), device ? device : OptionalDevice(x.device()));
}

// NAME, NAME_like and new_NAME.
template <Name kName, Name kLike>
void constant_functions(std::string_view overload = "") {
  const std::string name(kName.text);
  define(with_options(name + std::string(overload), "int[] size"),
         [](const Ints& size, OptionalDType dtype, const IValue&, OptionalDevice device, const IValue&) {
           return of_size<kName>(size, dtype, device);
         });
  define(like_options(name + "_like"),
         [](const Tensor& x, OptionalDType dtype, const IValue&, OptionalDevice device, const IValue&,
            const IValue&) { return like<kLike>(x, dtype, device); });
  define(with_options("new_" + name, "Tensor self, int[] size"),
         [](const Tensor& x, const Ints& size, OptionalDType dtype, const IValue&, OptionalDevice device,
            const IValue&) { return new_of_size<kName>(x, size, dtype, device); });
}

Tensor arange(Scalar start, Scalar end, Scalar step, OptionalDType dtype, OptionalDevice device) {
  const double span = end.to_double() - start.to_double(), by = step.to_double();
  WEFT_CHECK(by != 0, "arange: step must not be zero");
  WEFT_CHECK((by > 0) == (span >= 0) || span == 0,
             fmt::format("arange: the bounds must fit the sign of step: start={}, end={}, step={}",
                         start.str(), end.str(), step.str()));
  return call(op<"arange">(), {},
              {{"start", start},
               {"stop", end},
               {"step", step},
               {"dtype", optional(dtype)},
               {"device", optional(device)}});
}

// The end belongs to it, as in torch.range.
Tensor range(Scalar start, Scalar end, Scalar step, OptionalDType dtype, OptionalDevice device) {
  const double by = step.to_double();
  return arange(start, Scalar(end.to_double() + by / 2), step, dtype.value_or(DType::F32), device);
}

DType dtype_between(Scalar start, Scalar end) {
  return start.is_complex() || end.is_complex() ? DType::C64 : DType::F32;
}

Tensor linspace(Scalar start, Scalar end, int64_t steps, OptionalDType dtype, OptionalDevice device) {
  return call(op<"linspace">(), {},
              {{"start", start},
               {"end", end},
               {"steps", number(steps)},
               {"dtype", dtype.value_or(dtype_between(start, end))},
               {"device", optional(device)}});
}

Tensor logspace(Scalar start, Scalar end, int64_t steps, double base, OptionalDType dtype,
                OptionalDevice device) {
  return call(op<"logspace">(), {},
              {{"start", start},
               {"end", end},
               {"steps", number(steps)},
               {"base", base},
               {"dtype", dtype.value_or(dtype_between(start, end))},
               {"device", optional(device)}});
}

Tensor eye(int64_t rows, OptionalInt columns, OptionalDType dtype, OptionalDevice device) {
  return call(op<"eye">(), {},
              {{"n", number(rows)},
               {"m", number(columns)},
               {"dtype", dtype.value_or(DType::F32)},
               {"device", optional(device)}});
}

// ---- torch.tensor
// ------------------------------------------------------------------------------------------ Nested lists of
// numbers; all lists of one depth have one length.
void collect(const IValue& data, size_t depth, Shape& shape, std::vector<Scalar>& values) {
  if (!data.is_list()) {
    if (data.is_tensor())
      values.push_back(data.to_tensor().item());
    else
      values.push_back(data.to_scalar());
    WEFT_CHECK(depth == shape.size(), "tensor: expected nested lists of equal lengths");
    return;
  }
  const auto& items = data.elements();
  const auto length = static_cast<int64_t>(items.size());
  if (depth == shape.size()) {
    WEFT_CHECK(values.empty(), "tensor: expected nested lists of equal lengths");
    shape.push_back(length);
  }
  WEFT_CHECK(shape[depth] == length,
             fmt::format("tensor: expected lists of length {} at depth {}, got one of length {}",
                         shape[depth], depth, length));
  for (const IValue& item : items) collect(item, depth + 1, shape, values);
}

DType element_dtype(const IValue& data) {
  TypePtr type = data.to_list()->element;
  while (type->is(TypeKind::List)) type = type->element();
  switch (type->kind()) {
    case TypeKind::Bool: return DType::Bool;
    case TypeKind::Int: return DType::I64;
    case TypeKind::Complex: return DType::C64;
    default: return DType::F32;
  }
}

Tensor tensor_of(const IValue& data, OptionalDType dtype, OptionalDevice device) {
  if (data.is_tensor()) return cast(data.to_tensor(), dtype).clone();
  if (!data.is_list()) return full({}, data.to_scalar(), dtype.value_or(dtype_for(data.to_scalar())), device);
  Shape shape;
  std::vector<Scalar> values;
  collect(data, 0, shape, values);
  const DType result_dtype = dtype.value_or(element_dtype(data));
  const Tensor result = Tensor::empty(shape, result_dtype);
  visit_dtype(result_dtype, [&]<class T>(std::type_identity<T>) {
    T* target = result.data_as<T>();
    for (const Scalar& value : values) {
      if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
        *target++ = T(value.to_complex());
      else if constexpr (std::is_integral_v<T>)
        *target++ =
            static_cast<T>(value.is_float() ? static_cast<int64_t>(value.to_double()) : value.to_int());
      else
        *target++ = T(value.to_double());
    }
  });
  return result;
}

Tensor triangle_indices(bool lower, int64_t rows, int64_t columns, int64_t offset, OptionalDType dtype) {
  const Tensor ones = call(op<"ones">(), {}, {{"shape", sizes(Ints{rows, columns})}, {"dtype", DType::U8}});
  const Tensor part = call(lower ? op<"tril">() : op<"triu">(), {ones}, {{"diagonal", number(offset)}});
  return cast(
      call(op<"permute">(), {call(op<"nonzero">(), {part})}, {{"dims", sizes(Ints{1, 0})}}).contiguous(),
      dtype);
}

[[maybe_unused]] const bool kConstants = [] {
  constant_functions<"zeros", "zeros_like">();
  constant_functions<"ones", "ones_like">();
  constant_functions<"empty", "empty_like">(".plain");
  define(
      "empty.memory_format(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
      "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
      [](const Ints& size, OptionalDType dtype, const IValue&, OptionalDevice device, const IValue&,
         const IValue&) { return of_size<"empty">(size, dtype, device); });
  define(
      "empty_strided(int[] size, int[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? "
      "device=None, bool? pin_memory=None) -> Tensor",
      [](const Ints& size, const Ints& stride, OptionalDType dtype, const IValue&, OptionalDevice,
         const IValue&) {
        const int64_t extent = extent_of("empty_strided", size, stride);
        return Tensor::empty({extent}, dtype.value_or(DType::F32)).as_strided(size, stride, 0);
      });
  define(
      "full(int[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? "
      "device=None, bool? pin_memory=None) -> Tensor",
      [](const Ints& size, Scalar value, OptionalDType dtype, const IValue&, OptionalDevice device,
         const IValue&) { return full(size, value, dtype.value_or(dtype_for(value)), device); });
  define(
      "full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? "
      "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
      [](const Tensor& x, Scalar value, OptionalDType dtype, const IValue&, OptionalDevice device,
         const IValue&, const IValue&) {
        return call(op<"full_like">(), {x},
                    {{"value", value}, {"dtype", dtype.value_or(x.dtype())}, {"device", optional(device)}});
      });
  define(
      "new_full(Tensor self, int[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None) -> Tensor",
      [](const Tensor& x, const Ints& size, Scalar value, OptionalDType dtype, const IValue&,
         OptionalDevice device, const IValue&) {
        return full(size, value, dtype.value_or(x.dtype()), device ? device : OptionalDevice(x.device()));
      });
  define(
      "scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
      "pin_memory=None) -> Tensor",
      [](Scalar value, OptionalDType dtype, const IValue&, OptionalDevice device, const IValue&) {
        return full({}, value, dtype.value_or(DType::F32), device);
      });
  return true;
}();

[[maybe_unused]] const bool kRanges = [] {
  define(
      "arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
      "pin_memory=None) -> Tensor",
      [](Scalar end, OptionalDType dtype, const IValue&, OptionalDevice device, const IValue&) {
        return arange(Scalar(0), end, Scalar(1), dtype, device);
      });
  define(
      "arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? "
      "device=None, bool? pin_memory=None) -> Tensor",
      [](Scalar start, Scalar end, OptionalDType dtype, const IValue&, OptionalDevice device, const IValue&) {
        return arange(start, end, Scalar(1), dtype, device);
      });
  define(
      "arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? "
      "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
      [](Scalar start, Scalar end, Scalar step, OptionalDType dtype, const IValue&, OptionalDevice device,
         const IValue&) { return arange(start, end, step, dtype, device); });
  define(
      "range(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
      "bool? pin_memory=None) -> Tensor",
      [](Scalar start, Scalar end, OptionalDType dtype, const IValue&, OptionalDevice device, const IValue&) {
        return range(start, end, Scalar(1), dtype, device);
      });
  define(
      "range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None) -> Tensor",
      [](Scalar start, Scalar end, Scalar step, OptionalDType dtype, const IValue&, OptionalDevice device,
         const IValue&) { return range(start, end, step, dtype, device); });
  define(
      "linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? "
      "device=None, bool? pin_memory=None) -> Tensor",
      [](Scalar start, Scalar end, int64_t steps, OptionalDType dtype, const IValue&, OptionalDevice device,
         const IValue&) { return linspace(start, end, steps, dtype, device); });
  define(
      "logspace(Scalar start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None, Layout? "
      "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
      [](Scalar start, Scalar end, int64_t steps, double base, OptionalDType dtype, const IValue&,
         OptionalDevice device, const IValue&) { return logspace(start, end, steps, base, dtype, device); });
  define(
      "eye(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
      "pin_memory=None) "
      "-> Tensor",
      [](int64_t n, OptionalDType dtype, const IValue&, OptionalDevice device, const IValue&) {
        return eye(n, {}, dtype, device);
      });
  define(
      "eye.m(int n, int m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
      "pin_memory=None) -> Tensor",
      [](int64_t n, int64_t m, OptionalDType dtype, const IValue&, OptionalDevice device, const IValue&) {
        return eye(n, m, dtype, device);
      });
  define(
      "tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? "
      "device=None, bool? pin_memory=None) -> Tensor",
      [](int64_t rows, int64_t columns, int64_t offset, OptionalDType dtype, const IValue&, OptionalDevice,
         const IValue&) { return triangle_indices(true, rows, columns, offset, dtype); });
  define(
      "triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? "
      "device=None, bool? pin_memory=None) -> Tensor",
      [](int64_t rows, int64_t columns, int64_t offset, OptionalDType dtype, const IValue&, OptionalDevice,
         const IValue&) { return triangle_indices(false, rows, columns, offset, dtype); });
  return true;
}();

[[maybe_unused]] const bool kTensors = [] {
  for (const char* type : {"bool", "int", "float", "complex"}) {
    define(fmt::format("tensor.{}({} t, *, ScalarType? dtype=None, Device? device=None, bool "
                       "requires_grad=False) -> Tensor",
                       type, type),
           [](Scalar value, OptionalDType dtype, OptionalDevice device, bool) {
             return full({}, value, dtype.value_or(dtype_for(value)), device);
           });
    define(fmt::format("as_tensor.{}({} t, *, ScalarType? dtype=None, Device? device=None) -> Tensor", type,
                       type),
           [](Scalar value, OptionalDType dtype, OptionalDevice device) {
             return full({}, value, dtype.value_or(dtype_for(value)), device);
           });
  }
  define(
      "tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
      [](const IValue& data, OptionalDType dtype, OptionalDevice device, bool) {
        return tensor_of(data, dtype, device);
      });
  define("as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None) -> Tensor(b|a)",
         [](const Tensor& data, OptionalDType dtype, OptionalDevice) { return cast(data, dtype); });
  define("as_tensor.list(t[] data, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
         [](const IValue& data, OptionalDType dtype, OptionalDevice device) {
           return tensor_of(data, dtype, device);
         });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
