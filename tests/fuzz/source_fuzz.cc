// Any text given to TorchScript's parser is refused with a place in it, or gives a tree whose text parses to
// the same.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "fuzz/support.h"
#include "script/syntax/parser.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (seed % 3 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string text(weft::fuzz::text_of(data, size));
  return weft::fuzz::give_back(weft::fuzz::mutated_source(text, seed, max_size), data, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft;
  const auto parse = [](std::string text) {
    return jit::parse_source(
        std::make_shared<const jit::Source>(jit::Source{std::move(text), "fuzz.py", 1, 0}));
  };
  std::string printed;
  if (!fuzz::accepts([&] { printed = jit::unparse(parse(std::string(fuzz::text_of(data, size)))); }))
    return 0;
  std::string again;
  // Its parentheses may nest deeper than the parser allows.
  if (!fuzz::accepts([&] { again = jit::unparse(parse(printed)); }) || again == printed) return 0;
  std::fprintf(stderr, "printed:\n%s\nparsed and printed again:\n%s\n", printed.c_str(), again.c_str());
  std::abort();
}
