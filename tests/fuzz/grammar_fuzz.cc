// Any bytes given as a JSON Schema or as a grammar are refused with a ValueError, or become an automaton
// whose masks name tokens that may be read, and no others.
#include "fuzz/support.h"
#include "serve/gbnf.h"
#include "serve/grammar.h"
#include "serve/json_schema.h"
#include "support/byte_tokenizer.h"

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return weft::fuzz::mutate_text(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft;
  using namespace weft::serve;
  static const auto& tokenizer = *new testing_support::ByteTokenizer();
  static const auto& trie = *new std::shared_ptr<const TokenTrie>(std::make_shared<TokenTrie>(
      tokenizer, std::vector<models::IdRange>{{0, tokenizer.vocab_size()}}, tokenizer.eos_ids()));
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::accepts([&] {
    Grammar grammar(
        text.starts_with('{') ? json_schema_rules(parse_ordered_json(text, "schema")) : parse_gbnf(text),
        trie);
    int32_t state = grammar.start();
    uint32_t choice = static_cast<uint32_t>(size) + 1;
    for (int i = 0; i < 40 && state >= 0 && !grammar.is_complete(state); ++i) {
      const auto mask = grammar.mask(state);
      int32_t next = Grammar::kNone;
      choice = choice * 1664525 + 1013904223;
      for (int64_t k = 0; k < tokenizer.vocab_size(); ++k) {
        const int64_t token = (k + choice / 65536) % tokenizer.vocab_size();
        const int32_t after = trie->bytes_of(token).empty() ? Grammar::kNone : grammar.after(state, token);
        fuzz::require(has_token(*mask, token) == (after >= 0));
        if (next < 0) next = after;
      }
      state = next;
    }
  });
  return 0;
}
