#include "io/zip_format.h"

#include <zlib.h>

#include <algorithm>

#include "weft/error.h"

namespace weft::jit::zip {

namespace {

constexpr size_t kChunk = size_t{1} << 30;  // zlib counts with 32 bits

Bytef* pointer(const std::byte* bytes) { return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes)); }

}  // namespace

std::string_view bad_name(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxNameLength) return "is longer than 1024 bytes";
  if (name.find('\0') != name.npos) return "has a zero byte in it";
  if (name.find('\\') != name.npos) return "has a backslash in it";
  if (name.front() == '/') return "is absolute";
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part == ".." || part == ".") return "leaves its folder ('.' or '..' in it)";
    begin = end + 1;
  }
  return {};
}

uint32_t crc32(Bytes bytes) {
  return static_cast<uint32_t>(::crc32_z(0, pointer(bytes.data()), bytes.size()));
}

bool inflate(Bytes compressed, std::span<std::byte> out, uint64_t& produced) {
  z_stream stream{};
  WEFT_ASSERT(inflateInit2(&stream, -MAX_WBITS) == Z_OK, "zlib cannot start");
  std::byte none{};
  size_t consumed = 0;
  produced = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    const size_t input = std::min(kChunk, compressed.size() - consumed);
    const size_t space = std::min<uint64_t>(kChunk, out.size() - produced);
    stream.next_in = pointer(compressed.data() + consumed);
    stream.avail_in = static_cast<uInt>(input);
    stream.next_out = pointer(out.empty() ? &none : out.data() + produced);
    stream.avail_out = static_cast<uInt>(space);
    status = ::inflate(&stream, Z_NO_FLUSH);  // no progress is Z_BUF_ERROR
    consumed += input - stream.avail_in;
    produced += space - stream.avail_out;
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END && produced == out.size() && consumed == compressed.size();
}

std::string deflate(Bytes bytes) {
  z_stream stream{};
  WEFT_ASSERT(
      deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK,
      "zlib cannot start");
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  size_t consumed = 0, produced = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    const size_t input = std::min(kChunk, bytes.size() - consumed),
                 space = std::min(kChunk, out.size() - produced);
    stream.next_in = pointer(bytes.data() + consumed);
    stream.avail_in = static_cast<uInt>(input);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + produced);
    stream.avail_out = static_cast<uInt>(space);
    status = ::deflate(&stream, consumed + input == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    consumed += input - stream.avail_in;
    produced += space - stream.avail_out;
  }
  deflateEnd(&stream);
  WEFT_ASSERT(status == Z_STREAM_END, "zlib did not finish");
  out.resize(produced);
  return out;
}

}  // namespace weft::jit::zip
