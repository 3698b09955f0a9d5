// Linear layers whose weights are packed once for the vector unit: float32, float16, bfloat16, weight-only
// int8 and int4, and blocks of GGUF files. The operators quantize_int8, quantize_int4 (weft/ops.h) make the
// quantized weights.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/block_format.h"
#include "weft/tensor.h"

namespace weft {

namespace kernels {
class PackedMatrix;
}  // namespace kernels

// What linear layers take, in the order in which checkpoints have it.
struct LinearWeight {
  Tensor weight;  // f32, f16, bf16 [out, in]; int8: i8 [out, in]; int4: u8 [out, in / 2], the even input in
                  // the high bits; blocks: u8 [out, bytes of a row]; float8_e4m3fn [out, in]
  // int8: f32 [out]; int4: bf16 [groups, out, 2], scale and zero; int8, int4 and float8 in groups: f32 of
  // that shape; undefined for floating weights and blocks
  Tensor scales = {};
  int64_t group_size = 0;  // int4: 32, 64, 128 or 256; with float32 scales also 16
  Tensor bias = {};        // floating [out], or undefined
  BlockFormat blocks = BlockFormat::None;
  Tensor table = {};  // int4 in groups: f32 [16], what its codes stand for in place of q - 8
  Tensor order = {};  // i64 [in]: which of x's columns each of these is multiplied with; undefined: its own

  int64_t in_features() const;
};

enum class LinearActivation : uint8_t { None, Relu, Silu, GeluTanh };

// How x enters products with int8 and int4 weights; floating weights take it in float32, but for bfloat16
// ones where that is said.
//   Int16  rounded, in each group of inputs, to 2^-16 of the group's largest magnitude
//   Int8   to 2^-8: twice as fast for many rows
//   Auto   Int16 where the machine has an instruction for products of bytes, else Float32. Where it has tiles
//          (AMX), more than 16 rows times bfloat16 and int8 weights: each x as two numbers of bfloat16, to
//          2^-17 of it (numbers below 2^-126 count as zero); bfloat16 rows times int4 weights: each weight
//   BFloat16  with bfloat16 weights, more than 16 rows are rounded to bfloat16 where the machine multiplies
//   it
//             faster than float32 (numbers below 2^-126 count as zero then); else as Auto. Rows that are
//             bfloat16 are taken so by Auto.
//   Weights   as BFloat16 with bfloat16 weights, as Auto with others: PyTorch's models have their inputs in
//             the weights' dtype
enum class InputPrecision : uint8_t { Auto, Float32, Int16, Int8, BFloat16, Weights };

// What follows the product in the same pass: out = activation(x @ weight.T + bias) + residual.
struct LinearEpilogue {
  LinearActivation activation = LinearActivation::None;
  const Tensor* residual = nullptr;  // as out; may be out itself
  InputPrecision precision = InputPrecision::Auto;
};

// Weights of one linear layer or of several that have one input. Copies share the packed weights. May be
// called by several threads at once. What a row gives does not depend on the number of threads, nor, up to
// independent_rows(), on the rows beside it.
class PackedLinear {
 public:
  PackedLinear() = default;
  explicit PackedLinear(const LinearWeight& weight);
  // One after another in the output: query, key and value, for example. Those of one kind are packed
  // together.
  explicit PackedLinear(const std::vector<LinearWeight>& weights);
  // out = activation(x @ gate.T) * (x @ up.T) + residual: SwiGLU in one pass over both, which are of one
  // kind.
  static PackedLinear gated(const LinearWeight& gate, const LinearWeight& up);

  // Are these of one kind?
  static bool may_be_gated(const LinearWeight& gate, const LinearWeight& up);

  bool defined() const { return !parts_.empty(); }
  int64_t in_features() const;
  int64_t out_features() const;
  // Rows of one call, of this dtype, up to which a row gives the same, to the bit, whatever their number:
  // most products take any number of rows, INT64_MAX.
  int64_t independent_rows(InputPrecision precision = InputPrecision::Auto, DType input = DType::F32) const;
  // Bytes that one pass over the weights reads, scales included.
  int64_t weight_bytes() const;

  // x[*, in] and out[*, out]: f32, f16 or bf16, the last dimension contiguous and the rows evenly apart.
  // Allocates nothing once a call of the same size has been made by the same thread.
  void forward(const Tensor& x, const Tensor& out, const LinearEpilogue& epilogue = {}) const;
  // The same into a new tensor of x's dtype.
  Tensor operator()(const Tensor& x, const LinearEpilogue& epilogue = {}) const;

 private:
  struct Part {
    std::shared_ptr<const kernels::PackedMatrix> matrix;
    std::vector<int64_t> order;  // of its inputs; empty: x's
  };
  std::vector<Part> parts_;
};

}  // namespace weft
