#include "ops/pointwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>

#include "core/profiling.h"
#include "ops/define.h"
#include "ops/elements.h"
#include "ops/pointwise_into.h"
#include "ops/pointwise_loop.h"
#include "ops/schema.h"
#include "ops/torch_rules.h"
#include "ops/work.h"
#include "weft/parallel.h"

namespace weft::ops {
namespace {

struct ParamReader {
  double real = 0;
  int64_t integer = 0;
  void operator()(bool value) { set(value); }
  void operator()(double value) { real = value, integer = static_cast<int64_t>(value); }
  void operator()(const Sym& value) { set(sym_specialize(value)); }
  void operator()(const Scalar& value) {
    real = value.to_double();
    integer = value.is_float() ? static_cast<int64_t>(real) : value.to_int();
  }
  template <class Other>
  void operator()(const Other&) {}

 private:
  void set(int64_t value) { real = static_cast<double>(value), integer = value; }
};

// Bits of the operands that have one element.
unsigned numbers_among(std::span<const Tensor> operands) {
  unsigned numbers = 0;
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i].numel() == 1) numbers |= 1u << i;
  return numbers;
}

DType computation_dtype(std::span<const TensorType> operands) { return operands.back().dtype; }

}  // namespace

Params::Params(std::span<const Param> schema, const Attrs& attrs) {
  size_t index = 0;
  for (const Param& param : schema) {
    if (param.type == Param::Type::Tensor) continue;
    ParamReader reader;
    const Attr& attr = attrs.at(param.name);
    std::visit([&](const auto& value) { reader(value); }, attr);
    values_.at(index++) = {reader.real, reader.integer, !std::holds_alternative<std::monostate>(attr)};
  }
}

// The parameters are constants of the loop that the semantics make, so no graph has symbolic ones.
static void pin_parameters(const Attrs& attrs) {
  for (const auto& [name, attr] : attrs.items())
    if (const Sym* const value = std::get_if<Sym>(&attr)) sym_specialize(*value);
}

std::vector<TensorType> infer_pointwise(const OpDef& op, std::span<const TensorType> operands,
                                        const Attrs& attrs) {
  pin_parameters(attrs);
  const DType compute = computation_dtype(operands);
  std::vector<SymShape> shapes;
  for (size_t i = 0; i < operands.size(); ++i) {
    const DType wanted = i == 0 && op.name == "where" ? DType::Bool : compute;
    WEFT_CHECK_TYPE(operands[i].dtype == wanted,
                    fmt::format("{}: operands must have one dtype: expected {}, got {}{}", op.name,
                                name(wanted), name(operands[i].dtype), describe_operands(op, operands)));
    shapes.push_back(operands[i].shape);
  }
  WEFT_CHECK_TYPE(op.dtypes & dtype_bit(compute),
                  fmt::format("{}: dtype not supported: expected {}, got {}{}", op.name, str(op.dtypes),
                              name(compute), describe_operands(op, operands)));
  DType result = compute;
  if (op.dtype_rule == DTypeRule::Bool) result = DType::Bool;
  if (op.dtype_rule == DTypeRule::Real) result = real_dtype(compute);
  Device device;
  for (const TensorType& operand : operands) {
    if (operand.device.type != DeviceType::CPU) device = operand.device;
  }
  return {TensorType{result, operands.size() == 1 ? shapes[0] : broadcast_shapes(op.name, shapes), device}};
}

