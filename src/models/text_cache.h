// One text's keys and values, as a step's rows find them.
#pragma once

#include <vector>

#include "models/decoder_step.h"

namespace weft::models {

class TextCache : public StepCache {
 public:
  // Rows are the `count` tokens from `position` on, of a text of `text`. What is given lives longer.
  TextCache(const CausalModel& model, const std::vector<Tensor>& keys, const std::vector<Tensor>& values,
            int64_t position, int64_t count, int64_t text)
      : model_(model), keys_(keys), values_(values), position_(position), count_(count), text_(text) {}
  int64_t position(int64_t row) const override { return position_ + row; }
  void attend(size_t layer, const Tensor& qkv, const Tensor& output) const override;
  void* convolved(size_t layer, int64_t row, int64_t position) const override;
  float* state(size_t layer, int64_t) const override { return values_[layer].data_as<float>(); }
  DType dtype() const override { return keys_[0].dtype(); }

 private:
  const CausalModel& model_;
  const std::vector<Tensor>&keys_, &values_;
  int64_t position_, count_, text_;
};

}  // namespace weft::models
