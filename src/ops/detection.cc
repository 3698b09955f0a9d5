// Object detection: non-maximum suppression, and pooling of regions of interest.
#include "kernels/cpu/detection.h"

#include <fmt/format.h>

#include "core/backend.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/composite.h"
#include "ops/window.h"

namespace weft::ops {
namespace {

using Tensors = std::vector<Tensor>;

// ---- suppression
Tensors nms(const OpDef& op, const OpArgs& args) {
  const Tensor &boxes = args.tensors[0], &scores = args.tensors[1];
  for (const Tensor& x : {boxes, scores}) {
    if (x.is_traced() || !has_memory(x.device()))
      throw_error(
          ErrorKind::NotImplemented,
          fmt::format("{}: the number of results depends on the elements, which are not known", op.name));
  }
  const auto got = [&] {
    return fmt::format("\n  boxes: {}   scores: {}", describe(boxes), describe(scores));
  };
  WEFT_CHECK(boxes.dim() == 2 && boxes.size(1) == 4,
             fmt::format("{}: expected boxes[N, 4]{}", op.name, got()));
  WEFT_CHECK(scores.dim() == 1 && scores.size(0) == boxes.size(0),
             fmt::format("{}: expected as many scores as boxes{}", op.name, got()));
  WEFT_CHECK_TYPE(is_floating(boxes.dtype()) && boxes.dtype() == scores.dtype(),
                  fmt::format("{}: expected boxes and scores of one floating dtype{}", op.name, got()));
  const DType dtype = compute_dtype(boxes.dtype());
  return {kernels::non_maximum_suppression(boxes.to(dtype).contiguous(), scores.to(dtype).contiguous(),
                                           float_arg(args.attrs, "iou_threshold"))};
}

// ---- regions
std::vector<TensorType> infer_regions(const OpDef& op, std::span<const TensorType> operands,
                                      const Attrs& attrs) {
  check_dtype(op, operands);
  const TensorType &x = operands[0], &rois = operands[1];
  const auto got = [&] { return describe_operands(op, operands); };
  WEFT_CHECK_TYPE(x.dtype == rois.dtype,
                  fmt::format("{}: input and boxes must have one dtype{}", op.name, got()));
  WEFT_CHECK(x.shape.size() == 4, fmt::format("{}: expected input[N, C, H, W]{}", op.name, got()));
  WEFT_CHECK(rois.shape.size() == 2 && sym_eq(rois.shape[1], Sym(5)),
             fmt::format("{}: expected boxes[K, 5] (image, x1, y1, x2, y2){}", op.name, got()));
  const SymShape size = spatial_sizes(op, attrs, "output_size", 2);
  return {{x.dtype, {rois.shape[0], x.shape[1], size[0], size[1]}, x.device}};
}

Tensors pool_regions(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs,
                     const std::function<void(const Tensor&, const Tensor&, const Tensor&)>& kernel) {
  const Tensor& x = operands[0];
  WEFT_CHECK(operands[1].size(0) == 0 || (x.size(2) > 0 && x.size(3) > 0),
             fmt::format("{}: expected an input whose planes are not empty, got {}", op.name, describe(x)));
  const Tensor rois = operands[1].to(compute_dtype(x.dtype())).contiguous();
  for (int64_t i = 0; i < rois.size(0); ++i) {
    const double image =
        rois.dtype() == DType::F32 ? rois.data_as<float>()[5 * i] : rois.data_as<double>()[5 * i];
    WEFT_CHECK_INDEX(image >= 0 && image < static_cast<double>(x.size(0)),
                     fmt::format("{}: boxes[{}, 0]: expected an image from 0 to {}, got {}", op.name, i,
                                 x.size(0) - 1, image));
  }
  const std::vector<int64_t> size = spatial_arg(op, attrs, "output_size", 2);
  return {
      run_in_compute_dtype(x, {rois.size(0), x.size(1), size[0], size[1]},
                           [&](const Tensor& input, const Tensor& result) { kernel(input, rois, result); })};
}

Tensors eager_roi_align(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const kernels::RoiAlign options{.spatial_scale = float_arg(attrs, "spatial_scale"),
                                  .sampling_ratio = int_arg(attrs, "sampling_ratio"),
                                  .aligned = attrs.get_bool("aligned")};
  return pool_regions(op, operands, attrs,
                      [&](const Tensor& input, const Tensor& rois, const Tensor& result) {
                        kernels::roi_align(input, rois, options, result);
                      });
}

Tensors eager_roi_pool(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  return pool_regions(op, operands, attrs,
                      [&](const Tensor& input, const Tensor& rois, const Tensor& result) {
                        kernels::roi_pool(input, rois, float_arg(attrs, "spatial_scale"), result);
                      });
}

[[maybe_unused]] const OpDef* const kDetectionOps[] = {
    &define_composite(
        "nms", "(Tensor boxes, Tensor scores, float iou_threshold) -> Tensor",
        "Indices (int64) of the boxes[N, 4] (x1, y1, x2, y2) that non-maximum suppression leaves, by "
        "falling score: each box\n"
        "that covers one with a higher score by more than iou_threshold (intersection over union) is "
        "taken out.",
        "", on_host(nms), {}, {""}),
    &register_op(
        {.name = "roi_align",
         .schema = "(Tensor input, Tensor boxes, int[] output_size, float spatial_scale=1.0, int "
                   "sampling_ratio=-1, bool aligned=False) -> Tensor",
         .dtypes = kFloats,
         .doc = "[K, C, *output_size]: regions boxes[K, 5] (image, x1, y1, x2, y2) of input[N, C, H, W], "
                "whose bins are means of\n"
                "bilinear samples: sampling_ratio per dimension, or one per element. aligned: pixels' "
                "centres are at halves.\n"
                "source: He et al., Mask R-CNN (2017).",
         .infer = infer_regions,
         .eager = eager_roi_align}),
    &register_op(
        {.name = "roi_pool",
         .schema = "(Tensor input, Tensor boxes, int[] output_size, float spatial_scale=1.0) -> Tensor",
         .dtypes = kFloats,
         .doc = "[K, C, *output_size]: largest elements of the bins of regions boxes[K, 5] (image, x1, y1, "
                "x2, y2) of input[N, C, H, W].\n"
                "source: Girshick, Fast R-CNN (2015).",
         .infer = infer_regions,
         .eager = eager_roi_pool}),
};

}  // namespace
}  // namespace weft::ops