namespace {

// Short rows: blocks of elements of as many of them as fit are gathered, whatever their layout.
void run_in_blocks(const Loops& loops, std::span<const Tensor> operands, const Tensor& result) {
  const Shape& shape = result.shape();
  const Loop run = loops.with(0);
  const DType stored = result.dtype(), computed = run.is_built() ? stored : compute_dtype(stored);
  const auto read_as = [&](DType dtype) { return run.is_built() ? dtype : compute_dtype(dtype); };
  std::byte* const out = static_cast<std::byte*>(result.data());
  const int64_t out_size = itemsize(stored);
  std::vector<ElementReader> readers;
  // As many elements as fill a block's bytes.
  int64_t widest = std::max(out_size, int64_t{itemsize(computed)});
  for (const Tensor& operand : operands) {
    const DType dtype = operand.dtype();
    readers.push_back(ElementReader::broadcast(operand, shape, read_as(dtype)));
    widest = std::max({widest, int64_t{itemsize(dtype)}, int64_t{itemsize(read_as(dtype))}});
  }
  const int64_t block = kBlock * kMaxElementSize / widest;

  parallel_for(0, result.numel(), kGrain, [&](int64_t begin, int64_t end) {
    std::array<const void*, kMostOperands> inputs{};
    BlockBuffer* const scratch = scratch_blocks();
    std::byte* const wide = scratch[2 * readers.size()].bytes;
    for (size_t i = 0; i < readers.size(); ++i)
      if (readers[i].is_constant())
        inputs[i] = readers[i].read(0, std::min(block, end - begin), &scratch[2 * i]);
    for (int64_t start = begin, count; start < end; start += count) {
      count = std::min(block, end - start);
      for (size_t i = 0; i < readers.size(); ++i)
        if (!readers[i].is_constant()) inputs[i] = readers[i].read(start, count, &scratch[2 * i]);
      std::byte* const target = out + start * out_size;
      if (stored == computed) {
        run(target, inputs, count);
      } else {
        run(wide, inputs, count);
        convert_block(stored, target, computed, wide, count);
      }
    }
  });
}

// Contiguous operands and numbers; false for any others.
bool run_contiguous(const Loops& loops, std::span<const Tensor> operands, const Tensor& result) {
  unsigned numbers = result.numel() == 1 ? 0 : numbers_among(operands);
  if (!loops.with(numbers).is_built()) numbers = 0;
  const Loop run = loops.with(numbers);
  const auto as_is = [&](DType dtype) { return run.is_built() || compute_dtype(dtype) == dtype; };
  bool fits = as_is(result.dtype());
  for (size_t i = 0; i < operands.size(); ++i)
    fits = fits &&
           ((numbers >> i & 1) != 0 || (as_is(operands[i].dtype()) && operands[i].numel() == result.numel() &&
                                        operands[i].is_contiguous()));
  if (!fits) return false;
  std::byte* const out = static_cast<std::byte*>(result.data());
  const int64_t out_size = itemsize(result.dtype());
  parallel_for(0, result.numel(), kGrain, [&](int64_t begin, int64_t end) {
    std::array<const void*, kMostOperands> inputs{};
    for (size_t i = 0; i < operands.size(); ++i)
      inputs[i] = static_cast<const std::byte*>(operands[i].data()) +
                  ((numbers >> i & 1) != 0 ? 0 : begin * itemsize(operands[i].dtype()));
    run(out + begin * out_size, inputs, end - begin);
  });
  return true;
}

}  // namespace

namespace {

// Of operands whose dtypes have been looked at: `chosen` has the loop, `type` the result's dtype and shape.
Tensor run_loops(const Loops& chosen, std::span<const Tensor> operands, DType dtype, const Shape& shape) {
  std::vector<size_t> order;
  if (const std::vector<Tensor> ordered = in_common_order(operands, shape, order); !ordered.empty()) {
    // Computed in that order, then copied in tiles.
    std::vector<size_t> back(order.size());
    Shape sizes(order.size());
    for (size_t d = 0; d < order.size(); ++d) back[order[d]] = d, sizes[d] = shape[order[d]];
    return with_dimensions(run_loops(chosen, ordered, dtype, sizes), back).contiguous();
  }
  const Tensor result = Tensor::empty(shape, dtype);
  if (result.numel() == 0 || run_contiguous(chosen, operands, result)) return result;
  std::vector<Tensor> readable;
  for (const Tensor& operand : operands) readable.push_back(in_reading_order(operand));
  if (run_rows_with_one(chosen, readable, result)) return result;
  if (run_beside_repeated_rows(chosen, readable, result)) return result;
  if (row_length(readable, result) >= kShortRow)
    run_along_rows(chosen, readable, result);
  else
    run_in_blocks(chosen, readable, result);
  return result;
}

Shape known_sizes(const SymShape& sizes) {
  Shape shape;
  for (const Sym& size : sizes) shape.push_back(size.constant());
  return shape;
}

}  // namespace

