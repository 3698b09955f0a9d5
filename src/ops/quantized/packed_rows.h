// Weights of quantized products, packed once, and products of rows with them.
#pragma once

#include <functional>
#include <vector>

#include "kernels/cpu/affine_rows.h"
#include "kernels/cpu/packed_int8.h"
#include "ops/quantized/products.h"
#include "weft/tensor.h"

namespace weft::ops {

[[noreturn]] void fail_product(const char* what, const Tensor& x, const Tensor& weight);
// TypeErrors where x is not QU8 or QI8 by one scale, or the weight not QI8.
void check_affine_input(const Tensor& x, const Tensor& weight);
void check_affine_weight(const Tensor& weight);

// What finishing sums asks of the weights, by output.
struct OutputScales {
  // integers: [outputs][depth]
  OutputScales(const Tensor& weight, int64_t outputs, const int8_t* integers, int64_t depth);

  int64_t depth;
  std::vector<float> scales;
  std::vector<int32_t> zeros, sums;  // sums: of each output's integers
  bool has_zeros = false;
};

// Turns sums of signed integers into results.
class SumsFinish {
 public:
  SumsFinish(const OutputScales& weight, const Tensor& x, const Tensor& bias, const AffineFinish& finish);

  // Sums [rows][columns] of outputs from `first` on to y, whose rows lie y_stride elements apart. x: the
  // rows' integers, read where weights have zero points.
  void operator()(const int32_t* sums, int64_t rows, int64_t columns, int64_t first, const int8_t* x, void* y,
                  int64_t y_stride) const;

  int32_t zero_of_x() const { return zero_of_x_; }

 private:
  const OutputScales& weight_;
  kernels::AffineRows rows_{};
  std::vector<float> factors_, bias_;
  std::vector<int32_t> less_;
  int32_t zero_of_x_;  // of signed integers
};

// The result, QU8, QI8 or F32, in memory with strides of its own.
Tensor empty_result(const Shape& shape, const Strides& strides, const AffineFinish& finish);

// y's rows are products of x's. rows(first, count, memory): where `count` rows of x lie, of signed bytes,
// which may be written to memory.
using RowsOfX = std::function<const int8_t*(int64_t first, int64_t count, int8_t* memory)>;
struct RowsOfY {
  void* data;
  int64_t stride, element;  // elements, bytes
};
void multiply_rows(const kernels::PackedInt8& weight, int64_t depth, int64_t count, const RowsOfX& rows,
                   const SumsFinish& finish, int64_t first_output, const RowsOfY& y);

// x's integers as they lie, signed: x itself where it is QI8.
Tensor signed_integers(const Tensor& dense_x);

}  // namespace weft::ops
