// The scale and zero of a group of int4 weights. source: gpt-fast and torchao, group-wise asymmetric
// quantization.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "weft/scalar.h"

namespace weft::kernels {

struct Int4Range {
  BFloat16 scale, zero;

  Int4Range(const float* x, int64_t count)
      : Int4Range(*std::min_element(x, x + count), *std::max_element(x, x + count)) {}
  Int4Range(float least, float most) {
    const float exact = std::max(most - least, 1e-6f) / 15.0f;
    scale = BFloat16(exact), zero = BFloat16(least + exact * 8.0f);
  }
  // What the number 0 stands for.
  float start() const { return static_cast<float>(zero) - static_cast<float>(scale) * 8.0f; }
  uint8_t quantize(float x) const {
    return static_cast<uint8_t>(
        std::clamp(std::nearbyint((x - start()) / static_cast<float>(scale)), 0.0f, 15.0f));
  }
  float dequantize(uint8_t q) const {
    return static_cast<float>(q - 8) * static_cast<float>(scale) + static_cast<float>(zero);
  }
};

}  // namespace weft::kernels
