// Resizing and masks of segmentation models: weft/models/masks.h. weft.models makes records of what these
// give.
#include "models/masks.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "interpreter_lock.h"
#include "weft/models/masks.h"

namespace weft::python {

namespace nb = nanobind;
using namespace nb::literals;
using namespace models;

namespace {

using Pair = std::pair<int64_t, int64_t>;

ImageSize size_of(Pair pair) { return {pair.first, pair.second}; }
MaskFrame frame_of(int64_t image_size, Pair input, Pair original, Pair corner, Pair whole) {
  return {.image_size = image_size,
          .input = size_of(input),
          .original = size_of(original),
          .left = corner.first,
          .top = corner.second,
          .whole = size_of(whole)};
}

}  // namespace

void bind_masks(nb::module_& m) {
  // Of many masks few are kept: numbers become Python's when they are asked for.
  nb::class_<RunLengths>(m, "RunLengths")
      .def("__len__", [](const RunLengths& runs) { return runs.counts.size(); })
      .def("__iter__", [](const RunLengths& runs) { return nb::iter(nb::cast(runs.counts)); })
      .def("mask", [](const RunLengths& runs) { return mask_of(runs); })
      .def("coco_string", [](const RunLengths& runs) { return coco_string(runs); });
  m.def(
      "resize_pixels",
      [](const Tensor& image, Pair size) {
        const GilRelease no_gil;
        return resize_pixels(image, size_of(size));
      },
      "image"_a, "size"_a);
  m.def(
      "upscale_masks",
      [](const Tensor& low, int64_t image_size, Pair input, Pair original) {
        const GilRelease no_gil;
        return upscale_masks(low, frame_of(image_size, input, original, {0, 0}, original));
      },
      "low"_a, "image_size"_a, "input"_a, "original"_a);
  m.def(
      "summarize_masks",
      [](const Tensor& low, int64_t image_size, Pair input, Pair original, Pair corner, Pair whole,
         float threshold, float offset) {
        std::vector<MaskSummary> summaries;
        {
          const GilRelease no_gil;
          summaries =
              summarize_masks(low, frame_of(image_size, input, original, corner, whole), threshold, offset);
        }
        nb::list result;
        for (MaskSummary& mask : summaries)
          result.append(nb::make_tuple(mask.area, mask.stability,
                                       nb::make_tuple(mask.left, mask.top, mask.right, mask.bottom),
                                       std::move(mask.runs)));
        return result;
      },
      "low"_a, "image_size"_a, "input"_a, "original"_a, "corner"_a, "whole"_a, "threshold"_a, "offset"_a);
  m.def("run_lengths", &run_lengths, "mask"_a);
  m.def(
      "mask_of",
      [](const std::vector<int64_t>& counts, Pair size) { return mask_of({size_of(size), counts}); },
      "counts"_a, "size"_a);
  m.def(
      "from_coco_string",
      [](const std::string& text, Pair size) { return from_coco_string(text, size_of(size)).counts; },
      "text"_a, "size"_a);
  m.def(
      "remove_small_regions",
      [](Tensor mask, int64_t area, bool holes) {
        const bool changed = remove_small_regions(mask, area, holes);
        return nb::make_tuple(mask, changed);
      },
      "mask"_a, "area"_a, "holes"_a);
  m.def("polygons_of", &polygons_of, "mask"_a);
}

}  // namespace weft::python
