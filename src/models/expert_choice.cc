#include "models/expert_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::models {
namespace {

constexpr float kOut = -std::numeric_limits<float>::infinity();

void softmax_in_place(std::vector<float>& values) {
  const float largest = *std::max_element(values.begin(), values.end());
  float total = 0;
  for (float& value : values) total += value = std::exp(value - largest);
  for (float& value : values) value /= total;
}

// Groups of experts whose best (V2), or two best (V3), are not among the best are out. source: DeepSeek-AI
// 2024, DeepSeek-V2 and DeepSeek-V3.
void leave_out_groups(const Experts& experts, std::vector<float>& ranked) {
  const int64_t size = experts.count / experts.groups;
  std::vector<std::pair<float, int64_t>> groups;
  for (int64_t group = 0; group < experts.groups; ++group) {
    float best = kOut, second = kOut;
    for (int64_t i = group * size; i < (group + 1) * size; ++i) {
      const float value = ranked[static_cast<size_t>(i)];
      if (value > best)
        second = best, best = value;
      else
        second = std::max(second, value);
    }
    groups.emplace_back(size > 1 && experts.group_best > 1 ? best + second : best, group);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (size_t i = static_cast<size_t>(experts.chosen_groups); i < groups.size(); ++i)
    std::fill_n(ranked.begin() + groups[i].second * size, size, kOut);
}

// Each expert is chosen by a softmax over those near the best that are left. source: Liu et al. 2024, GRIN:
// GRadient-INformed MoE; phimoe of transformers.
void choose_one_by_one(const Experts& experts, const std::vector<float>& scores, std::vector<float>& ranked,
                       std::vector<ExpertChoice>& chosen) {
  for (int64_t i = 0; i < experts.chosen; ++i) {
    const auto best = std::max_element(ranked.begin(), ranked.end());
    const float largest = *best, least = 2 * static_cast<float>(experts.jitter);
    float total = 0;
    for (size_t expert = 0; expert < ranked.size(); ++expert) {
      const float distance = (largest - scores[expert]) / std::max(std::abs(scores[expert]), largest);
      if (!(distance > least)) total += std::exp(ranked[expert] - largest);
    }
    chosen.push_back({best - ranked.begin(), static_cast<float>(experts.scale) / total});
    *best = kOut;
  }
}

}  // namespace

void choose_experts(const Experts& experts, const float* logits, const float* correction,
                    std::vector<float>& scores, std::vector<float>& ranked,
                    std::vector<ExpertChoice>& chosen) {
  scores.assign(logits, logits + experts.count);
  if (experts.scores == RouterScores::Softmax) softmax_in_place(scores);
  if (experts.scores == RouterScores::Sigmoid)
    for (float& score : scores) score = 1 / (1 + std::exp(-score));
  ranked = scores;
  if (correction != nullptr)
    for (size_t i = 0; i < ranked.size(); ++i) ranked[i] += correction[i];
  if (experts.groups > 1) leave_out_groups(experts, ranked);
  chosen.clear();
  if (experts.scores == RouterScores::SparseMixer) return choose_one_by_one(experts, scores, ranked, chosen);
  float total = 0;
  for (int64_t i = 0; i < experts.chosen; ++i) {
    const auto best = std::max_element(ranked.begin(), ranked.end());
    const auto expert = static_cast<size_t>(best - ranked.begin());
    chosen.push_back({static_cast<int64_t>(expert), scores[expert]});
    total += scores[expert];
    *best = kOut;
  }
  if (experts.scores == RouterScores::SoftmaxOfChosen) {
    const float largest = chosen[0].weight;
    total = 0;
    for (ExpertChoice& choice : chosen) total += choice.weight = std::exp(choice.weight - largest);
  }
  const bool is_divided = experts.is_normalized || experts.scores == RouterScores::SoftmaxOfChosen;
  const float factor =
      static_cast<float>(experts.scale) / (is_divided ? total + static_cast<float>(experts.least_sum) : 1.0f);
  for (ExpertChoice& choice : chosen) choice.weight *= factor;
}

void ExpertRows::choose(const Experts& experts, const float* logits, const float* correction, int64_t rows) {
  rows_.resize(static_cast<size_t>(experts.count));
  for (auto& of_expert : rows_) of_expert.clear();
  for (int64_t row = 0; row < rows; ++row) {
    choose_experts(experts, logits + row * experts.count, correction, scores_, ranked_, chosen_);
    for (const ExpertChoice& choice : chosen_)
      rows_[static_cast<size_t>(choice.expert)].push_back({row, choice.weight});
  }
}

}  // namespace weft::models
