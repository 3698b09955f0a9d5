// Element types, their properties, and the two sets of promotion rules.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

// Those after C128 are stored, viewed and converted; nothing computes in them (ops/stored.h). Integers that a
// tensor's Quantizer (weft/tensor.h) gives a meaning are the last four; QU4x2 is in [0, 15], a byte each.
enum class DType : uint8_t {
  Bool,
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  U64,
  I64,
  F16,
  BF16,
  F32,
  F64,
  C64,
  C128,
  F8E4M3FN,
  F8E5M2,
  F8E4M3FNUZ,
  F8E5M2FNUZ,
  F8E8M0FNU,
  QI8,
  QU8,
  QI32,
  QU4x2
};
inline constexpr int kNumDTypes = 15;        // that operators compute in
inline constexpr int kNumStoredDTypes = 24;  // of tensors

// Storage types of 16 bits; conversion from float rounds to nearest even (weft/detail/half.h).
struct Half {
  uint16_t bits = 0;
  Half() = default;
  inline Half(float value);
  inline operator float() const;
};
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  inline BFloat16(float value);
  inline operator float() const;
};

// Order of increasing "kind" as promotion sees it.
enum class DTypeKind : uint8_t { Bool, Unsigned, Signed, Float, Complex };

struct DTypeInfo {
  std::string_view name;        // PyTorch's and NumPy's name: "float32"
  std::string_view short_name;  // as printed in graphs: "f32"
  std::string_view c_name;      // as printed in generated code: "float"
  int size;                     // bytes per element
  DTypeKind kind;
};

const DTypeInfo& info(DType dtype);
inline int itemsize(DType dtype) { return info(dtype).size; }
inline std::string_view name(DType dtype) { return info(dtype).name; }
inline std::string_view short_name(DType dtype) { return info(dtype).short_name; }
// Accepts "float32" and "f32"; nullopt for an unknown name.
std::optional<DType> dtype_from_name(std::string_view name);

inline bool is_stored_only(DType d) { return d > DType::C128; }
inline bool is_quantized(DType d) { return d >= DType::QI8; }
inline bool is_floating(DType d) {
  return (d >= DType::F16 && d <= DType::F64) || (is_stored_only(d) && !is_quantized(d));
}
inline bool is_complex(DType d) { return d == DType::C64 || d == DType::C128; }
inline bool is_integral(DType d) { return d >= DType::U8 && d <= DType::I64; }  // bool excluded
inline bool is_signed(DType d) { return info(d).kind >= DTypeKind::Signed; }
inline bool is_inexact(DType d) { return d >= DType::F16 && !is_quantized(d); }
// The real type of a complex one; itself otherwise.
inline DType real_dtype(DType d) { return d == DType::C64 ? DType::F32 : d == DType::C128 ? DType::F64 : d; }
// The type a scalar computation is carried out in: f16 and bf16 compute in f32 and round after every
// operation.
inline DType compute_dtype(DType d) { return d == DType::F16 || d == DType::BF16 ? DType::F32 : d; }

// Which rules decide a result's dtype.
enum class Promotion : uint8_t { Torch, NumPy };

// dtype of an operation on two arrays; TypeError where the rules have none. Tables: src/core/promotion.cc.
DType promote_types(DType a, DType b, Promotion rules);

// The category of a Python scalar operand, whose dtype is weak (NEP 50 and PyTorch alike).
enum class WeakKind : uint8_t { Bool, Int, Float, Complex };
DType promote_weak(DType array, WeakKind scalar, Promotion rules);

template <class T>
struct dtype_of;
#define WEFT_FOR_EACH_DTYPE(X)                                                                  \
  X(Bool, bool)                                                                                 \
  X(U8, uint8_t)                                                                                \
  X(I8, int8_t)                                                                                 \
  X(U16, uint16_t)                                                                              \
  X(I16, int16_t)                                                                               \
  X(U32, uint32_t)                                                                              \
  X(I32, int32_t) X(U64, uint64_t) X(I64, int64_t) X(F16, Half) X(BF16, BFloat16) X(F32, float) \
      X(F64, double) X(C64, std::complex<float>) X(C128, std::complex<double>)
#define WEFT_DTYPE_OF(NAME, TYPE)               \
  template <>                                   \
  struct dtype_of<TYPE> {                       \
    static constexpr DType value = DType::NAME; \
  };
WEFT_FOR_EACH_DTYPE(WEFT_DTYPE_OF)
#undef WEFT_DTYPE_OF

// NotImplemented: `what` (empty: an operation) is not there for a dtype that is only stored.
[[noreturn]] void refuse_stored_only(std::string_view what, DType dtype);

// Calls f with a value of the C++ type of `dtype`: visit_dtype(d, [&]<class T>(std::type_identity<T>) { … }).
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f);

}  // namespace weft

#include "weft/detail/half.h"
#include "weft/detail/visit_dtype.h"
