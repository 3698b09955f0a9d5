// Strict calls: check, infer, then run or record.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/backend.h"
#include "core/profiling.h"
#include "ops/effects.h"
#include "ops/memory_order.h"
#include "ops/registry.h"
#include "ops/result_memory.h"
#include "ops/stored.h"
#include "ops/tracer.h"
#include "ops/work.h"

namespace weft::ops {
namespace {

thread_local Tracer* active_tracer = nullptr;

// Attributes the caller left out get the schema's defaults, so that kernels and graphs see all of them.
void complete_attributes(const OpDef& op, Attrs& attrs) {
  for (const Param& param : op.params) {
    if (param.is_tensor()) continue;
    if (attrs.find(param.name) != nullptr) continue;
    WEFT_CHECK_TYPE(param.has_default, fmt::format("{}: missing argument '{}'\n  {}{}", op.name, param.name,
                                                   op.name, op.schema));
    attrs.set(param.name, param.default_value);
  }
}

// "2", "2 to 3" or "at least 3".
std::string expected_operands(size_t required, size_t allowed, bool open) {
  if (open) return fmt::format("at least {}", required);
  return required == allowed ? std::to_string(allowed) : fmt::format("{} to {}", required, allowed);
}

void check_operand_count(const OpDef& op, OpArgs& args) {
  size_t required = 0, allowed = 0;
  bool open = false;
  for (const Param& param : op.params) {
    if (!param.is_tensor()) continue;
    const int64_t count = param.num_operands();
    open = open || count < 0;
    allowed += static_cast<size_t>(std::max<int64_t>(count, 0));
    if (!param.optional) required = allowed;
  }
  const size_t given = args.tensors.size();
  WEFT_CHECK_TYPE(given >= required && (open || given <= allowed),
                  fmt::format("{}: expected {} tensor operands, got {}\n  {}{}", op.name,
                              expected_operands(required, allowed, open), given, op.name, op.schema));
  if (open) return;
  args.tensors.resize(allowed);
  size_t index = 0;
  for (const Param& param : op.params) {
    for (int64_t i = 0; i < param.num_operands(); ++i, ++index) {
      WEFT_CHECK_TYPE(param.optional || args.tensors[index].defined(),
                      fmt::format("{}: operand '{}' is missing", op.name, param.name));
    }
  }
}

// Numbers (0-d tensors of the host) go to where the other operands are.
void move_numbers(std::vector<Tensor>& tensors) {
  const auto is_elsewhere = [](const Tensor& x) {
    return x.defined() && !x.is_traced() && x.device() != Device();
  };
  const auto found = std::find_if(tensors.begin(), tensors.end(), is_elsewhere);
  if (found == tensors.end()) return;
  const Device device = found->device();
  for (Tensor& tensor : tensors)
    if (tensor.defined() && !tensor.is_traced() && tensor.device() == Device() && tensor.dim() == 0)
      tensor = tensor.to(device);
}

void check_devices(const OpDef& op, std::span<const Tensor> tensors, std::span<const TensorType> types) {
  const Tensor* first = nullptr;
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined() || tensor.is_traced()) continue;
    if (first == nullptr) first = &tensor;
    if (tensor.device() != first->device())  // PyTorch's words
      throw_error(
          ErrorKind::Runtime,
          fmt::format("{}: Expected all tensors to be on the same device, but found at least two "
                      "devices, {} and {}!{}",
                      op.name, first->device().str(), tensor.device().str(), describe_operands(op, types)));
  }
}

// Of one that is traced, its parts become nodes: nothing runs.
std::vector<Tensor> call_composite(const OpDef& op, OpArgs& args) {
  if (!profiling::is_on() || is_recorded(op, args.tensors)) return op.composite(op, args);
  profiling::Span span(op.name.c_str());
  if (span.is_recorded() && profiling::is_on(profiling::kInputs)) span.inputs = describe_inputs(args.tensors);
  return op.composite(op, args);
}

}  // namespace

