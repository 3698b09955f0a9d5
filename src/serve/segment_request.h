// What `weft serve --checkpoint` is asked: an image and what to find in it; and the masks that it answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/sam.h"

namespace weft::serve {

enum class Segmentation { CocoRle, UncompressedRle, Polygons };

struct SegmentRequest {
  std::string model;  // "": whichever there is
  std::string image;  // a file's bytes
  Tensor pixels;      // or uint8 [H, W, 3]
  std::vector<models::SamPrompt> prompts;
  bool multimask = false;
  Segmentation segmentation = Segmentation::CocoRle;
};

// {"image": base64 of a file or {"dtype": "uint8", "shape", "base64"}, "prompts": [{"points": [[x, y], [x, y,
// 0]], "box": [left, top, right, bottom]}], "multimask", "segmentation"}. ApiError 400 naming the parameter.
SegmentRequest parse_segment(std::string_view body);
// .npz: image, of a file's bytes or uint8 [H, W, 3], and request: the JSON of the rest.
SegmentRequest parse_segment_npz(std::string body, uint64_t max_bytes);

// A prompt's masks, as JSON: all three where `multimask`, or else the best.
std::string masks_json(const models::SamMasks& found, const SegmentRequest& request);

}  // namespace weft::serve
