// minizip's reads and writes, redirected to memory and to a file that is already open.
#pragma once

#include <minizip/unzip.h>
#include <minizip/zip.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace weft::jit::zip {

// Bytes that minizip reads.
struct Source {
  std::span<const std::byte> bytes;
  uint64_t position = 0;
};
zlib_filefunc64_def functions(Source& source);

// Where minizip writes: to `file`, or to `bytes` where there is none.
struct Sink {
  std::FILE* file = nullptr;
  std::string bytes;
  uint64_t position = 0;
  int error = 0;  // errno of the first write that failed
};
zlib_filefunc64_def functions(Sink& sink);

inline constexpr size_t kMaxNameLength = 1024;
// Why `name` cannot name an entry, or "": too long, absolute, a parent folder in it, a backslash or zero byte.
std::string_view bad_name(std::string_view name);

}  // namespace weft::jit::zip
