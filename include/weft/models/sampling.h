// From logits to a token.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace weft::models {

struct SamplingOptions {
  double temperature = 0.0;  // 0: the most likely token
  int64_t top_k = 0;         // 0: all
  double top_p = 1.0;
  double min_p = 0.0;  // tokens less likely than this share of the most likely one are left out
  double repetition_penalty = 1.0;
  uint64_t seed = 0;
  // Subtracted from the logits of tokens that were written: once, and for each time. source: OpenAI's
  // interface.
  double presence_penalty = 0.0, frequency_penalty = 0.0;
  int64_t penalties_from = 0;                          // the place in the history from which on these count
  std::vector<std::pair<int64_t, float>> biases = {};  // added to logits, by token

  bool is_greedy() const { return temperature == 0.0; }
  // Are logits changed, or are they what is chosen by?
  bool changes_logits() const {
    return repetition_penalty != 1.0 || presence_penalty != 0.0 || frequency_penalty != 0.0 ||
           !biases.empty();
  }
  void check() const;  // ValueError naming the option
};

// Ids from begin to end - 1.
struct IdRange {
  int64_t begin = 0, end = 0;
};

class Sampler {
 public:
  // ids: those that may be drawn, in order; all where empty.
  explicit Sampler(const SamplingOptions& options, std::vector<IdRange> ids = {});
  const SamplingOptions& options() const { return options_; }

  // In this order: biases, repetition penalty over the tokens of `history`, penalties of presence and
  // frequency, temperature, top-k, top-p, min-p. Greedy: 1 for one token. source: the processors of
  // transformers' generate; Keskar et al. 2019 (penalty), Holtzman et al. 2020 (top-p).
  std::vector<float> probabilities(std::span<const float> logits, std::span<const int64_t> history) const;
  int64_t sample(std::span<const float> logits, std::span<const int64_t> history);
  int64_t draw(std::span<const float> probabilities);  // need not sum to one
  double uniform();                                    // in [0, 1)

 private:
  SamplingOptions options_;
  std::vector<IdRange> ids_;
  std::mt19937_64 engine_;
};

// The first of the largest, among those of `ids` (all where empty); NaN is never largest. ValueError where
// there is no number.
int64_t argmax(std::span<const float> logits, std::span<const IdRange> ids = {});

}  // namespace weft::models