std::vector<Tensor> run_pointwise(const OpDef& op, const LoopTable& loops, std::span<const Tensor> operands,
                                  const Attrs& attrs) {
  std::vector<TensorType> types;
  for (const Tensor& operand : operands) types.push_back(type_of(operand));
  const TensorType type = infer_pointwise(op, types, attrs)[0];
  const Shape shape = known_sizes(type.shape);
  const DType operand_dtype = computation_dtype(types);
  const LoopFunction loop = loops[static_cast<size_t>(compute_dtype(operand_dtype))];
  WEFT_ASSERT(loop != nullptr, fmt::format("{}: no loop for {}", op.name, name(operand_dtype)));
  const Params params(op.params, attrs);
  const bool has_defaults = op.default_params != nullptr && params == *op.default_params;
  return {run_loops({op, loop, operand_dtype, params, has_defaults, weft::numel(shape)}, operands, type.dtype,
                    shape)};
}

namespace {

Shape shape_of_both(const OpDef& op, const Tensor& x, const Tensor& y) {
  const SymShape sizes[] = {sym_shape(x), sym_shape(y)};
  return known_sizes(broadcast_shapes(op.name, sizes));
}

// What the build has written takes operands of one dtype.
Loops loops_beside_wide(const OpDef& op, int64_t elements) {
  const LoopFunction loop = (*op.loops)[static_cast<size_t>(DType::F32)];
  return {op, loop, DType::F32, *op.default_params, /*has_defaults=*/false, elements};
}

}  // namespace

Tensor run_beside_wide_number(const OpDef& op, const Tensor& x, const Tensor& number) {
  const Shape shape = shape_of_both(op, x, number);
  const Loops plain = loops_beside_wide(op, weft::numel(shape));
  const std::array operands{x, number};
  profiling::Span span(op.name.c_str());
  if (!span.is_recorded()) return run_loops(plain, operands, x.dtype(), shape);
  if (profiling::is_on(profiling::kInputs)) span.inputs = describe_inputs(operands);
  const Tensor result = run_loops(plain, operands, x.dtype(), shape);
  span.work = work_of(op, operands, std::array{result}, {});
  return result;
}

namespace {

// The same into a tensor there is; false where that cannot be.
bool run_loops_into(const Loops& chosen, std::span<const Tensor> operands, DType dtype, const Shape& shape,
                    const Tensor& target) {
  bool reads_target = false;
  for (const Tensor& operand : operands) {
    // Elements of the target are read only where they are written.
    const bool is_target = operand.data() == target.data() && operand.dtype() == target.dtype() &&
                           operand.shape() == target.shape() && operand.strides() == target.strides();
    if (!is_target && operand.storage() == target.storage()) return false;
    reads_target = reads_target || is_target;
  }
  if (dtype != target.dtype() || shape != target.shape()) return false;
  int64_t inner = 0;  // what a step of the next dimension must go over: rows that overlap are written in turn
  for (size_t d = target.shape().size(); d-- > 0;) {
    if (target.shape()[d] == 1) continue;
    if (target.strides()[d] <= inner) return false;
    inner = target.strides()[d] * (target.shape()[d] - 1);
  }
  if (row_length(operands, target) < kShortRow) return false;
  run_along_rows(chosen, operands, target, /*is_in_place=*/reads_target);
  return true;
}

}  // namespace

bool run_pointwise_into(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs,
                        const Tensor& target) {
  if (op.loops == nullptr || operands.size() > kMostOperands || target.numel() == 0) return false;
  std::vector<TensorType> types;
  for (const Tensor& operand : operands) types.push_back(type_of(operand));
  const TensorType type = infer_pointwise(op, types, attrs)[0];
  const DType operand_dtype = computation_dtype(types);
  const LoopFunction loop = (*op.loops)[static_cast<size_t>(compute_dtype(operand_dtype))];
  if (loop == nullptr) return false;
  const Params params(op.params, attrs);
  const bool has_defaults = op.default_params != nullptr && params == *op.default_params;
  return run_loops_into({op, loop, operand_dtype, params, has_defaults, target.numel()}, operands, type.dtype,
                        known_sizes(type.shape), target);
}

bool run_beside_wide_number(const OpDef& op, const Tensor& x, const Tensor& number, const Tensor& target) {
  return target.numel() != 0 && run_loops_into(loops_beside_wide(op, target.numel()), std::array{x, number},
                                               x.dtype(), shape_of_both(op, x, number), target);
}

