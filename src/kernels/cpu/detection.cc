#include "kernels/cpu/detection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "kernels/cpu/floats.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

constexpr int64_t kSamplesPerTask = 16 * 1024;

// ---- suppression

// Coordinates of the boxes in the order of their scores, one array each: the inner loop is over lanes.
template <class T>
struct OrderedBoxes {
  std::vector<T> x1, y1, x2, y2, area;

  OrderedBoxes(const T* boxes, const std::vector<int64_t>& order) {
    for (std::vector<T>* each : {&x1, &y1, &x2, &y2, &area}) each->resize(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      const T* box = boxes + 4 * order[i];
      x1[i] = box[0], y1[i] = box[1], x2[i] = box[2], y2[i] = box[3];
      area[i] = (x2[i] - x1[i]) * (y2[i] - y1[i]);
    }
  }

  // Marks the boxes after `i` that cover it by more than the threshold.
  void suppress(size_t i, double threshold, uint8_t* __restrict gone) const {
    const T left = x1[i], top = y1[i], right = x2[i], bottom = y2[i], own = area[i];
    const T* __restrict a = x1.data(), * __restrict b = y1.data(), * __restrict c = x2.data(), * __restrict d = y2.data(), * __restrict e = area.data();
    const size_t count = x1.size();
    for (size_t j = i + 1; j < count; ++j) {
      const T from_x = a[j] > left ? a[j] : left, from_y = b[j] > top ? b[j] : top;
      const T to_x = c[j] < right ? c[j] : right, to_y = d[j] < bottom ? d[j] : bottom;
      const T width = to_x - from_x > 0 ? to_x - from_x : 0, height = to_y - from_y > 0 ? to_y - from_y : 0;
      const T common = width * height;
      const T ratio = common / (own + e[j] - common);
      gone[j] |= static_cast<uint8_t>(static_cast<double>(ratio) > threshold);
    }
  }
};

template <class T>
std::vector<int64_t> kept_boxes(const T* boxes, const T* scores, size_t count, double threshold) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  // NaN counts as the largest score, as in a sort.
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    if (std::isnan(scores[i]) || std::isnan(scores[j]))
      return std::isnan(scores[i]) && !std::isnan(scores[j]);
    return scores[i] > scores[j];
  });
  const OrderedBoxes<T> ordered(boxes, order);
  std::vector<uint8_t> gone(count);
  std::vector<int64_t> kept;
  for (size_t i = 0; i < count; ++i) {
    if (gone[i]) continue;
    kept.push_back(order[i]);
    ordered.suppress(i, threshold, gone.data());
  }
  return kept;
}

// ---- regions

// Samples between the elements of one dimension, added up by bin: bin b has the weights at start[b] to
// start[b + 1], each of the element `index`. Equal neighbours of a bin have one weight.
template <class T>
struct BinWeights {
  int64_t per_bin = 0;
  std::vector<int64_t> start, index;
  std::vector<T> weight;

  void compute(T begin, T bin, int64_t bins, int64_t sampling_ratio, int64_t size) {
    per_bin =
        sampling_ratio > 0 ? sampling_ratio : std::max<int64_t>(0, static_cast<int64_t>(std::ceil(bin)));
    start.assign(1, 0), index.clear(), weight.clear();
    for (int64_t b = 0; b < bins; ++b) {
      add_bin(begin + static_cast<T>(b) * bin, bin, size);
      start.push_back(static_cast<int64_t>(index.size()));
    }
  }

 private:
  void add_bin(T begin, T bin, int64_t size) {
    for (int64_t i = 0; i < per_bin; ++i) {
      T at = begin + (static_cast<T>(i) + T(0.5)) * bin / static_cast<T>(per_bin);
      if (!(at >= -1 && at <= static_cast<T>(size))) continue;  // outside, or NaN: a zero
      at = std::max(at, T(0));
      int64_t low = static_cast<int64_t>(at), high = low + 1;
      if (low >= size - 1) low = high = size - 1, at = static_cast<T>(low);
      const T along = at - static_cast<T>(low);
      add(low, 1 - along);
      add(high, along);
    }
  }

