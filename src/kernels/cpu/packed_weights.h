// Weights of a matrix product in the order in which the tiles of gemm_kernels.h read them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/cpu/gemm_kernels.h"
#include "weft/tensor.h"

namespace weft::kernels {

// Floats from the recycling allocator, aligned to 64 bytes.
class FloatBuffer {
 public:
  FloatBuffer() = default;
  explicit FloatBuffer(int64_t count)
      : storage_(Storage::allocate(static_cast<size_t>(count) * sizeof(float))),
        data_(static_cast<float*>(storage_->data())) {}
  float* data() const { return data_; }

 private:
  std::shared_ptr<Storage> storage_;
  float* data_ = nullptr;
};

// Up to three vectors of output channels.
struct WeightBlock {
  int64_t group = 0;
  int64_t channel = 0;  // the first output channel
  int64_t columns = 0;  // channels; the vectors' other lanes are zero
  int vectors = 1;
  int64_t offset = 0;  // of [depth][vectors * lanes] weights
  int64_t bias_offset = 0;
};

// The blocks of `groups` groups of `channels` output channels each, with `depth` products in every sum.
std::vector<WeightBlock> weight_blocks(int64_t groups, int64_t channels, int64_t depth);

// What follows a sum.
struct Epilogue {
  const float* start = nullptr;  // by bias_offset, or null
  const float* residual = nullptr;
  int64_t residual_stride = 0;
  Activation activation = Activation::None;
  bool accumulate = false;
};

// Where the rows of one tile start: [num_runs][kMaxTileRows].
struct RowTable {
  const float* const* rows;
  int64_t num_runs, run_length;
};

// Rows [first, first + count), count <= kMaxTileRows, of one block of y. weight_stride: of weights that are
// the rows of a matrix, read where they lie by a block of two vectors; 0: packed.
void compute_tile(const WeightBlock& block, const float* weights, const RowTable& table,
                  const Epilogue& epilogue, int64_t first, int64_t count, float* y, int64_t y_stride,
                  int64_t weight_stride = 0);

// Bounds that clamp() applies for an activation, and whether that is all of it.
struct Clamp {
  float low, high;
  bool complete;
};
Clamp clamp_of(Activation activation);

// Cuts `rows` into tiles of nearly one size, at most kMaxTileRows.
struct TileRange {
  int64_t count, rows;
  explicit TileRange(int64_t rows) : count((rows + kMaxTileRows - 1) / kMaxTileRows), rows(rows) {}
  int64_t begin(int64_t tile) const { return tile * rows / count; }
};

// Calls body(first block, end of blocks, first tile, end of tiles) in parallel until every block has met
// every tile. Blocks of one call take at most `cache_bytes` of the second-level cache; `depth` is the number
// of products in a sum.
using TileBody = std::function<void(int64_t, int64_t, int64_t, int64_t)>;
inline constexpr int64_t kBlockBytes = 768 << 10;
void for_each_tile(const std::vector<WeightBlock>& blocks, int64_t depth, const TileRange& tiles,
                   const TileBody& body, int64_t cache_bytes = kBlockBytes);

}  // namespace weft::kernels
