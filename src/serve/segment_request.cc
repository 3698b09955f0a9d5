#include "serve/segment_request.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "io/npy.h"
#include "io/json.h"
#include "serve/api_error.h"
#include "serve/array_body.h"
#include "serve/base64.h"
#include "serve/json_body.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr size_t kMostSegmentPrompts = 256, kMostPoints = 1024;

std::vector<float> numbers(const Json& list, size_t least, size_t most, const std::string& parameter) {
  const std::string count = least == most ? fmt::format("{}", least) : fmt::format("{} or {}", least, most);
  if (!list.is_array() || list.size() < least || list.size() > most)
    refuse_parameter(parameter, fmt::format("must be a list of {} numbers", count));
  std::vector<float> values;
  for (const Json& value : list) {
    if (!value.is_number()) refuse_parameter(parameter, fmt::format("must be a list of {} numbers", count));
    values.push_back(value.get<float>());
  }
  return values;
}

models::SamPrompt parse_prompt(const Json& json, const std::string& where) {
  models::SamPrompt prompt;
  if (!json.is_object()) refuse_parameter(where, "must be an object with points, a box, or both");
  for (const auto& [key, value] : json.items()) {
    if (key == "points") {
      if (!value.is_array() || value.size() > kMostPoints)
        refuse_parameter(where + ".points", fmt::format("must be a list of at most {} points", kMostPoints));
      for (const Json& point : value) {
        const std::vector<float> at = numbers(point, 2, 3, where + ".points");
        if (at.size() == 3 && at[2] != 0 && at[2] != 1)
          refuse_parameter(where + ".points",
                           "has a label that is neither 1 (of the object) nor 0 (not of it)");
        prompt.points.push_back({at[0], at[1], at.size() == 2 || at[2] == 1 ? 1 : 0});
      }
    } else if (key == "box") {
      const std::vector<float> at = numbers(value, 4, 4, where + ".box");
      prompt.box = models::SamBox{at[0], at[1], at[2], at[3]};
    } else {
      refuse_parameter(where, fmt::format("has '{}': expected points and box", key));
    }
  }
  if (prompt.points.empty() && !prompt.box) refuse_parameter(where, "needs points, a box, or both");
  return prompt;
}

void take_pixels(SegmentRequest& request, const Tensor& pixels) {
  if (pixels.dtype() != DType::U8 || pixels.dim() != 3 || pixels.size(2) != 3 || pixels.numel() == 0)
    refuse_parameter("image", fmt::format("must be uint8 [height, width, 3], got {}", describe(pixels)));
  request.pixels = pixels.contiguous();
}

void parse_image(SegmentRequest& request, const Json& json) {
  if (json.is_string()) {
    auto bytes = from_base64(json.get_ref<const std::string&>());
    if (!bytes || bytes->empty()) refuse_parameter("image", "is no base64 of a file");
    request.image = std::move(*bytes);
  } else {
    if (!json.is_object())
      refuse_parameter("image", "must be base64 of a PNG or JPEG file, or an array of pixels");
    const ArrayRequest arrays = arrays_of(Json{{"image", json}}, UINT64_MAX);
    if (arrays.arrays.size() != 1 || !arrays.arrays[0].second.is_tensor())
      refuse_parameter("image", "must be base64 of a PNG or JPEG file, or an array of pixels");
    take_pixels(request, arrays.arrays[0].second.to_tensor());
  }
}

