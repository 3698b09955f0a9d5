// NVIDIA's compiler as a library, by dlopen: the interface as NVIDIA documents it.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <regex>
#include <vector>

#include "device/cuda/ptx.h"
#include "runtime/log.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

using Result = int;  // 0: success
using Program = void*;

#define WEFT_NVRTC_FUNCTIONS(X)                                                                \
  X(nvrtcVersion, (int* major, int* minor))                                                    \
  X(nvrtcCreateProgram, (Program * program, const char* source, const char* name, int headers, \
                         const char* const* texts, const char* const* names))                  \
  X(nvrtcDestroyProgram, (Program * program))                                                  \
  X(nvrtcCompileProgram, (Program program, int count, const char* const* options))             \
  X(nvrtcGetPTXSize, (Program program, size_t* bytes))                                         \
  X(nvrtcGetPTX, (Program program, char* text))                                                \
  X(nvrtcGetProgramLogSize, (Program program, size_t* bytes))                                  \
  X(nvrtcGetProgramLog, (Program program, char* text))

struct Library {
  std::string problem;
  int version = 0;  // 13000: of CUDA 13.0
#define WEFT_NVRTC_DECLARE(NAME, PARAMETERS) Result(*NAME) PARAMETERS = nullptr;
  WEFT_NVRTC_FUNCTIONS(WEFT_NVRTC_DECLARE)
#undef WEFT_NVRTC_DECLARE
};

// The first that is there: by name, so that one that the process has loaded already is found too; then where
// CUDA's toolkit is installed.
constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
                                  "/usr/local/cuda/lib64/libnvrtc.so"};
constexpr int kOldest = 11050;  // --device-int128

Library load() {
  Library library;
  void* handle = nullptr;
  for (const char* name : kNames)
    if (handle == nullptr) handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    library.problem = "there is no libnvrtc.so.13, .12 or .11.2, which CUDA's toolkit has";
    return library;
  }
#define WEFT_NVRTC_FIND(NAME, PARAMETERS)                                          \
  library.NAME = reinterpret_cast<decltype(library.NAME)>(::dlsym(handle, #NAME)); \
  if (library.NAME == nullptr && library.problem.empty())                          \
    library.problem = fmt::format("libnvrtc.so has no {}", #NAME);
  WEFT_NVRTC_FUNCTIONS(WEFT_NVRTC_FIND)
#undef WEFT_NVRTC_FIND
  int major = 0, minor = 0;
  if (!library.problem.empty() || library.nvrtcVersion(&major, &minor) != 0) return library;
  library.version = major * 1000 + minor * 10;
  if (library.version < kOldest)
    library.problem = fmt::format("libnvrtc.so is of CUDA {}.{}, expected 11.5 or newer", major, minor);
  return library;
}

const Library& library() {
  static const Library& instance = *new Library(load());
  return instance;
}

std::string_view words() {
  static constexpr char kText[] =
#include "device/cuda/text/nvrtc.inc"
      ;
  return kText;
}

// The text with vectors that NVRTC has (Moved in nvrtc.inc).
std::string translated(std::string source) {
  constexpr std::pair<std::string_view, std::string_view> kVectors[] = {
      {"typedef T type __attribute__((vector_size(sizeof(T) * N)));", "using type = Moved<T, N>;"},
      {"typedef u32 Words __attribute__((vector_size(kBytes), may_alias));",
       "using Words = Moved<u32, kBytes / 4>;"}};
  for (const auto& [vector, moved] : kVectors)
    for (size_t at = source.find(vector); at != std::string::npos; at = source.find(vector, at))
      source.replace(at, vector.size(), moved);
  WEFT_ASSERT(source.find("vector_size") == std::string::npos, "vectors that NVRTC would take for numbers");
  return std::string(words()) + source;
}

class NvrtcPtxCompiler final : public PtxCompiler {
 public:
  std::string id() const override {
    return library().problem.empty() ? fmt::format("nvrtc {}", library().version) : "";
  }
  std::string why_unavailable() const override { return library().problem; }

  std::string compile(const std::string& name, const std::string& source, PtxTarget target) const override {
    const Library& nvrtc = library();
    const std::string whole = translated(source);
    Program program = nullptr;
    check(nvrtc.nvrtcCreateProgram(&program, whole.c_str(), (name + ".cu").c_str(), 0, nullptr, nullptr),
          name, "");
    const auto destroy = [&](Program* p) { nvrtc.nvrtcDestroyProgram(p); };
    const std::unique_ptr<Program, decltype(destroy)> owner(&program, destroy);
    const std::string gpu = name_of("--gpu-architecture=compute_", target);
    // No contraction, nothing flushed to zero, quotients and roots rounded: as the host computes.
    const std::vector<const char*> options = {gpu.c_str(),
                                              nvrtc.version >= 12000 ? "--std=c++20" : "--std=c++17",
                                              "-default-device",
                                              "--device-int128",
                                              "--fmad=false",
                                              "--ftz=false",
                                              "--prec-div=true",
                                              "--prec-sqrt=true",
                                              "-w"};
    const Result compiled =
        nvrtc.nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
    check(compiled, name, text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program));
    std::string ptx = text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program);
    require_readable(ptx, target);
    return ptx;
  }

 private:
  template <class Size, class Get>
  static std::string text(Size size, Get get, Program program) {
    size_t bytes = 0;
    if (size(program, &bytes) != 0 || bytes <= 1) return {};
    std::string result(bytes, '\0');
    if (get(program, result.data()) != 0) return {};
    result.resize(bytes - 1);  // a zero is behind it
    return result;
  }

  static void check(Result result, const std::string& name, const std::string& log) {
    if (result == 0) return;
    throw_error(ErrorKind::Runtime,
                fmt::format("nvrtc: compiling kernel '{}' failed (error {}):\n{}", name, result, log));
  }

  // A toolkit that is newer than the driver writes what the driver does not read.
  static void require_readable(const std::string& ptx, PtxTarget target) {
    static const std::regex& pattern = *new std::regex(R"(\.version (\d+)\.(\d+))");
    std::smatch found;
    const std::string head = ptx.substr(0, 1000);
    if (!std::regex_search(head, found, pattern)) return;
    const int version = std::stoi(found[1]) * 10 + std::stoi(found[2]);
    if (version <= target.newest) return;
    throw_error(
        ErrorKind::Runtime,
        fmt::format("nvrtc: {} writes PTX {:.1f}, and the driver reads PTX {:.1f} or older: expected an "
                    "NVRTC that is not newer than the driver",
                    library_version(), version / 10.0, target.newest / 10.0));
  }
  static std::string library_version() {
    return fmt::format("NVRTC {}.{}", library().version / 1000, library().version % 1000 / 10);
  }
};

}  // namespace

const PtxCompiler& nvrtc_ptx_compiler() {
  static const NvrtcPtxCompiler& instance = *new NvrtcPtxCompiler;
  return instance;
}

}  // namespace weft::cuda
