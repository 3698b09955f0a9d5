#include "kernels/cpu/packed_weights.h"

#include <algorithm>
#include <limits>

#include "weft/parallel.h"

namespace weft::kernels {

std::vector<WeightBlock> weight_blocks(int64_t groups, int64_t channels, int64_t depth) {
  const int64_t lanes = gemm_kernels().lanes;
  std::vector<WeightBlock> blocks;
  int64_t offset = 0, bias_offset = 0;
  for (int64_t group = 0; group < groups; ++group) {
    int64_t vectors = (channels + lanes - 1) / lanes;
    for (int64_t channel = 0; channel < channels;) {
      WeightBlock block;
      // Pairs of vectors, and three at the end of an odd number: one alone wastes loads.
      block.vectors = static_cast<int>(vectors <= 3 ? vectors : 2);
      block.group = group;
      block.channel = group * channels + channel;
      block.columns = std::min(block.vectors * lanes, channels - channel);
      block.offset = offset, block.bias_offset = bias_offset;
      offset += depth * block.vectors * lanes, bias_offset += block.vectors * lanes;
      channel += block.columns, vectors -= block.vectors;
      blocks.push_back(block);
    }
  }
  return blocks;
}

Clamp clamp_of(Activation activation) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (activation) {
    case Activation::None: return {-kInfinity, kInfinity, true};
    case Activation::Relu: return {0, kInfinity, true};
    case Activation::Relu6: return {0, 6, true};
    default: return {-kInfinity, kInfinity, false};
  }
}

void compute_tile(const WeightBlock& block, const float* weights, const RowTable& table,
                  const Epilogue& epilogue, int64_t first, int64_t count, float* y, int64_t y_stride,
                  int64_t weight_stride) {
  const GemmKernels& kernels = gemm_kernels();
  const Clamp clamp = clamp_of(epilogue.activation);
  TileArgs args{.rows = table.rows,
                .rows_stride = kMaxTileRows,
                .num_runs = table.num_runs,
                .run_length = table.run_length,
                .weights = weights + block.offset,
                .weight_stride = weight_stride,
                .start = epilogue.start ? epilogue.start + block.bias_offset : nullptr,
                .accumulate = epilogue.accumulate,
                .y = y + first * y_stride + block.channel,
                .y_stride = y_stride,
                .residual = epilogue.residual
                                ? epilogue.residual + first * epilogue.residual_stride + block.channel
                                : nullptr,
                .residual_stride = epilogue.residual_stride,
                .columns = block.columns,
                .low = clamp.low,
                .high = clamp.high};
  const int64_t most = kernels.max_rows[block.vectors], parts = (count + most - 1) / most;
  float* const begin = args.y;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t from = part * count / parts, rows = (part + 1) * count / parts - from;
    args.rows = table.rows + from;
    args.y = begin + from * y_stride;
    if (epilogue.residual)
      args.residual = epilogue.residual + (first + from) * epilogue.residual_stride + block.channel;
    (weight_stride ? kernels.tile_in_place : kernels.tile[block.vectors])[rows](args);
  }
  if (!clamp.complete) kernels.activate(epilogue.activation, count, block.columns, begin, y_stride);
}

void for_each_tile(const std::vector<WeightBlock>& blocks, int64_t depth, const TileRange& tiles,
                   const TileBody& body, int64_t cache_bytes) {
  if (blocks.empty() || tiles.rows == 0) return;
  constexpr int64_t kItems = 32, kGrainProducts = 1 << 17;
  const auto num_blocks = static_cast<int64_t>(blocks.size());
  const int64_t floats = blocks.back().offset + depth * blocks.back().vectors * gemm_kernels().lanes;
  const int64_t by_cache = (floats * 4 + cache_bytes - 1) / cache_bytes;
  const int64_t by_items = (kItems + tiles.count - 1) / tiles.count;
  const int64_t groups = std::clamp<int64_t>(std::max(by_cache, by_items), 1, num_blocks);
  const int64_t products = std::max<int64_t>(1, floats * tiles.rows / (groups * tiles.count));
  const int64_t grain = std::max<int64_t>(1, kGrainProducts / products);
  parallel_for(0, groups * tiles.count, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t group = begin / tiles.count, tile = begin % tiles.count;
      const int64_t count = std::min(tiles.count - tile, end - begin);
      body(group * num_blocks / groups, (group + 1) * num_blocks / groups, tile, tile + count);
      begin += count;
    }
  });
}

}  // namespace weft::kernels
