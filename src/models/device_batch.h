// PagedBatch on a device that is not the CPU: rows of several texts go through the layers together, and
// through attention text by text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/decoder_functions.h"
#include "models/paged_batch.h"

namespace weft::models {

class DeviceBatch {
 public:
  // `model` lives longer.
  DeviceBatch(const CausalModel& model, DType cache_dtype, int64_t pages, int64_t page_tokens);
  // As PagedBatch's, of rows that have been checked; on the host. Rows beside a row change what it gives in
  // the last bits: products of few and of many rows add in different orders.
  Tensor forward(std::span<const PagedBatch::Row> rows) const;
  void copy_page(int32_t from, int32_t to) const;

 private:
  // Rows of one text, which follow each other.
  struct Text {
    int64_t first, count, position;  // of the first row
    const int32_t* pages;
    Tensor held, start;  // on the device: the numbers of its pages, and its position
  };
  std::vector<Text> texts_in(std::span<const PagedBatch::Row> rows) const;
  class Layers;
  // Calls of each text's rows, with its pages' positions one after the other; what it gives, one behind
  // another.
  Tensor for_each_text(size_t layer, const std::vector<Text>& texts,
                       const std::function<Tensor(const Text&, Tensor& keys, Tensor& values)>& run) const;
  // Its pages of a cache, one after the other: [heads, positions, numbers].
  Tensor gathered(const Tensor& cache, const Text& text) const;
  // What attention has added to them goes to the pages.
  void put_back(const Tensor& cache, const Tensor& gathered, const Text& text) const;

  const CausalModel& model_;
  int64_t pages_, page_tokens_;
  std::vector<Tensor> keys_, values_;  // per layer [heads, pages, page_tokens, numbers]
};

}  // namespace weft::models
