// A decoder's logits at the size of the image: two bilinear interpolations, row after row.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "models/mask_bits.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft::models {
namespace {

// Where results lie between inputs, whose centers and not corners are aligned.
struct Blend {
  std::vector<int64_t> low, high;
  std::vector<float> weight;  // of high

  Blend(int64_t from, int64_t to, int64_t taken) {
    const float scale = static_cast<float>(from) / static_cast<float>(to);
    for (int64_t i = 0; i < taken; ++i) {
      const float at = std::max(0.0f, (static_cast<float>(i) + 0.5f) * scale - 0.5f);
      const int64_t first = std::min(static_cast<int64_t>(at), from - 1);
      low.push_back(first), high.push_back(std::min(first + 1, from - 1));
      weight.push_back(std::clamp(at - static_cast<float>(first), 0.0f, 1.0f));
    }
  }
};

void blend_columns(const Blend& columns, const float* from, float* __restrict to) {
  const int64_t* const low = columns.low.data();
  const int64_t* const high = columns.high.data();
  const float* const weight = columns.weight.data();
  const size_t width = columns.low.size();
  for (size_t x = 0; x < width; ++x) to[x] = (1.0f - weight[x]) * from[low[x]] + weight[x] * from[high[x]];
}

void blend_rows(float weight, const float* low, const float* high, int64_t width, float* __restrict to) {
  for (int64_t x = 0; x < width; ++x) to[x] = (1.0f - weight) * low[x] + weight * high[x];
}

struct MaskBlends {
  Blend square_columns, square_rows, columns, rows;
  MaskBlends(int64_t low_height, int64_t low_width, const MaskFrame& frame)
      : square_columns(low_width, frame.image_size, frame.input.width),
        square_rows(low_height, frame.image_size, frame.input.height),
        columns(frame.input.width, frame.original.width, frame.original.width),
        rows(frame.input.height, frame.original.height, frame.original.height) {}
};

// The two rows of an image that were asked for last.
class RowPair {
 public:
  explicit RowPair(int64_t width) {
    for (Row& row : rows_) row.values.resize(static_cast<size_t>(width));
  }
  template <class Make>
  const float* get(int64_t y, int64_t other, const Make& make) {
    for (const Row& row : rows_)
      if (row.y == y) return row.values.data();
    Row& row = rows_[rows_[0].y == other ? 1 : 0];
    make(row.values.data());
    row.y = y;
    return row.values.data();
  }

 private:
  struct Row {
    int64_t y = -1;
    std::vector<float> values;
  };
  std::array<Row, 2> rows_;
};

// Rows of one mask at the image's size, downwards.
class MaskRows {
 public:
  MaskRows(const MaskBlends& blends, const float* low, int64_t low_width)
      : blends_(blends),
        low_(low),
        low_width_(low_width),
        square_width_(static_cast<int64_t>(blends.square_columns.low.size())),
        width_(static_cast<int64_t>(blends.columns.low.size())),
        wide_(square_width_),
        square_(width_),
        row_(static_cast<size_t>(square_width_)) {}

  void write(int64_t y, float* to) {
    const int64_t low = blends_.rows.low[static_cast<size_t>(y)],
                  high = blends_.rows.high[static_cast<size_t>(y)];
    const float* first = square_row(low, high);
    const float* second = square_row(high, low);
    blend_rows(blends_.rows.weight[static_cast<size_t>(y)], first, second, width_, to);
  }

 private:
  // Row y of the square, as wide as the image.
  const float* square_row(int64_t y, int64_t other) {
    return square_.get(y, other, [&](float* to) {
      const auto at = static_cast<size_t>(y);
      const int64_t low = blends_.square_rows.low[at], high = blends_.square_rows.high[at];
      const float* first = wide_row(low, high);
      const float* second = wide_row(high, low);
      blend_rows(blends_.square_rows.weight[at], first, second, square_width_, row_.data());
      blend_columns(blends_.columns, row_.data(), to);
    });
  }
  // Row y of the logits, as wide as the square.
  const float* wide_row(int64_t y, int64_t other) {
    return wide_.get(y, other,
                     [&](float* to) { blend_columns(blends_.square_columns, low_ + y * low_width_, to); });
  }

