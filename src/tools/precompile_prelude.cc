// Writes the precompiled preludes that come with the library: `weft_precompile FOLDER [PROCESSOR ...]`.
// Without any, those of the processor at hand.
#include <cstdio>
#include <exception>
#include <fstream>

#include "codegen/prelude.h"
#include "runtime/clang_toolchain.h"
#include "runtime/precompiled_prelude.h"

namespace {

std::vector<std::string> flags_for(const std::string& processor) {
  std::vector<std::string> flags = weft::runtime::prelude_flags(weft::runtime::kernel_flags());
  for (std::string& flag : flags)
    if (flag.starts_with("-march=")) flag = "-march=" + processor;
  return flags;
}

bool write_for(const std::string& processor, const std::string& folder) {
  const std::vector<std::string> flags = flags_for(processor);
  const std::string text = weft::runtime::shipped_prelude(weft::codegen::shared_prelude(), flags);
  std::ofstream file(folder + "/" + weft::runtime::shipped_prelude_name(flags), std::ios::binary);
  file << text;
  file.close();
  return !text.empty() && file.good();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: weft_precompile FOLDER [PROCESSOR ...]\n");
    return 2;
  }
  std::vector<std::string> processors(argv + 2, argv + argc);
  if (processors.empty()) processors.push_back(weft::runtime::host_cpu_name());
  // Without them the first compilation on a machine makes its own.
  try {
    for (const std::string& processor : processors)
      if (!write_for(processor, argv[1]))
        std::fprintf(stderr, "no precompiled prelude for %s in %s\n", processor.c_str(), argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "no precompiled prelude: %s\n", error.what());
  }
  return 0;
}
