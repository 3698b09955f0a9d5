// torchvision's operators, as its models' archives call them.
#include "script/builtins/aten.h"

namespace weft::jit::aten {
namespace {

[[maybe_unused]] const bool kTorchvision = [] {
  builtin("torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
          [](const Tensor& boxes, const Tensor& scores, double threshold) {
            return call(op<"nms">(), {boxes, scores}, {{"iou_threshold", threshold}});
          });
  builtin(
      "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int "
      "pooled_width, int sampling_ratio, bool aligned) -> Tensor",
      [](const Tensor& x, const Tensor& rois, double scale, int64_t height, int64_t width, int64_t ratio,
         bool aligned) {
        return call(op<"roi_align">(), {x, rois},
                    {{"output_size", sizes(Ints{height, width})},
                     {"spatial_scale", scale},
                     {"sampling_ratio", number(ratio)},
                     {"aligned", aligned}});
      });
  builtin(
      "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int "
      "pooled_width) -> (Tensor, Tensor)",
      [](const Tensor& x, const Tensor& rois, double scale, int64_t height, int64_t width) {
        Tensor pooled = call(op<"roi_pool">(), {x, rois},
                             {{"output_size", sizes(Ints{height, width})}, {"spatial_scale", scale}});
        // The elements' places are for gradients.
        Tensor places = Tensor::full(pooled.shape(), Scalar(-1), DType::I32);
        return std::tuple(std::move(pooled), std::move(places));
      });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
