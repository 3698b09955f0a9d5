// MobileSAM without Python, on a small checkpoint that tests/python/test_sam_mobile.py writes before it runs
// this, with what it gave in float64: WEFT_TEST_MOBILE_SAM is their folder.
#include <gtest/gtest.h>

#include <cstdlib>

#include "weft/error.h"
#include "weft/models/sam.h"
#include "weft/npz.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

class MobileSam : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const folder = std::getenv("WEFT_TEST_MOBILE_SAM");
    if (folder == nullptr) GTEST_SKIP() << "tests/python/test_sam_mobile.py runs this";
    file_ = std::string(folder) + "/sam_mobile";
  }
  std::string file_;
};

void expect_near(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.shape(), expected.shape());
  const auto largest = [](const Tensor& x) { return amax(abs(x.to(DType::F64))).item().to_double(); };
  EXPECT_LE(largest(sub(actual, expected)), 1e-4 * largest(expected));
}

TEST_F(MobileSam, GivesWhatPythonGives) {
  std::map<std::string, Tensor> expected;
  for (const auto& [name, value] : load_npz(file_ + ".npz")) expected[name] = value.to_tensor();
  for (const bool compile : {false, true}) {
    const auto sam = Sam::load(file_ + ".pt", {.decoder_heads = 2, .image_size = 64, .compile = compile});
    EXPECT_EQ(sam->config().stages,
              (std::vector<SamConfig::Stage>{{4, 1, 0, 0}, {6, 1, 2, 3}, {8, 2, 1, 4}, {8, 1, 4, 5}}));
    EXPECT_EQ(sam->config().grid(), 4);
    const SamImage image = sam->set_image(expected.at("image").contiguous());
    expect_near(image.embedding, expected.at("embedding"));
    const SamMasks found = sam->predict(image, {.points = {{20, 10, 1}}, .box = {}, .mask = {}});
    expect_near(found.logits, expected.at("logits"));
    expect_near(found.iou, expected.at("iou"));
    EXPECT_EQ(found.masks.shape(), (Shape{3, 40, 64}));
  }
}

TEST_F(MobileSam, RefusesAnImageSizeWithoutAGrid) {
  EXPECT_THROW(Sam::load(file_ + ".pt", {.decoder_heads = 2, .image_size = 0}), Error);
  EXPECT_THROW(Sam::load(file_ + ".pt", {.decoder_heads = 2, .image_size = 100}), Error);
}

}  // namespace
}  // namespace weft::models
