#include "device/cuda/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "device/cuda/driver.h"
#include "device/cuda/faults.h"
#include "device/cuda/products.h"
#include "device/cuda/written_kernel.h"
#include "nest/grid.h"
#include "ops/arguments.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

// Of rows in shared memory, as the kernel has them.
constexpr int64_t kMostDim = 256, kMostDimOfTwo = 128;
constexpr int64_t kKeysOfPart = 256;  // at least, of a part of the keys

using Steps3 = std::array<int64_t, 3>;

// An operand's rows: innermost leading dimension first.
struct RowsOf {
  Tensor array;
  int64_t row_step;
  Steps3 steps{};
};

struct Call {
  int64_t queries, keys, dim, value_dim;
  std::array<int64_t, 3> batch{1, 1, 1};
  int64_t group = 1;
  double scale;
  RowsOf query, key, value;
  Tensor out;  // contiguous [batch, queries, value_dim]
  // Which keys are seen.
  bool is_causal = false;
  int64_t advance = 1, window = 0;
  Tensor position = {};
  // A mask, or what a grid of keys adds.
  RowsOf mask = {};
  int64_t mask_key_step = 0;
  RowsOf down = {}, across = {};

  int64_t batches() const { return batch[0] * batch[1] * batch[2]; }
};

// Steps along the leading dimensions; those of size 1 stay where they are.
Steps3 leading_steps(const Tensor& x, size_t trailing) {
  Steps3 steps{};
  const size_t own = x.shape().size() > trailing ? x.shape().size() - trailing : 0;
  for (size_t d = 0; d < own; ++d) {
    const size_t from_inner = own - 1 - d;
    if (x.shape()[d] != 1 && from_inner < 3) steps[from_inner] = x.strides()[d];
  }
  return steps;
}

Tensor dense(const Tensor& x) { return x.size(-1) <= 1 || x.strides().back() == 1 ? x : x.contiguous(); }

RowsOf rows_and_strides_of(const Tensor& x) {
  return {x, x.size(-2) == 1 ? 0 : x.strides()[x.strides().size() - 2], leading_steps(x, 2)};
}

std::string rows_text(WrittenKernel& kernel, const std::string& name, const RowsOf& rows) {
  kernel.reads(name.c_str(), rows.array).number((name + "_row").c_str(), rows.row_step);
  const std::string steps =
      kernel.numbers((name + "_steps").c_str(), {rows.steps[0], rows.steps[1], rows.steps[2]});
  return fmt::format("Rows<{}>{{{}, {}_row, {}}}", type_in_kernels(rows.array.dtype()), name, name, steps);
}

std::string mask_text(WrittenKernel& kernel, const Call& call) {
  if (call.mask.array.defined()) {
    kernel.reads("mask", call.mask.array)
        .number("mask_row", call.mask.row_step)
        .number("mask_key", call.mask_key_step);
    const Steps3& s = call.mask.steps;
    return fmt::format("Mask<{}>{{mask, mask_row, mask_key, {}}}", type_in_kernels(call.mask.array.dtype()),
                       kernel.numbers("mask_steps", {s[0], s[1], s[2]}));
  }
  if (!call.down.array.defined()) return "NoMask{}";
  const std::string down = rows_text(kernel, "down", call.down),
                    across = rows_text(kernel, "across", call.across);
  kernel.number("grid_width", call.across.array.size(-1));
  return fmt::format("GridMask<{}>{{{}, {}, grid_width}}", type_in_kernels(call.down.array.dtype()), down,
                     across);
}

// Rows that can be read 16 bytes at a time.
bool is_aligned(const RowsOf& rows) {
  const int64_t unit = 16 / itemsize(rows.array.dtype());
  return (reinterpret_cast<uintptr_t>(rows.array.data()) & 15) == 0 && rows.row_step % unit == 0 &&
         std::all_of(rows.steps.begin(), rows.steps.end(), [&](int64_t step) { return step % unit == 0; });
}

