// A model's step for rows of several texts at once, over a cache in pages.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cpu/paged_attention.h"
#include "weft/models/llama.h"

namespace weft::models {

class LlamaDeviceBatch;  // models/llama_device_batch.h

class LlamaBatch {
 public:
  // The token at `position` of a text whose keys and values lie in `pages`, page_tokens of them in each.
  struct Row {
    int64_t token, position;
    const int32_t* pages;
    bool wants_logits;
  };

  // The cache's memory and that of steps of up to `most_rows` rows, most_logits of which want logits, is made
  // now, and no other later.
  // ValueError for a model whose activations are bfloat16: what a row gives would depend on the rows beside
  // it. RuntimeError where the memory is not there.
  LlamaBatch(std::shared_ptr<const Llama> model, int64_t pages, int64_t page_tokens, int64_t most_rows,
             int64_t most_logits);
  ~LlamaBatch();

  // Logits float32 [rows that want them, vocab], valid until the next call. Rows of one text come in order,
  // and what is before them lies in its pages. A row gives the same numbers whatever rows are beside it, but
  // for the last bits on a device.
  std::span<const float> forward(std::span<const Row> rows);
  void copy_page(int32_t from, int32_t to);

  // Of keys and values, in bytes, for one token and for all.
  int64_t bytes_per_token() const;
  int64_t cache_bytes() const { return bytes_per_token() * pages_ * page_tokens_; }
  static int64_t cache_bytes_per_token(const Llama& model);
  int64_t most_rows() const { return most_rows_; }

 private:
  void check(std::span<const Row> rows) const;
  void run_layer(size_t layer, int64_t rows);
  void multiply(const PackedLinear& weights, const Tensor& x, const Tensor& out, LinearActivation activation,
                bool adds) const;

  std::shared_ptr<const Llama> model_;
  InputPrecision precision_;
  int64_t pages_, page_tokens_, most_rows_, most_logits_;
  std::vector<Tensor> keys_, values_;  // per layer [kv_heads, pages, page_tokens, head_dim]
  Tensor x_, normed_, attended_, qkv_, gated_, wanted_, logits_;  // [most_rows, …]
  std::vector<kernels::PagedRow> rows_;
  std::vector<int64_t> tokens_;
  std::unique_ptr<const LlamaDeviceBatch> on_device_;  // in place of what is above, but for logits_
};

}  // namespace weft::models
