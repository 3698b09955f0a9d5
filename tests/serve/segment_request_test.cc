#include "serve/segment_request.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "serve/image_file.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

TEST(SegmentRequests, PromptsAndPixels) {
  const SegmentRequest request = parse_segment(
      R"({"image": {"dtype": "uint8", "shape": [1, 2, 3], "base64": "AAECAwQF"}, "multimask": true, "model": "m",
          "prompts": [{"points": [[1, 2], [3.5, 4, 0]]}, {"box": [1, 2, 3, 4]}], "segmentation": "polygons"})");
  EXPECT_EQ(request.pixels.shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(request.pixels.at(5), 5);
  ASSERT_EQ(request.prompts.size(), 2);
  EXPECT_EQ(request.prompts[0].points[0].label, 1);
  EXPECT_EQ(request.prompts[0].points[1].x, 3.5F);
  EXPECT_EQ(request.prompts[0].points[1].label, 0);
  EXPECT_EQ(request.prompts[1].box->bottom, 4);
  EXPECT_TRUE(request.multimask && request.segmentation == Segmentation::Polygons && request.model == "m");
  EXPECT_EQ(parse_segment(R"({"image": "YWI=", "prompts": [{"box": [1, 2, 3, 4]}]})").image, "ab");
}

models::SamMasks masks_of(const std::vector<std::vector<bool>>& masks, const Shape& size) {
  const auto count = static_cast<int64_t>(masks.size());
  const Tensor all = Tensor::empty({count, size[0], size[1]}, DType::Bool);
  bool* at = all.data_as<bool>();
  std::vector<float> iou;
  for (const auto& mask : masks) {
    for (const bool pixel : mask) *at++ = pixel;
    iou.push_back(masks.size() == 3 && iou.size() == 1 ? 0.75F : 0.5F);
  }
  return {all, Tensor::of(iou, {count}), {}};
}

TEST(SegmentRequests, MasksAsJson) {
  const models::SamMasks found = masks_of({{true, true, true, true, true, true},
                                           {false, true, true, false, true, false},
                                           {false, false, false, false, false, false}},
                                          {2, 3});
  const models::SamMasks three = {found.masks, found.iou, {}};
  SegmentRequest request;
  request.segmentation = Segmentation::UncompressedRle;
  const auto best = nlohmann::json::parse(masks_json(three, request))["masks"];
  ASSERT_EQ(best.size(), 1);
  EXPECT_EQ(best[0]["predicted_iou"], 0.75);
  EXPECT_EQ(best[0]["area"], 3);
  EXPECT_EQ(best[0]["bbox"], (std::vector<int>{1, 0, 1, 1}));
  EXPECT_EQ(best[0]["segmentation"]["size"], (std::vector<int>{2, 3}));
  EXPECT_EQ(best[0]["segmentation"]["counts"], (std::vector<int>{2, 3, 1}));  // column after column
  request.multimask = true;
  EXPECT_EQ(nlohmann::json::parse(masks_json(three, request))["masks"].size(), 3);
  const auto empty = masks_of({{false, false, false, false}}, {2, 2});
  EXPECT_EQ(nlohmann::json::parse(masks_json(empty, request))["masks"][0]["bbox"],
            (std::vector<int>{0, 0, 0, 0}));
}

TEST(ImageFiles, WhatIsNoImage) {
  for (const std::string bytes :
       {"", "GIF89a", "\x89PNG", "\x89PNG\r\n\x1a\n", "\xff\xd8", "\xff\xd8\xff\xe1", "P6"})
    EXPECT_THROW(read_image(bytes), Error);
}

}  // namespace
}  // namespace weft::serve
