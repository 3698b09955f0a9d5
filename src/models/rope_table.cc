// Cosines and sines of positions. source: the frequencies as transformers' modeling_rope_utils computes them.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "weft/models/causal_model.h"

namespace weft::models {
namespace {

double llama3_frequency(const Rope& rope, double frequency) {
  const double original = static_cast<double>(rope.original_positions),
               wavelength = 2 * std::numbers::pi / frequency;
  const double low = rope.low_freq_factor, high = rope.high_freq_factor;
  if (wavelength > original / low) return frequency / rope.factor;
  if (wavelength <= original / high) return frequency;
  const double smooth = (original / wavelength - low) / (high - low);
  return (1 - smooth) * frequency / rope.factor + smooth * frequency;
}

// Between which pairs Yarn goes from frequencies as they are to divided ones.
struct YarnRange {
  double low, high;
  explicit YarnRange(const Rope& rope) {
    const double dim = static_cast<double>(rope.dim), original = static_cast<double>(rope.original_positions);
    const auto pair_of = [&](double turns) {
      return dim * std::log(original / (turns * 2 * std::numbers::pi)) / (2 * std::log(rope.theta));
    };
    low = pair_of(rope.beta_fast), high = pair_of(rope.beta_slow);
    if (rope.truncates) low = std::floor(low), high = std::ceil(high);
    low = std::max(low, 0.0), high = std::min(high, dim - 1);
    if (low == high) high += 0.001;
  }
};

}  // namespace

std::vector<float> rope_frequencies(const Rope& rope, bool in_long_text) {
  std::vector<float> frequencies;
  const YarnRange yarn(rope);
  const std::vector<double>& factors = in_long_text ? rope.long_factors : rope.short_factors;
  for (int64_t i = 0; i < rope.dim / 2; ++i) {
    double frequency =
        1.0 / std::pow(rope.theta, 2.0 * static_cast<double>(i) / static_cast<double>(rope.dim));
    switch (rope.scaling) {
      case RopeScaling::None: break;
      case RopeScaling::Linear: frequency /= rope.factor; break;
      case RopeScaling::Llama3: frequency = llama3_frequency(rope, frequency); break;
      case RopeScaling::Yarn: {
        const double divided =
            std::clamp((static_cast<double>(i) - yarn.low) / (yarn.high - yarn.low), 0.0, 1.0);
        frequency = frequency / rope.factor * divided + frequency * (1 - divided);
        break;
      }
      case RopeScaling::LongRope: frequency /= factors[static_cast<size_t>(i)]; break;
    }
    frequencies.push_back(static_cast<float>(frequency));
  }
  return frequencies;
}

Tensor rope_table(const Rope& rope, int64_t positions, bool in_long_text) {
  const std::vector<float> frequencies = rope_frequencies(rope, in_long_text);
  const auto factor = static_cast<float>(
      in_long_text ? rope.long_attention_factor.value_or(rope.attention_factor) : rope.attention_factor);
  Tensor table = Tensor::empty({positions, rope.dim / 2, 2}, DType::F32);
  float* out = table.data_as<float>();
  for (int64_t position = 0; position < positions; ++position)
    for (const float frequency : frequencies) {
      // The product in float32, as the models were trained.
      const float angle = static_cast<float>(position) * frequency;
      *out++ = std::cos(angle) * factor;
      *out++ = std::sin(angle) * factor;
    }
  return table;
}

}  // namespace weft::models
