#include "device/cuda/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "codegen/prelude.h"
#include "codegen/print_grid.h"
#include "device/cuda/driver.h"
#include "device/cuda/memory.h"
#include "nest/grid.h"
#include "scalar/elementary.h"
#include "scalar/special_text.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

class GridVocabulary final : public nest::Vocabulary {
 public:
  bool is_grid() const override { return true; }
  // No function of the process can be called there.
  bool has(scalar::Prim prim, DType operand) const override {
    using scalar::Prim;
    if (scalar::has_special_text(prim) && (is_floating(operand) || prim == Prim::Gcd)) return true;
    if (!nest::is_printable(prim, operand)) return false;
    if (prim == Prim::Arg || prim == Prim::Const || prim == Prim::Cast || prim == Prim::Select ||
        operand == DType::Bool || !is_floating(operand))
      return true;
    if (scalar::is_elementary(prim) || nest::infix(prim, operand) || prim == Prim::Neg) return true;
    return prim != Prim::Pow && nest::prelude_function(prim, operand) != nullptr;
  }
  std::optional<scalar::MathFunction> math_function(scalar::Prim, DType) const override {
    return std::nullopt;
  }
  std::string declaration(std::string_view) const override { return {}; }
  std::string outer_loop(nest::OuterLoop, std::string_view, std::string_view,
                         std::string_view) const override {
    return {};
  }
  std::string source(const std::set<scalar::Prim>& elementary, std::string_view kernel) const override {
    return codegen::with_grid_prelude(elementary, kernel);
  }
};

constexpr nest::NestPass kSchedule[] = {
    {"give_threads_elements", "one element per thread", nest::give_threads_elements},
};

// A size as steps of a stack machine: kernels may outlive the graph whose symbols it is over.
class SizeFormula {
 public:
  explicit SizeFormula(Sym size) { add(size); }
  int64_t evaluate(const int64_t* symbols) const {
    int64_t stack[16];
    size_t top = 0;
    for (const Step& step : steps_) {
      if (step.is_constant) {
        stack[top++] = step.value;
        continue;
      }
      if (step.op == SymOp::Symbol) {
        stack[top++] = symbols[step.value];
        continue;
      }
      const int64_t b = stack[--top], a = stack[--top];
      stack[top++] = apply(step.op, a, b);
    }
    return stack[0];
  }

 private:
  struct Step {
    bool is_constant;
    SymOp op;
    int64_t value;  // a constant, or the symbol's number
  };
  std::vector<Step> steps_;

  void add(Sym size) {
    if (size.is_constant()) {
      steps_.push_back({true, SymOp::Symbol, size.constant()});
      return;
    }
    const SymNode& node = *size.node();
    if (node.op != SymOp::Symbol) {
      add(node.a);
      add(node.b);
    }
    steps_.push_back({false, node.op, node.symbol});
    WEFT_ASSERT(depth() <= 16, "a size of many parts");
  }
  size_t depth() const {
    size_t depth = 0, most = 0;
    for (const Step& step : steps_) {
      depth = step.is_constant || step.op == SymOp::Symbol ? depth + 1 : depth - 1;
      most = std::max(most, depth);
    }
    return most;
  }
  static int64_t apply(SymOp op, int64_t a, int64_t b) {
    switch (op) {
      case SymOp::Add: return a + b;
      case SymOp::Mul: return a * b;
      case SymOp::FloorDiv: return a / b - (a % b != 0 && (a < 0) != (b < 0));
      case SymOp::Mod: return a - (a / b - (a % b != 0 && (a < 0) != (b < 0))) * b;
      case SymOp::Min: return std::min(a, b);
      default: return std::max(a, b);
    }
  }
};

class GridKernel final : public DeviceKernel {
 public:
  GridKernel(const nest::LoopNest& nest, std::shared_ptr<const LoadedModule> module)
      : module_(std::move(module)), num_arrays_(nest.buffers.size()), symbols_(codegen::grid_symbols(nest)) {
    const nest::GridPlan plan = nest::plan_grid(nest);
    for (const nest::GridSplit& split : plan.splits) {
      Split s{split.by_threads, SizeFormula(split.results), SizeFormula(split.extent), {}};
      for (const nest::Accumulator& accumulator : nest.scope(split.scope).accumulators) {
        s.bytes.push_back(static_cast<size_t>(itemsize(accumulator.dtype)));
        if (nest::is_arg_reduction(accumulator.op)) s.bytes.push_back(sizeof(int64_t));
      }
      splits_.push_back(std::move(s));
    }
    for (const nest::GridPhase& phase : plan.phases)
      phases_.push_back({phase.name, module_->function(phase.name), phase.split, phase.group, phase.waits,
                         phase.shape == nest::GridPhase::Shape::Single, SizeFormula(phase.items)});
    is_address_.assign(num_arrays_, 1);
    is_address_.insert(is_address_.end(), symbols_.size(), 0);
    for (const Split& split : splits_) is_address_.insert(is_address_.end(), split.bytes.size(), 1);
  }

