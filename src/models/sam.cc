#include "weft/models/sam.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/pickle.h"
#include "models/sam_layers.h"
#include "weft/compile.h"
#include "weft/error.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

constexpr float kMean[] = {123.675f, 116.28f, 103.53f}, kDeviation[] = {58.395f, 57.12f, 57.375f};

ImageSize longest_side(ImageSize size, int64_t longest) {
  const double scale = static_cast<double>(longest) / static_cast<double>(std::max(size.height, size.width));
  const auto scaled = [&](int64_t side) {
    return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(side) * scale + 0.5));
  };
  return {scaled(size.height), scaled(size.width)};
}

ImageSize size_of_image(const Tensor& image) {
  WEFT_CHECK(image.defined() && image.dtype() == DType::U8 && image.dim() == 3 && image.size(2) == 3 &&
                 image.numel() > 0,
             fmt::format("an image must be uint8 [height, width, 3] with a pixel, got {} {}",
                         short_name(image.dtype()), str(image.shape())));
  return {image.size(0), image.size(1)};
}

// Points and corners of boxes, in pixels of the model's image, and what each is.
struct SamPlaces {
  const SamImage& image;
  std::vector<float> places;
  std::vector<int> labels;

  void add(float x, float y, int label) {
    const ImageSize size = image.original;
    const auto width = static_cast<float>(size.width), height = static_cast<float>(size.height);
    WEFT_CHECK(x >= 0 && y >= 0 && x <= width && y <= height,
               fmt::format("point ({}, {}) lies outside of the image, which is {} wide and {} high", x, y,
                           size.width, size.height));
    places.push_back(static_cast<float>(static_cast<double>(x) * static_cast<double>(image.input.width) /
                                        static_cast<double>(size.width)));
    places.push_back(static_cast<float>(static_cast<double>(y) * static_cast<double>(image.input.height) /
                                        static_cast<double>(size.height)));
    labels.push_back(label);
  }
  void add_none() {
    places.insert(places.end(), {0.0f, 0.0f});
    labels.push_back(-1);
  }
  Tensor tensor() const { return Tensor::of(places, {static_cast<int64_t>(labels.size()), 2}); }
};

}  // namespace

std::shared_ptr<const Sam> Sam::load(const std::string& path, const SamOptions& options) {
  const IValue value = jit::load_value(path);
  WEFT_CHECK(value.is(IValue::Tag::Dict), fmt::format("'{}': expected a state dict", path));
  const std::shared_ptr<Sam> sam(new Sam);
  for (const auto& [key, item] : value.to_dict()->items()) {
    if (!key.is_string() || !item.is_tensor()) continue;
    const Tensor x = item.to_tensor();
    sam->weights_[key.to_string()] = is_floating(x.dtype()) ? x.to(DType::F32).contiguous() : x;
  }
  sam->config_ = sam_config(sam->weights_, path, options);
  fold_batch_norms(sam->weights_);
  sam->device_ = options.device;
  for (auto& item : sam->weights_) item.second = item.second.to(options.device);
  const auto encode = [model = sam.get()](const Tensor& x) {
    return sam_image_embedding(model->config_, model->weights_, x);
  };
  if (options.compile)
    sam->encode_ = [compiled = std::make_shared<detail::CompiledFunction>(
                        [encode](const std::vector<Tensor>& x) { return std::vector<Tensor>{encode(x[0])}; },
                        CompileOptions{.name = "sam_encoder"})](const Tensor& x) {
      return (*compiled)({x})[0];
    };
  else
    sam->encode_ = encode;
  return sam;
}

Tensor Sam::preprocess(const Tensor& image) const {
  const ImageSize size = longest_side(size_of_image(image), config_.image_size);
  const Tensor pixels = resize_pixels(image, size);
  const int64_t side = config_.image_size;
  const Tensor result = Tensor::full({1, 3, side, side}, Scalar(0.0), DType::F32);
  const auto* from = pixels.data_as<uint8_t>();
  auto* to = result.data_as<float>();
  for (int64_t c = 0; c < 3; ++c)
    for (int64_t y = 0; y < size.height; ++y)
      for (int64_t x = 0; x < size.width; ++x)
        to[(c * side + y) * side + x] =
            (static_cast<float>(from[(y * size.width + x) * 3 + c]) - kMean[c]) / kDeviation[c];
  return result;
}

Tensor Sam::encode(const Tensor& x) const {
  const int64_t side = config_.image_size;
  WEFT_CHECK(
      x.dtype() == DType::F32 && x.dim() == 4 && x.size(1) == 3 && x.size(2) == side && x.size(3) == side,
      fmt::format("encode: expected float32 [batch, 3, {}, {}], got {} {}", side, side, short_name(x.dtype()),
                  str(x.shape())));
  return encode_(x.to(device_));
}

SamImage Sam::set_image(const Tensor& image) const {
  const ImageSize original = size_of_image(image);
  return {encode(preprocess(image)), original, longest_side(original, config_.image_size)};
}

SamMasks Sam::predict(const SamImage& image, const SamPrompt& prompt, bool multimask) const {
  WEFT_CHECK(image.embedding.defined(), "predict: no image is set: call set_image first");
  SamPlaces places{image, {}, {}};
  for (const SamPoint& point : prompt.points) {
    WEFT_CHECK(point.label == 0 || point.label == 1,
               fmt::format("predict: a point's label must be 1 or 0, got {}", point.label));
    places.add(point.x, point.y, point.label);
  }
  if (!prompt.points.empty() && !prompt.box) places.add_none();
  if (prompt.box) {
    const SamBox& box = *prompt.box;
    WEFT_CHECK(box.left <= box.right && box.top <= box.bottom,
               fmt::format("predict: a box must be left, top, right, bottom, got {}, {}, {}, {}", box.left,
                           box.top, box.right, box.bottom));
    places.add(box.left, box.top, 2);
    places.add(box.right, box.bottom, 3);
  }
  const int64_t side = 4 * config_.grid();
  Tensor mask = prompt.mask;
  if (mask.defined()) {
    WEFT_CHECK(mask.dtype() == DType::F32 && mask.shape() == (Shape{1, side, side}),
               fmt::format("predict: a mask must be logits float32 [1, {}, {}], got {} {}", side, side,
                           short_name(mask.dtype()), str(mask.shape())));
    mask = unsqueeze(mask, {0}).to(device_);
  }
  WEFT_CHECK(!places.labels.empty() || mask.defined(), "predict: expected a point, a box or a mask");
  const auto [logits, iou] = sam_decode(config_, weights_, image.embedding, places.tensor().to(device_),
                                        places.labels, mask, multimask);
  const Tensor low = select(logits, 0, 0).to(Device()).contiguous();
  const Tensor full = upscale_masks(low, {.image_size = config_.image_size,
                                          .input = image.input,
                                          .original = image.original,
                                          .left = 0,
                                          .top = 0,
                                          .whole = image.original});
  return {gt(full, Scalar(0.0)), select(iou, 0, 0).to(Device()).contiguous(), low};
}

}  // namespace weft::models
