#include "device/cuda/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "compiler/compiled_graph.h"
#include "device/cuda/cufft.h"
#include "device/cuda/cusolver.h"
#include "device/cuda/driver.h"
#include "device/cuda/moving.h"
#include "device/cuda/written_operators.h"
#include "distributed/group.h"
#include "nest/fusible.h"
#include "runtime/log.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

void log_sync(const std::string& text) {
  if (log::enabled(log::Channel::Syncs)) log::write(log::Channel::Syncs, text);
}

// Graphs of one operator, by what it is called with.
struct Compiled {
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<compiler::CompiledGraph>> graphs;  // null: it is no loop
};
Compiled& compiled() {
  static Compiled& instance = *new Compiled;
  return instance;
}

std::string key_of(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs,
                   int index) {
  std::string key = fmt::format("{}:{}", op.name, index);
  for (const auto& [name, value] : attrs.items()) key += fmt::format(" {}={}", name, ops::str(value));
  for (const Tensor& operand : operands)
    key += operand.defined() ? fmt::format(" {}{}{}", short_name(operand.dtype()), weft::str(operand.shape()),
                                           weft::str(operand.strides()))
                             : " none";
  return key;
}

std::shared_ptr<compiler::CompiledGraph> compile_one(const ops::OpDef& op, std::span<const Tensor> operands,
                                                     const ops::Attrs& attrs) {
  auto graph = std::make_unique<ir::Graph>(op.name);
  std::vector<ir::Value*> inputs;
  compiler::CompileOptions options;
  for (const Tensor& operand : operands) {
    inputs.push_back(operand.defined() ? graph->add_input(ops::type_of(operand), "x") : nullptr);
    if (operand.defined()) options.input_strides.push_back(operand.strides());
  }
  const ir::Node* node = graph->add_node(graph->body(), op, inputs, attrs);
  if (!nest::is_fusible(*node)) return nullptr;
  for (ir::Value* output : node->outputs) {
    const SymShape& shape = output->tensor().shape;
    if (std::any_of(shape.begin(), shape.end(), [](Sym size) { return sym_known_equal(size, Sym(0)); }))
      return nullptr;
    graph->add_return(graph->body(), output);
  }
  for (const Tensor& operand : operands)
    if (operand.defined() && operand.numel() == 0) return nullptr;
  options.run_passes = false;
  return compiler::compile(std::move(graph), options);
}

std::optional<std::vector<Tensor>> run_loop(const ops::OpDef& op, std::span<const Tensor> operands,
                                            const ops::Attrs& attrs, int index) {
  const std::string key = key_of(op, operands, attrs, index);
  std::shared_ptr<compiler::CompiledGraph> graph;
  bool is_known = false;
  {
    const std::lock_guard<std::mutex> lock(compiled().mutex);
    if (const auto found = compiled().graphs.find(key); found != compiled().graphs.end())
      graph = found->second, is_known = true;
  }
  if (!is_known) {
    graph = compile_one(op, operands, attrs);
    const std::lock_guard<std::mutex> lock(compiled().mutex);
    constexpr size_t kMany = 4096;
    if (compiled().graphs.size() >= kMany) compiled().graphs.clear();
    compiled().graphs[key] = graph;
  }
  if (graph == nullptr) return std::nullopt;
  std::vector<Tensor> arrays;
  for (const Tensor& operand : operands)
    if (operand.defined()) arrays.push_back(operand);
  return graph->run(arrays);
}

bool is_collective(const ops::OpDef& op) {
  return op.name == "_all_reduce" || op.name == "_all_gather" || op.name == "_reduce_scatter" ||
         op.name == "_broadcast";
}

// What would run it on the GPU, were it there.
std::string missing_library(const ops::OpDef& op, std::span<const Tensor> operands) {
  if (op.name.starts_with("fft_") && !why_no_cufft().empty()) return "; libcufft.so would run it on the GPU";
  if (is_linear_algebra(op, operands) && !why_no_cusolver().empty())
    return "; libcusolver.so would run it on the GPU";
  return {};
}

std::vector<Tensor> run_on_host(const ops::OpDef& op, std::span<const Tensor> operands,
                                const ops::Attrs& attrs, int index) {
  std::vector<Tensor> copies, results;
  double there = 0, back = 0;
  for (const Tensor& operand : operands) {
    copies.push_back(operand.defined() ? operand.to(Device()) : operand);
    if (operand.defined()) there += static_cast<double>(operand.numel() * itemsize(operand.dtype()));
  }
  ops::Attrs here = attrs;
  if (here.find("device")) here.set("device", Device());
  for (const Tensor& result : op.eager(op, copies, here)) {
    if (result.defined()) back += static_cast<double>(result.numel() * itemsize(result.dtype()));
    results.push_back(result.defined() ? result.to(Device{DeviceType::CUDA, index}) : result);
  }
  if (!operands.empty())
    log_sync(fmt::format(
        "{} has no form for cuda and runs on the host{}: {:.0f} bytes are copied there, {:.0f} back", op.name,
        missing_library(op, operands), there, back));
  return results;
}

}  // namespace

