// What quantized layers compute beside their products: sums of integers become integers of another scale, or
// numbers, and the products of depthwise convolutions. Compiled once per instruction set from
// affine_rows.inc, with the same bits from each. This header is included where wider instructions are enabled
// than the machine may have: it must not bring in inline functions.
#pragma once

#include <cstdint>

namespace weft::kernels {

// Sums of (x - zero_x) * (w - zero_w), from sums of x * w, and what becomes of them.
struct AffineRows {
  int64_t rows, columns;
  const int32_t* sums;  // [rows][columns]
  const int32_t* less;  // [columns]: taken off
  // [rows] and [columns]: their products are taken off, too. Or null, both.
  const int32_t *x_sums, *weight_zeros;
  const float *factors, *bias;  // [columns]
  // Rounded: clamp(round((sum + bias) * factor), least, most) + zero, in bytes. Otherwise sum * factor +
  // bias.
  bool is_rounded, is_relu;  // relu: of numbers
  float least, most;         // whole
  int32_t zero;
  void* y;
  int64_t y_stride;  // elements
};

// sums[rows][columns] of x[row][tap][column] * weight[tap][column].
struct DepthwiseRows {
  int64_t rows, taps, columns;
  const int8_t* const* x;  // [rows][taps]: to `columns` bytes
  const int16_t* weight;
  int32_t* sums;
};

// clamp(round((a + b) * inverse) + zero, low, high), in bytes, as core/quantized_bytes.inc has it; of sums
// above zero alone where `is_relu`. A byte q of a is the number fma(q, scale, -zero * scale), from element
// `in_vectors` on (q - zero) * scale.
struct AffineOperand {
  const void* bytes;
  float scale, zero;
};
struct AddedRow {
  AffineOperand a, b;
  bool is_signed, is_relu;
  int64_t count, in_vectors;
  float inverse;
  int32_t zero, low, high;
  void* y;
};

struct AffineKernels {
  const char* name;
  void (*finish)(const AffineRows& args);
  void (*multiply_depthwise)(const DepthwiseRows& args);
  void (*turn_signs)(const void* from, int64_t count, void* to);  // bytes less 128
  void (*add)(const AddedRow& args);
};

// The widest there is for this machine, within WEFT_VECTOR_BYTES.
const AffineKernels& affine_kernels();

extern const AffineKernels kAffineBaseline;

}  // namespace weft::kernels
