// A model's step as a list of kernel calls over memory that is planned once: nothing is looked up or
// allocated from token to token.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "weft/models/llama.h"

namespace weft::models {

class LlamaPlan {
 public:
  // Holds the cache's tensors, and not the model, without which nobody can run it.
  LlamaPlan(std::weak_ptr<const Llama> model, const KVCache& cache);
  ~LlamaPlan();
  // Is it made for this model, and for the tensors that the cache has now?
  bool fits(const Llama& model, const KVCache& cache) const;
  // See Llama::forward. The model and the cache must be those it fits.
  Tensor run(const Llama& model, std::span<const int64_t> tokens, int64_t position, bool all_logits);

 private:
  struct Step;  // for one number of tokens
  const Step& step_for(const Llama& model, int64_t tokens, bool all_logits);
  std::unique_ptr<Step> make_step(const Llama& model, int64_t tokens, bool all_logits);

  std::weak_ptr<const Llama> model_;
  std::vector<Tensor> keys_, values_;
  int64_t capacity_;
  int64_t position_ = 0;                      // what the calls read
  std::vector<std::unique_ptr<Step>> steps_;  // the last used one last
};

}  // namespace weft::models
