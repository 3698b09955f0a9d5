#include "weft/models/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "weft/error.h"

namespace weft::models {

void SamplingOptions::check() const {
  WEFT_CHECK(temperature >= 0 && std::isfinite(temperature),
             fmt::format("temperature must be at least 0, got {}", temperature));
  WEFT_CHECK(top_k >= 0, fmt::format("top_k must be at least 0, got {}", top_k));
  WEFT_CHECK(top_p > 0 && top_p <= 1, fmt::format("top_p must be above 0 and at most 1, got {}", top_p));
  WEFT_CHECK(min_p >= 0 && min_p <= 1, fmt::format("min_p must be between 0 and 1, got {}", min_p));
  WEFT_CHECK(repetition_penalty > 0 && std::isfinite(repetition_penalty),
             fmt::format("repetition_penalty must be positive, got {}", repetition_penalty));
  for (const double penalty : {presence_penalty, frequency_penalty})
    WEFT_CHECK(std::isfinite(penalty), fmt::format("penalties must be finite, got {}", penalty));
  for (const auto& [token, bias] : biases)
    WEFT_CHECK(token >= 0 && std::isfinite(bias), fmt::format("the bias of token {} is {}", token, bias));
}

Sampler::Sampler(const SamplingOptions& options, std::vector<IdRange> ids)
    : options_(options), ids_(std::move(ids)), engine_(options.seed) {
  options_.check();
}

int64_t argmax(std::span<const float> logits, std::span<const IdRange> ids) {
  float largest = -std::numeric_limits<float>::infinity();
  int64_t best = -1;
  const auto look_at = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      if (logits[i] > largest || (best < 0 && logits[i] == largest)) {
        largest = logits[i];
        best = static_cast<int64_t>(i);
      }
  };
  if (ids.empty()) look_at(0, logits.size());
  for (const IdRange& range : ids) look_at(static_cast<size_t>(range.begin), static_cast<size_t>(range.end));
  WEFT_CHECK(best >= 0,
             "sampling: the logits are all NaN; the weights are damaged or the arithmetic overflowed");
  return best;
}

namespace {

void penalize(std::vector<float>& logits, std::span<const int64_t> history, float penalty) {
  for (const int64_t token : std::unordered_set<int64_t>(history.begin(), history.end())) {
    float& logit = logits[static_cast<size_t>(token)];
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
}

// source: OpenAI, "Frequency and presence penalties".
void penalize_written(std::vector<float>& logits, std::span<const int64_t> written,
                      const SamplingOptions& options) {
  std::unordered_map<int64_t, int64_t> counts;
  for (const int64_t token : written) ++counts[token];
  for (const auto& [token, count] : counts)
    logits[static_cast<size_t>(token)] -=
        static_cast<float>(options.presence_penalty + options.frequency_penalty * static_cast<double>(count));
}

// Zero for all but the most likely tokens that together have `top_p`; tokens of one probability in order of
// their ids.
void keep_top_p(std::vector<float>& probabilities, double top_p) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < probabilities.size(); ++i)
    if (probabilities[i] > 0) order.push_back(static_cast<int64_t>(i));
  const auto more_likely = [&](int64_t a, int64_t b) {
    const float pa = probabilities[static_cast<size_t>(a)], pb = probabilities[static_cast<size_t>(b)];
    return pa > pb || (pa == pb && a < b);
  };
  const double total = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  double sum = 0;
  size_t kept = 0;
  for (size_t sorted = 0; kept < order.size() && (kept == 0 || sum < top_p * total); ++kept) {
    if (kept == sorted) {  // sorted in growing parts: few tokens are needed
      const size_t end = std::min(order.size(), std::max<size_t>(64, 4 * sorted));
      std::partial_sort(order.begin() + static_cast<ptrdiff_t>(sorted),
                        order.begin() + static_cast<ptrdiff_t>(end), order.end(), more_likely);
      sorted = end;
    }
    sum += probabilities[static_cast<size_t>(order[kept])];
  }
  for (size_t i = kept; i < order.size(); ++i) probabilities[static_cast<size_t>(order[i])] = 0;
}

}  // namespace

std::vector<float> Sampler::probabilities(std::span<const float> logits,
                                          std::span<const int64_t> history) const {
  std::vector<float> scores(logits.begin(), logits.end());
  if (!ids_.empty()) {
    std::fill(scores.begin(), scores.end(), -std::numeric_limits<float>::infinity());
    for (const IdRange& range : ids_)
      std::copy(logits.begin() + range.begin, logits.begin() + range.end, scores.begin() + range.begin);
  }
  for (const auto& [token, bias] : options_.biases)
    if (token < static_cast<int64_t>(scores.size())) scores[static_cast<size_t>(token)] += bias;
  if (options_.repetition_penalty != 1.0)
    penalize(scores, history, static_cast<float>(options_.repetition_penalty));
  if (options_.presence_penalty != 0.0 || options_.frequency_penalty != 0.0)
    penalize_written(scores,
                     history.subspan(std::min(history.size(), static_cast<size_t>(options_.penalties_from))),
                     options_);
  const int64_t best = argmax(scores, ids_);
  if (options_.is_greedy()) {
    std::fill(scores.begin(), scores.end(), 0.0f);
    scores[static_cast<size_t>(best)] = 1.0f;
    return scores;
  }
  float threshold = -std::numeric_limits<float>::infinity();
  if (options_.top_k > 0 && options_.top_k < static_cast<int64_t>(scores.size())) {
    std::vector<float> sorted = scores;
    std::nth_element(sorted.begin(), sorted.begin() + options_.top_k - 1, sorted.end(), std::greater<>());
    threshold = sorted[static_cast<size_t>(options_.top_k - 1)];
  }
  const float largest = scores[static_cast<size_t>(best)],
              inverse = static_cast<float>(1.0 / options_.temperature);
  for (float& score : scores)
    score = score >= threshold ? std::exp((score - largest) * inverse) : 0.0f;  // NaN: 0
  if (options_.top_p < 1.0) keep_top_p(scores, options_.top_p);
  if (options_.min_p > 0.0)
    for (float& score : scores)
      if (score < static_cast<float>(options_.min_p)) score = 0.0f;  // the most likely one has 1
  const float inverse_sum = static_cast<float>(1.0 / std::accumulate(scores.begin(), scores.end(), 0.0));
  for (float& score : scores) score *= inverse_sum;
  return scores;
}

int64_t Sampler::sample(std::span<const float> logits, std::span<const int64_t> history) {
  if (options_.is_greedy() && !options_.changes_logits()) return argmax(logits, ids_);
  return draw(probabilities(logits, history));
}

double Sampler::uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

int64_t Sampler::draw(std::span<const float> probabilities) {
  double left = uniform() * std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  int64_t last = -1;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] <= 0) continue;
    last = static_cast<int64_t>(i);
    if ((left -= probabilities[i]) < 0) break;
  }
  WEFT_CHECK(last >= 0, "sampling: no token has a probability");
  return last;
}

}  // namespace weft::models
