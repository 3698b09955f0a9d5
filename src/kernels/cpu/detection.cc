#include "kernels/cpu/detection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "weft/parallel.h"

namespace weft::kernels {
namespace {

constexpr int64_t kSamplesPerTask = 16 * 1024;

template <class F>
void visit_float32_or_64(DType dtype, F&& f) {
  if (dtype == DType::F32)
    f(std::type_identity<float>{});
  else
    f(std::type_identity<double>{});
}

// ---- suppression -------------------------------------------------------------------------------------------
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
    const T *__restrict a = x1.data(), *__restrict b = y1.data(), *__restrict c = x2.data(),
                        *__restrict d = y2.data(), *__restrict e = area.data();
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
    if (std::isnan(scores[i]) || std::isnan(scores[j])) return std::isnan(scores[i]) && !std::isnan(scores[j]);
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

// ---- regions -----------------------------------------------------------------------------------------------
// A sample between four elements of a plane.
template <class T>
struct BilinearSample {
  int64_t at[4];
  T weight[4];
};

template <class T>
BilinearSample<T> bilinear_sample(T y, T x, int64_t height, int64_t width) {
  if (y < -1 || y > static_cast<T>(height) || x < -1 || x > static_cast<T>(width) || y != y || x != x)
    return {{0, 0, 0, 0}, {0, 0, 0, 0}};
  y = std::max(y, T(0)), x = std::max(x, T(0));
  int64_t top = static_cast<int64_t>(y), left = static_cast<int64_t>(x), bottom = top + 1, right = left + 1;
  if (top >= height - 1) top = bottom = height - 1, y = static_cast<T>(top);
  if (left >= width - 1) left = right = width - 1, x = static_cast<T>(left);
  const T down = y - static_cast<T>(top), along = x - static_cast<T>(left), up = 1 - down, back = 1 - along;
  return {{top * width + left, top * width + right, bottom * width + left, bottom * width + right},
          {up * back, up * along, down * back, down * along}};
}

// The samples of one region's bins, bin after bin.
template <class T>
struct RegionSamples {
  int64_t per_bin = 0;
  std::vector<BilinearSample<T>> samples;

  void compute(const T* roi, const RoiAlign& options, int64_t bins_y, int64_t bins_x, int64_t height,
               int64_t width) {
    const T scale = static_cast<T>(options.spatial_scale), offset = options.aligned ? T(0.5) : T(0);
    const T left = roi[1] * scale - offset, top = roi[2] * scale - offset;
    T across = roi[3] * scale - offset - left, down = roi[4] * scale - offset - top;
    if (!options.aligned) across = std::max(across, T(1)), down = std::max(down, T(1));
    const T bin_y = down / static_cast<T>(bins_y), bin_x = across / static_cast<T>(bins_x);
    const auto number = [&](T size) {
      if (options.sampling_ratio > 0) return options.sampling_ratio;
      return std::max<int64_t>(0, static_cast<int64_t>(std::ceil(size)));
    };
    const int64_t grid_y = number(bin_y), grid_x = number(bin_x);
    per_bin = grid_y * grid_x;
    samples.clear();
    samples.reserve(static_cast<size_t>(bins_y * bins_x * per_bin));
    for (int64_t by = 0; by < bins_y; ++by) {
      for (int64_t bx = 0; bx < bins_x; ++bx) {
        for (int64_t iy = 0; iy < grid_y; ++iy) {
          const T y = top + static_cast<T>(by) * bin_y +
                      (static_cast<T>(iy) + T(0.5)) * bin_y / static_cast<T>(grid_y);
          for (int64_t ix = 0; ix < grid_x; ++ix) {
            const T x = left + static_cast<T>(bx) * bin_x +
                        (static_cast<T>(ix) + T(0.5)) * bin_x / static_cast<T>(grid_x);
            samples.push_back(bilinear_sample(y, x, height, width));
          }
        }
      }
    }
  }

  void pool(const T* plane, int64_t bins, T* result) const {
    const T count = static_cast<T>(std::max<int64_t>(per_bin, 1));
    const BilinearSample<T>* sample = samples.data();
    for (int64_t bin = 0; bin < bins; ++bin) {
      T total = 0;
      for (int64_t i = 0; i < per_bin; ++i, ++sample) {
        for (int corner = 0; corner < 4; ++corner)
          total += sample->weight[corner] * plane[sample->at[corner]];
      }
      result[bin] = total / count;
    }
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

// body(region, plane of the input, result of one region and channel) for all of both; those of one region come
// one after another.
template <class T, class F>
void for_region_planes(const Tensor& input, const Tensor& rois, const Tensor& result, const F& body) {
  const int64_t channels = input.size(1), area = input.size(2) * input.size(3),
                bins = result.size(2) * result.size(3), planes = rois.size(0) * channels;
  if (planes == 0 || bins == 0) return;
  parallel_for(0, planes, std::max<int64_t>(1, kSamplesPerTask / (bins * 16)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t region = i / channels, channel = i % channels;
                   const T* roi = rois.data_as<T>() + region * 5;
                   const bool is_first = i == begin || channel == 0;
                   body(roi, is_first,
                        input.data_as<T>() + (static_cast<int64_t>(roi[0]) * channels + channel) * area,
                        result.data_as<T>() + i * bins);
                 }
               });
}

}  // namespace

Tensor non_maximum_suppression(const Tensor& boxes, const Tensor& scores, double threshold) {
  std::vector<int64_t> kept;
  visit_float32_or_64(boxes.dtype(), [&]<class T>(std::type_identity<T>) {
    kept = kept_boxes(boxes.data_as<T>(), scores.data_as<T>(), static_cast<size_t>(boxes.size(0)), threshold);
  });
  const Tensor result = Tensor::empty({static_cast<int64_t>(kept.size())}, DType::I64);
  std::copy(kept.begin(), kept.end(), result.data_as<int64_t>());
  return result;
}

void roi_align(const Tensor& input, const Tensor& rois, const RoiAlign& options, const Tensor& result) {
  visit_float32_or_64(input.dtype(), [&]<class T>(std::type_identity<T>) {
    for_region_planes<T>(input, rois, result, [&](const T* roi, bool is_first, const T* plane, T* bins) {
      thread_local RegionSamples<T> samples;
      if (is_first)
        samples.compute(roi, options, result.size(2), result.size(3), input.size(2), input.size(3));
      samples.pool(plane, result.size(2) * result.size(3), bins);
    });
  });
}

void roi_pool(const Tensor& input, const Tensor& rois, double spatial_scale, const Tensor& result) {
  visit_float32_or_64(input.dtype(), [&]<class T>(std::type_identity<T>) {
    for_region_planes<T>(input, rois, result, [&](const T* roi, bool, const T* plane, T* bins) {
      pool_region_maxima(roi, spatial_scale, plane, input.size(2), input.size(3), result.size(2), result.size(3),
                         bins);
    });
  });
}

}  // namespace weft::kernels