namespace {

// The dtype of the result; nullopt where operands of `compute` would be cast first.
std::optional<DType> small_result(const OpDef& op, DType compute) {
  if (!(op.dtypes & dtype_bit(compute)) || (*op.loops)[static_cast<size_t>(compute)] == nullptr)
    return std::nullopt;
  switch (op.dtype_rule) {
    case DTypeRule::Same:
    case DTypeRule::IntegerOnly: return compute;
    case DTypeRule::FloatOnly: return is_inexact(compute) ? std::optional(compute) : std::nullopt;
    case DTypeRule::Bool: return DType::Bool;
    case DTypeRule::Real: return real_dtype(compute);
  }
  return std::nullopt;
}

std::shared_ptr<const Params> default_params(std::span<const Param> schema) {
  Attrs attrs;
  for (const Param& param : schema) {
    if (param.is_tensor()) continue;
    if (!param.has_default) return nullptr;
    attrs.set(param.name, param.default_value);
  }
  return std::make_shared<const Params>(schema, attrs);
}

bool has_condition(const OpDef& op) {
  static const OpDef* const where = find_op("where");
  return &op == where;
}

// What the loop of a small call is given.
struct SmallCall {
  const Tensor* shaped = nullptr;  // has the result's shape
  DType compute = DType::F32, result = DType::F32;
  int64_t count = 0;
  std::array<const void*, kMostOperands> inputs{};
};

// Are they the last dimensions of `whole`? Its elements, over and over, then fill that.
bool are_rows_of(const Shape& whole, const Shape& row) {
  return row.size() <= whole.size() && std::equal(row.rbegin(), row.rend(), whole.rbegin());
}

// Finds dtype and shape; false where they take more than a look.
bool describe_small(const OpDef& op, std::span<const Operand> operands, SmallCall& call) {
  const Tensor* typed = nullptr;
  bool has_numbers = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Tensor* tensor = std::get_if<Tensor>(&operands[i]);
    const bool is_condition = i == 0 && has_condition(op);
    if (tensor == nullptr) {
      if (is_condition) return false;
      has_numbers = true;
      continue;
    }
    if (!tensor->defined() || tensor->is_traced() || tensor->device().type != DeviceType::CPU) return false;
    if (is_condition) {
      if (tensor->dtype() != DType::Bool) return false;
    } else {
      if (typed != nullptr && tensor->dtype() != typed->dtype()) return false;
      typed = tensor;
    }
    if (tensor->dim() == 0) continue;
    if (!tensor->is_contiguous()) return false;
    if (call.shaped == nullptr) {
      call.shaped = tensor;
      continue;
    }
    const Tensor* const row = tensor->dim() > call.shaped->dim() ? call.shaped : tensor;
    if (row == call.shaped) call.shaped = tensor;
    if (!are_rows_of(call.shaped->impl()->shape, row->impl()->shape)) return false;
  }
  if (typed == nullptr) return false;
  if (call.shaped == nullptr) call.shaped = typed;
  call.compute = typed->dtype();
  call.count = weft::numel(call.shaped->impl()->shape);
  if (call.count > kBlock || compute_dtype(call.compute) != call.compute) return false;
  // A number outside of the integers' range is compared in a wider dtype.
  if (has_numbers && is_integral(call.compute) && op.dtype_rule == DTypeRule::Bool) return false;
  const std::optional<DType> result = small_result(op, call.compute);
  call.result = result.value_or(call.compute);
  return result.has_value();
}

void fill_block(DType dtype, BlockBuffer& block, const Scalar& value, int64_t count) {
  visit_dtype(dtype, [&]<class T>(std::type_identity<T>) {
    T element{};
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
      element = T(value.to_complex());
    } else if constexpr (std::is_integral_v<T>) {
      element = static_cast<T>(value.to_int());
    } else if constexpr (std::is_same_v<T, float>) {
      element = value.is_int() ? static_cast<float>(value.to_int())
                               : static_cast<float>(value.to_double());  // rounded once
    } else {
      element = T(value.to_double());
    }
    std::fill_n(reinterpret_cast<T*>(block.bytes), count, element);
  });
}

