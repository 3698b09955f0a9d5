// Any bytes given as a chat template are refused with a ValueError, or become text or a ValueError within limits.
#include "fuzz/support.h"
#include "models/jinja/template.h"

// Words and characters as of a program's source, so that most templates are some.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return weft::fuzz::mutate_text(data, size, max_size, seed);
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