Tracer* current_tracer() { return active_tracer; }
TracerScope::TracerScope(Tracer* tracer) : previous_(active_tracer) { active_tracer = tracer; }
TracerScope::~TracerScope() { active_tracer = previous_; }

bool is_recorded(const OpDef& op, std::span<const Tensor> tensors) {
  if (std::any_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) { return tensor.is_traced(); })) {
    WEFT_ASSERT(active_tracer != nullptr, op.name + ": a traced tensor is used outside its trace");
    return true;
  }
  return active_tracer != nullptr && (op.kind == OpKind::Creation || draws(op));
}

SymShape sym_shape(const Tensor& tensor) { return type_of(tensor).shape; }

TensorType type_of(const Tensor& tensor) {
  if (tensor.is_traced()) return tensor.impl()->trace->type();
  TensorType type{tensor.dtype(), {}, tensor.device()};
  type.shape.reserve(tensor.shape().size());
  for (int64_t size : tensor.shape()) type.shape.push_back(Sym(size));
  return type;
}

std::string describe_operands(const OpDef& op, std::span<const TensorType> operands) {
  std::string text = "\n ";
  size_t index = 0, fixed = 0;
  for (const Param& param : op.params)
    fixed += static_cast<size_t>(std::max<int64_t>(param.num_operands(), 0));
  for (const Param& param : op.params) {
    if (!param.is_tensor()) continue;
    const size_t count =
        param.num_operands() < 0 ? operands.size() - fixed : static_cast<size_t>(param.num_operands());
    for (size_t i = 0; i < count && index < operands.size(); ++i, ++index) {
      const std::string label =
          param.type == Param::Type::TensorList ? fmt::format("{}[{}]", param.name, i) : param.name;
      text += fmt::format(" {}: {} {}  ", label, operands[index].str(), operands[index].device.str());
    }
  }
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

std::vector<TensorType> infer(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs) {
  WEFT_ASSERT(op.infer != nullptr, fmt::format("{}: no shape rule", op.name));
  return op.infer(op, operands, attrs);
}

std::vector<Tensor> call(const OpDef& op, OpArgs args) {
  check_operand_count(op, args);
  complete_attributes(op, args.attrs);
  choose_memory_order(op, args.tensors, args.attrs);
  if (concerns_stored_only(op, args)) return call_stored_only(op, args);
  if (op.kind == OpKind::Composite) return call_composite(op, args);
  if (is_recorded(op, args.tensors)) return active_tracer->record(op, args);
  return run_now(op, std::move(args));
}

std::vector<Tensor> run_now(const OpDef& op, OpArgs args) {
  move_numbers(args.tensors);
  std::vector<TensorType> types;
  types.reserve(args.tensors.size());
  std::optional<Device> device;
  for (const Tensor& tensor : args.tensors) {
    types.push_back(tensor.defined() ? type_of(tensor) : TensorType{.absent = true});
    if (tensor.defined()) device = tensor.device();
  }
  check_devices(op, args.tensors, types);
  const std::vector<TensorType> results = infer(op, types, args.attrs);
  // Of an operator without operands, where its attributes say.
  if (!device) device = results.empty() ? Device() : results[0].device;
  const Backend& backend = available_backend(*device);
  check_results_fit_memory(op, results);
  profiling::Span span(op.name.c_str());
  if (!span.is_recorded()) return backend.run(op, args.tensors, args.attrs, device->index);
  if (profiling::is_on(profiling::kInputs)) span.inputs = describe_inputs(args.tensors);
  std::vector<Tensor> computed = backend.run(op, args.tensors, args.attrs, device->index);
  span.work = work_of(op, args.tensors, computed, args.attrs);
  return computed;
}

Tensor call1(std::string_view op, std::vector<Tensor> tensors, Attrs attrs) {
  return call(get_op(op), OpArgs{std::move(tensors), std::move(attrs)}).at(0);
}

}  // namespace weft::ops