// Finds the elements: of a tensor of the result's shape where they are, others repeated in a block.
bool gather_small(std::span<const Operand> operands, bool has_condition, SmallCall& call,
                  std::span<BlockBuffer> scratch) {
  for (size_t i = 0; i < operands.size(); ++i) {
    const Tensor* tensor = std::get_if<Tensor>(&operands[i]);
    call.inputs[i] = tensor ? tensor->data() : scratch[i].bytes;
    if (tensor == nullptr) {
      const Scalar& number = std::get<Scalar>(operands[i]);
      if (promote_weak(call.compute, number.kind(), Promotion::Torch) != call.compute) return false;
      fill_block(call.compute, scratch[i], number, call.count);
    } else if (tensor->dim() == 0 && call.count != 1) {
      fill_block(i == 0 && has_condition ? DType::Bool : call.compute, scratch[i], tensor->item(),
                 call.count);
      call.inputs[i] = scratch[i].bytes;
    } else if (tensor->dim() != 0 && tensor->dim() < call.shaped->dim()) {
      const size_t bytes = static_cast<size_t>(tensor->numel() * itemsize(tensor->dtype()));
      const size_t whole = static_cast<size_t>(call.count * itemsize(tensor->dtype()));
      for (size_t at = 0; at < whole; at += bytes) std::memcpy(scratch[i].bytes + at, tensor->data(), bytes);
      call.inputs[i] = scratch[i].bytes;
    }
  }
  return true;
}

// Where all operands have one dtype, both rules compute in it. NumPy's check whether an integer fits.
bool is_checked_number(const Operand& operand, DType compute, Promotion rules) {
  const Scalar* number = std::get_if<Scalar>(&operand);
  return rules == Promotion::NumPy && is_integral(compute) && number && !number->is_bool();
}

// What the profiler is told.
void describe_to(profiling::Span& span, std::span<const Operand> operands, const SmallCall& call) {
  std::vector<Tensor> tensors;
  for (const Operand& operand : operands)
    if (const Tensor* tensor = std::get_if<Tensor>(&operand)) tensors.push_back(*tensor);
  const auto count = static_cast<double>(call.count);
  span.work = {.bytes = count * itemsize(call.result),
               .operations = count,
               .arithmetic = call.compute,
               .is_known = true};
  for (const Tensor& tensor : tensors)
    if (tensor.defined()) span.work.bytes += static_cast<double>(tensor.numel() * itemsize(tensor.dtype()));
  if (profiling::is_on(profiling::kInputs)) span.inputs = describe_inputs(tensors);
}

// Where the result goes.
enum class Target : uint8_t { New, Given };

// `target` gives it, once it is known that there will be one; one that is given may be null, to refuse it.
template <class FindTarget>
bool run_small(const OpDef& op, std::span<const Operand> operands, Promotion rules, Target kind,
               FindTarget target) {
  const auto is_stored = [](const Operand& operand) {
    const Tensor* const tensor = std::get_if<Tensor>(&operand);
    return tensor && tensor->defined() && is_stored_only(tensor->dtype());
  };
  if (std::any_of(operands.begin(), operands.end(), is_stored)) return false;
  constexpr size_t kMost = 3;
  if (op.default_params == nullptr || operands.size() > kMost) return false;
  SmallCall call;
  std::array<BlockBuffer, kMost> scratch;
  if (!describe_small(op, operands, call)) return false;
  for (const Operand& operand : operands)
    if (is_checked_number(operand, call.compute, rules)) return false;
  if (!gather_small(operands, has_condition(op), call, scratch)) return false;
  if (rules == Promotion::Torch) {
    refuse_order_of_complex(op, call.compute);
    refuse_zero_divisors(op, call.compute, call.inputs[1], call.count);
    refuse_negative_number(op, operands, call.compute);
  }
  void* out = kind == Target::Given ? target(call) : nullptr;
  if (kind == Target::Given && out == nullptr) return false;
  profiling::Span span(op.name.c_str());
  if (span.is_recorded()) [[unlikely]]
    describe_to(span, operands, call);
  if (kind == Target::New) out = target(call);
  const LoopFunction loop = (*op.loops)[static_cast<size_t>(call.compute)];
  Loop(op, loop, call.compute, *op.default_params, true)(out, call.inputs, call.count);
  return true;
}

}  // namespace

Tensor run_small_pointwise(const OpDef& op, std::span<const Operand> operands, Promotion rules) {
  Tensor result;
  run_small(op, operands, rules, Target::New, [&](const SmallCall& call) {
    result = Tensor::empty(call.shaped->impl()->shape, call.result);
    return result.data();
  });
  return result;
}