  void add(int64_t element, T by) {
    const auto first = static_cast<size_t>(start.back());
    for (size_t k = index.size(); k > first && k + 2 > index.size(); --k) {
      if (index[k - 1] != element) continue;
      weight[k - 1] += by;
      return;
    }
    index.push_back(element);
    weight.push_back(by);
  }
};

// One region's bins: the weights of rows times those of columns.
template <class T>
struct RegionWeights {
  BinWeights<T> rows, columns;
  int64_t left = 0, right = 0;  // the columns with a weight are among these
  std::vector<T> combined;

  void compute(const T* roi, const RoiAlign& options, int64_t bins_y, int64_t bins_x, int64_t height,
               int64_t width) {
    const T scale = static_cast<T>(options.spatial_scale), offset = options.aligned ? T(0.5) : T(0);
    const T from_x = roi[1] * scale - offset, from_y = roi[2] * scale - offset;
    T across = roi[3] * scale - offset - from_x, down = roi[4] * scale - offset - from_y;
    if (!options.aligned) across = std::max(across, T(1)), down = std::max(down, T(1));
    rows.compute(from_y, down / static_cast<T>(bins_y), bins_y, options.sampling_ratio, height);
    columns.compute(from_x, across / static_cast<T>(bins_x), bins_x, options.sampling_ratio, width);
    const auto [least, most] = std::minmax_element(columns.index.begin(), columns.index.end());
    left = columns.index.empty() ? 0 : *least, right = columns.index.empty() ? 0 : *most + 1;
    combined.resize(static_cast<size_t>(width));
  }

  // Where most columns have weights, rows are added up first, all columns at once.
  void pool(const T* plane, int64_t bins_y, int64_t bins_x, int64_t width, T* result) {
    const T count = static_cast<T>(std::max<int64_t>(rows.per_bin * columns.per_bin, 1));
    const bool is_dense = right - left <= 2 * static_cast<int64_t>(columns.index.size());
    for (int64_t y = 0; y < bins_y; ++y) {
      if (is_dense) add_rows(plane, y, width);
      for (int64_t x = 0; x < bins_x; ++x)
        result[y * bins_x + x] = (is_dense ? dot(combined.data(), x) : bin(plane, y, x, width)) / count;
    }
  }

 private:
  void add_rows(const T* plane, int64_t y, int64_t width) {
    T* __restrict row = combined.data();
    std::fill(row + left, row + right, T(0));
    for (int64_t i = rows.start[y]; i < rows.start[y + 1]; ++i) {
      const T weight = rows.weight[i];
      const T* __restrict source = plane + rows.index[i] * width;
      for (int64_t x = left; x < right; ++x) row[x] += weight * source[x];
    }
  }
  T dot(const T* row, int64_t x) const {
    T total = 0;
    for (int64_t i = columns.start[x]; i < columns.start[x + 1]; ++i)
      total += columns.weight[i] * row[columns.index[i]];
    return total;
  }
  T bin(const T* plane, int64_t y, int64_t x, int64_t width) const {
    T total = 0;
    for (int64_t i = rows.start[y]; i < rows.start[y + 1]; ++i)
      total += rows.weight[i] * dot(plane + rows.index[i] * width, x);
    return total;
  }
};

