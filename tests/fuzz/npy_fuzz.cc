// Any bytes are an array, or refused with an Error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "io/npy.h"
#include "weft/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const weft::IValue value = weft::io::parse_npy(bytes, "array");
    // What was read is written, and read again.
    weft::io::parse_npy(weft::io::npy_bytes(value, "array"), "array");
  } catch (const weft::Error& error) {
    if (error.kind() == weft::ErrorKind::Internal) throw;
  }
  return 0;
}
