// Packed weights of linear layers and the products with them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/cpu/packed_weights.h"
#include "kernels/cpu/quantized_kernels.h"
#include "weft/dtype.h"

namespace weft::kernels {

// Weights [out, in] in rows, as checkpoints have them. See weft::LinearWeight.
struct WeightRows {
  WeightFormat format = WeightFormat::F32;
  const void* values = nullptr;
  const void* scales = nullptr;  // Int8: float [out]; Int4: bfloat16 [groups, out, 2]
  const float* bias = nullptr;   // [out] or null
  int64_t out = 0, in = 0;
  int64_t group = 0;  // Int4
};

// Rows of numbers of one of the floating types.
struct RowsView {
  void* data = nullptr;
  DType dtype = DType::F32;
  int64_t stride = 0;  // in elements
};

struct ProductArgs {
  RowsView x, y, residual;  // residual.data may be null
  int64_t rows = 0;
  FinishActivation activation = FinishActivation::None;
};

class PackedMatrix {
 public:
  // All with one format, `in` and group; `gated`: exactly two of one size, gate and up.
  PackedMatrix(const std::vector<WeightRows>& weights, bool gated);

  void multiply(const ProductArgs& args) const;

  int64_t in() const { return in_; }
  int64_t out() const { return gated_ ? out_ / 2 : out_; }
  int64_t bytes() const;

 private:
  struct Source;
  struct Rows;
  struct SmallBatch;
  void pack_panel(int64_t panel, const std::vector<WeightRows>& weights);
  std::vector<Source> sources_of(int64_t panel, const std::vector<WeightRows>& weights) const;
  void multiply_small(const ProductArgs& args, const Rows& x) const;
  void finish(const ProductArgs& args, int64_t first_row, int64_t rows, int64_t panel, int64_t panels,
              const float* sums) const;

  WeightFormat format_ = WeightFormat::F32;
  bool gated_ = false;
  int64_t in_ = 0, packed_in_ = 0, out_ = 0, panels_ = 0, group_ = 0, panel_bytes_ = 0;
  std::shared_ptr<Storage> weights_;  // [panels][panel_bytes]
  FloatBuffer scales_, bias_;         // [panels][64]
};

}  // namespace weft::kernels
