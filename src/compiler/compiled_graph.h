// A graph made executable: fused kernels and operator calls in order, with planned memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace weft::compiler {

struct CompileOptions {
  bool run_passes = true;
  bool use_kernels = true;  // false: operators are called one by one, and no toolchain is needed
  // "" = the configured default; "clang" = in-process; "c++" = spawned.
  std::string toolchain;
  // Preferred vector width in bytes; 0 = the machine's.
  int vector_bytes = 0;
  // Runs of sizes that came before are prepared: their calls are listed with their operands, and what is
  // between them stays in one block of memory, which lives as long as the compiled graph.
  bool prepares_runs = false;
  // Kernels that can do their work in several ways take the fastest, measured (runtime/autotune.h).
  bool autotunes = false;
  // Strides (in elements) of the inputs the first call will bring, to compile for these at once; an empty
  // entry or an empty list means C-contiguous. Other layouts are compiled for when they come.
  std::vector<Strides> input_strides;
};

struct KernelInfo {
  std::string name;    // "argmin_norm_sub"
  std::string source;  // the generated C++
  double compile_ms = 0;
  bool from_cache = false;
};

// Thread-safe: run() may be called from many threads at once.
class CompiledGraph {
 public:
  virtual ~CompiledGraph() = default;
  // `outputs`: fresh tensors, or views of inputs where the graph says so. Write-backs are applied.
  virtual std::vector<Tensor> run(const std::vector<Tensor>& inputs) const = 0;
  virtual const std::vector<KernelInfo>& kernels() const = 0;
  // One line per step, for explain() and WEFT_LOGS=schedule.
  virtual std::string describe() const = 0;
};

// Runs the passes, fuses, generates and compiles. Throws Error(Runtime) naming the toolchain's message when
// nothing can compile; the caller decides what to fall back to.
std::shared_ptr<CompiledGraph> compile(std::unique_ptr<ir::Graph> graph, const CompileOptions& options = {});

}  // namespace weft::compiler
