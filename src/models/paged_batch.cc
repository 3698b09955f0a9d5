#include "models/paged_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/quantized_kernels.h"
#include "models/decoder_step.h"
#include "models/device_batch.h"
#include "weft/error.h"

namespace weft::models {
namespace {

// That takes a row among many as it takes it alone: Weights would take many in another way than few.
InputPrecision independent_precision(InputPrecision precision) {
  if (precision != InputPrecision::Weights) return precision;
  return kernels::quantized_kernels().has_dot ? InputPrecision::Int16 : InputPrecision::Float32;
}

}  // namespace

class PagedBatch::Pages : public StepCache {
 public:
  explicit Pages(const PagedBatch& batch) : batch_(batch) {}
  int64_t position(int64_t row) const override { return at(row).position; }
  void attend(size_t layer, const Tensor& qkv, const Tensor& output) const override {
    const Tensor& keys = batch_.keys_[layer];
    const int64_t dim = batch_.model_->config().head_dim, kv_heads = keys.size(0);
    kernels::PagedAttention call{.qkv = qkv.data_as<float>(),
                                 .key_cache = keys.data(),
                                 .value_cache = batch_.values_[layer].data(),
                                 .dtype = keys.dtype(),
                                 .rows = batch_.rows_.data(),
                                 .row_count = qkv.size(0),
                                 .heads = qkv.size(1) / dim - 2 * kv_heads,
                                 .kv_heads = kv_heads,
                                 .head_dim = dim,
                                 .pages = batch_.pages_,
                                 .page_positions = batch_.page_tokens_,
                                 .rule = batch_.model_->attention_rule(layer),
                                 .output = output.data_as<float>()};
    kernels::attention_over_pages(call);
  }
  void* convolved(size_t layer, int64_t row, int64_t position) const override {
    const Tensor& keys = batch_.keys_[layer];
    const int64_t slot =
        at(row).pages[position / batch_.page_tokens_] * batch_.page_tokens_ + position % batch_.page_tokens_;
    return static_cast<char*>(keys.data()) + slot * keys.size(3) * itemsize(keys.dtype());
  }
  float* state(size_t layer, int64_t row) const override {
    const Tensor& states = batch_.values_[layer];
    return states.data_as<float>() +
           batch_.slots_[static_cast<size_t>(row)] * (states.numel() / states.size(0));
  }
  DType dtype() const override { return batch_.keys_[0].dtype(); }

