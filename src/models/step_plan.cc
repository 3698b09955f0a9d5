#include "models/step_plan.h"

#include <algorithm>

#include "kernels/cpu/cached_attention.h"
#include "models/decoder_step.h"
#include "models/text_cache.h"

namespace weft::models {
namespace {

constexpr size_t kMostSteps = 4;  // numbers of tokens whose memory is kept

}  // namespace

struct StepPlan::Step {
  int64_t tokens;
  bool all_logits;
  DecoderStep step;
};

StepPlan::StepPlan(std::weak_ptr<const CausalModel> model, const KVCache& cache)
    : model_(std::move(model)), keys_(cache.keys), values_(cache.values), capacity_(cache.capacity) {}
StepPlan::~StepPlan() = default;

bool StepPlan::fits(const CausalModel& model, const KVCache& cache) const {
  // A model that is gone may have left its address to another.
  if (model_.lock().get() != &model || cache.capacity != capacity_) return false;
  const auto is_same = [](const Tensor& a, const Tensor& b) {
    return a.impl() == b.impl() || (a.data() == b.data() && a.dtype() == b.dtype());
  };
  return std::equal(keys_.begin(), keys_.end(), cache.keys.begin(), cache.keys.end(), is_same) &&
         std::equal(values_.begin(), values_.end(), cache.values.begin(), cache.values.end(), is_same);
}

StepPlan::Step& StepPlan::step_for(const CausalModel& model, int64_t tokens, bool all_logits) {
  auto found = std::find_if(steps_.begin(), steps_.end(), [&](const auto& step) {
    return step->tokens == tokens && step->all_logits == all_logits;
  });
  if (found == steps_.end()) {
    if (steps_.size() == kMostSteps) steps_.erase(steps_.begin());
    steps_.push_back(std::make_unique<Step>(Step{
        tokens, all_logits, DecoderStep(model, model.precision_, tokens, all_logits ? tokens : 1, false)}));
  } else {
    std::rotate(found, found + 1, steps_.end());
  }
  return *steps_.back();
}

Tensor StepPlan::run(const CausalModel& model, std::span<const int64_t> tokens, int64_t position,
                     int64_t text, bool all_logits) {
  const auto count = static_cast<int64_t>(tokens.size());
  Step& step = step_for(model, count, all_logits);
  const TextCache cache(model, keys_, values_, position, count, text);
  step.step.run(tokens, cache);
  return step.step.logits_of_last(all_logits ? count : 1);
}

}  // namespace weft::models
