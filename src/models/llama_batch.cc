#include "models/llama_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/norm.h"
#include "kernels/cpu/quantized_kernels.h"
#include "models/llama_device_batch.h"
#include "weft/error.h"

namespace weft::models {
namespace {

// The first rows of a buffer.
Tensor first_rows(const Tensor& buffer, int64_t rows) {
  return buffer.as_strided({rows, buffer.size(1)}, {buffer.size(1), 1}, 0);
}

// That takes a row among many as it takes it alone: Auto would take many in another way than few.
InputPrecision independent_precision(InputPrecision precision) {
  if (precision != InputPrecision::Auto) return precision;
  return kernels::quantized_kernels().has_dot ? InputPrecision::Int16 : InputPrecision::Float32;
}

}  // namespace

LlamaBatch::LlamaBatch(std::shared_ptr<const Llama> model, int64_t pages, int64_t page_tokens,
                       int64_t most_rows, int64_t most_logits)
    : model_(std::move(model)),
      precision_(independent_precision(model_->precision_)),
      pages_(pages),
      page_tokens_(page_tokens),
      most_rows_(most_rows),
      most_logits_(std::min(most_rows, most_logits)) {
  WEFT_CHECK(model_->precision_ != InputPrecision::BFloat16,
             "serve: activations must not be bfloat16: a text would depend on those beside it");
  WEFT_CHECK(pages > 0 && page_tokens > 0 && most_logits_ > 0,
             fmt::format("serve: pages, their tokens and rows must be at least 1, got {}, {} and {}", pages,
                         page_tokens, most_rows));
  const LlamaConfig& config = model_->config_;
  const DType dtype = *dtype_from_name(model_->options_.cache_dtype);
  if (model_->on_device_ != nullptr) {
    on_device_ = std::make_unique<LlamaDeviceBatch>(*model_->on_device_, dtype, pages, page_tokens);
    return;
  }
  for (int64_t layer = 0; layer < config.num_layers; ++layer)
    for (auto* list : {&keys_, &values_})
      list->push_back(Tensor::empty({config.num_kv_heads, pages, page_tokens, config.head_dim}, dtype));
  const auto buffer = [&](int64_t columns, int64_t rows) {
    return Tensor::empty({rows, columns}, DType::F32);
  };
  const int64_t heads = config.num_heads * config.head_dim;
  x_ = buffer(config.hidden_size, most_rows), normed_ = buffer(config.hidden_size, most_rows);
  attended_ = buffer(heads, most_rows);
  qkv_ = buffer(heads + 2 * config.num_kv_heads * config.head_dim, most_rows);
  gated_ = buffer(config.intermediate_size, most_rows);
  wanted_ = buffer(config.hidden_size, most_logits_), logits_ = buffer(config.vocab_size, most_logits_);
}

LlamaBatch::~LlamaBatch() = default;

int64_t LlamaBatch::cache_bytes_per_token(const Llama& model) {
  const LlamaConfig& config = model.config();
  return 2 * config.num_layers * config.num_kv_heads * config.head_dim *
         itemsize(*dtype_from_name(model.options().cache_dtype));
}
int64_t LlamaBatch::bytes_per_token() const { return cache_bytes_per_token(*model_); }

void LlamaBatch::check(std::span<const Row> rows) const {
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
    const int32_t page = row.pages[row.position / page_tokens_];
    WEFT_ASSERT(page >= 0 && page < pages_, "a row's page is none of the cache's");
  }
  WEFT_CHECK(
      wanted <= most_logits_,
      fmt::format("serve: a step gives at most {} rows of logits, {} are wanted", most_logits_, wanted));
}

// out = activation(x W'), or that added to it; as many rows at a time as do not depend on each other.
void LlamaBatch::multiply(const PackedLinear& weights, const Tensor& x, const Tensor& out,
                          LinearActivation activation, bool adds) const {
  const int64_t rows = x.size(0), most = weights.independent_rows(precision_, x.dtype());
  for (int64_t first = 0; first < rows; first += most) {
    const int64_t count = std::min(most, rows - first);
    const auto part = [&](const Tensor& all) {
      return count == rows ? all
                           : all.as_strided({count, all.size(1)}, {all.size(1), 1}, first * all.size(1));
    };
    const Tensor to = part(out);
    weights.forward(part(x), to,
                    {.activation = activation, .residual = adds ? &to : nullptr, .precision = precision_});
    if (count == rows) break;
  }
}

