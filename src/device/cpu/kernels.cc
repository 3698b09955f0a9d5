#include "device/cpu/kernels.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "codegen/prelude.h"
#include "codegen/print_cpp.h"
#include "runtime/host.h"
#include "runtime/interruption.h"
#include "runtime/toolchain.h"
#include "weft/env.h"

namespace weft::cpu {
namespace {

// The signature of every kernel.
using KernelFn = void (*)(void* const* arrays, const int64_t* symbols, const void* const* functions,
                          void* parallel_for);

class CpuVocabulary final : public nest::Vocabulary {
 public:
  std::string declaration(std::string_view name) const override {
    return fmt::format(
        "extern \"C\" void {}(void* const* arrays, const i64* symbols, const void* const* functions,\n"
        "    ParallelFor parallel_for)",
        name);
  }
  std::string outer_loop(nest::OuterLoop kind, std::string_view extent, std::string_view grain,
                         std::string_view lead) const override {
    const char* function = kind == nest::OuterLoop::Streaming ? "parallel_streaming"
                           : kind == nest::OuterLoop::Aligned ? "parallel_aligned"
                                                              : "parallel";
    return fmt::format("{}(parallel_for, {}, {}, {}", function, extent, grain, lead);
  }
  std::string source(const std::set<scalar::Prim>& elementary, std::string_view kernel) const override {
    // Intel's processors begin to read lines ahead in each page anew. AMD's need not be asked, and a short
    // loop takes a tenth longer for asking.
    const std::string wanted = env::get("WEFT_READ_AHEAD");
    static const bool is_intel = runtime::host_cpu_brand().find("Intel") != std::string::npos;
    if (wanted == "0" || (wanted != "1" && !is_intel))
      return codegen::with_prelude(codegen::PreludeKind::Kernel, elementary, kernel);
    return codegen::with_prelude(
        codegen::PreludeKind::Kernel, elementary,
        fmt::format("template <> struct ReadsAhead<true> {{ static constexpr bool value = true; }};\n{}",
                    kernel));
  }
};

// Outer loops are shared out to threads, lanes are registers' elements.
constexpr nest::NestPass kSchedule[] = {
    {"choose_lanes", "how many elements at a time", nest::choose_lanes},
    {"estimate_cost", "nanoseconds per element, for the share of a thread", nest::estimate_cost},
    {"split_at_ring_ends", "loops along what numpy.roll turns read in order", nest::split_at_ring_ends},
    {"choose_streaming", "large results bypass the caches", nest::choose_streaming},
};

class CpuKernel final : public DeviceKernel {
 public:
  CpuKernel(std::shared_ptr<const runtime::Module> module, const codegen::PrintedKernel& printed)
      : module_(std::move(module)),
        function_(reinterpret_cast<KernelFn>(module_->symbol(printed.name))),
        functions_(printed.functions) {}
  void launch(void* const* arrays, const int64_t* symbols, Stream) const override {
    function_(arrays, symbols, functions_.data(), reinterpret_cast<void*>(&runtime::parallel_for_in_kernel));
    runtime::throw_if_interrupted();
  }

 private:
  const std::shared_ptr<const runtime::Module> module_;
  const KernelFn function_;
  const std::vector<const void*> functions_;
};

}  // namespace

const nest::Vocabulary& vocabulary() {
  static const CpuVocabulary& vocabulary = *new CpuVocabulary;
  return vocabulary;
}

std::span<const nest::NestPass> schedule() { return kSchedule; }

LoadedDeviceKernel load(const codegen::PrintedKernel& printed, std::string_view toolchain) {
  runtime::LoadedKernel loaded =
      runtime::load_kernel(codegen::compile_request(printed.name, printed.source), toolchain);
  return {std::make_shared<CpuKernel>(std::move(loaded.module), printed), loaded.compile_ms,
          std::string_view(loaded.origin) != "compiled"};
}

}  // namespace weft::cpu
