// Writes a story with a language model: generate FOLDER [PROMPT]
#include <weft/models/generation.h>

#include <cstdio>
#include <exception>

using namespace weft::models;

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: generate FOLDER [PROMPT]\n");
    return 2;
  }
  try {
    const auto model = CausalModel::from_pretrained(argv[1], {.quantize = "int8"});
    const auto tokenizer = Tokenizer::open(argv[1]);
    const GenerationOptions options{.max_new_tokens = 200,
                                    .sampling = {.temperature = 0.8, .top_p = 0.9, .seed = 1}};
    TextGeneration story(model, tokenizer, tokenizer->encode(argc > 2 ? argv[2] : ""), options);
    while (const auto piece = story.next()) {
      std::fputs(piece->c_str(), stdout);
      std::fflush(stdout);
    }
    const GenerationStats& stats = story.generation().stats();
    std::printf("\n\n%lld tokens, %.0f tokens/s\n", static_cast<long long>(stats.decode_tokens),
                static_cast<double>(stats.decode_tokens) / stats.decode_seconds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
