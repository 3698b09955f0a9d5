// attention_with_kv_cache: the attention of a decoder that keeps its keys and values.
#include "kernels/cpu/cached_attention.h"

#include <fmt/format.h>

#include <cmath>

#include "core/memory_watch.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/effects.h"

namespace weft::ops {
namespace {

using Types = std::span<const TensorType>;

struct Sizes {
  int64_t kv_heads, capacity, head_dim, heads;
};

Sizes sizes_of(const OpDef& op, Types operands) {
  const auto fail = [&](const std::string& why) {
    throw_error(ErrorKind::Value, fmt::format("{}: {}{}", op.name, why, describe_operands(op, operands)));
  };
  const auto &qkv = operands[0], &keys = operands[1], &values = operands[2], &position = operands[3],
             &rope = operands[4];
  WEFT_CHECK_TYPE(
      qkv.dtype == DType::F32 && rope.dtype == DType::F32,
      fmt::format("{}: qkv and rope must be float32{}", op.name, describe_operands(op, operands)));
  WEFT_CHECK_TYPE(keys.dtype == values.dtype &&
                      (keys.dtype == DType::F32 || keys.dtype == DType::F16 || keys.dtype == DType::BF16),
                  fmt::format("{}: the caches must have one dtype, float32, float16 or bfloat16{}", op.name,
                              describe_operands(op, operands)));
  WEFT_CHECK_TYPE(position.dtype == DType::I64,
                  fmt::format("{}: position must be int64{}", op.name, describe_operands(op, operands)));
  if (keys.shape.size() != 3 || values.shape.size() != 3)
    fail("the caches must be [kv_heads, capacity, head_dim]");
  for (size_t d = 0; d < 3; ++d)
    if (!sym_eq(keys.shape[d], values.shape[d])) fail("the caches must have one shape");
  if (!position.shape.empty() && !(position.shape.size() == 1 && sym_eq(position.shape[0], Sym(1))))
    fail("position must have one element");
  Sizes sizes{sym_specialize(keys.shape[0]), sym_specialize(keys.shape[1]), sym_specialize(keys.shape[2]), 0};
  if (qkv.shape.size() != 2) fail("qkv must be [tokens, (heads + 2 * kv_heads) * head_dim]");
  const int64_t width = sym_specialize(qkv.shape[1]);
  if (sizes.head_dim < 2 || sizes.head_dim % 2 != 0) fail("head_dim must be even");
  sizes.heads = width / sizes.head_dim - 2 * sizes.kv_heads;
  if (sizes.kv_heads < 1 || width % sizes.head_dim != 0 || sizes.heads < 1 ||
      sizes.heads % sizes.kv_heads != 0)
    fail(fmt::format("qkv has {} columns, which is not (heads + 2 * {}) * {} with heads a multiple of {}",
                     width, sizes.kv_heads, sizes.head_dim, sizes.kv_heads));
  if (rope.shape.size() != 3 || !sym_eq(rope.shape[1], Sym(sizes.head_dim / 2)) ||
      !sym_eq(rope.shape[2], Sym(2)))
    fail("rope must be [positions, head_dim / 2, 2]");
  return sizes;
}

std::vector<TensorType> infer_cached_attention(const OpDef& op, Types operands, const Attrs& attrs) {
  const Sizes sizes = sizes_of(op, operands);
  WEFT_CHECK(
      attrs.is_none("sliding_window") || int_arg(attrs, "sliding_window") > 0,
      fmt::format("{}: sliding_window must be positive, got {}", op.name, int_arg(attrs, "sliding_window")));
  return {
      TensorType{DType::F32, {operands[0].shape[0], Sym(sizes.heads * sizes.head_dim)}, operands[0].device}};
}

std::vector<Tensor> run_cached_attention(const OpDef& op, std::span<const Tensor> operands,
                                         const Attrs& attrs) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : operands) types.push_back(type_of(tensor));
  const Sizes sizes = sizes_of(op, types);
  const Tensor qkv = operands[0].contiguous(), rope = operands[4].contiguous();
  const Tensor &keys = operands[1], &values = operands[2];
  WEFT_CHECK(keys.is_contiguous() && values.is_contiguous(),
             fmt::format("{}: the caches must be contiguous{}", op.name, describe_operands(op, types)));
  WEFT_CHECK(!keys.storage()->read_only() && !values.storage()->read_only(),
             fmt::format("{}: a cache is read-only", op.name));
  const int64_t position = operands[3].item().to_int(), tokens = qkv.size(0);
  WEFT_CHECK_INDEX(
      position >= 0 && position + tokens <= std::min(sizes.capacity, rope.size(0)),
      fmt::format("{}: positions {} to {} are outside the cache of {} and the {} positions of rope", op.name,
                  position, position + tokens, sizes.capacity, rope.size(0)));
  Tensor output = Tensor::empty({tokens, sizes.heads * sizes.head_dim}, DType::F32);
  kernels::CachedAttention call{.qkv = qkv.data_as<float>(),
                                .key_cache = keys.data(),
                                .value_cache = values.data(),
                                .dtype = keys.dtype(),
                                .tokens = tokens,
                                .heads = sizes.heads,
                                .kv_heads = sizes.kv_heads,
                                .head_dim = sizes.head_dim,
                                .capacity = sizes.capacity,
                                .position = position,
                                .rule = {.rope = rope.data_as<float>(),
                                         .scale = 0,
                                         .sliding_window = std::nullopt,
                                         .rope_interleaved = attrs.get_bool("rope_interleaved"),
                                         .rotary_dim = sizes.head_dim},
                                .output = output.data_as<float>()};
  call.rule.scale =
      static_cast<float>(attrs.is_none("scale") ? 1.0 / std::sqrt(static_cast<double>(sizes.head_dim))
                                                : float_arg(attrs, "scale"));
  if (!attrs.is_none("sliding_window")) call.rule.sliding_window = int_arg(attrs, "sliding_window");
  const WriteNote of_keys(*keys.storage()), of_values(*values.storage());
  kernels::attention_with_kv_cache(call);
  return {output};
}

