// A model's step for rows of several texts at once, over a cache in pages.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cpu/paged_attention.h"
#include "weft/models/causal_model.h"

namespace weft::models {

class DecoderStep;  // models/decoder_step.h
class DeviceBatch;  // models/device_batch.h

class PagedBatch {
 public:
  // The token at `position` of a text whose keys and values lie in `pages`, page_tokens of them in each.
  struct Row {
    int64_t token, position;
    const int32_t* pages;
    bool wants_logits;
    int32_t slot = 0;  // of the text, where the model has states: below most_logits, and no other text's
  };

  // The cache's memory and that of steps of up to `most_rows` rows, most_logits of which want logits, is made
  // now, and no other later.
  // ValueError for a model whose activations are bfloat16: what a row gives would depend on the rows beside
  // it. RuntimeError where the memory is not there.
  PagedBatch(std::shared_ptr<const CausalModel> model, int64_t pages, int64_t page_tokens, int64_t most_rows,
             int64_t most_logits);
  ~PagedBatch();

  // Logits float32 [rows that want them, vocab], valid until the next call. Rows of one text come in order,
  // and what is before them lies in its pages. A row gives the same numbers whatever rows are beside it, but
  // for the last bits on a device.
  std::span<const float> forward(std::span<const Row> rows);
  void copy_page(int32_t from, int32_t to);
  // What the model keeps of a text besides, in its slot: not the pages' tokens alone.
  bool has_slots() const;
  void copy_slot(int32_t from, int32_t to);
  // What the last norm gave of a row of the last step, [hidden], valid until the next call; not on a device.
  std::span<const float> state_of(int64_t row) const;
  bool has_states() const { return step_ != nullptr; }

  // Of keys and values, in bytes, for one token and for all.
  int64_t bytes_per_token() const;
  int64_t cache_bytes() const { return bytes_per_token() * pages_ * page_tokens_; }
  static int64_t cache_bytes_per_token(const CausalModel& model);
  int64_t most_rows() const { return most_rows_; }

 private:
  class Pages;  // where a step's rows find their texts
  void check(std::span<const Row> rows) const;

  std::shared_ptr<const CausalModel> model_;
  int64_t pages_, page_tokens_, most_rows_, most_logits_;
  // Per layer [heads, pages, page_tokens, numbers]; values of delta rules are [slots, a state's sizes].
  std::vector<Tensor> keys_, values_;
  std::vector<int32_t> slots_;  // of a step's rows
  std::unique_ptr<DecoderStep> step_;
  std::vector<kernels::PagedRow> rows_;
  std::vector<int64_t> tokens_, wanted_;
  std::unique_ptr<const DeviceBatch> on_device_;  // in place of the step
  Tensor logits_;
};

}  // namespace weft::models
