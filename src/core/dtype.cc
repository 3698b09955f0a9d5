#include "weft/dtype.h"

#include <fmt/format.h>

#include <array>

#include "weft/error.h"

namespace weft {

namespace {

constexpr std::array<DTypeInfo, kNumStoredDTypes> kDTypes = {{
    {"bool", "bool", "bool", 1, DTypeKind::Bool},
    {"uint8", "u8", "uint8_t", 1, DTypeKind::Unsigned},
    {"int8", "i8", "int8_t", 1, DTypeKind::Signed},
    {"uint16", "u16", "uint16_t", 2, DTypeKind::Unsigned},
    {"int16", "i16", "int16_t", 2, DTypeKind::Signed},
    {"uint32", "u32", "uint32_t", 4, DTypeKind::Unsigned},
    {"int32", "i32", "int32_t", 4, DTypeKind::Signed},
    {"uint64", "u64", "uint64_t", 8, DTypeKind::Unsigned},
    {"int64", "i64", "int64_t", 8, DTypeKind::Signed},
    {"float16", "f16", "half", 2, DTypeKind::Float},
    {"bfloat16", "bf16", "bfloat16", 2, DTypeKind::Float},
    {"float32", "f32", "float", 4, DTypeKind::Float},
    {"float64", "f64", "double", 8, DTypeKind::Float},
    {"complex64", "c64", "complex64", 8, DTypeKind::Complex},
    {"complex128", "c128", "complex128", 16, DTypeKind::Complex},
    {"float8_e4m3fn", "f8e4m3fn", "uint8_t", 1, DTypeKind::Float},
    {"float8_e5m2", "f8e5m2", "uint8_t", 1, DTypeKind::Float},
    {"float8_e4m3fnuz", "f8e4m3fnuz", "uint8_t", 1, DTypeKind::Float},
    {"float8_e5m2fnuz", "f8e5m2fnuz", "uint8_t", 1, DTypeKind::Float},
    {"float8_e8m0fnu", "f8e8m0fnu", "uint8_t", 1, DTypeKind::Float},
    {"qint8", "qi8", "int8_t", 1, DTypeKind::Signed},
    {"quint8", "qu8", "uint8_t", 1, DTypeKind::Unsigned},
    {"qint32", "qi32", "int32_t", 4, DTypeKind::Signed},
    {"quint4x2", "qu4x2", "uint8_t", 1, DTypeKind::Unsigned},
}};

}  // namespace

const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (int i = 0; i < kNumStoredDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    if (info(dtype).name == name || info(dtype).short_name == name) return dtype;
  }
  return std::nullopt;
}

void refuse_stored_only(std::string_view what, DType dtype) {
  std::string name(info(dtype).name);  // PyTorch's scalar type: Float8_e4m3fn, QUInt8
  const size_t capitals = !is_quantized(dtype) ? 1 : name[1] == 'u' ? 3 : 2;
  for (size_t i = 0; i < capitals; ++i) name[i] = static_cast<char>(name[i] - 'a' + 'A');
  throw_error(ErrorKind::NotImplemented,
              fmt::format("\"{}\" not implemented for '{}'", what.empty() ? "the operation" : what, name));
}

}  // namespace weft