std::vector<Tensor> run_operator(const ops::OpDef& op, std::span<const Tensor> operands,
                                 const ops::Attrs& attrs, int index) {
  if (op.kind == ops::OpKind::View) return op.eager(op, operands, attrs);
  if (is_collective(op) && distributed::reaches(Device{DeviceType::CUDA, index}))
    return op.eager(op, operands, attrs);
  // A join is one loop, where it can be one.
  if (op.name != "join")
    if (std::optional<std::vector<Tensor>> results = run_written(op, operands, attrs)) return *results;
  if (std::optional<std::vector<Tensor>> results = run_loop(op, operands, attrs, index)) return *results;
  if (op.name == "join")
    if (std::optional<std::vector<Tensor>> results = run_written(op, operands, attrs)) return *results;
  return run_on_host(op, operands, attrs, index);
}

namespace {

// Elements from the first in memory to behind the last, and where the first of all is.
struct Extent {
  int64_t lowest = 0, highest = 0;
};
Extent extent_of(const Strides& strides, const Shape& shape) {
  Extent extent;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t reach = strides[d] * (shape[d] - 1);
    (reach < 0 ? extent.lowest : extent.highest) += reach;
  }
  return extent;
}

bool is_dense(const Strides& strides, const Shape& shape) {
  int64_t expected = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

const ops::OpDef& cast_operator() {
  static const ops::OpDef& op = ops::get_op("cast");
  return op;
}

Tensor wrapped(const StridedPointer& operand, const Shape& shape, int device) {
  const Extent extent = extent_of(operand.strides, shape);
  const int64_t size = itemsize(operand.dtype);
  char* first = static_cast<char*>(operand.data) + extent.lowest * size;
  auto storage = Storage::wrap(first, static_cast<size_t>((extent.highest - extent.lowest + 1) * size),
                               nullptr, false, Device{DeviceType::CUDA, device});
  return Tensor(std::move(storage), operand.dtype, shape, operand.strides, -extent.lowest);
}

// Complex numbers from and to others: their real parts, then their imaginary ones, which real numbers have
// not. False where both parts matter to one number.
bool convert_parts(const StridedPointer& to, const StridedPointer& from, const Shape& shape, int device) {
  if (!is_complex(to.dtype) && (!is_complex(from.dtype) || to.dtype == DType::Bool)) return false;
  const auto doubled = [](const StridedPointer& x) {
    Strides strides = x.strides;
    if (is_complex(x.dtype))
      for (int64_t& step : strides) step *= 2;
    return strides;
  };
  const Strides to_strides = doubled(to), from_strides = doubled(from);
  const auto part = [](const StridedPointer& x, const Strides& strides, int64_t which) -> StridedPointer {
    if (!is_complex(x.dtype)) return {x.data, x.dtype, strides};
    const DType real = real_dtype(x.dtype);
    return {static_cast<char*>(x.data) + which * itemsize(real), real, strides};
  };
  copy_elements(part(to, to_strides, 0), part(from, from_strides, 0), shape, device);
  if (!is_complex(to.dtype)) return true;
  if (is_complex(from.dtype)) {
    copy_elements(part(to, to_strides, 1), part(from, from_strides, 1), shape, device);
  } else {
    const Tensor zero = Tensor::full({1}, Scalar(0), real_dtype(to.dtype), Device{DeviceType::CUDA, device});
    const Strides still(shape.size(), 0);
    copy_elements(part(to, to_strides, 1), {zero.data(), zero.dtype(), still}, shape, device);
  }
  return true;
}

}  // namespace

void copy_elements(const StridedPointer& to, const StridedPointer& from, const Shape& shape, int device) {
  const int64_t count = numel(shape);
  if (count == 0) return;
  const bool is_dense_target = is_dense(to.strides, shape);
  if (to.dtype == from.dtype && is_dense_target && is_dense(from.strides, shape))
    return driver().copy_within(to.data, from.data, static_cast<size_t>(count * itemsize(to.dtype)), device);
  if (to.dtype == from.dtype) return move_elements(to, from, shape, device);
  if (convert_parts(to, from, shape, device)) return;
  // Converted by a kernel, then moved where they do not lie in a row.
  const Tensor source = wrapped(from, shape, device);
  const bool has_loop = !is_complex(from.dtype);
  Tensor converted;
  if (const auto result =
          !has_loop ? std::nullopt
                    : run_loop(cast_operator(), std::span(&source, 1), {{"dtype", to.dtype}}, device)) {
    converted = (*result)[0];
  } else {
    log_sync(fmt::format("{} elements are converted from {} to {} on the host", count, name(from.dtype),
                         name(to.dtype)));
    const Tensor here = source.to(Device()).to(to.dtype);
    converted = here.to(Device{DeviceType::CUDA, device});
  }
  copy_elements(to, {converted.data(), to.dtype, converted.strides()}, shape, device);
}

}  // namespace weft::cuda
