// Matrix products on GPUs (text/products.inc): which kernel computes one, and of what it is put together.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "ops/registry.h"
#include "weft/tensor.h"

namespace weft::cuda {

// One operand: element (row, depth) at row * row_step + depth * depth_step.
struct ProductSide {
  Tensor array;
  int64_t row_step, depth_step;
  std::array<int64_t, 3> batch_steps{};  // innermost first
};

// What becomes of the sums (Finish in text/operands.inc).
struct ProductEnd {
  Tensor out;  // contiguous [batches, rows, columns]
  Tensor row_scales = {}, scales = {}, bias = {}, residual = {};
  std::string activation = "none";
  bool residual_first = false, bias_by_row = false;
  int64_t bias_step = 0, bias_batches = 1;  // each of so many batches after one another has its own
};

struct Product {
  int64_t rows, columns, depth;
  std::array<int64_t, 3> batches{1, 1, 1};  // innermost first
  ProductSide left, right;
  ProductEnd end;
  // Of a right operand that is u8: numbers of 4 bits with these scales (quantize_int4).
  Tensor group_scales = {};
  int64_t group_size = 0;
  // Of a convolution: the right operand's text in place of a Strided (Patches), with the numbers that it
  // wants.
  struct Patches {
    bool transposed;
    int64_t channel_step, y_step, x_step;
    std::array<int64_t, 11> sizes;
  };
  const Patches* patches = nullptr;
};
// May matrix products of float32 round their operands to TF32 (10 bits behind the point) on GPUs from sm_80
// on? For the whole process; no, unless somebody says so. Products of up to 16 rows and convolutions never
// do.
void allow_tf32(bool allowed);
bool allows_tf32();
// False where no kernel is for the dtypes.
bool has_product(const Product& product);
// By weft's kernel, or by a library's that has been measured to be faster (product_choice.h).
void run_product(const Product& product);
void run_own_product(const Product& product);  // by weft's
// By these instructions, whatever run_product would choose, for wgmma.cc: mma.sync, and wgmma with this tile.
void run_product_by_warps(const Product& product);
struct WgmmaTile;
void run_product_by_warpgroups(const Product& product, const WgmmaTile& tile);

// Operators that are products. Empty where the call is none that the kernels compute.
std::vector<Tensor> run_matmul(const ops::OpDef& op, std::span<const Tensor> operands,
                               const ops::Attrs& attrs);
std::vector<Tensor> run_linear(const ops::OpDef& op, std::span<const Tensor> operands,
                               const ops::Attrs& attrs);
std::vector<Tensor> run_int_mm(const ops::OpDef& op, std::span<const Tensor> operands,
                               const ops::Attrs& attrs);
std::vector<Tensor> run_convolution(const ops::OpDef& op, std::span<const Tensor> operands,
                                    const ops::Attrs& attrs);

// Results of the call's types, not yet written.
std::vector<Tensor> empty_results(const ops::OpDef& op, std::span<const Tensor> operands,
                                  const ops::Attrs& attrs);

}  // namespace weft::cuda