SegmentRequest parse(std::string_view body, bool has_image) {
  const Json json = parse_json_body(body);
  SegmentRequest request;
  const auto find = [&](const char* name) {
    const auto found = json.find(name);
    return found == json.end() || found->is_null() ? nullptr : &*found;
  };
  if (const Json* model = find("model")) {
    if (!model->is_string()) refuse_parameter("model", "must be a string");
    request.model = model->get<std::string>();
  }
  const Json *image = find("image"), *prompts = find("prompts");
  if (has_image) {
    if (image == nullptr) throw ApiError(400, "the parameter 'image' is missing", "image");
    parse_image(request, *image);
  }
  if (prompts == nullptr) throw ApiError(400, "the parameter 'prompts' is missing", "prompts");
  if (!prompts->is_array() || prompts->empty() || prompts->size() > kMostSegmentPrompts)
    refuse_parameter("prompts",
                     fmt::format("must be a list of between 1 and {} prompts", kMostSegmentPrompts));
  for (size_t i = 0; i < prompts->size(); ++i)
    request.prompts.push_back(parse_prompt((*prompts)[i], fmt::format("prompts[{}]", i)));
  if (const Json* multimask = find("multimask")) {
    if (!multimask->is_boolean()) refuse_parameter("multimask", "must be true or false");
    request.multimask = multimask->get<bool>();
  }
  if (const Json* kind = find("segmentation")) {
    if (*kind == "uncompressed_rle")
      request.segmentation = Segmentation::UncompressedRle;
    else if (*kind == "polygons")
      request.segmentation = Segmentation::Polygons;
    else if (*kind != "coco_rle")
      refuse_parameter("segmentation", "must be coco_rle, uncompressed_rle or polygons");
  }
  return request;
}

Ordered record_of(const Tensor& mask, double iou, Segmentation kind) {
  const int64_t height = mask.size(0), width = mask.size(1);
  const bool* at = mask.data_as<bool>();
  int64_t left = width, right = -1, top = height, bottom = -1, area = 0;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      if (!*at++) continue;
      ++area;
      left = std::min(left, x), right = std::max(right, x);
      top = std::min(top, y), bottom = std::max(bottom, y);
    }
  Ordered record;
  if (kind == Segmentation::Polygons) {
    record["segmentation"] = models::polygons_of(mask);
  } else {
    const models::RunLengths runs = models::run_lengths(mask);
    record["segmentation"]["size"] = {height, width};
    if (kind == Segmentation::CocoRle)
      record["segmentation"]["counts"] = models::coco_string(runs);
    else
      record["segmentation"]["counts"] = runs.counts;
  }
  record["area"] = area;
  record["bbox"] = area > 0 ? Ordered{left, top, right - left, bottom - top} : Ordered{0, 0, 0, 0};
  record["predicted_iou"] = iou;
  return record;
}

}  // namespace

SegmentRequest parse_segment(std::string_view body) { return parse(body, true); }

SegmentRequest parse_segment_npz(std::string body, uint64_t max_bytes) {
  const NamedValues arrays = io::parse_npz(std::move(body), "the request's body", max_bytes);
  const IValue *image = nullptr, *rest = nullptr;
  for (const auto& [name, value] : arrays) {
    if (name == "image")
      image = &value;
    else if (name == "request")
      rest = &value;
    else
      refuse_parameter(name, "is no array of this request: expected image and request");
  }
  if (image == nullptr || !image->is_tensor()) throw ApiError(400, "the array 'image' is missing", "image");
  if (rest == nullptr || !rest->is_string())
    throw ApiError(400, "the text 'request' is missing: JSON with the prompts", "request");
  SegmentRequest request = parse(rest->to_string(), false);
  const Tensor& pixels = image->to_tensor();
  if (pixels.dtype() == DType::U8 && pixels.dim() == 1 && pixels.numel() > 0) {
    const Tensor bytes = pixels.contiguous();
    request.image.assign(bytes.data_as<char>(), static_cast<size_t>(bytes.numel()));
  } else {
    take_pixels(request, pixels);
  }
  return request;
}

std::string masks_json(const models::SamMasks& found, const SegmentRequest& request) {
  const int64_t count = found.masks.size(0), height = found.masks.size(1), width = found.masks.size(2);
  int64_t best = 0;
  for (int64_t i = 1; i < count; ++i)
    if (found.iou.at(i) > found.iou.at(best)) best = i;
  Ordered masks = Ordered::array();
  const Tensor all = found.masks.contiguous();
  for (int64_t i = request.multimask ? 0 : best; i < (request.multimask ? count : best + 1); ++i) {
    const Tensor mask = all.as_strided({height, width}, {width, 1}, all.offset() + i * height * width);
    masks.push_back(record_of(mask, found.iou.at(i), request.segmentation));
  }
  return Ordered{{"masks", masks}}.dump();
}

}  // namespace weft::serve