 private:
  const kernels::PagedRow& at(int64_t row) const { return batch_.rows_[static_cast<size_t>(row)]; }
  const PagedBatch& batch_;
};

PagedBatch::PagedBatch(std::shared_ptr<const CausalModel> model, int64_t pages, int64_t page_tokens,
                       int64_t most_rows, int64_t most_logits)
    : model_(std::move(model)),
      pages_(pages),
      page_tokens_(page_tokens),
      most_rows_(most_rows),
      most_logits_(std::min(most_rows, most_logits)) {
  WEFT_CHECK(!model_->rounds_attention(),
             "serve: activations must not be bfloat16: a text would depend on those beside it");
  WEFT_CHECK(pages > 0 && page_tokens > 0 && most_logits_ > 0,
             fmt::format("serve: pages, their tokens and rows must be at least 1, got {}, {} and {}", pages,
                         page_tokens, most_rows));
  const DType dtype = *dtype_from_name(model_->options_.cache_dtype);
  if (model_->options_.device != Device()) {
    WEFT_CHECK(!has_slots(), "serve: a model with delta rules is served on the CPU alone");
    on_device_ = std::make_unique<DeviceBatch>(*model_, dtype, pages, page_tokens);
    return;
  }
  for (int64_t layer = 0; layer < model_->config_.num_layers; ++layer) {
    const auto [heads, key_dim, value_dim] = model_->cache_shape(layer);
    keys_.push_back(Tensor::empty({heads, pages, page_tokens, key_dim}, dtype));
    if (!model_->config_.layer(layer).is_delta) {
      values_.push_back(Tensor::empty({heads, pages, page_tokens, value_dim}, dtype));
      continue;
    }
    Shape states = model_->state_shape();
    states.insert(states.begin(), most_logits_);
    values_.push_back(Tensor::full(states, 0.0, DType::F32));
  }
  step_ = std::make_unique<DecoderStep>(*model_, independent_precision(model_->precision_), most_rows,
                                        most_logits_, true);
}

PagedBatch::~PagedBatch() = default;

int64_t PagedBatch::cache_bytes_per_token(const CausalModel& model) {
  int64_t numbers = 0;
  for (int64_t layer = 0; layer < model.config().num_layers; ++layer) {
    const auto [heads, key_dim, value_dim] = model.cache_shape(layer);
    numbers += heads * (key_dim + value_dim);
  }
  return numbers * itemsize(*dtype_from_name(model.options().cache_dtype));
}
int64_t PagedBatch::bytes_per_token() const { return cache_bytes_per_token(*model_); }

void PagedBatch::check(std::span<const Row> rows) const {
  WEFT_CHECK(!rows.empty() && static_cast<int64_t>(rows.size()) <= most_rows_,
             fmt::format("serve: a step has between 1 and {} rows, got {}", most_rows_, rows.size()));
  int64_t wanted = 0;
  for (const Row& row : rows) {
    wanted += row.wants_logits ? 1 : 0;
    WEFT_CHECK_INDEX(
        row.token >= 0 && row.token < model_->config_.vocab_size,
        fmt::format("serve: token {} is not in the vocabulary of {}", row.token, model_->config_.vocab_size));
    WEFT_CHECK(row.position >= 0 && row.position < model_->max_positions(),
               fmt::format("serve: position {} is not one of the model's {}", row.position,
                           model_->max_positions()));
    WEFT_ASSERT(!has_slots() || (row.slot >= 0 && row.slot < most_logits_), "a row's text has no slot");
    const int32_t page = row.pages[row.position / page_tokens_];
    WEFT_ASSERT(page >= 0 && page < pages_, "a row's page is none of the cache's");
  }
  WEFT_CHECK(
      wanted <= most_logits_,
      fmt::format("serve: a step gives at most {} rows of logits, {} are wanted", most_logits_, wanted));
}

std::span<const float> PagedBatch::forward(std::span<const Row> rows) {
  check(rows);
  if (on_device_ != nullptr) {
    logits_ = on_device_->forward(rows);
    if (!logits_.defined()) return {};
    return {logits_.data_as<float>(), static_cast<size_t>(logits_.numel())};
  }
  tokens_.clear(), rows_.clear(), wanted_.clear(), slots_.clear();
  for (const Row& row : rows) {
    if (row.wants_logits) wanted_.push_back(static_cast<int64_t>(rows_.size()));
    tokens_.push_back(row.token), slots_.push_back(row.slot);
    rows_.push_back({row.pages, row.position, row.position + 1});
  }
  // Rows of one text lie together, the last in it last.
  for (size_t i = rows_.size() - 1; i > 0; --i)
    if (rows_[i - 1].pages == rows_[i].pages) rows_[i - 1].text = rows_[i].text;
  step_->run(tokens_, Pages(*this));
  if (wanted_.empty()) return {};
  const Tensor logits = step_->logits_of(wanted_);
  return {logits.data_as<float>(), static_cast<size_t>(logits.numel())};
}

std::span<const float> PagedBatch::state_of(int64_t row) const { return step_->state_of(row); }

bool PagedBatch::has_slots() const { return model_->config_.has_states(); }

void PagedBatch::copy_slot(int32_t from, int32_t to) {
  for (size_t layer = 0; layer < values_.size(); ++layer) {
    if (!model_->config_.layer(static_cast<int64_t>(layer)).is_delta) continue;
    const int64_t size = values_[layer].numel() / values_[layer].size(0);
    float* const states = values_[layer].data_as<float>();
    std::copy_n(states + from * size, size, states + to * size);
  }
}

void PagedBatch::copy_page(int32_t from, int32_t to) {
  if (on_device_ != nullptr) return on_device_->copy_page(from, to);
  for (auto* list : {&keys_, &values_})
    for (size_t layer = 0; layer < list->size(); ++layer) {
      if (list == &values_ && model_->config_.layer(static_cast<int64_t>(layer)).is_delta) continue;
      const Tensor& tensor = (*list)[layer];
      const auto bytes = static_cast<size_t>(page_tokens_ * tensor.size(3) * itemsize(tensor.dtype()));
      for (int64_t head = 0; bytes > 0 && head < tensor.size(0); ++head) {
        char* const pages = static_cast<char*>(tensor.data()) + static_cast<size_t>(head * pages_) * bytes;
        std::memcpy(pages + static_cast<size_t>(to) * bytes, pages + static_cast<size_t>(from) * bytes,
                    bytes);
      }
    }
}

}  // namespace weft::models
