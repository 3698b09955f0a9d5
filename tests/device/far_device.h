// A third device, `far:0` and `far:1`, in one file: what src/device/backend asks of a device and nothing
// else.
//
// Its memory cannot be read by the process: addresses are those of the memory with their top bit turned, so
// that any loop of the CPU that gets hold of one ends with a fault. Kernels have a signature, outer loops,
// lanes and a prelude of the device's own; operators that are no loops run on copies, as a library would run
// them there.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/prelude.h"
#include "codegen/print_cpp.h"
#include "compiler/compiled_graph.h"
#include "core/backend.h"
#include "core/copy.h"
#include "nest/fusible.h"
#include "nest/passes.h"
#include "nest/vocabulary.h"
#include "ops/registry.h"
#include "runtime/toolchain.h"

namespace weft::testing_support {

struct FarCounts {
  std::atomic<int64_t> allocations = 0, frees = 0, launches = 0, library_calls = 0;
};
inline FarCounts& far_counts() {
  static FarCounts counts;
  return counts;
}

class FarVocabulary final : public nest::Vocabulary {
 public:
  std::string declaration(std::string_view name) const override {
    return fmt::format("extern \"C\" void far_{}(const far_launch& launch)", name);
  }
  std::string outer_loop(nest::OuterLoop, std::string_view extent, std::string_view grain,
                         std::string_view) const override {
    return fmt::format("far_blocks({}, {}, ", extent, grain);
  }
  std::string source(const std::set<scalar::Prim>& elementary, std::string_view kernel) const override {
    // What the printed text calls `arrays`, `symbols` and `functions` are parts of the launch.
    constexpr std::string_view kFar = R"(
struct far_launch { void* const* arrays_; const i64* symbols_; const void* const* functions_; };
#define arrays launch.arrays_
#define symbols launch.symbols_
#define functions launch.functions_
template <class F> WEFT_INLINE void far_blocks(i64 count, i64 grain, F f) {
  for (i64 block = (count - 1) / grain; block >= 0; --block)
    f(block * grain, count < (block + 1) * grain ? count : (block + 1) * grain);
}
)";
    return codegen::with_prelude(codegen::PreludeKind::Kernel, elementary,
                                 std::string(kFar) + std::string(kernel));
  }
};

class Far final : public Backend {
 public:
  Far() : Backend("far", MemoryKind::Device, /*has_kernels=*/true, /*is_numbered=*/true) {}

