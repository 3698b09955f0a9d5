// Int4 weights as PyTorch packs them for CPUs. Such a pack belongs to the processor that it was made on: neither its
// sizes nor its bytes say which blocks it has, so that it is read as this processor's, as PyTorch reads it.
#include <fmt/format.h>

#include <algorithm>

#include "ops/arguments.h"
#include "ops/build.h"
#include "runtime/toolchain.h"
#include "weft/parallel.h"

namespace weft::ops {
namespace {

using PackTypes = std::span<const TensorType>;
constexpr int64_t kRowsOfPacks = 16;  // divide a pack's rows

// Blocks of rows, and of each block a column at a time. A byte of a column holds two rows: the low bits' and the
// high bits' are half a block apart, or neighbours where there are no vectors, and in a last block of fewer rows.
struct PackBlocks {
  int64_t rows;
  bool is_halved;

  int64_t low(int64_t size, int64_t byte) const { return is_halved && size == rows ? byte : 2 * byte; }
  int64_t high(int64_t size, int64_t byte) const {
    return is_halved && size == rows ? byte + size / 2 : 2 * byte + 1;
  }
};

PackBlocks pack_blocks() {
  const std::string capability = runtime::torch_cpu_capability();
  if (capability == "AVX512") return {64, true};
  return {32, capability == "AVX2"};
}

// body(the block's first byte, its first row, its rows), blocks in parallel.
template <class F>
void for_each_block(const PackBlocks& blocks, int64_t n, int64_t k, const F& body) {
  parallel_for(0, (n + blocks.rows - 1) / blocks.rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * blocks.rows;
      body(first * k / 2, first, std::min(blocks.rows, n - first));
    }
  });
}

void check_pack(const OpDef& op, PackTypes operands, DType dtype, const char* shape) {
  const TensorType& x = operands[0];
  if (x.dtype != dtype || x.shape.size() != 2) fail_for(op, operands, fmt::format("expected {} {}", name(dtype), shape));
  if (sym_ne(floor_mod(x.shape[0], Sym(kRowsOfPacks)), Sym(0)))
    fail_for(op, operands, fmt::format("expected rows that {} divides", kRowsOfPacks));
}

// ---- there and back
// --------------------------------------------------------------------------------------------------------
std::vector<TensorType> infer_pack(const OpDef& op, PackTypes operands, const Attrs&) {
  check_pack(op, operands, DType::I32, "q[n, k]");
  const SymShape& shape = operands[0].shape;
  if (sym_ne(floor_mod(shape[1], Sym(2)), Sym(0))) fail_for(op, operands, "expected an even number of columns");
  return {{DType::U8, {shape[0], floor_div(shape[1], Sym(2))}, operands[0].device}};
}

std::vector<Tensor> eager_pack(const OpDef&, std::span<const Tensor> operands, const Attrs&) {
  const Tensor q = operands[0].contiguous();
  const int64_t n = q.size(0), k = q.size(1);
  Tensor packed = Tensor::empty({n, k / 2}, DType::U8);
  const int32_t* const from = q.data_as<int32_t>();
  uint8_t* const to = packed.data_as<uint8_t>();
  const PackBlocks blocks = pack_blocks();
  for_each_block(blocks, n, k, [&](int64_t start, int64_t first, int64_t size) {
    for (int64_t column = 0; column < k; ++column)
      for (int64_t byte = 0; byte < size / 2; ++byte) {
        const auto at = [&](int64_t row) { return static_cast<uint8_t>(from[(first + row) * k + column]); };
        to[start + column * (size / 2) + byte] =
            static_cast<uint8_t>(at(blocks.low(size, byte)) | (at(blocks.high(size, byte)) << 4));
      }
  });
  return {packed};
}

std::vector<TensorType> infer_unpack(const OpDef& op, PackTypes operands, const Attrs&) {
  check_pack(op, operands, DType::U8, "packed[n, k / 2]");
  return {operands[0]};
}