OpDef definition() {
  OpDef def;
  def.name = "attention_with_kv_cache";
  def.schema =
      "(Tensor qkv, Tensor key_cache, Tensor value_cache, Tensor position, Tensor rope, float? scale=None, "
      "int? sliding_window=None, bool rope_interleaved=False) -> Tensor";
  def.doc =
      "attention_with_kv_cache(qkv: Tensor[tokens, (heads + 2 kv_heads) head_dim], key_cache, value_cache: "
      "Tensor[kv_heads, "
      "capacity, head_dim], position: Tensor[], rope: Tensor[positions, head_dim / 2, 2]) -> Tensor[tokens, "
      "heads head_dim]\n"
      "Turns queries and keys by their positions, position … position + tokens - 1; writes keys and values "
      "to the caches there; "
      "attends each query to the positions up to its own. The caches are written in place: the operator is "
      "not pure.\n"
      "qkv's columns are the queries' heads, the keys' and the values'. rope holds cosines and sines; pairs "
      "are (i, i + head_dim / 2), "
      "or (2i, 2i + 1) with rope_interleaved. sliding_window: how many positions a query sees, its own "
      "included.\n"
      "dtype:  float32; the caches float32, float16 or bfloat16.\n"
      "raises: IndexError where the positions do not fit into the caches.\n"
      "source: Su et al. 2021 (rotary positions), Ainslie et al. 2023 (grouped queries).";
  def.kind = OpKind::Kernel;
  def.infer = infer_cached_attention;
  def.eager = run_cached_attention;
  return def;
}

const OpDef& attention_with_kv_cache = []() -> const OpDef& {
  const OpDef& op = register_op(definition());
  declare_writes(op, {1, 2});
  return op;
}();

}  // namespace
}  // namespace weft::ops
