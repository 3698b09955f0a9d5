// Writes the inputs that fuzzing starts from: write_seeds FOLDER makes FOLDER/TARGET/N.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fuzz/seeds.h"
#include "weft/error.h"

namespace {

void write(const std::filesystem::path& folder, const std::vector<std::string>& inputs) {
  std::filesystem::create_directories(folder);
  for (size_t i = 0; i < inputs.size(); ++i)
    std::ofstream(folder / std::to_string(i), std::ios::binary) << inputs[i];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_seeds FOLDER\n");
    return 2;
  }
  try {
    const std::filesystem::path folder = argv[1];
    write(folder / "archive_fuzz", weft::fuzz::archives());
    write(folder / "module_fuzz", weft::fuzz::archives());
    write(folder / "exported_fuzz", weft::fuzz::exported_programs());
    write(folder / "pickle_fuzz", weft::fuzz::pickles());
    write(folder / "source_fuzz", weft::fuzz::programs());
    write(folder / "compile_fuzz", weft::fuzz::programs());
    write(folder / "safetensors_fuzz", weft::fuzz::safetensors());
    write(folder / "gguf_fuzz", weft::fuzz::gguf_files());
    write(folder / "tokenizer_fuzz", weft::fuzz::tokenizers());
    write(folder / "jinja_fuzz", weft::fuzz::chat_templates());
    write(folder / "grammar_fuzz", weft::fuzz::grammars());
    write(folder / "completion_fuzz", weft::fuzz::completions());
    write(folder / "serve_bodies_fuzz", weft::fuzz::array_bodies());
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "write_seeds: %s\n", error.what());
    return 1;
  }
  return 0;
}
