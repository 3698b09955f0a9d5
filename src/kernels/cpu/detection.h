// Kernels of object detection: which boxes are kept, and what regions of an image are pooled to.
#pragma once

#include <cstdint>

#include "weft/tensor.h"

namespace weft::kernels {

// Indices (int64) of the boxes[N, 4] (x1, y1, x2, y2) that are left, by falling score, when each box that covers an
// earlier one by more than `threshold` (intersection over union) is taken out. Contiguous, float32 or float64.
Tensor non_maximum_suppression(const Tensor& boxes, const Tensor& scores, double threshold);

struct RoiAlign {
  double spatial_scale = 1;
  int64_t sampling_ratio = -1;  // samples per bin and dimension; not positive: one per element
  bool aligned = false;
};

// result[K, C, PH, PW]: means of bilinear samples in the bins of rois[K, 5] (image, x1, y1, x2, y2) over
// input[N, C, H, W]. Contiguous, float32 or float64. The images' numbers have been checked.
void roi_align(const Tensor& input, const Tensor& rois, const RoiAlign& options, const Tensor& result);

// The same with the maximum of the elements of each bin; 0 where a bin has none.
void roi_pool(const Tensor& input, const Tensor& rois, double spatial_scale, const Tensor& result);

}  // namespace weft::kernels
