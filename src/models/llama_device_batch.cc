#include "models/llama_device_batch.h"

#include <algorithm>

#include "weft/ops.h"

namespace weft::models {

LlamaDeviceBatch::LlamaDeviceBatch(const LlamaDevice& model, DType cache_dtype, int64_t pages,
                                   int64_t page_tokens)
    : model_(model), pages_(pages), page_tokens_(page_tokens) {
  const LlamaConfig& config = model.config();
  const Shape shape{config.num_kv_heads, pages, page_tokens, config.head_dim};
  for (int64_t layer = 0; layer < config.num_layers; ++layer)
    for (auto* list : {&keys_, &values_})
      list->push_back(Tensor::full(shape, 0.0, cache_dtype, model.device()));
}

std::vector<LlamaDeviceBatch::Text> LlamaDeviceBatch::texts_in(std::span<const LlamaBatch::Row> rows) const {
  std::vector<Text> texts;
  for (const LlamaBatch::Row& row : rows) {
    if (!texts.empty() && texts.back().pages == row.pages &&
        texts.back().position + texts.back().count == row.position)
      ++texts.back().count;
    else
      texts.push_back({texts.empty() ? 0 : texts.back().first + texts.back().count, 1, row.position,
                       row.pages, Tensor(), Tensor()});
  }
  for (Text& text : texts) {
    const int64_t last = text.position + text.count;
    text.held = Tensor::of<int64_t>({text.pages, text.pages + (last + page_tokens_ - 1) / page_tokens_})
                    .to(model_.device());
    text.start = Tensor::scalar(text.position, DType::I64).to(model_.device());
  }
  return texts;
}

Tensor LlamaDeviceBatch::gathered(const Tensor& cache, const Text& text) const {
  const int64_t positions = text.held.numel() * page_tokens_, head_dim = model_.config().head_dim;
  return index_select(cache, 1, text.held)
      .as_strided({cache.size(0), positions, head_dim}, {positions * head_dim, head_dim, 1}, 0);
}

void LlamaDeviceBatch::put_back(const Tensor& cache, const Tensor& gathered, const Text& text) const {
  const int64_t head_dim = model_.config().head_dim, last = text.position + text.count;
  for (int64_t at = text.position; at < last;) {
    const int64_t within = at % page_tokens_, count = std::min(page_tokens_ - within, last - at);
    const Shape shape{cache.size(0), count, head_dim};
    const int64_t slot = text.pages[at / page_tokens_] * page_tokens_ + within;
    cache.as_strided(shape, {pages_ * page_tokens_ * head_dim, head_dim, 1}, slot * head_dim)
        .copy_from(gathered.as_strided(shape, {gathered.size(1) * head_dim, head_dim, 1}, at * head_dim));
    at += count;
  }
}

Tensor LlamaDeviceBatch::attend(size_t layer, const Tensor& qkv, const std::vector<Text>& texts) const {
  std::vector<Tensor> parts;
  for (const Text& text : texts) {
    const Tensor keys = gathered(keys_[layer], text), values = gathered(values_[layer], text);
    parts.push_back(
        model_.attend(layer, slice(qkv, 0, text.first, text.first + text.count), keys, values, text.start));
    put_back(keys_[layer], keys, text);
    put_back(values_[layer], values, text);
  }
  return parts.size() == 1 ? parts[0] : concatenate(parts, 0);
}

Tensor LlamaDeviceBatch::forward(std::span<const LlamaBatch::Row> rows) const {
  std::vector<int64_t> tokens, wanted;
  for (size_t i = 0; i < rows.size(); ++i) {
    tokens.push_back(rows[i].token);
    if (rows[i].wants_logits) wanted.push_back(static_cast<int64_t>(i));
  }
  const std::vector<Text> texts = texts_in(rows);
  const Tensor x =
      model_.hidden(tokens, [&](size_t layer, const Tensor& qkv) { return attend(layer, qkv, texts); });
  if (wanted.empty()) return {};
  return model_.logits(index_select(x, 0, Tensor::of<int64_t>(wanted).to(model_.device())));
}

void LlamaDeviceBatch::copy_page(int32_t from, int32_t to) const {
  const int64_t head_dim = model_.config().head_dim;
  for (auto* list : {&keys_, &values_})
    for (const Tensor& cache : *list) {
      const auto page = [&](int32_t number) {
        return cache.as_strided({cache.size(0), page_tokens_, head_dim},
                                {pages_ * page_tokens_ * head_dim, head_dim, 1},
                                number * page_tokens_ * head_dim);
      };
      page(to).copy_from(page(from));
    }
}

}  // namespace weft::models
