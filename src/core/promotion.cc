// Promotion as data: one table per set of rules. Rows and columns are in the order of DType.
#include <fmt/format.h>

#include <atomic>

#include "core/default_dtype.h"
#include "weft/error.h"

namespace weft {

namespace {

// clang-format off

enum Entry : uint8_t { Bool, U8, I8, U16, I16, U32, I32, U64, I64, F16, BF16, F32, F64, C64, C128, None = 0xff };

// PyTorch: the wider of the two within a kind, the higher kind otherwise, whatever the widths (int64 with
// float16 is float16). uint16, uint32 and uint64 promote with floating types only.
constexpr Entry kTorch[kNumDTypes][kNumDTypes] = {
    // Bool,   U8,   I8,  U16,  I16,  U32,  I32,  U64,  I64,  F16, BF16,  F32,  F64,  C64, C128
    {Bool,   U8,   I8, None,  I16, None,  I32, None,  I64,  F16, BF16,  F32,  F64,  C64, C128},  // bool
    {  U8,   U8,  I16, None,  I16, None,  I32, None,  I64,  F16, BF16,  F32,  F64,  C64, C128},  // uint8
    {  I8,  I16,   I8, None,  I16, None,  I32, None,  I64,  F16, BF16,  F32,  F64,  C64, C128},  // int8
    {None, None, None,  U16, None, None, None, None, None,  F16, BF16,  F32,  F64, None, None},  // uint16
    { I16,  I16,  I16, None,  I16, None,  I32, None,  I64,  F16, BF16,  F32,  F64,  C64, C128},  // int16
    {None, None, None, None, None,  U32, None, None, None,  F16, BF16,  F32,  F64, None, None},  // uint32
    { I32,  I32,  I32, None,  I32, None,  I32, None,  I64,  F16, BF16,  F32,  F64,  C64, C128},  // int32
    {None, None, None, None, None, None, None,  U64, None,  F16, BF16,  F32,  F64, None, None},  // uint64
    { I64,  I64,  I64, None,  I64, None,  I64, None,  I64,  F16, BF16,  F32,  F64,  C64, C128},  // int64
    { F16,  F16,  F16,  F16,  F16,  F16,  F16,  F16,  F16,  F16,  F32,  F32,  F64,  C64, C128},  // float16
    {BF16, BF16, BF16, BF16, BF16, BF16, BF16, BF16, BF16,  F32, BF16,  F32,  F64,  C64, C128},  // bfloat16
    { F32,  F32,  F32,  F32,  F32,  F32,  F32,  F32,  F32,  F32,  F32,  F32,  F64,  C64, C128},  // float32
    { F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64, C128, C128},  // float64
    { C64,  C64,  C64, None,  C64, None,  C64, None,  C64,  C64,  C64,  C64, C128,  C64, C128},  // complex64
    {C128, C128, C128, None, C128, None, C128, None, C128, C128, C128, C128, C128, C128, C128},  // complex128
};

// NumPy: the smallest type that holds both. bfloat16 is not a type of NumPy's and follows PyTorch.
constexpr Entry kNumPy[kNumDTypes][kNumDTypes] = {
    // Bool,   U8,   I8,  U16,  I16,  U32,  I32,  U64,  I64,  F16, BF16,  F32,  F64,  C64, C128
    {Bool,   U8,   I8,  U16,  I16,  U32,  I32,  U64,  I64,  F16, BF16,  F32,  F64,  C64, C128},  // bool
    {  U8,   U8,  I16,  U16,  I16,  U32,  I32,  U64,  I64,  F16, BF16,  F32,  F64,  C64, C128},  // uint8
    {  I8,  I16,   I8,  I32,  I16,  I64,  I32,  F64,  I64,  F16, BF16,  F32,  F64,  C64, C128},  // int8
    { U16,  U16,  I32,  U16,  I32,  U32,  I32,  U64,  I64,  F32, BF16,  F32,  F64,  C64, C128},  // uint16
    { I16,  I16,  I16,  I32,  I16,  I64,  I32,  F64,  I64,  F32, BF16,  F32,  F64,  C64, C128},  // int16
    { U32,  U32,  I64,  U32,  I64,  U32,  I64,  U64,  I64,  F64, BF16,  F64,  F64, C128, C128},  // uint32
    { I32,  I32,  I32,  I32,  I32,  I64,  I32,  F64,  I64,  F64, BF16,  F64,  F64, C128, C128},  // int32
    { U64,  U64,  F64,  U64,  F64,  U64,  F64,  U64,  F64,  F64, BF16,  F64,  F64, C128, C128},  // uint64
    { I64,  I64,  I64,  I64,  I64,  I64,  I64,  F64,  I64,  F64, BF16,  F64,  F64, C128, C128},  // int64
    { F16,  F16,  F16,  F32,  F32,  F64,  F64,  F64,  F64,  F16,  F32,  F32,  F64,  C64, C128},  // float16
    {BF16, BF16, BF16, BF16, BF16, BF16, BF16, BF16, BF16,  F32, BF16,  F32,  F64,  C64, C128},  // bfloat16
    { F32,  F32,  F32,  F32,  F32,  F64,  F64,  F64,  F64,  F32,  F32,  F32,  F64,  C64, C128},  // float32
    { F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64, C128, C128},  // float64
    { C64,  C64,  C64,  C64,  C64, C128, C128, C128, C128,  C64,  C64,  C64, C128,  C64, C128},  // complex64
    {C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128},  // complex128
};

// An array with a Python scalar: bool, int, float, complex. There is no 32-bit complex type: float16 with a
// complex scalar is complex64.
constexpr Entry kTorchWeak[kNumDTypes][4] = {
    {Bool,  I64,  F32,  C64},  // bool
    {  U8,   U8,  F32,  C64},  // uint8
    {  I8,   I8,  F32,  C64},  // int8
    { U16,  U16,  F32, None},  // uint16
    { I16,  I16,  F32,  C64},  // int16
    { U32,  U32,  F32, None},  // uint32
    { I32,  I32,  F32,  C64},  // int32
    { U64,  U64,  F32, None},  // uint64
    { I64,  I64,  F32,  C64},  // int64
    { F16,  F16,  F16,  C64},  // float16
    {BF16, BF16, BF16,  C64},  // bfloat16
    { F32,  F32,  F32,  C64},  // float32
    { F64,  F64,  F64, C128},  // float64
    { C64,  C64,  C64,  C64},  // complex64
    {C128, C128, C128, C128},  // complex128
};

constexpr Entry kNumPyWeak[kNumDTypes][4] = {
    {Bool,  I64,  F64, C128},  // bool
    {  U8,   U8,  F64, C128},  // uint8
    {  I8,   I8,  F64, C128},  // int8
    { U16,  U16,  F64, C128},  // uint16
    { I16,  I16,  F64, C128},  // int16
    { U32,  U32,  F64, C128},  // uint32
    { I32,  I32,  F64, C128},  // int32
    { U64,  U64,  F64, C128},  // uint64
    { I64,  I64,  F64, C128},  // int64
    { F16,  F16,  F16,  C64},  // float16
    {BF16, BF16, BF16,  C64},  // bfloat16
    { F32,  F32,  F32,  C64},  // float32
    { F64,  F64,  F64, C128},  // float64
    { C64,  C64,  C64,  C64},  // complex64
    {C128, C128, C128, C128},  // complex128
};

// clang-format on

std::atomic<DType> default_dtype{DType::F32};

constexpr const char* kWeakNames[] = {"bool", "int", "float", "complex"};

DType checked(Entry entry, DType a, std::string_view b) {
  if (entry == None) {
    throw_error(
        ErrorKind::Type,
        fmt::format("type promotion: {} and {} have no common type; convert one of them first", name(a), b));
  }
  return static_cast<DType>(entry);
}

}  // namespace

DType promote_types(DType a, DType b, Promotion rules) {
  if (is_stored_only(a) || is_stored_only(b)) {
    if (a == b) return a;
    if (is_quantized(a) || is_quantized(b))
      throw_error(ErrorKind::Runtime,
                  fmt::format("promoteTypes with quantized numbers is not handled yet; figure out what the "
                              "correct rules should be, offending types: {} {}",
                              name(a), name(b)));
    throw_error(ErrorKind::Runtime,
                fmt::format("Promotion for Float8 Types is not supported, attempted to promote {} and {}",
                            name(a), name(b)));
  }
  const auto& table = rules == Promotion::Torch ? kTorch : kNumPy;
  return checked(table[static_cast<size_t>(a)][static_cast<size_t>(b)], a, name(b));
}

DType promote_weak(DType array, WeakKind scalar, Promotion rules) {
  if (is_stored_only(array)) return array;
  const auto& table = rules == Promotion::Torch ? kTorchWeak : kNumPyWeak;
  const size_t kind = static_cast<size_t>(scalar);
  const DType found =
      checked(table[static_cast<size_t>(array)][kind], array, fmt::format("a Python {}", kWeakNames[kind]));
  if (rules == Promotion::NumPy || is_inexact(array) || !is_inexact(found)) return found;
  return is_complex(found) ? default_complex() : default_float();
}

DType default_float() { return default_dtype.load(std::memory_order_relaxed); }
void set_default_float(DType dtype) { default_dtype = dtype; }

}  // namespace weft