void LlamaBatch::run_layer(size_t index, int64_t rows) {
  const LlamaConfig& config = model_->config_;
  const Llama::Layer& layer = model_->layers_[index];
  const Tensor x = first_rows(x_, rows), normed = first_rows(normed_, rows), qkv = first_rows(qkv_, rows),
               attended = first_rows(attended_, rows), gated = first_rows(gated_, rows);
  const auto norm = [&](const Tensor& weight) {
    kernels::normalize_rows(x, config.hidden_size, false, config.rms_norm_eps, weight, Tensor(), normed);
  };
  norm(layer.attention_norm);
  multiply(layer.qkv, normed, qkv, LinearActivation::None, false);
  kernels::attention_over_pages(
      {.qkv = qkv_.data_as<float>(),
       .rope = model_->rope_.data_as<float>(),
       .key_cache = keys_[index].data(),
       .value_cache = values_[index].data(),
       .dtype = keys_[index].dtype(),
       .rows = rows_.data(),
       .row_count = rows,
       .heads = config.num_heads,
       .kv_heads = config.num_kv_heads,
       .head_dim = config.head_dim,
       .pages = pages_,
       .page_positions = page_tokens_,
       .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim))),
       .sliding_window = config.window_of(static_cast<int64_t>(index)),
       .rope_interleaved = config.rope_interleaved,
       .output = attended_.data_as<float>()});
  multiply(layer.output, attended, x, LinearActivation::None, true);
  norm(layer.mlp_norm);
  multiply(layer.gate_up, normed, gated, LinearActivation::Silu, false);
  multiply(layer.down, gated, x, LinearActivation::None, true);
}

std::span<const float> LlamaBatch::forward(std::span<const Row> rows) {
  check(rows);
  if (on_device_ != nullptr) {
    logits_ = on_device_->forward(rows);
    if (!logits_.defined()) return {};
    return {logits_.data_as<float>(), static_cast<size_t>(logits_.numel())};
  }
  const LlamaConfig& config = model_->config_;
  tokens_.clear();
  rows_.clear();
  for (const Row& row : rows) {
    tokens_.push_back(row.token);
    rows_.push_back({row.pages, row.position});
  }
  model_->embed(tokens_, x_.data_as<float>());
  for (size_t layer = 0; layer < model_->layers_.size(); ++layer)
    run_layer(layer, static_cast<int64_t>(rows.size()));
  int64_t wanted = 0;
  const auto row_bytes = static_cast<size_t>(config.hidden_size) * sizeof(float);
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].wants_logits)
      std::memcpy(wanted_.data_as<float>() + wanted++ * config.hidden_size,
                  x_.data_as<float>() + static_cast<int64_t>(i) * config.hidden_size, row_bytes);
  if (wanted == 0) return {};
  const Tensor last = first_rows(wanted_, wanted), normed = first_rows(normed_, wanted);
  kernels::normalize_rows(last, config.hidden_size, false, config.rms_norm_eps, model_->norm_, Tensor(),
                          normed);
  multiply(model_->lm_head_, normed, first_rows(logits_, wanted), LinearActivation::None, false);
  return {logits_.data_as<float>(), static_cast<size_t>(wanted * config.vocab_size)};
}

void LlamaBatch::copy_page(int32_t from, int32_t to) {
  if (on_device_ != nullptr) return on_device_->copy_page(from, to);
  const LlamaConfig& config = model_->config_;
  const auto bytes = static_cast<size_t>(page_tokens_ * config.head_dim * itemsize(keys_[0].dtype()));
  for (auto* list : {&keys_, &values_})
    for (const Tensor& tensor : *list)
      for (int64_t head = 0; head < config.num_kv_heads; ++head) {
        char* const pages = static_cast<char*>(tensor.data()) + static_cast<size_t>(head * pages_) * bytes;
        std::memcpy(pages + static_cast<size_t>(to) * bytes, pages + static_cast<size_t>(from) * bytes,
                    bytes);
      }
}

}  // namespace weft::models
