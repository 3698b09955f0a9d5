// What LLVM and LLD refer to and the plugin does without: processors that are not the host's, and Polly. LLD
// offers to link for every processor that LLVM was built for, and Clang registers Polly's passes, which are
// off by default.
#include <llvm/Config/llvm-config.h>
#include <llvm/Passes/PassPlugin.h>

// The host's functions and those of NVIDIA's GPUs are LLVM's: these get a name that nothing asks for. The
// build does so for the host's (WEFT_LLVM_TARGET in CMakeLists.txt).
#define NVPTX UnusedGpu
#define WEFT_NOTHING(target, part) \
  void LLVMInitialize##target##part() {}

extern "C" {
#define LLVM_TARGET(target)        \
  WEFT_NOTHING(target, TargetInfo) \
  WEFT_NOTHING(target, Target)     \
  WEFT_NOTHING(target, TargetMC)
#include <llvm/Config/Targets.def>
#define LLVM_ASM_PRINTER(target) WEFT_NOTHING(target, AsmPrinter)
#include <llvm/Config/AsmPrinters.def>
#define LLVM_ASM_PARSER(target) WEFT_NOTHING(target, AsmParser)
#include <llvm/Config/AsmParsers.def>
}

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Polly", LLVM_VERSION_STRING, [](llvm::PassBuilder&) {}};
}

// Nothing of LLVM's is destroyed as the program ends: a thread may be compiling then.
extern "C" __attribute__((visibility("hidden"))) int __wrap___cxa_atexit(void (*)(void*), void*, void*) {
  return 0;
}
