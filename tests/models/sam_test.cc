// Segment Anything served without Python, against what the original gives on a small checkpoint.
#include "weft/models/sam.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"
#include "weft/npz.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

std::string tiny() {
  const std::string folder = shared_data() + "/sam_tiny";
  return std::filesystem::exists(folder) ? folder : "";
}
#define WEFT_NEEDS_SAM() \
  if (tiny().empty()) GTEST_SKIP() << "no shared data (WEFT_SHARED_DATA)"

double largest(const Tensor& x) { return amax(abs(x.to(DType::F64))).item().to_double(); }
void expect_close(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.shape(), expected.shape());
  EXPECT_LE(largest(sub(actual, expected)), 1e-4 * largest(expected));
}

std::map<std::string, Tensor> expected_arrays() {
  std::map<std::string, Tensor> result;
  for (const auto& [name, value] : load_npz(tiny() + "/sam_tiny.npz")) result[name] = value.to_tensor();
  return result;
}

SamPrompt prompt_of(const std::map<std::string, Tensor>& arrays, const std::string& tag) {
  SamPrompt prompt;
  const auto find = [&](const std::string& name) {
    const auto found = arrays.find(tag + ".in." + name);
    return found == arrays.end() ? Tensor() : found->second.contiguous();
  };
  if (const Tensor points = find("point_coords"); points.defined()) {
    const Tensor labels = find("point_labels");
    for (int64_t i = 0; i < points.size(0); ++i)
      prompt.points.push_back({static_cast<float>(points.data_as<double>()[2 * i]),
                               static_cast<float>(points.data_as<double>()[2 * i + 1]),
                               static_cast<int>(labels.data_as<int64_t>()[i])});
  }
  if (const Tensor box = find("box"); box.defined()) {
    const double* at = box.data_as<double>();
    prompt.box = SamBox{static_cast<float>(at[0]), static_cast<float>(at[1]), static_cast<float>(at[2]),
                        static_cast<float>(at[3])};
  }
  prompt.mask = find("mask_input");
  return prompt;
}

TEST(Sam, GivesWhatTheOriginalGives) {
  WEFT_NEEDS_SAM();
  const std::map<std::string, Tensor> arrays = expected_arrays();
  for (const bool compile : {false, true}) {
    const auto sam = Sam::load(tiny() + "/sam_tiny.pth", {.decoder_heads = 4, .compile = compile});
    EXPECT_EQ(sam->config().window, 6);
    EXPECT_EQ(sam->config().global_blocks, (std::vector<int64_t>{1, 3}));
    expect_close(sam->preprocess(arrays.at("resized_rgb")), arrays.at("preprocessed"));
    const SamImage image{sam->encode(arrays.at("preprocessed")), {534, 800}, {171, 256}};
    expect_close(image.embedding, arrays.at("image_embedding"));
    for (const std::string tag : {"point", "points", "box", "box_point", "mask"}) {
      const Tensor& logits = arrays.at(tag + ".low_res_logits");
      const SamMasks found = sam->predict(image, prompt_of(arrays, tag), logits.size(0) == 3);
      expect_close(found.logits, logits);
      expect_close(found.iou, arrays.at(tag + ".iou"));
      ASSERT_EQ(found.masks.shape(), (Shape{logits.size(0), 534, 800}));
      const Tensor bits = arrays.at(tag + ".mask_bits").contiguous(), masks = found.masks.contiguous();
      int64_t different = 0;
      for (int64_t i = 0; i < masks.numel(); ++i)
        different += (bits.data_as<uint8_t>()[i / 8] >> (7 - i % 8) & 1) != masks.data_as<uint8_t>()[i];
      EXPECT_LE(different, 1) << tag;  // a logit that is 0 to the last digit of its sums
    }
  }
}

TEST(Sam, RefusesWhatItCannotTake) {
  WEFT_NEEDS_SAM();
  const std::string path = tiny() + "/sam_tiny.pth";
  EXPECT_THROW(Sam::load(path, {.decoder_heads = 3}), Error);
  EXPECT_THROW(Sam::load(tiny() + "/config.json"), Error);
  EXPECT_THROW(Sam::load(tiny() + "/none.pth"), Error);
  const auto sam = Sam::load(path, {.decoder_heads = 4, .compile = false});
  EXPECT_THROW(sam->set_image(Tensor::full({4, 4, 4}, Scalar(0), DType::U8)), Error);
  EXPECT_THROW(sam->set_image(Tensor::full({0, 4, 3}, Scalar(0), DType::U8)), Error);
  EXPECT_THROW(sam->encode(Tensor::full({1, 3, 4, 4}, Scalar(0), DType::F32)), Error);
  const SamImage image = sam->set_image(Tensor::full({4, 9, 3}, Scalar(7), DType::U8));
  EXPECT_EQ(sam->predict(image, {.points = {{9, 4, 1}}, .box = {}, .mask = {}}).masks.shape(),
            (Shape{3, 4, 9}));
  const auto refuses = [&](const SamPrompt& prompt) { EXPECT_THROW(sam->predict(image, prompt), Error); };
  refuses({});
  refuses({.points = {{10, 4, 1}}, .box = {}, .mask = {}});
  refuses({.points = {{1, NAN, 1}}, .box = {}, .mask = {}});
  refuses({.points = {{1, 1, 2}}, .box = {}, .mask = {}});
  refuses({.points = {}, .box = SamBox{3, 3, 2, 4}, .mask = {}});
  refuses({.points = {}, .box = {}, .mask = Tensor::full({1, 4, 4}, Scalar(0), DType::F32)});
  EXPECT_THROW(sam->predict({}, {.points = {{1, 1, 1}}, .box = {}, .mask = {}}), Error);
}

}  // namespace
}  // namespace weft::models
