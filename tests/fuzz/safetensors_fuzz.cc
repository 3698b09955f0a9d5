// Any bytes given as a safetensors file are refused with a ValueError, or every tensor's bytes can be read,
// and what is written from them is read again.
#include "fuzz/support.h"
#include "weft/models/safetensors.h"

namespace {

constexpr size_t kLengthBytes = 8;

}  // namespace

// Header and data change apart, and the header's length is mostly right.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using weft::fuzz::mutated;
  std::string bytes(weft::fuzz::text_of(data, size));
  if (seed % 8 == 0 || size <= kLengthBytes || max_size <= 2 * kLengthBytes)
    return weft::fuzz::give_back(mutated(bytes, max_size), data, max_size);
  size_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) length = length << 8 | static_cast<uint8_t>(bytes[i]);
  std::string header = bytes.substr(kLengthBytes, length),
              rest = length < size - kLengthBytes ? bytes.substr(kLengthBytes + length) : "";
  const size_t room = max_size - kLengthBytes;
  if (seed % 4 == 1)
    rest = mutated(rest, room - std::min(room, header.size()));
  else
    header = mutated(header, room - std::min(room, rest.size()));
  std::string result;
  for (size_t i = 0; i < kLengthBytes; ++i) result += static_cast<char>(header.size() >> (8 * i));
  result += header + rest;
  return weft::fuzz::give_back(result.substr(0, max_size), data, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft;
  fuzz::accepts([&] {
    const SafetensorsFile file = SafetensorsFile::from_bytes(std::string(fuzz::text_of(data, size)));
    for (const std::string& name : file.names()) {
      const Tensor tensor = file.tensor(name);
      for (const int64_t i : {int64_t{0}, tensor.numel() - 1})
        if (tensor.numel() > 0 && !is_complex(tensor.dtype())) tensor.at(i);
    }
  });
  return 0;
}
