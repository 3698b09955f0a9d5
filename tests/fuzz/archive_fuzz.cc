// Any bytes given to the zip reader are refused with a ValueError, or every entry of the archive is read or
// refused.
#include "fuzz/support.h"
#include "io/archive.h"
#include "weft/error.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 2 == 0) return size;
  std::string bytes(weft::fuzz::text_of(data, size));
  weft::fuzz::repair_checksums(bytes);
  return weft::fuzz::give_back(bytes, data, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft;
  fuzz::accepts([&] {
    const auto archive = jit::ArchiveReader::from_bytes(std::string(fuzz::text_of(data, size)));
    for (const std::string& entry : archive->entries()) {
      fuzz::accepts([&] { archive->read(entry); });
      fuzz::accepts([&] { archive->map(entry); });
    }
  });
  return 0;
}
