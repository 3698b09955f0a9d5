// A model's step as a list of kernel calls over memory that is planned once: nothing is looked up, checked or allocated
// from token to token.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "weft/models/llama.h"

namespace weft::models {

class LlamaPlan {
 public:
  explicit LlamaPlan(const Llama& model);
  ~LlamaPlan();
  // See Llama::forward. The model and the cache's tensors must be those of the first call.
  Tensor run(std::span<const int64_t> tokens, KVCache& cache, bool all_logits);

 private:
  struct Step;  // for one number of tokens
  const Step& step_for(int64_t tokens, KVCache& cache, bool all_logits);
  std::unique_ptr<Step> make_step(int64_t tokens, KVCache& cache, bool all_logits);

  const Llama& model_;
  int64_t position_ = 0;  // what the calls read
  std::map<std::pair<int64_t, bool>, std::unique_ptr<Step>> steps_;
};

}  // namespace weft::models