// Numbers of 16 bits in tiles that warps multiply.
bool is_for_warps(const Call& call) {
  const DType dtype = call.query.array.dtype();
  return (dtype == DType::F16 || dtype == DType::BF16) && call.key.array.dtype() == dtype &&
         call.queries > 16 && call.dim % 16 == 0 && call.value_dim % 8 == 0 && call.dim <= kMostDimOfTwo &&
         call.value_dim <= kMostDimOfTwo && is_aligned(call.query) && is_aligned(call.key) &&
         is_aligned(call.value) && driver().facts(call.out.device().index).major >= 8;
}

void set_parameters(WrittenKernel& kernel, const Call& call) {
  kernel.number("batches", call.batches()).number("inner", call.batch[0]).number("middle", call.batch[1]);
  kernel.number("group", call.group)
      .number("queries", call.queries)
      .number("keys", call.keys)
      .real("scale", call.scale);
  kernel.number("advance", call.advance).number("window", call.window);
  kernel.reads_if("position", call.position, DType::I64);
  kernel.writes("out", call.out);
  kernel.with(Text::Operands).with(Text::Attention).calls_elementary();
}

std::string kind_of(const Call& call) {
  return fmt::format("{}_{}_{}", type_in_kernels(call.key.array.dtype()), call.dim,
                     call.mask.array.defined()   ? "mask_" + type_in_kernels(call.mask.array.dtype())
                     : call.down.array.defined() ? "grid"
                                                 : "plain");
}

void run_by_warps(const Call& call) {
  const int64_t keys = call.dim + call.value_dim > 128 ? 32 : 64, rows = 128;
  WrittenKernel kernel("attention_by_warps_" + kind_of(call), call.out.device().index);
  const std::string query = rows_text(kernel, "query", call.query), key = rows_text(kernel, "key", call.key),
                    value = rows_text(kernel, "value", call.value), mask = mask_text(kernel, call);
  set_parameters(kernel, call);
  kernel.shared((keys * (call.dim / 2 + 4) + call.value_dim * (keys / 2 + 4)) * 4);
  kernel.launch(fmt::format("attend_halves<{}, {}, {}>(Batch{{batches, inner, middle, group}}, queries, "
                            "keys, scale, {}, {}, {}, "
                            "{}, Sight{{{}, advance, window, position}}, out);",
                            type_in_kernels(call.query.array.dtype()), call.dim, call.value_dim, query, key,
                            value, mask, call.is_causal),
                call.batches() * ((call.queries + rows - 1) / rows));
}

void run(const Call& call) {
  if (is_for_warps(call)) return run_by_warps(call);
  const int device = call.out.device().index;
  const int64_t widest = std::max(call.dim, call.value_dim);
  // Queries of a block, and keys at a time: as much as shared memory holds.
  const int64_t down = call.queries > 16 && widest <= kMostDimOfTwo ? 2 : 1,
                across = widest <= kMostDimOfTwo ? 2 : 1;
  const int64_t rows = 16 * down, keys = 16 * across, dim = (call.dim + 3) / 4 * 4,
                wide = std::max(dim, (call.value_dim + 3) / 4 * 4);
  const int64_t tiles = call.batches() * ((call.queries + rows - 1) / rows);
  // Few queries and many keys: blocks share these out.
  const int64_t multiprocessors = driver().facts(device).multiprocessors;
  const int64_t parts = tiles >= multiprocessors
                            ? 1
                            : std::clamp<int64_t>(2 * multiprocessors / tiles, 1,
                                                  std::max<int64_t>(1, call.keys / kKeysOfPart));
  const Tensor rest = parts > 1 ? Tensor::empty({call.batches() * call.queries, parts, call.value_dim + 2},
                                                DType::F32, call.out.device())
                                : Tensor();
  WrittenKernel kernel(fmt::format("attention_{}_{}", kind_of(call), rows), device);
  const std::string query = rows_text(kernel, "query", call.query), key = rows_text(kernel, "key", call.key),
                    value = rows_text(kernel, "value", call.value), mask = mask_text(kernel, call);
  set_parameters(kernel, call);
  kernel.number("parts", parts).address("rest", parts > 1 ? rest.data() : nullptr);
  kernel.shared((rows * (dim + 4) + keys * (wide + 4) + rows * (keys + 1)) * 4);
  kernel.launch(fmt::format("attend<{}, {}, {}, {}>(Batch{{batches, inner, middle, group}}, queries, keys, "
                            "scale, {}, {}, {}, {}, "
                            "Sight{{{}, advance, window, position}}, out, (f32*)rest, parts);",
                            down, across, call.dim, call.value_dim, query, key, value, mask, call.is_causal),
                tiles * parts);
  if (parts == 1) return;
  WrittenKernel join("attention_parts", device);
  const int64_t results = call.batches() * call.queries;
  join.writes("out", call.out).reads("rest", rest).number("rows", results).number("parts", parts);
  join.with(Text::Operands).with(Text::Attention).calls_elementary();
  join.launch(fmt::format("join_parts<{}>(out, rest, rows, parts);", call.value_dim),
              (results * call.value_dim + nest::kGridThreads - 1) / nest::kGridThreads);
}