  void launch(void* const* arrays, const int64_t* symbols, Stream stream) const override {
    const int device = stream.device.index;
    const Driver& gpu = driver();
    // Values first, then their addresses.
    std::vector<uint64_t> values;
    values.reserve(is_address_.size());
    for (size_t k = 0; k < num_arrays_; ++k) values.push_back(reinterpret_cast<uint64_t>(arrays[k]));
    for (const int symbol : symbols_) values.push_back(static_cast<uint64_t>(symbols[symbol]));
    std::vector<int64_t> parts;
    const Rooms rooms = rooms_for_parts(symbols, device, parts, values);
    std::vector<void*> parameters;
    parameters.reserve(values.size());
    for (uint64_t& value : values) parameters.push_back(&value);
    const int64_t most = static_cast<int64_t>(gpu.facts(device).multiprocessors) * kBlocksPerMultiprocessor;
    for (const Phase& phase : phases_) {
      const int64_t blocks = std::min(most, blocks_of(phase, symbols, parts));
      if (blocks > 0)
        gpu.launch(phase.name, phase.function, {blocks, phase.waits, parameters.data(), is_address_}, device);
    }
  }

 private:
  // Eight are there at once; more even out what takes longer.
  static constexpr int64_t kBlocksPerMultiprocessor = 32;

  struct Split {
    bool by_threads;
    SizeFormula results, extent;
    std::vector<size_t> bytes;  // of one part, per array
  };
  struct Phase {
    std::string name;
    void* function;
    int split, group;
    bool waits, is_single;
    SizeFormula items;
  };
  // Memory of parts, given back when the kernels are under way: what is given out next runs behind them.
  struct Rooms {
    int device;
    std::vector<std::pair<void*, size_t>> rooms;
    explicit Rooms(int d) : device(d) {}
    Rooms(Rooms&& other) noexcept : device(other.device), rooms(std::move(other.rooms)) {
      other.rooms.clear();
    }
    Rooms(const Rooms&) = delete;
    ~Rooms() {
      for (const auto& [data, capacity] : rooms) give_memory(data, capacity, device);
    }
  };

  std::shared_ptr<const LoadedModule> module_;
  size_t num_arrays_;
  std::vector<int> symbols_;
  std::vector<Split> splits_;
  std::vector<Phase> phases_;
  std::vector<uint8_t> is_address_;

  Rooms rooms_for_parts(const int64_t* symbols, int device, std::vector<int64_t>& parts,
                        std::vector<uint64_t>& values) const {
    Rooms rooms(device);
    for (const Split& split : splits_) {
      const int64_t results = split.results.evaluate(symbols), extent = split.extent.evaluate(symbols);
      parts.push_back(results * (split.by_threads ? nest::parts_of_threads(extent, results)
                                                  : nest::parts_of_blocks(extent)));
      for (const size_t bytes : split.bytes) {
        size_t capacity = 0;
        void* data =
            take_memory(std::max<size_t>(1, bytes * static_cast<size_t>(parts.back())), device, &capacity);
        rooms.rooms.emplace_back(data, capacity);
        values.push_back(reinterpret_cast<uint64_t>(data));
      }
    }
    return rooms;
  }

  static int64_t blocks_of(const Phase& phase, const int64_t* symbols, const std::vector<int64_t>& parts) {
    if (phase.is_single) return 1;
    const int64_t items =
        phase.split >= 0 ? parts[static_cast<size_t>(phase.split)] : phase.items.evaluate(symbols);
    const int64_t per_block = nest::kGridThreads / phase.group;
    return (items + per_block - 1) / per_block;
  }
};

}  // namespace

const nest::Vocabulary& vocabulary() {
  static const GridVocabulary& instance = *new GridVocabulary;
  return instance;
}

std::span<const nest::NestPass> schedule() { return kSchedule; }

LoadedDeviceKernel load(const nest::LoopNest& nest, const codegen::PrintedKernel& printed,
                        std::string_view toolchain) {
  CompiledModule compiled = driver().load(printed.name, printed.source, toolchain, nest.device.index);
  return {std::make_shared<GridKernel>(nest, std::move(compiled.module)), compiled.compile_ms,
          compiled.from_cache};
}

}  // namespace weft::cuda
