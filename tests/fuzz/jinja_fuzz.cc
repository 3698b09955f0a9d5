// Any bytes given as a chat template are refused with a ValueError, or become text or a ValueError within limits.
#include "fuzz/support.h"
#include "models/jinja/template.h"

// Words and characters as of a program's source, so that most templates are some.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  const std::string text(weft::fuzz::text_of(data, size));
  return weft::fuzz::give_back(
      seed % 4 == 0 ? weft::fuzz::mutated(text, max_size) : weft::fuzz::mutated_source(text, seed, max_size),
      data, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft;
  static const auto& variables = *new OrderedJson(OrderedJson::parse(
      R"({"messages": [{"role": "user", "content": "a <b> \u00e9"}, {"role": "assistant", "content": null}],
          "tools": [{"type": "function", "function": {"name": "f", "parameters": {"n": [1, 2.5, true]}}}],
          "add_generation_prompt": true, "bos_token": "<s>"})"));
  fuzz::accepts([&] {
    const models::jinja::Template chat(fuzz::text_of(data, size), "t");
    chat.render(variables, {.steps = 20'000, .bytes = 1 << 20, .depth = 200});
  });
  return 0;
}