  // The process's address of the device's.
  template <class T>
  static T* real(T* far) {
    return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(far) ^ kFarBit);
  }

  std::string why_unavailable(int index) const override {
    return index < 2 ? "" : fmt::format("there are 2 such devices, and no number {}", index);
  }
  size_t total_memory(int) const override { return size_t{1} << 32; }
  void* allocate(size_t nbytes, int, size_t* capacity) const override {
    *capacity = (nbytes + 63) / 64 * 64 + 64;
    ++far_counts().allocations;
    return real(std::aligned_alloc(64, *capacity));
  }
  void deallocate(void* data, size_t, int) const noexcept override {
    ++far_counts().frees;
    std::free(real(data));
  }
  void copy_from_host(void* to, const void* from, size_t nbytes, int) const override {
    std::memcpy(real(to), from, nbytes);
  }
  void copy_to_host(void* to, const void* from, size_t nbytes, int) const override {
    std::memcpy(to, real(from), nbytes);
  }
  void copy_elements(const StridedPointer& to, const StridedPointer& from, const Shape& shape,
                     int) const override {
    copy_strided({real(to.data), to.dtype, to.strides}, {real(from.data), from.dtype, from.strides}, shape);
  }

  Stream current_stream(int index) const override {
    return {{type(), index}, const_cast<int*>(&streams_[index])};
  }
  Event record(Stream stream) const override {
    return {stream.device, std::make_shared<int64_t>(far_counts().launches)};
  }
  void wait(Stream, const Event&) const override {}
  void synchronize(Stream) const override {}
  double elapsed_ms(const Event& from, const Event& to) const override {
    return static_cast<double>(*static_cast<int64_t*>(to.handle.get()) -
                               *static_cast<int64_t*>(from.handle.get()));
  }

  const nest::Vocabulary& vocabulary() const override { return vocabulary_; }
  std::span<const nest::NestPass> schedule() const override { return kSchedule; }
  int vector_bytes() const override { return 16; }
  LoadedDeviceKernel load(const nest::LoopNest& nest, const codegen::PrintedKernel& printed,
                          std::string_view toolchain) const override {
    const runtime::LoadedKernel loaded = runtime::load_kernel({printed.name, printed.source}, toolchain);
    return {std::make_shared<Kernel>(loaded.module, printed, nest.buffers.size()), loaded.compile_ms, false};
  }

  bool has_operator(const ops::OpDef& op) const override {
    return op.name.find("channels_last") == std::string::npos && !op.name.starts_with("linear_");
  }
  // Views share memory, loops are compiled, the rest is the device's library.
  std::vector<Tensor> run(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs,
                          int index) const override {
    if (op.kind == ops::OpKind::View) return op.eager(op, operands, attrs);
    if (std::optional<std::vector<Tensor>> results = run_kernel(op, operands, attrs)) return *results;
    ++far_counts().library_calls;
    std::vector<Tensor> copies, results;
    for (const Tensor& operand : operands)
      copies.push_back(operand.defined() ? operand.to(Device()) : operand);
    ops::Attrs here = attrs;
    if (here.find("device")) here.set("device", Device());
    for (const Tensor& result : op.eager(op, copies, here))
      results.push_back(result.defined() ? result.to(Device{type(), index}) : result);
    return results;
  }

  static DeviceType type() { return Device::parse("far").type; }

 private:
  static constexpr uintptr_t kFarBit = uintptr_t{1} << 63;
  static constexpr nest::NestPass kSchedule[] = {
      {"choose_far_lanes", "two lanes of whatever",
       [](nest::LoopNest& nest) {
         for (nest::Scope& scope : nest.scopes)
           if (scope.lanes > 1) scope.lanes = 2;
       }},
      {"split_at_ring_ends", "pieces between the ends of rings", nest::split_at_ring_ends},
  };
  FarVocabulary vocabulary_;
  int streams_[2] = {};

  class Kernel final : public DeviceKernel {
   public:
    Kernel(std::shared_ptr<const runtime::Module> module, const codegen::PrintedKernel& printed,
           size_t num_arrays)
        : module_(std::move(module)),
          function_(reinterpret_cast<void (*)(const Launch&)>(module_->symbol("far_" + printed.name))),
          functions_(printed.functions),
          num_arrays_(num_arrays) {}
    void launch(void* const* arrays, const int64_t* symbols, Stream stream) const override {
      if (stream.handle == nullptr) std::abort();
      ++far_counts().launches;
      std::vector<void*> real_arrays;
      for (size_t i = 0; i < num_arrays_; ++i) real_arrays.push_back(real(arrays[i]));
      function_({real_arrays.data(), symbols, functions_.data()});
    }

   private:
    struct Launch {
      void* const* arrays;
      const int64_t* symbols;
      const void* const* functions;
    };
    std::shared_ptr<const runtime::Module> module_;
    void (*function_)(const Launch&);
    std::vector<const void*> functions_;
    size_t num_arrays_;
  };

  // A graph of this one node; nothing where that is no loop.
  std::optional<std::vector<Tensor>> run_kernel(const ops::OpDef& op, std::span<const Tensor> operands,
                                                const ops::Attrs& attrs) const {
    auto graph = std::make_unique<ir::Graph>(op.name);
    std::vector<ir::Value*> inputs;
    std::vector<Tensor> arrays;
    for (const Tensor& operand : operands) {
      inputs.push_back(operand.defined() ? graph->add_input(ops::type_of(operand), "x") : nullptr);
      if (operand.defined()) arrays.push_back(operand);
    }
    const ir::Node* node = graph->add_node(graph->body(), op, inputs, attrs);
    if (!nest::is_fusible(*node)) return std::nullopt;
    for (ir::Value* output : node->outputs) graph->add_return(graph->body(), output);
    compiler::CompileOptions options;
    options.run_passes = false;
    return compiler::compile(std::move(graph), options)->run(arrays);
  }
};

inline const DeviceType far_type = register_backend(std::make_unique<Far>());

}  // namespace weft::testing_support
