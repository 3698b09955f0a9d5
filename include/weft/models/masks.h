// Pixels in and masks out of segmentation models: resizing, logits at an image's size, run lengths, regions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/tensor.h"

namespace weft::models {

struct ImageSize {
  int64_t height, width;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// uint8 [H, W, C] at another size, as Pillow's antialiased bilinear filter gives it, to the last bit: columns
// first, then rows, as in the Pillow that the published models were trained with.
Tensor resize_pixels(const Tensor& image, ImageSize size);

// A mask as COCO writes it: lengths of runs of false and true in turn, column after column, false first.
struct RunLengths {
  ImageSize size;
  std::vector<int64_t> counts;
  int64_t area() const;
};

RunLengths run_lengths(const Tensor& mask);  // of bool [H, W]
Tensor mask_of(const RunLengths& runs);      // bool [H, W]; ValueError where the runs do not fill the size
std::string coco_string(const RunLengths& runs);                       // the compressed text of COCO's files
RunLengths from_coco_string(const std::string& text, ImageSize size);  // ValueError where it is none

// What decoders give is at `low` [h, w] the logits of a square image of `image_size` pixels, of which the
// `input` part, upper left, shows an image of size `original`. That is the part from (left, top) on of an
// image of size `whole`.
struct MaskFrame {
  int64_t image_size;
  ImageSize input, original;
  int64_t left, top;
  ImageSize whole;
};

// Logits [N, h, w] to [N, original.height, original.width]: bilinear to the square, cut, bilinear again.
Tensor upscale_masks(const Tensor& low, const MaskFrame& frame);

struct MaskSummary {
  int64_t area;                      // logits above the threshold
  double stability;                  // those above threshold + offset by those above threshold - offset
  int64_t left, top, right, bottom;  // of the box around it, in the part; zeros where the mask is empty
  RunLengths runs;                   // in the whole image
};

// Of each of upscale_masks' results, of which no more than a few rows are ever in memory.
std::vector<MaskSummary> summarize_masks(const Tensor& low, const MaskFrame& frame, float threshold,
                                         float offset);

// Holes, or else islands, of fewer than `area` pixels are filled or removed; of islands the largest stays.
// Pixels that touch at a corner are connected. Says whether there were any.
bool remove_small_regions(Tensor& mask, int64_t area, bool holes);

// Outer boundaries of a mask's regions, x and y in turn, along the edges of pixels. Holes have none.
std::vector<std::vector<int64_t>> polygons_of(const Tensor& mask);

}  // namespace weft::models
