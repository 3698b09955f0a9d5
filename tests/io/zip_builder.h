// Zip files byte by byte, so that tests can lie in any field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::jit {

inline uint32_t crc32_of(const std::string& bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

inline std::string little_endian(uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

// A deflate stream of one block that holds the bytes as they are.
inline std::string deflate_stored(const std::string& bytes) {
  return '\1' + little_endian(bytes.size(), 2) + little_endian(~bytes.size(), 2) + bytes;
}

struct RawEntry {
  std::string name, payload;
  uint16_t method = 0, flags = 0, disk = 0;
  std::optional<uint64_t> size, compressed_size;  // as declared; payload.size() otherwise
  std::optional<uint32_t> crc;
  std::optional<uint64_t> offset;  // of the local header, as the central directory has it
  std::string local_name = {};     // where it differs from `name`
};

inline RawEntry deflated(const std::string& name, const std::string& contents) {
  RawEntry entry;
  entry.name = name;
  entry.payload = deflate_stored(contents);
  entry.method = 8;
  entry.size = contents.size();
  entry.crc = crc32_of(contents);
  return entry;
}

struct RawZip {
  std::vector<RawEntry> entries;
  bool zip64 = false;  // every size and offset in 64-bit extra fields
  uint16_t disk = 0;
  std::optional<uint64_t> num_entries, directory_size, directory_offset;

  std::string str() const {
    std::string out, directory;
    for (const RawEntry& entry : entries) {
      const uint64_t start = out.size();
      out += header(entry, false, 0) + entry.payload;
      directory += header(entry, true, entry.offset.value_or(start));
    }
    const uint64_t offset = directory_offset.value_or(out.size()),
                   size = directory_size.value_or(directory.size());
    const uint64_t count = num_entries.value_or(entries.size());
    out += directory;
    if (zip64) {
      const uint64_t record = out.size();
      out += "PK\6\6" + little_endian(44, 8) + little_endian(45, 2) + little_endian(45, 2) +
             little_endian(0, 8) + little_endian(count, 8) + little_endian(count, 8) +
             little_endian(size, 8) + little_endian(offset, 8);
      out += "PK\6\7" + little_endian(0, 4) + little_endian(record, 8) + little_endian(1, 4);
      return out + "PK\5\6" + little_endian(0, 4) + std::string(12, '\xff') + little_endian(0, 2);
    }
    return out + "PK\5\6" + little_endian(disk, 2) + little_endian(disk, 2) + little_endian(count, 2) +
           little_endian(count, 2) + little_endian(size, 4) + little_endian(offset, 4) + little_endian(0, 2);
  }

 private:
  std::string header(const RawEntry& entry, bool central, uint64_t offset) const {
    const uint64_t compressed = entry.compressed_size.value_or(entry.payload.size());
    const uint64_t size = entry.size.value_or(entry.payload.size());
    const std::string& name = central || entry.local_name.empty() ? entry.name : entry.local_name;
    std::string extra;
    if (zip64) {
      extra = little_endian(1, 2) + little_endian(central ? 24 : 16, 2) + little_endian(size, 8) +
              little_endian(compressed, 8) + (central ? little_endian(offset, 8) : "");
    }
    std::string out = central ? "PK\1\2" + little_endian(45, 2) : std::string("PK\3\4");
    out += little_endian(45, 2) + little_endian(entry.flags, 2) + little_endian(entry.method, 2) +
           little_endian(0, 4) + little_endian(entry.crc.value_or(crc32_of(entry.payload)), 4) +
           little_endian(zip64 ? ~0u : compressed, 4) + little_endian(zip64 ? ~0u : size, 4) +
           little_endian(name.size(), 2) + little_endian(extra.size(), 2);
    if (central)
      out += little_endian(0, 2) + little_endian(entry.disk, 2) + little_endian(0, 6) +
             little_endian(zip64 ? ~0u : offset, 4);
    return out + name + extra;
  }
};

}  // namespace weft::jit
