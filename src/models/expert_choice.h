// Which experts a token gets.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/config.h"

namespace weft::models {

struct ExpertChoice {
  int64_t expert;
  float weight;
};

// The rows that each expert has, of a step's router logits [rows, experts].
class ExpertRows {
 public:
  struct Row {
    int64_t row;
    float weight;
  };
  // correction: [experts], or null.
  void choose(const Experts& experts, const float* logits, const float* correction, int64_t rows);
  const std::vector<Row>& of(int64_t expert) const { return rows_[static_cast<size_t>(expert)]; }

 private:
  std::vector<std::vector<Row>> rows_;
  std::vector<float> scores_, ranked_;
  std::vector<ExpertChoice> chosen_;
};

// Of one token: `scores` and `ranked` are memory of [experts].
void choose_experts(const Experts& experts, const float* logits, const float* correction,
                    std::vector<float>& scores, std::vector<float>& ranked,
                    std::vector<ExpertChoice>& chosen);

}  // namespace weft::models