// What all kinds have in common. False where leading dimensions are too many, or heads too wide.
bool set_operands(Call& call, std::span<const Tensor> operands, const Tensor& out, const ops::Attrs& attrs) {
  const Tensor query = dense(operands[0]), key = dense(operands[1]), value = dense(operands[2]);
  const Shape batch(out.shape().begin(), out.shape().end() - 2);
  if (batch.size() > 3) return false;
  for (size_t d = 0; d < batch.size(); ++d) call.batch[d] = batch[batch.size() - 1 - d];
  call.queries = query.size(-2), call.keys = key.size(-2), call.dim = query.size(-1),
  call.value_dim = value.size(-1);
  if (call.dim > kMostDim || call.value_dim > kMostDim || call.dim < 1 || call.keys < 1) return false;
  call.scale = attrs.is_none("scale") ? 1.0 / std::sqrt(static_cast<double>(call.dim))
                                      : ops::float_arg(attrs, "scale");
  call.query = rows_and_strides_of(query), call.key = rows_and_strides_of(key),
  call.value = rows_and_strides_of(value);
  call.out = out;
  return true;
}

}  // namespace

std::vector<Tensor> run_attention(const ops::OpDef& op, std::span<const Tensor> operands,
                                  const ops::Attrs& attrs) {
  if (operands[0].dtype() == DType::F64)
    return {ops::call(ops::get_op("_scaled_dot_product_attention_math"),
                      ops::OpArgs{{operands.begin(), operands.end()}, attrs})[0]};
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  if (results[0].numel() == 0) return results;
  Call call{};
  if (!set_operands(call, operands, results[0], attrs)) return {};
  call.is_causal = attrs.get_bool("is_causal");
  if (attrs.get_bool("enable_gqa")) {
    const int64_t heads = call.batch[0];
    // Keys and values that have one number of heads; others are repeated by the host's kernel.
    if (operands[1].size(-3) != operands[2].size(-3)) return {};
    call.group = heads / operands[1].size(-3);
  }
  if (operands[3].defined()) {
    const Tensor& mask = operands[3];
    const size_t dims = mask.shape().size();
    call.mask = {mask, dims >= 2 && mask.size(-2) != 1 ? mask.strides()[dims - 2] : 0,
                 leading_steps(mask, 2)};
    call.mask_key_step = dims >= 1 && mask.size(-1) != 1 ? mask.strides()[dims - 1] : 0;
  }
  run(call);
  return results;
}

