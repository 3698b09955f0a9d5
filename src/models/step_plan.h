// A text's steps over memory that is planned once: nothing is looked up or allocated from token to token.
#pragma once

#include <memory>
#include <vector>

#include "weft/models/causal_model.h"

namespace weft::models {

class StepPlan {
 public:
  // Holds the cache's tensors, and not the model, without which nobody can run it.
  StepPlan(std::weak_ptr<const CausalModel> model, const KVCache& cache);
  ~StepPlan();
  // Is it made for this model, and for the tensors that the cache has now?
  bool fits(const CausalModel& model, const KVCache& cache) const;
  // See CausalModel::forward. The model and the cache must be those it fits.
  // `text`: tokens that the text has at least.
  Tensor run(const CausalModel& model, std::span<const int64_t> tokens, int64_t position, int64_t text,
             bool all_logits);

 private:
  struct Step;  // for one number of tokens
  Step& step_for(const CausalModel& model, int64_t tokens, bool all_logits);

  std::weak_ptr<const CausalModel> model_;
  std::vector<Tensor> keys_, values_;
  int64_t capacity_;
  std::vector<std::unique_ptr<Step>> steps_;  // the last used one last
};

}  // namespace weft::models
