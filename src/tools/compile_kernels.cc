// Compiles what weft_write_kernels wrote with the in-process compiler, to an object file:
// `weft_compile_kernels PLUGIN SOURCE OBJECT FLAG...`. Linked with nothing of weft, whose library the object
// is part of.
#include <dlfcn.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/clang_plugin/plugin.h"

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: weft_compile_kernels PLUGIN SOURCE OBJECT FLAG...\n");
    return 2;
  }
  void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "weft_compile_kernels: %s\n", dlerror());
    return 1;
  }
  const auto compile = reinterpret_cast<WeftClangCompile>(dlsym(plugin, "weft_clang_compile_object"));
  std::stringstream source;
  source << std::ifstream(argv[2]).rdbuf();
  const std::string text = source.str();
  if (compile == nullptr || text.empty()) {
    std::fprintf(stderr, "weft_compile_kernels: %s\n",
                 compile ? "the source is empty" : "not weft's compiler");
    return 1;
  }
  const std::vector<const char*> flags(argv + 4, argv + argc);
  WeftClangRequest request = {};
  request.name = "kernels";
  request.source = {text.data(), text.size()};
  request.flags = flags.data();
  request.flag_count = flags.size();
  WeftClangResult result = {};
  compile(&request, &result);
  if (result.bytes == nullptr) {
    std::fprintf(stderr, "weft_compile_kernels: %s: %s%s\n", argv[2], result.message,
                 result.unknown_flag ? result.unknown_flag : "");
    return 1;
  }
  std::ofstream object(argv[3], std::ios::binary);
  object.write(result.bytes, static_cast<std::streamsize>(result.size));
  if (!object.flush()) {
    std::fprintf(stderr, "weft_compile_kernels: cannot write %s\n", argv[3]);
    return 1;
  }
}