std::vector<Tensor> run_relative_attention(const ops::OpDef& op, std::span<const Tensor> operands,
                                           const ops::Attrs& attrs) {
  if (operands[0].dtype() == DType::F64) return {};
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  if (results[0].numel() == 0) return results;
  Call call{};
  if (!set_operands(call, operands, results[0], attrs)) return {};
  call.down = rows_and_strides_of(dense(operands[3])), call.across = rows_and_strides_of(dense(operands[4]));
  run(call);
  return results;
}

std::vector<Tensor> run_cached_attention(const ops::OpDef& op, std::span<const Tensor> operands,
                                         const ops::Attrs& attrs) {
  const Tensor qkv = operands[0].contiguous(), &keys = operands[1], &values = operands[2],
               position = operands[3].contiguous(), rope = operands[4].contiguous();
  WEFT_CHECK(keys.is_contiguous() && values.is_contiguous(),
             fmt::format("{}: the caches must be contiguous", op.name));
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  const int64_t tokens = qkv.size(0), kv_heads = keys.size(0), capacity = keys.size(1), dim = keys.size(2),
                heads = qkv.size(1) / dim - 2 * kv_heads, group = heads / kv_heads;
  if (tokens == 0 || dim > kMostDim) return results[0].numel() == 0 ? results : std::vector<Tensor>{};
  const int device = qkv.device().index;
  const Tensor turned = Tensor::empty({tokens, heads, dim}, DType::F32, qkv.device());
  const int64_t positions = std::min(capacity, rope.size(0));
  WrittenKernel kernel("turn_and_keep", device);
  kernel.reads("qkv", qkv).reads("rope", rope).reads("position", position).writes("turned", turned);
  kernel.writes("keys", keys).writes("values", values).number("tokens", tokens).number("heads", heads);
  kernel.number("kv_heads", kv_heads)
      .number("dim", dim)
      .number("capacity", capacity)
      .number("positions", rope.size(0));
  kernel.address("fault", fault_word(device));
  kernel.number(
      "code", fault_code(fmt::format("{}: positions are outside the cache of {} and the {} positions of rope",
                                     op.name, capacity, rope.size(0))));
  kernel.with(Text::Operands).with(Text::Attention).calls_elementary();
  const int64_t items = tokens * (heads + 2 * kv_heads) * dim / 2;
  kernel.launch(
      fmt::format(
          "turn_and_keep(qkv, rope, position, turned, keys, values, tokens, heads, kv_heads, dim, capacity, "
          "positions, {}, (i64*)fault, code);",
          attrs.get_bool("rope_interleaved")),
      (items + nest::kGridThreads - 1) / nest::kGridThreads);

  Call call{};
  call.keys = positions, call.dim = call.value_dim = dim;
  call.scale =
      attrs.is_none("scale") ? 1.0 / std::sqrt(static_cast<double>(dim)) : ops::float_arg(attrs, "scale");
  call.is_causal = true, call.position = position;
  if (!attrs.is_none("sliding_window")) call.window = ops::int_arg(attrs, "sliding_window");
  const int64_t cache_step = capacity * dim;
  if (tokens == 1) {
    // The heads that share keys are a tile's rows.
    call.queries = group, call.batch = {kv_heads, 1, 1}, call.advance = 0;
    call.query = {turned, dim, {group * dim, 0, 0}};
    call.key = {keys, dim, {cache_step, 0, 0}}, call.value = {values, dim, {cache_step, 0, 0}};
    call.out = results[0];
    run(call);
    return results;
  }
  call.queries = tokens, call.batch = {heads, 1, 1}, call.group = group;
  call.query = {turned, heads * dim, {dim, 0, 0}};
  call.key = {keys, dim, {cache_step, 0, 0}}, call.value = {values, dim, {cache_step, 0, 0}};
  call.out = Tensor::empty({heads, tokens, dim}, DType::F32, qkv.device());
  run(call);
  results[0].as_strided({heads, tokens, dim}, {dim, heads * dim, 1}, results[0].offset()).copy_from(call.out);
  return results;
}

}  // namespace weft::cuda
