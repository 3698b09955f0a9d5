// What TorchScript asks of tensors: properties, conversions to numbers and back, dtype and device changes.
#include <fmt/format.h>

#include "core/distinct_elements.h"
#include "script/builtins/aten.h"

namespace weft::jit::aten {
namespace {

constexpr int64_t kChannelsLast = 2, kChannelsLast3d = 3;  // memory formats: 0 contiguous, 1 preserve

Ints list_of(const Shape& values) { return Ints(values.begin(), values.end()); }

Scalar item(const char* what, const Tensor& x) {
  WEFT_CHECK(!x.is_traced(),
             fmt::format("{}: the elements of a traced tensor are not known while it is traced", what));
  WEFT_CHECK(x.numel() == 1, fmt::format("{}: expected a tensor of one element, got {}", what, describe(x)));
  return x.item();
}

// Without dimensions and not floating: what may stand for an int.
void check_implicit(const char* what, const Tensor& x, bool allow_floating) {
  WEFT_CHECK(x.dim() == 0,
             fmt::format("{}: cannot use a tensor with dimensions as a number: {}", what, describe(x)));
  WEFT_CHECK_TYPE(allow_floating || is_integral(x.dtype()),
                  fmt::format("{}: cannot use {} as an int", what, describe(x)));
}

// Of complex(x, y): a tensor of one element, and real.
double real_number(const char* name, const Tensor& x) {
  const Scalar value = item("complex()", x);
  WEFT_CHECK_TYPE(!value.is_complex() || value.to_complex().imag() == 0,
                  fmt::format("complex(): {} must be real, got {}", name, describe(x)));
  return value.is_complex() ? value.to_complex().real() : value.to_double();
}

Tensor to(const Tensor& x, OptionalDType dtype, OptionalDevice device, bool copy) {
  if (device && *device != x.device()) {
    const Tensor moved = x.to(*device);
    return dtype && *dtype != x.dtype() ? cast(moved, *dtype) : moved;
  }
  if (dtype && *dtype != x.dtype()) return cast(x, *dtype);
  return copy ? x.clone() : x;
}

bool is_channels_last(const Tensor& x, int64_t rank) {
  if (x.dim() != rank) return false;
  int64_t expected = 1;
  const auto check = [&](int64_t d) {
    const bool good = x.size(d) == 1 || x.strides()[static_cast<size_t>(d)] == expected;
    expected *= x.size(d);
    return good;
  };
  if (!check(1)) return false;
  for (int64_t d = rank - 1; d > 1; --d) {
    if (!check(d)) return false;
  }
  return check(0);
}

bool is_contiguous(const Tensor& x, int64_t format) {
  if (x.is_traced()) return true;
  if (format == kChannelsLast) return is_channels_last(x, 4);
  if (format == kChannelsLast3d) return is_channels_last(x, 5);
  return x.is_contiguous();
}

bool equal(const Tensor& x, const Tensor& y) {
  if (x.dim() != y.dim() || x.shape() != y.shape()) return false;
  return call(op<"all">(), {promoted(op<"eq">(), {x, y})}).item().to_bool();
}

DType promoted_dtype(std::initializer_list<Operand> operands) {
  return ops::promoted_types(op<"add">(), std::span<const Operand>(operands.begin(), operands.size()),
                             Promotion::Torch)
      .compute;
}

IValue nested_list(const Tensor& x) {
  if (x.dim() == 0) return IValue(x.item());
  const TypePtr number = is_floating(x.dtype())     ? Type::floating()
                         : x.dtype() == DType::Bool ? Type::boolean()
                                                    : Type::integer();
  TypePtr element = number;
  for (int64_t d = 1; d < x.dim(); ++d) element = Type::list(element);
  std::vector<IValue> values;
  for (const Tensor& row : call_all(op<"unbind">(), {x}, {{"dim", aten::number(0)}}))
    values.push_back(nested_list(row));
  return IValue::list(element, std::move(values));
}

[[maybe_unused]] const bool kProperties = [] {
  define("size(Tensor self) -> int[]", [](const Tensor& x) { return list_of(x.shape()); });
  define("size.int(Tensor self, int dim) -> int", [](const Tensor& x, int64_t dim) { return x.size(dim); });
  define("stride(Tensor self) -> int[]", [](const Tensor& x) { return list_of(x.strides()); });
  define("stride.int(Tensor self, int dim) -> int", [](const Tensor& x, int64_t dim) {
    return x.strides().at(static_cast<size_t>(ops::normalize_dim("stride", dim, x.dim())));
  });
  define("sym_size(Tensor self) -> int[]", [](const Tensor& x) { return list_of(x.shape()); });
  define("sym_size.int(Tensor self, int dim) -> int",
         [](const Tensor& x, int64_t dim) { return x.size(dim); });
  define("dim(Tensor self) -> int", [](const Tensor& x) { return x.dim(); });
  define("numel(Tensor self) -> int", [](const Tensor& x) { return x.numel(); });
  define("sym_numel(Tensor self) -> int", [](const Tensor& x) { return x.numel(); });
  define("len.Tensor(Tensor t) -> int", [](const Tensor& x) {
    WEFT_CHECK_TYPE(x.dim() > 0, "len() of a 0-d tensor");
    return x.size(0);
  });
  define("storage_offset(Tensor self) -> int", [](const Tensor& x) { return x.offset(); });
  define("element_size(Tensor self) -> int", [](const Tensor& x) { return int64_t{itemsize(x.dtype())}; });
  define("is_floating_point(Tensor self) -> bool", [](const Tensor& x) { return is_floating(x.dtype()); });
  define("is_complex(Tensor self) -> bool", [](const Tensor& x) { return is_complex(x.dtype()); });
  define("is_signed(Tensor self) -> bool", [](const Tensor& x) { return is_signed(x.dtype()); });
  define("is_contiguous(Tensor self) -> bool", [](const Tensor& x) { return is_contiguous(x, 0); });
  define("is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
         [](const Tensor& x, int64_t format) { return is_contiguous(x, format); });
  define("is_same_size(Tensor self, Tensor other) -> bool",
         [](const Tensor& x, const Tensor& y) { return x.shape() == y.shape(); });
  for (const char* name : {"is_conj", "is_neg", "is_inference", "is_leaf"})
    define(std::string(name) + "(Tensor self) -> bool", [](const Tensor&) { return false; });
  define("is_pinned(Tensor self, Device? device=None) -> bool",
         [](const Tensor&, const IValue&) { return false; });
  define("get_device(Tensor self) -> int", [](const Tensor& x) {
    return x.device().type == DeviceType::CPU ? int64_t{-1} : int64_t{x.device().index};
  });
  define("requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)",
         [](const Tensor& x, bool) { return x; });
  define("result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType",
         [](const Tensor& x, const Tensor& y) { return dtype_number(promoted_dtype({x, y})); });
  define("result_type.Scalar(Tensor tensor, Scalar other) -> ScalarType",
         [](const Tensor& x, Scalar y) { return dtype_number(promoted_dtype({x, y})); });
  define("result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> ScalarType",
         [](Scalar x, const Tensor& y) { return dtype_number(promoted_dtype({x, y})); });
  return true;
}();

[[maybe_unused]] const bool kPrimProperties = [] {
  builtin("prim::dtype(Tensor a) -> int", [](const Tensor& x) { return dtype_number(x.dtype()); });
  builtin("prim::device(Tensor a) -> Device", [](const Tensor& x) { return IValue(x.device()); });
  builtin("prim::layout(Tensor a) -> Layout", [](const Tensor&) { return int64_t{0}; });
  builtin("prim::shape(Tensor a) -> int[]", [](const Tensor& x) { return list_of(x.shape()); });
  builtin("prim::requires_grad(Tensor a) -> bool", [](const Tensor&) { return false; });
  builtin("prim::grad(Tensor a) -> Tensor?", [](const Tensor&) { return IValue(); });
  builtin("prim::data(Tensor(a) a) -> Tensor(a)", [](const Tensor& x) { return alias(x); });
  builtin("prim::is_cuda(Tensor a) -> bool",
          [](const Tensor& x) { return x.device().type == DeviceType::CUDA; });
  builtin("prim::is_cpu(Tensor a) -> bool",
          [](const Tensor& x) { return x.device().type == DeviceType::CPU; });
  builtin("prim::is_meta(Tensor a) -> bool",
          [](const Tensor& x) { return x.device().type == DeviceType::Meta; });
  for (const char* name : {"is_sparse", "is_sparse_csr", "is_mkldnn", "is_mps", "is_vulkan", "is_xpu",
                           "is_xla", "is_ipu", "is_hpu", "is_ort", "is_mtia", "is_maia"})
    builtin(fmt::format("prim::{}(Tensor a) -> bool", name), [](const Tensor&) { return false; });
  builtin("prim::is_quantized(Tensor a) -> bool", [](const Tensor& x) { return is_quantized(x.dtype()); });
  builtin("prim::itemsize(Tensor a) -> int", [](const Tensor& x) { return int64_t{itemsize(x.dtype())}; });
  builtin("prim::nbytes(Tensor a) -> int", [](const Tensor& x) { return x.numel() * itemsize(x.dtype()); });
  return true;
}();

[[maybe_unused]] const bool kNumbers = [] {
  builtin("prim::NumToTensor.Scalar(Scalar a) -> Tensor", [](Scalar value) {
    return Tensor::scalar(value, value.is_float()     ? DType::F64
                                 : value.is_bool()    ? DType::Bool
                                 : value.is_complex() ? DType::C128
                                                      : DType::I64);
  });
  builtin("prim::NumToTensor.bool(bool a) -> Tensor",
          [](bool value) { return Tensor::scalar(Scalar(value), DType::Bool); });
  define("item(Tensor self) -> Scalar", [](const Tensor& x) { return item("item", x); });
  define("_local_scalar_dense(Tensor self) -> Scalar", [](const Tensor& x) { return item("item", x); });
  define("Int.Tensor(Tensor a) -> int", [](const Tensor& x) {
    const Scalar value = item("int()", x);
    return value.is_float() ? static_cast<int64_t>(value.to_double()) : value.to_int();
  });
  define("Float.Tensor(Tensor a) -> float", [](const Tensor& x) { return item("float()", x).to_double(); });
  define("Bool.Tensor(Tensor a) -> bool", [](const Tensor& x) { return item("bool()", x).to_bool(); });
  define("is_nonzero(Tensor self) -> bool", [](const Tensor& x) { return item("is_nonzero", x).to_bool(); });
  define("IntImplicit(Tensor a) -> int", [](const Tensor& x) {
    check_implicit("int", x, false);
    return item("int", x).to_int();
  });
  define("FloatImplicit(Tensor a) -> float", [](const Tensor& x) {
    check_implicit("float", x, true);
    return item("float", x).to_double();
  });
  define("ScalarImplicit(Tensor a) -> Scalar", [](const Tensor& x) {
    check_implicit("number", x, true);
    return item("number", x);
  });
  define("ComplexImplicit(Tensor a) -> complex", [](const Tensor& x) {
    check_implicit("complex", x, true);
    return item("complex", x).to_complex();
  });
  // complex(x) of a tensor, which PyTorch takes for a number then; with two arguments each is a float.
  define("Complex.Tensor_Tensor(Tensor a, Tensor b) -> complex", [](const Tensor& x, const Tensor& y) {
    return std::complex(real_number("x", x), real_number("y", y));
  });
  for (const char* number : {"int", "float", "bool"}) {
    define(fmt::format("Complex.Tensor_{}(Tensor x, {} y) -> complex", number, number),
           [](const Tensor& x, double y) { return std::complex(real_number("x", x), y); });
    define(fmt::format("Complex.{}_Tensor({} x, Tensor y) -> complex", number, number),
           [](double x, const Tensor& y) { return std::complex(x, real_number("y", y)); });
  }
  define("tolist(Tensor self) -> Any", [](const Tensor& x) { return nested_list(x); });
  define("equal(Tensor self, Tensor other) -> bool",
         [](const Tensor& x, const Tensor& y) { return equal(x, y); });
  define(
      "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool",
      [](const Tensor& x, const Tensor& y, double rtol, double atol, bool equal_nan) {
        const Tensor close =
            ops::invoke(op<"isclose">(), std::vector<Operand>{x, y},
                        {{"rtol", rtol}, {"atol", atol}, {"equal_nan", equal_nan}}, Promotion::Torch);
        return call(op<"all">(), {close}).item().to_bool();
      });
  return true;
}();

[[maybe_unused]] const bool kConversions = [] {
  define(
      "to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, "
      "MemoryFormat? memory_format=None) -> Tensor(a)",
      [](const Tensor& x, Device device, DType dtype, bool, bool copy, const IValue&) {
        return to(x, dtype, device, copy);
      });
  define(
      "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? "
      "memory_format=None) -> Tensor(a)",
      [](const Tensor& x, DType dtype, bool, bool copy, const IValue&) { return to(x, dtype, {}, copy); });
  define(
      "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
      "bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> "
      "Tensor(a)",
      [](const Tensor& x, OptionalDType dtype, const IValue&, OptionalDevice device, const IValue&, bool,
         bool copy, const IValue&) { return to(x, dtype, device, copy); });
  define(
      "to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? "
      "memory_format=None) -> Tensor(a)",
      [](const Tensor& x, const Tensor& other, bool, bool copy, const IValue&) {
        return to(x, other.dtype(), other.device(), copy);
      });
  define(
      "to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, bool "
      "copy=False) -> Tensor(b|a)",
      [](const Tensor& x, OptionalDevice device, OptionalDType dtype, bool, bool copy) {
        return to(x, dtype, device, copy);
      });
  define(
      "to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool copy=False) -> "
      "Tensor(b|a)",
      [](const Tensor& x, OptionalDType dtype, bool, bool copy) { return to(x, dtype, {}, copy); });
  define("to.prim_other(Tensor(a) self, bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
         [](const Tensor& x, bool, bool copy) { return to(x, {}, {}, copy); });
  define(
      "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
      "bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
      [](const Tensor& x, OptionalDType dtype, const IValue&, OptionalDevice device, const IValue&, bool,
         const IValue&) { return to(x, dtype, device, true); });
  define("type_as(Tensor self, Tensor other) -> Tensor",
         [](const Tensor& x, const Tensor& other) { return to(x, other.dtype(), other.device(), false); });
  define("cpu(Tensor(a) self) -> Tensor(b|a)", [](const Tensor& x) { return to(x, {}, Device{}, false); });
  define("cuda(Tensor(a) self) -> Tensor(b|a)",
         [](const Tensor& x) { return to(x, {}, Device{DeviceType::CUDA, 0}, false); });
  define("_cast_Float(Tensor self, bool non_blocking=False) -> Tensor",
         [](const Tensor& x, bool) { return cast(x, DType::F32); });
  define("_cast_Double(Tensor self, bool non_blocking=False) -> Tensor",
         [](const Tensor& x, bool) { return cast(x, DType::F64); });
  define("_cast_Half(Tensor self, bool non_blocking=False) -> Tensor",
         [](const Tensor& x, bool) { return cast(x, DType::F16); });
  define("_cast_Long(Tensor self, bool non_blocking=False) -> Tensor",
         [](const Tensor& x, bool) { return cast(x, DType::I64); });
  define("_cast_Int(Tensor self, bool non_blocking=False) -> Tensor",
         [](const Tensor& x, bool) { return cast(x, DType::I32); });
  define("_cast_Byte(Tensor self, bool non_blocking=False) -> Tensor",
         [](const Tensor& x, bool) { return cast(x, DType::U8); });
  define("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
         [](const Tensor& x, const IValue&) { return x.clone(); });
  define("contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)",
         [](const Tensor& x, int64_t format) {
           if (format == kChannelsLast || format == kChannelsLast3d)
             return x;  // a hint that changes no element
           return x.is_traced() ? x : x.contiguous();
         });
  return true;
}();

[[maybe_unused]] const bool kWrites = [] {
  define("copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
         [](const Tensor& self, const Tensor& source, bool) {
           check_distinct_elements(self);
           self.copy_from(source);
           return self;
         });
  for (const char* type : {"int", "float"}) {
    define(fmt::format("copy_.{}(Tensor(a!) self, {} other) -> Tensor(a!)", type, type),
           [](const Tensor& self, Scalar value) {
             self.copy_from(Tensor::scalar(value, self.dtype()));
             return self;
           });
  }
  define("fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)", [](const Tensor& self, Scalar value) {
    self.copy_from(Tensor::scalar(value, self.dtype()));
    return self;
  });
  define("fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)",
         [](const Tensor& self, const Tensor& value) {
           WEFT_CHECK(value.dim() == 0,
                      fmt::format("fill_: expected a value without dimensions, got {}", describe(value)));
           self.copy_from(value);
           return self;
         });
  define("zero_(Tensor(a!) self) -> Tensor(a!)", [](const Tensor& self) {
    self.copy_from(Tensor::scalar(Scalar(0), self.dtype()));
    return self;
  });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
