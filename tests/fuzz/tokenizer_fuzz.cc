// Any bytes given as a tokenizer are refused with a ValueError, or texts become ids that decode. The first
// byte says which kind: tokenizer.json, SentencePiece or tiktoken.
#include "fuzz/support.h"
#include "models/tokenizers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft;
  if (size == 0) return 0;
  const std::string bytes(fuzz::text_of(data + 1, size - 1));
  fuzz::accepts([&] {
    const auto tokenizer = data[0] % 3 == 0   ? models::parse_tokenizer_json(bytes, "t")
                           : data[0] % 3 == 1 ? models::parse_sentencepiece(bytes, "t")
                                              : models::parse_tiktoken(bytes, "t");
    for (const char* text : {"", "Hello world, 123  \n", "gr\xC3\xBC\xC3\x9F \xE6\xBC\xA2 <s>", "\xFF"})
      fuzz::accepts([&] { tokenizer->decode(tokenizer->encode(text, true, true)); });
  });
  return 0;
}