  const MaskBlends& blends_;
  const float* low_;
  const int64_t low_width_, square_width_, width_;
  RowPair wide_, square_;
  std::vector<float> row_;
};

Tensor checked(const char* name, const Tensor& low, const MaskFrame& frame) {
  WEFT_CHECK(low.dtype() == DType::F32 && low.dim() == 3 && low.size(1) > 0 && low.size(2) > 0,
             fmt::format("{}: expected float32 [masks, height, width], got {} {}", name,
                         short_name(low.dtype()), str(low.shape())));
  const ImageSize &input = frame.input, &original = frame.original;
  WEFT_CHECK(input.height > 0 && input.width > 0 && input.height <= frame.image_size &&
                 input.width <= frame.image_size && original.height > 0 && original.width > 0,
             fmt::format("{}: no part of a square of {}: [{}, {}] of [{}, {}]", name, frame.image_size,
                         input.height, input.width, original.height, original.width));
  WEFT_CHECK(frame.left >= 0 && frame.top >= 0 && frame.top + original.height <= frame.whole.height &&
                 frame.left + original.width <= frame.whole.width,
             fmt::format("{}: a part [{}, {}] at ({}, {}) is not within [{}, {}]", name, original.height,
                         original.width, frame.left, frame.top, frame.whole.height, frame.whole.width));
  return low.contiguous();
}

int32_t count_above(const float* logits, int64_t width, float threshold) {
  int32_t count = 0;
  for (int64_t x = 0; x < width; ++x) count += logits[x] > threshold ? 1 : 0;
  return count;
}

MaskSummary summary_of(MaskRows& rows, const MaskFrame& frame, float threshold, float offset) {
  const auto [height, width] = frame.original;
  MaskEdges edges(frame.whole, frame.left, frame.top);
  std::vector<float> logits(static_cast<size_t>(width));
  std::vector<uint8_t> bits(static_cast<size_t>(width)), before(static_cast<size_t>(width));
  int64_t area = 0, sure = 0, possible = 0, left = width, right = -1, top = -1, bottom = -1;
  for (int64_t y = 0; y < height; ++y) {
    rows.write(y, logits.data());
    const float* const row = logits.data();
    for (int64_t x = 0; x < width; ++x) bits[static_cast<size_t>(x)] = row[x] > threshold;
    const int32_t in_row = count_above(row, width, threshold);
    sure += count_above(row, width, threshold + offset);
    possible += count_above(row, width, threshold - offset);
    if (in_row > 0) {
      area += in_row;
      if (top < 0) top = y;
      bottom = y;
      left = std::min(left, std::find(bits.begin(), bits.end(), uint8_t{1}) - bits.begin());
      right =
          std::max(right, width - 1 - (std::find(bits.rbegin(), bits.rend(), uint8_t{1}) - bits.rbegin()));
    }
    edges.add_row(y, bits.data(), before.data(), width);
    bits.swap(before);
  }
  // Below the part, the whole is false.
  if (frame.top + height < frame.whole.height) {
    bits.assign(bits.size(), 0);
    edges.add_row(height, bits.data(), before.data(), width);
  }
  if (area == 0) left = top = right = bottom = 0;
  const double stability = static_cast<double>(static_cast<float>(sure) / static_cast<float>(possible));
  return {area, stability, left, top, right, bottom, edges.runs()};
}

}  // namespace

Tensor upscale_masks(const Tensor& low, const MaskFrame& frame) {
  const Tensor dense = checked("upscale_masks", low, frame);
  const int64_t masks = dense.size(0), height = dense.size(1), width = dense.size(2);
  const MaskBlends blends(height, width, frame);
  const Tensor result = Tensor::empty({masks, frame.original.height, frame.original.width}, DType::F32);
  // Bands of rows, so that a single mask keeps every thread busy.
  constexpr int64_t kBand = 128;
  const int64_t bands = (frame.original.height + kBand - 1) / kBand;
  parallel_for(0, masks * bands, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t mask = task / bands, first = task % bands * kBand;
      MaskRows rows(blends, dense.data_as<float>() + mask * height * width, width);
      for (int64_t y = first; y < std::min(first + kBand, frame.original.height); ++y)
        rows.write(y, result.data_as<float>() + (mask * frame.original.height + y) * frame.original.width);
    }
  });
  return result;
}

std::vector<MaskSummary> summarize_masks(const Tensor& low, const MaskFrame& frame, float threshold,
                                         float offset) {
  const Tensor dense = checked("summarize_masks", low, frame);
  const int64_t masks = dense.size(0), height = dense.size(1), width = dense.size(2);
  const MaskBlends blends(height, width, frame);
  std::vector<MaskSummary> result(static_cast<size_t>(masks));
  parallel_for(0, masks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t mask = begin; mask < end; ++mask) {
      MaskRows rows(blends, dense.data_as<float>() + mask * height * width, width);
      result[static_cast<size_t>(mask)] = summary_of(rows, frame, threshold, offset);
    }
  });
  return result;
}

}  // namespace weft::models
