#include "weft/dtype.h"

#include <array>

namespace weft {

namespace {

constexpr std::array<DTypeInfo, kNumDTypes> kDTypes = {{
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
}};

}  // namespace

const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    if (info(dtype).name == name || info(dtype).short_name == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace weft
