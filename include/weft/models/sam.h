// Segment Anything (Kirillov et al. 2023): masks of points and boxes in a photograph, without Python,
// or of MobileSAM (Zhang et al. 2023).
//
//   auto sam = weft::models::Sam::load("sam_vit_b_01ec64.pth");
//   auto image = sam->set_image(pixels);                                  // uint8 [H, W, 3]
//   auto found = sam->predict(image, {.points = {{400, 300, 1}}});        // x, y, 1: of the object
//   found.masks                                                           // bool [3, H, W]
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/models/masks.h"
#include "weft/tensor.h"

namespace weft::models {

// What follows from the shapes of the weights.
struct SamConfig {
  int64_t width = 768, depth = 12, heads = 12;
  int64_t window = 14, patch = 16, image_size = 1024;
  std::vector<int64_t> global_blocks = {2, 5, 8, 11};
  // Of MobileSAM, whose encoder is a TinyViT: its stages, of which the first has no attention. Width, depth,
  // heads, window and global blocks say nothing then.
  struct Stage {
    int64_t width, depth, heads, window;
    friend bool operator==(const Stage&, const Stage&) = default;
  };
  std::vector<Stage> stages = {};
  int64_t out_channels = 256, decoder_depth = 2, decoder_heads = 8, mask_tokens = 4, iou_depth = 3;
  int64_t grid() const { return image_size / patch; }
};

struct SamPoint {
  float x, y;  // in pixels of the image
  int label;   // 1: of the object; 0: not of it
};
struct SamBox {
  float left, top, right, bottom;
};
// One prompt: at least one of these.
struct SamPrompt {
  std::vector<SamPoint> points;
  std::optional<SamBox> box;
  Tensor mask;  // float32 [1, 4 * grid, 4 * grid]: logits of an earlier prediction
};

// An image's embedding, computed once for all prompts.
struct SamImage {
  Tensor embedding;  // [1, C, grid, grid], on the model's device
  ImageSize original, input;
};

struct SamMasks {
  Tensor masks;   // bool [M, H, W]
  Tensor iou;     // float32 [M]: predicted
  Tensor logits;  // float32 [M, 4 * grid, 4 * grid]
};

struct SamOptions {
  int64_t decoder_heads = 8;  // no shape tells it
  int64_t image_size = 1024;  // of MobileSAM; others' shapes tell it
  bool compile = true;        // the image encoder, at its first call
  Device device = {};         // where weights and embeddings are, and what is computed of them
};

class Sam {
 public:
  // A state dict in a file, as it is. RuntimeError or ValueError that names the file and the weight.
  static std::shared_ptr<const Sam> load(const std::string& path, const SamOptions& options = {});
  Sam(const Sam&) = delete;
  Sam& operator=(const Sam&) = delete;

  const SamConfig& config() const { return config_; }
  // uint8 [H, W, 3] to float32 [1, 3, S, S]: resized, normalized, zeros right and below.
  Tensor preprocess(const Tensor& image) const;
  Tensor encode(const Tensor& x) const;  // preprocess's results to embeddings, on the model's device
  SamImage set_image(const Tensor& image) const;
  // multimask: three masks for an ambiguous prompt, such as one point; otherwise one. ValueError for a prompt
  // outside of the image. Thread-safe.
  SamMasks predict(const SamImage& image, const SamPrompt& prompt, bool multimask = true) const;

 private:
  Sam() = default;
  SamConfig config_;
  Device device_;
  std::map<std::string, Tensor> weights_;
  std::function<Tensor(const Tensor&)> encode_;
};

}  // namespace weft::models