std::vector<Tensor> eager_unpack(const OpDef&, std::span<const Tensor> operands, const Attrs&) {
  const Tensor packed = operands[0].contiguous();
  const int64_t n = packed.size(0), half = packed.size(1);
  Tensor values = Tensor::empty({n, half}, DType::U8);
  const uint8_t* const from = packed.data_as<uint8_t>();
  uint8_t* const to = values.data_as<uint8_t>();
  const PackBlocks blocks = pack_blocks();
  for_each_block(blocks, n, 2 * half, [&](int64_t start, int64_t first, int64_t size) {
    for (int64_t pair = 0; pair < half; ++pair) {
      const uint8_t *even = from + start + 2 * pair * (size / 2), *odd = even + size / 2;
      for (int64_t byte = 0; byte < size / 2; ++byte) {
        const int two = even[byte], next = odd[byte];
        to[(first + blocks.low(size, byte)) * half + pair] = static_cast<uint8_t>((two & 15) << 4 | (next & 15));
        to[(first + blocks.high(size, byte)) * half + pair] = static_cast<uint8_t>((two & ~15) | next >> 4);
      }
    }
  });
  return {values};
}

// ---- products
// --------------------------------------------------------------------------------------------------------
std::vector<Tensor> pack_mm(const OpDef& op, const OpArgs& args) {
  const Tensor &x = args.tensors[0], &scales = args.tensors[2];
  WEFT_CHECK(x.dtype() == scales.dtype() && is_floating(x.dtype()) && x.dtype() != DType::F64,
             fmt::format("{}: expected an input and scales of one dtype, bfloat16, float16 or float32{}", op.name,
                         describe_operands(op, args)));
  const ops::Attr& group = args.attrs.at("qGroupSize");
  const Tensor values = call(get_op("unpack_int4_for_cpu"), {{args.tensors[1]}, {}})[0];
  if (x.dtype() == DType::BF16)
    return call(get_op("linear_packed"), {{x, values, scales, Tensor(), Tensor()}, {{"group_size", group}}});
  const Tensor weight = call(get_op("dequantize_int4"), {{values, scales}, {{"group_size", group}}})[0];
  const Tensor wide = call(get_op("linear"), {{build::cast(x, DType::F32), weight, Tensor()}, {}})[0];
  return {build::cast(wide, x.dtype())};
}

[[maybe_unused]] const OpDef* const kInt4Packs[] = {
    &register_op({.name = "_convert_weight_to_int4pack_for_cpu",
                  .schema = "(Tensor x, int innerKTiles=1) -> Tensor",
                  .doc = "int32 q[n, k] in [0, 15], 16 dividing n, as bytes u8[n, k / 2] in the order of PyTorch's "
                         "kernels for this processor:\n"
                         "blocks of 64 rows with AVX-512, else of 32, by columns; a byte has row d in its low bits "
                         "and row d + block / 2 in its high\n"
                         "bits, rows 2 d and 2 d + 1 without AVX2 and in a last block of fewer rows. innerKTiles has no "
                         "meaning. source: PyTorch's int4mm_kernel.cpp.",
                  .infer = infer_pack,
                  .eager = eager_pack}),
    &register_op({.name = "unpack_int4_for_cpu",
                  .schema = "(Tensor packed) -> Tensor",
                  .doc = "Bytes u8[n, k / 2] of _convert_weight_to_int4pack_for_cpu as quantize_int4 has them: an even "
                         "column's number in the high\n"
                         "bits, the next one's in the low bits.",
                  .infer = infer_unpack,
                  .eager = eager_unpack}),
    &define_composite("_weight_int4pack_mm_for_cpu",
                      "(Tensor x, Tensor weight, int qGroupSize, Tensor qScaleAndZeros) -> Tensor",
                      "x[m, k] @ w[n, k].T of weight u8[n, k / 2] as _convert_weight_to_int4pack_for_cpu gives it, and "
                      "qScaleAndZeros\n"
                      "[k / qGroupSize, n, 2] of x's dtype, bfloat16, float16 or float32: [m, n].",
                      "", pack_mm),
};

}  // namespace
}  // namespace weft::ops
