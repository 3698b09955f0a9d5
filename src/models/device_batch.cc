#include "models/device_batch.h"

#include <algorithm>

#include "weft/error.h"
#include "weft/ops.h"

namespace weft::models {

DeviceBatch::DeviceBatch(const CausalModel& model, DType cache_dtype, int64_t pages, int64_t page_tokens)
    : model_(model), pages_(pages), page_tokens_(page_tokens) {
  for (int64_t layer = 0; layer < model.config_.num_layers; ++layer) {
    const auto [heads, key_dim, value_dim] = model.cache_shape(layer);
    const Device device = model.options_.device;
    keys_.push_back(Tensor::full({heads, pages, page_tokens, key_dim}, 0.0, cache_dtype, device));
    values_.push_back(Tensor::full({heads, pages, page_tokens, value_dim}, 0.0, cache_dtype, device));
  }
}

std::vector<DeviceBatch::Text> DeviceBatch::texts_in(std::span<const PagedBatch::Row> rows) const {
  std::vector<Text> texts;
  for (const PagedBatch::Row& row : rows) {
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
                    .to(model_.options_.device);
    text.start = Tensor::scalar(text.position, DType::I64).to(model_.options_.device);
  }
  return texts;
}

Tensor DeviceBatch::gathered(const Tensor& cache, const Text& text) const {
  const int64_t positions = text.held.numel() * page_tokens_, head_dim = cache.size(3);
  return index_select(cache, 1, text.held)
      .as_strided({cache.size(0), positions, head_dim}, {positions * head_dim, head_dim, 1}, 0);
}

void DeviceBatch::put_back(const Tensor& cache, const Tensor& gathered, const Text& text) const {
  const int64_t head_dim = cache.size(3), last = text.position + text.count;
  for (int64_t at = text.position; at < last;) {
    const int64_t within = at % page_tokens_, count = std::min(page_tokens_ - within, last - at);
    const Shape shape{cache.size(0), count, head_dim};
    const int64_t slot = text.pages[at / page_tokens_] * page_tokens_ + within;
    cache.as_strided(shape, {pages_ * page_tokens_ * head_dim, head_dim, 1}, slot * head_dim)
        .copy_from(gathered.as_strided(shape, {gathered.size(1) * head_dim, head_dim, 1}, at * head_dim));
    at += count;
  }
}

Tensor DeviceBatch::for_each_text(
    size_t layer, const std::vector<Text>& texts,
    const std::function<Tensor(const Text&, Tensor& keys, Tensor& values)>& run) const {
  std::vector<Tensor> parts;
  for (const Text& text : texts) {
    Tensor keys = gathered(keys_[layer], text), values = gathered(values_[layer], text);
    parts.push_back(run(text, keys, values));
    put_back(keys_[layer], keys, text);
    if (values.numel() > 0) put_back(values_[layer], values, text);
  }
  return parts.size() == 1 ? parts[0] : concatenate(parts, 0);
}

class DeviceBatch::Layers : public FunctionCache {
 public:
  Layers(const DeviceBatch& batch, const std::vector<Text>& texts) : batch_(batch), texts_(texts) {}
  Tensor attend(size_t layer, const Tensor& qkv) override {
    return batch_.for_each_text(layer, texts_, [&](const Text& text, Tensor& keys, Tensor& values) {
      return attend_on_device(part(text), layer, rows_of(text, qkv), keys, values);
    });
  }
  Tensor convolve(size_t layer, const Tensor& x) override {
    return batch_.for_each_text(layer, texts_, [&](const Text& text, Tensor& keys, Tensor&) {
      return convolve_plainly(part(text), layer, rows_of(text, x), keys);
    });
  }
  std::pair<Tensor*, bool> state(size_t) override {
    WEFT_ASSERT(false, "a batch on a device with delta rules");
  }

 private:
  TextPart part(const Text& text) const {
    return {batch_.model_.config_, *batch_.model_.weights_, text.position, text.position + text.count, false};
  }
  static Tensor rows_of(const Text& text, const Tensor& all) {
    return slice(all, 0, text.first, text.first + text.count);
  }
  const DeviceBatch& batch_;
  const std::vector<Text>& texts_;
};

Tensor DeviceBatch::forward(std::span<const PagedBatch::Row> rows) const {
  std::vector<int64_t> tokens, positions, wanted;
  for (size_t i = 0; i < rows.size(); ++i) {
    tokens.push_back(rows[i].token), positions.push_back(rows[i].position);
    if (rows[i].wants_logits) wanted.push_back(static_cast<int64_t>(i));
  }
  const std::vector<Text> texts = texts_in(rows);
  Layers layers(*this, texts);
  Tensor x = model_.embed_functions(tokens, positions);
  for (size_t layer = 0; layer < keys_.size(); ++layer) x = model_.run_layer(layer, x, layers);
  if (wanted.empty()) return {};
  return model_.logits_functions(index_select(x, 0, Tensor::of(wanted).to(model_.options_.device)));
}

void DeviceBatch::copy_page(int32_t from, int32_t to) const {
  for (auto* list : {&keys_, &values_})
    for (const Tensor& cache : *list) {
      const int64_t head_dim = cache.size(3);
      if (head_dim == 0) continue;
      const auto page = [&](int32_t number) {
        return cache.as_strided({cache.size(0), page_tokens_, head_dim},
                                {pages_ * page_tokens_ * head_dim, head_dim, 1},
                                number * page_tokens_ * head_dim);
      };
      page(to).copy_from(page(from));
    }
}

}  // namespace weft::models
