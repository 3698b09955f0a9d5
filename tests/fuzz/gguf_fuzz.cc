// Any bytes given as a GGUF file are refused with a ValueError, or every tensor can be read, and metadata are
// a model's and a tokenizer's, or refused so.
#include "fuzz/support.h"
#include "models/gguf_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft;
  fuzz::accepts([&] {
    const auto file = models::GgufFile::from_bytes(std::string(fuzz::text_of(data, size)));
    for (const std::string& name : file.names()) {
      const Tensor tensor = file.tensor(name);
      for (const int64_t i : {int64_t{0}, tensor.numel() - 1}) tensor.at(i);
    }
    fuzz::accepts([&] { models::gguf_config(file); });
    fuzz::accepts([&] {
      const auto tokenizer = models::gguf_tokenizer(file);
      fuzz::accepts([&] { tokenizer->decode(tokenizer->encode("Hello 12 \n<s>", true, true)); });
    });
  });
  return 0;
}