namespace {

// One of the operands that has the result's shape and that nobody else has; null where there is none.
Tensor* replaceable(std::span<Operand> operands, const SmallCall& call) {
  for (Operand& operand : operands) {
    Tensor* tensor = std::get_if<Tensor>(&operand);
    if (tensor == nullptr || tensor->impl().use_count() != 1 || tensor->dim() != call.shaped->dim()) continue;
    std::atomic_thread_fence(
        std::memory_order_acquire);  // after what other threads read before they let go of it
    return tensor;
  }
  return nullptr;
}

// `tensor` as another one of its shape, without the memory that a new one takes.
void become(const Tensor& tensor, DType dtype, std::shared_ptr<Storage> storage) {
  TensorImpl& impl = *tensor.impl();
  impl.storage = std::move(storage);
  impl.dtype = dtype;
  impl.offset = 0;
  int64_t stride = 1;
  for (size_t d = impl.shape.size(); d-- > 0;) {
    impl.strides[d] = stride;
    stride *= std::max<int64_t>(impl.shape[d], 1);
  }
}

}  // namespace

Tensor run_small_pointwise(const OpDef& op, std::span<Operand> operands) {
  Tensor result;
  Tensor* replaced = nullptr;
  DType dtype{};
  std::shared_ptr<Storage> storage;
  run_small(op, operands, Promotion::Torch, Target::New, [&](const SmallCall& call) {
    replaced = replaceable(operands, call);
    if (replaced == nullptr) {
      result = Tensor::empty(call.shaped->impl()->shape, call.result);
      return result.data();
    }
    dtype = call.result;
    storage = Storage::allocate(static_cast<size_t>(call.count * itemsize(dtype)));
    return storage->data();
  });
  if (replaced != nullptr) {
    become(*replaced, dtype, std::move(storage));
    result = std::move(*replaced);
  }
  return result;
}

bool run_small_pointwise(const OpDef& op, std::span<const Operand> operands, const Tensor& self) {
  BlockBuffer result;  // other operands may view self's elements
  const bool is_done =
      run_small(op, operands, Promotion::Torch, Target::Given, [&](const SmallCall& call) -> void* {
        const bool fits = call.result == self.dtype() && call.shaped->impl()->shape == self.impl()->shape &&
                          self.is_contiguous() && !self.storage()->read_only();
        return fits ? result.bytes : nullptr;
      });
  if (is_done)
    std::memcpy(self.data(), result.bytes, static_cast<size_t>(self.numel() * itemsize(self.dtype())));
  return is_done;
}

const OpDef& detail::register_pointwise(const char* name, const char* operands, DTypeRule rule,
                                        DTypeSet dtypes, const LoopTable& loops,
                                        ExpressionFunction expression, Options options) {
  OpDef def;
  def.name = name;
  def.schema = std::string("(") + operands + options.params + ") -> Tensor";
  def.kind = OpKind::Pointwise;
  def.dtype_rule = rule;
  def.dtypes = dtypes;
  def.numpy_bool_is_int8 = options.numpy_bool_is_int8;
  def.doc = std::move(options.doc);
  def.error = options.error;
  def.sample_low = options.low;
  def.sample_high = options.high;
  def.aliases = std::move(options.aliases);
  def.infer = infer_pointwise;
  std::vector<Param> params = parse_schema(def.schema).params;
  def.loops = &loops;
  def.default_params = default_params(params);
  if (def.default_params) {
    const auto is_tensor = [](const Param& param) { return param.is_tensor(); };
    def.built = std::make_shared<const BuiltLoops>(
        def.name, static_cast<size_t>(std::count_if(params.begin(), params.end(), is_tensor)));
  }
  def.numpy = std::move(options.numpy);
  if (def.numpy.empty()) {
    for (const Param& param : params) {
      if (param.type == Param::Type::Tensor) def.numpy += (def.numpy.empty() ? "" : ", ") + param.name;
    }
    def.numpy = fmt::format("numpy.{}({})", name, def.numpy);
  }
  def.semantics = [expression, params = std::move(params)](std::span<const Expr> inputs, const Attrs& attrs) {
    return expression(inputs, Params(params, attrs));
  };
  def.eager = [loops](const OpDef& op, std::span<const Tensor> tensors, const Attrs& attrs) {
    return run_pointwise(op, loops, tensors, attrs);
  };
  return register_op(std::move(def));
}

}  // namespace weft::ops
