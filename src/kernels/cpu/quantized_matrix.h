// Packed weights of linear layers and the products with them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/cpu/packed_weights.h"
#include "kernels/cpu/quantized_kernels.h"
#include "kernels/cpu/scratch.h"
#include "weft/block_format.h"
#include "weft/dtype.h"
#include "weft/parallel.h"

namespace weft::kernels {

// Weights [out, in] in rows, as checkpoints have them. See weft::LinearWeight.
struct WeightRows {
  WeightFormat format = WeightFormat::F32;
  const void* values = nullptr;
  // Int8: float [out]; Int4: bfloat16 [groups, out, 2]; Groups without a block format: float of that shape
  const void* scales = nullptr;
  const float* bias = nullptr;  // [out] or null
  int64_t out = 0, in = 0;
  int64_t group = 0;                       // Int4
  BlockFormat blocks = BlockFormat::None;  // Groups: what the rows are made of; None: the codes of Int4, or
                                           // numbers of int8
  GroupLayout layout = {};                 // Groups
};

// Rows of numbers of one of the floating types.
struct RowsView {
  void* data = nullptr;
  DType dtype = DType::F32;
  int64_t stride = 0;  // in elements
};

// How x enters products with int8 and int4 weights. Auto: Int16 where the machine has an instruction for it,
// else Float32. With bfloat16 weights: many rows of bfloat16 (Auto) or rounded to it (BFloat16) go to the
// machine's engine, where it has one; where that has tiles, those with int8 and int4 weights do, too
// (BFloat16 and Int8: bfloat16 rounds them by less), and many rows (Auto), they or int4's weights in two
// parts. Weights: BFloat16 with bfloat16 weights, Auto with others.
enum class InputPrecision : uint8_t { Auto, Float32, Int16, Int8, BFloat16, Weights };

struct ProductArgs {
  RowsView x, y, residual;  // residual.data may be null
  int64_t rows = 0;
  FinishActivation activation = FinishActivation::None;
  InputPrecision precision = InputPrecision::Auto;
};

// Of products with many rows: the rows and the panels that are taken at once. A block of their inputs and
// their sums stay in the second-level cache.
inline constexpr int64_t kManyRows = 256, kPanelsAtOnce = 4;
// Of those on tiles: weights are brought into their form once for so many.
inline constexpr int64_t kManyRowsOfTiles = 512;

struct BFloat16Kernels;

// Numbers of bfloat16 that an input and a weight are the sum of, in a product on an engine; 0: none is.
struct BFloat16Parts {
  int64_t inputs, weights;
};

class PackedMatrix {
 public:
  // All with one format, `in` and group; `gated`: exactly two of one size, gate and up.
  PackedMatrix(const std::vector<WeightRows>& weights, bool gated);

  void multiply(const ProductArgs& args) const;

  // Rows of this dtype up to which what a row gives does not depend on their number.
  int64_t independent_rows(InputPrecision precision, DType input) const;

  int64_t in() const { return in_; }
  int64_t out() const { return gated_ ? out_ / 2 : out_; }
  int64_t bytes() const;

 private:
  struct Floats;
  struct FewRows;
  struct ManyRows;
  struct IntegerProduct;
  struct FewIntegers;
  struct ManyIntegers;
  struct ManyBFloat16;
  void pack_panel(int64_t panel, const std::vector<WeightRows>& weights);
  // One output's weights of all inputs.
  void pack_groups(const WeightRows& rows, int64_t row, uint8_t* panel, int64_t lane) const;
  static bool all_finite(const uint8_t* panel, int64_t count);
  const uint8_t* panel(int64_t index) const {
    return static_cast<const uint8_t*>(weights_->data()) + index * panel_bytes_;
  }
  // Where the weights of inputs from `k` on lie in a panel; k: a multiple of the group.
  int64_t offset_of(int64_t k) const;
  // After the `index`-th of the panels from `first` on that are taken at once, with inputs [k, k + step): the
  // weights that are taken next.
  const uint8_t* next_block(int64_t first, int64_t index, int64_t panels, int64_t k, int64_t step) const;
  InputPrecision resolved(InputPrecision precision) const;  // what Weights is for these
  int planes(InputPrecision precision) const;
  int64_t block_bytes() const;  // Groups: of a panel's block
  // Of rows that share one pass over the weights.
  void multiply_few(const ProductArgs& args) const;
  void multiply_many(const ProductArgs& args) const;
  void multiply_integers(const ProductArgs& args, int planes) const;
  BFloat16Parts parts_for(const ProductArgs& args, const BFloat16Kernels& engine) const;
  void multiply_bfloat16(const ProductArgs& args, const BFloat16Kernels& engine, BFloat16Parts parts) const;
  // What follows the sums of some panels, [rows][64] each, sums_stride after the one before.
  void finish(const ProductArgs& args, int64_t first, int64_t panels, const float* sums,
              int64_t sums_stride) const;
  void for_each_panel(RangeFn body, void* context) const;

  WeightFormat format_ = WeightFormat::F32;
  bool gated_ = false;
  std::atomic<bool> is_finite_ = true;  // of bfloat16 weights: none is infinite or NaN
  int64_t in_ = 0, packed_in_ = 0, out_ = 0, panels_ = 0, group_ = 0, panel_bytes_ = 0;
  GroupLayout layout_ = {};
  std::shared_ptr<Storage> weights_;  // [panels][panel_bytes]
  FloatBuffer scales_, bias_;         // [panels][64], or empty
};

// Rows [first, first + rows) and columns [column, column + columns) of x in float32; zeros from there to
// `padded` columns.
void to_floats(const RowsView& x, int64_t first, int64_t rows, int64_t column, int64_t columns,
               int64_t padded, float* to, int64_t to_stride);

}  // namespace weft::kernels
