// A fusion group as machine code.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "codegen/print_cpp.h"
#include "compiler/compiled_graph.h"
#include "compiler/lower.h"
#include "core/backend.h"

namespace weft::compiler {

struct Kernel {
  LoopNest nest;
  codegen::PrintedKernel printed;
  std::shared_ptr<const DeviceKernel> loaded;
  double compile_ms = 0;
  bool from_cache = false;
};

// The kernels of one graph: their names differ, and what two of them do alike is compiled once.
class KernelMaker {
 public:
  explicit KernelMaker(const CompileOptions& options) : options_(options) {}
  Kernel make(const FusionGroup& group, const Memory& memory);

 private:
  const CompileOptions& options_;
  std::set<std::string> names_;
  std::map<std::string, LoadedDeviceKernel> by_code_;
};

}  // namespace weft::compiler
