// The parts of the zip format that .pt archives use: records of little-endian fields, raw deflate, CRC-32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft::jit::zip {

using Bytes = std::span<const std::byte>;

inline constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEndRecord = 0x06054b50,
                          kZip64EndRecord = 0x06064b50, kZip64Locator = 0x07064b50;
// Sizes of their fixed parts.
inline constexpr uint64_t kLocalHeaderSize = 30, kCentralHeaderSize = 46, kEndRecordSize = 22,
                          kZip64EndRecordSize = 56, kZip64LocatorSize = 20;
inline constexpr uint16_t kZip64Extra = 1;  // id of the extra field with 64-bit sizes
inline constexpr uint16_t kStored = 0, kDeflated = 8;
inline constexpr uint16_t kEncrypted = 1 << 0, kSizesFollow = 1 << 3, kUtf8Names = 1 << 11;
inline constexpr uint32_t kSaturated32 = 0xffffffff;
inline constexpr uint16_t kSaturated16 = 0xffff;

inline constexpr size_t kMaxNameLength = 1024;
// Why `name` cannot name an entry, or "": too long, absolute, a parent folder in it, a backslash or zero
// byte.
std::string_view bad_name(std::string_view name);

uint32_t crc32(Bytes bytes);
// Fills `out` exactly; false where the stream is damaged, or holds less (`produced` bytes) or more.
bool inflate(Bytes compressed, std::span<std::byte> out, uint64_t& produced);
std::string deflate(Bytes bytes);

}  // namespace weft::jit::zip