template <class T>
void pool_region_maxima(const T* roi, double spatial_scale, const T* plane, int64_t height, int64_t width,
                        int64_t bins_y, int64_t bins_x, T* result) {
  const T scale = static_cast<T>(spatial_scale);
  const auto edge = [&](T x) { return static_cast<int64_t>(std::round(x * scale)); };
  const int64_t left = edge(roi[1]), top = edge(roi[2]);
  const int64_t across = std::max<int64_t>(edge(roi[3]) - left + 1, 1),
                down = std::max<int64_t>(edge(roi[4]) - top + 1, 1);
  const auto range = [](int64_t bin, int64_t bins, int64_t size, int64_t start, int64_t limit) {
    const T step = static_cast<T>(size) / static_cast<T>(bins);
    const int64_t from = static_cast<int64_t>(std::floor(static_cast<T>(bin) * step)) + start;
    const int64_t to = static_cast<int64_t>(std::ceil(static_cast<T>(bin + 1) * step)) + start;
    return std::pair(std::clamp<int64_t>(from, 0, limit), std::clamp<int64_t>(to, 0, limit));
  };
  for (int64_t by = 0; by < bins_y; ++by) {
    const auto [y_from, y_to] = range(by, bins_y, down, top, height);
    for (int64_t bx = 0; bx < bins_x; ++bx) {
      const auto [x_from, x_to] = range(bx, bins_x, across, left, width);
      const bool empty = y_to <= y_from || x_to <= x_from;
      T largest = empty ? T(0) : -std::numeric_limits<T>::max();
      for (int64_t y = y_from; y < y_to; ++y) {
        for (int64_t x = x_from; x < x_to; ++x) largest = std::max(largest, plane[y * width + x]);
      }
      result[by * bins_x + bx] = largest;
    }
  }
}

// body(region, plane of the input, result of one region and channel) for all of both; those of one region
// come one after another.
template <class T, class F>
void for_region_planes(const Tensor& input, const Tensor& rois, const Tensor& result, const F& body) {
  const int64_t channels = input.size(1), area = input.size(2) * input.size(3),
                bins = result.size(2) * result.size(3), planes = rois.size(0) * channels;
  if (planes == 0 || bins == 0) return;
  parallel_for(
      0, planes, std::max<int64_t>(1, kSamplesPerTask / (bins * 16)), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t region = i / channels, channel = i % channels;
          const T* roi = rois.data_as<T>() + region * 5;
          const bool is_first = i == begin || channel == 0;
          body(roi, is_first, input.data_as<T>() + (static_cast<int64_t>(roi[0]) * channels + channel) * area,
               result.data_as<T>() + i * bins);
        }
      });
}

}  // namespace

Tensor non_maximum_suppression(const Tensor& boxes, const Tensor& scores, double threshold) {
  std::vector<int64_t> kept;
  visit_float(boxes.dtype(), [&]<class T>(std::type_identity<T>) {
    kept = kept_boxes(boxes.data_as<T>(), scores.data_as<T>(), static_cast<size_t>(boxes.size(0)), threshold);
  });
  const Tensor result = Tensor::empty({static_cast<int64_t>(kept.size())}, DType::I64);
  std::copy(kept.begin(), kept.end(), result.data_as<int64_t>());
  return result;
}

void roi_align(const Tensor& input, const Tensor& rois, const RoiAlign& options, const Tensor& result) {
  visit_float(input.dtype(), [&]<class T>(std::type_identity<T>) {
    for_region_planes<T>(input, rois, result, [&](const T* roi, bool is_first, const T* plane, T* bins) {
      thread_local RegionWeights<T> weights;
      if (is_first)
        weights.compute(roi, options, result.size(2), result.size(3), input.size(2), input.size(3));
      weights.pool(plane, result.size(2), result.size(3), input.size(3), bins);
    });
  });
}

void roi_pool(const Tensor& input, const Tensor& rois, double spatial_scale, const Tensor& result) {
  visit_float(input.dtype(), [&]<class T>(std::type_identity<T>) {
    for_region_planes<T>(input, rois, result, [&](const T* roi, bool, const T* plane, T* bins) {
      pool_region_maxima(roi, spatial_scale, plane, input.size(2), input.size(3), result.size(2),
                         result.size(3), bins);
    });
  });
}

}  // namespace weft::kernels
