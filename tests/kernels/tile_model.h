// AMX in plain C++, as its documentation describes it, an engine of bfloat16 products and kernels of int8
// products over it: their loops and the packing for them can be checked on machines without tiles.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "kernels/cpu/bfloat16_tiles.inc"
#include "kernels/cpu/gemm_bfloat16.h"
#include "kernels/cpu/int8_tiles.inc"

namespace weft::kernels {

inline float widened(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// A sum and `start`, if there is one, in bfloat16.
inline uint16_t finished(float sum, const float* start) {
  return std::bit_cast<uint16_t>(BFloat16(start ? sum + *start : sum));
}

struct TileRegister {
  int64_t rows = 0, row_bytes = 0;
  alignas(64) std::byte data[16][64] = {};
};

struct TileModel {
  using Register = TileRegister;
  static inline thread_local Register registers[8];
  static inline thread_local bool configured = false;

  static void configure(int64_t upper, int64_t lower) {
    EXPECT_FALSE(configured);
    EXPECT_TRUE(upper >= 1 && upper <= 16 && lower >= 0 && lower <= 16);
    const int64_t rows[8] = {upper, upper, lower, lower, upper, lower, 16, 16};
    for (int i = 0; i < 8; ++i) {
      registers[i] = Register();
      registers[i].rows = rows[i], registers[i].row_bytes = rows[i] > 0 ? 64 : 0;
    }
    configured = true;
  }
  static void release() { configured = false; }

  static Register& used(int index) {
    EXPECT_TRUE(configured && registers[index].rows > 0) << "register " << index;
    return registers[index];
  }

  template <int kRegister>
  static void zero() {
    std::memset(used(kRegister).data, 0, sizeof(Register::data));
  }
  template <int kRegister>
  static void load(const void* from, int64_t stride) {
    Register& tile = used(kRegister);
    for (int64_t i = 0; i < tile.rows; ++i)
      std::memcpy(tile.data[i], static_cast<const std::byte*>(from) + i * stride, 64);
  }
  template <int kRegister>
  static void store(void* to, int64_t stride) {
    const Register& tile = used(kRegister);
    for (int64_t i = 0; i < tile.rows; ++i)
      std::memcpy(static_cast<std::byte*>(to) + i * stride, tile.data[i], 64);
  }
  template <int kSums, int kA, int kB>
  static void multiply() {
    Register &sums = used(kSums), &a = used(kA), &b = used(kB);
    EXPECT_EQ(sums.rows, a.rows);
    EXPECT_EQ(b.rows, a.row_bytes / 4);
    for (int64_t i = 0; i < sums.rows; ++i) {
      for (int64_t pair = 0; pair < b.rows; ++pair) {
        for (int64_t j = 0; j < 16; ++j) {
          uint16_t left[2], right[2];
          float sum;
          std::memcpy(left, a.data[i] + 4 * pair, 4);
          std::memcpy(right, b.data[pair] + 4 * j, 4);
          std::memcpy(&sum, sums.data[i] + 4 * j, 4);
          sum += widened(left[0]) * widened(right[0]);
          sum += widened(left[1]) * widened(right[1]);
          std::memcpy(sums.data[i] + 4 * j, &sum, 4);
        }
      }
    }
  }
  static void finish_row(const float* sums, const float* start, int64_t columns, uint16_t* y) {
    for (int64_t j = 0; j < columns; ++j) y[j] = finished(sums[j], start ? start + j : nullptr);
  }
};

// Tiles of bytes.
struct Int8TileModel : TileModel {
  template <int kSums, int kA, int kB>
  static void multiply() {
    Register &sums = used(kSums), &a = used(kA), &b = used(kB);
    EXPECT_EQ(sums.rows, a.rows);
    for (int64_t i = 0; i < sums.rows; ++i)
      for (int64_t four = 0; four < b.rows; ++four)
        for (int64_t j = 0; j < 16; ++j) {
          int8_t left[4], right[4];
          uint32_t sum;
          std::memcpy(left, a.data[i] + 4 * four, 4);
          std::memcpy(right, b.data[four] + 4 * j, 4);
          std::memcpy(&sum, sums.data[i] + 4 * j, 4);
          for (int k = 0; k < 4; ++k) sum += static_cast<uint32_t>(left[k] * right[k]);
          std::memcpy(sums.data[i] + 4 * j, &sum, 4);
        }
  }
};

// Kernels whose tiles are the model, without packing of their own.
inline const Int8Kernels& int8_tile_model() {
  static const Int8Kernels kernels{.name = "model of int8 tiles",
                                   .max_rows = 32,
                                   .together = 4,
                                   .depth_unit = 64,
                                   .inputs = Int8Inputs::Signed,
                                   .multiply = Int8TileProduct<Int8TileModel>::multiply,
                                   .pack_rows = nullptr,
                                   .pack_columns = nullptr,
                                   .start_sums = nullptr,
                                   .dots = nullptr};
  return kernels;
}

// An engine whose tiles are the model and whose other loops are plain.
inline const BFloat16Kernels& tile_model_engine() {
  static const BFloat16Kernels engine{
      .name = "model of tiles",
      .max_rows = 32,
      .depth_unit = 32,
      .has_tiles = true,
      .takes_odd_depth = false,
      .hold = nullptr,
      .release = nullptr,
      .multiply = TileProduct<TileModel>::multiply,
      .dots =
          [](const DotsArgs& args) {
            for (int64_t i = 0; i < args.rows; ++i)
              for (int64_t j = 0; j < args.columns; ++j) {
                float sum = 0;
                for (int64_t k = 0; k < args.depth; ++k)
                  sum += widened(args.a[i * args.a_stride + k]) * widened(args.b[j * args.b_stride + k]);
                args.y[i * args.y_stride + j] = finished(sum, args.start ? args.start + j : nullptr);
              }
          },
      .combine =
          [](const CombineArgs& args) {
            for (int64_t i = 0; i < args.rows; ++i)
              for (int64_t j = 0; j < args.columns; ++j) {
                float sum = 0;
                for (int64_t k = 0; k < args.depth; ++k)
                  sum += widened(args.a[i * args.a_stride + k]) * widened(args.b[k * args.b_stride + j]);
                args.y[i * args.y_stride + j] = finished(sum, args.start ? args.start + j : nullptr);
              }
          },
      .pack_rows = [](const PackPanelsArgs& args) { pack_panels_plainly(args, 1); },
      .pack_columns =
          [](const PackPanelsArgs& args) {
            PackPanelsArgs turned = args;
            turned.stride = 1;
            pack_panels_plainly(turned, args.stride);
          },
      .expand_int8 = nullptr,
      .expand_int4 = nullptr,
      .round =
          [](const float* x, int64_t count, uint16_t* to) {
            for (int64_t i = 0; i < count; ++i) to[i] = finished(x[i], nullptr);
          },
      .split =
          [](const float* x, int64_t count, uint16_t* high, uint16_t* low) {
            for (int64_t i = 0; i < count; ++i) {
              high[i] = finished(x[i], nullptr);
              low[i] = finished(x[i] - widened(high[i]), nullptr);
            }
          },
      .finish_turned =
          [](const TurnedSums& args) {
            for (int64_t j = 0; j < args.columns; ++j)
              for (int64_t i = 0; i < args.rows; ++i)
                args.y[j * args.y_stride + i] =
                    finished(args.sums[i * args.sums_stride + j], args.start ? args.start + i : nullptr);
          }};
  return engine;
}

}  // namespace weft::kernels
