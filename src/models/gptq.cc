#include "models/gptq.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/int4_range.h"
#include "weft/error.h"
#include "weft/ops.h"
#include "weft/parallel.h"

namespace weft::models {
namespace {

constexpr int64_t kRows = 16;  // of weights that go through the columns together

ModelOptions float32_options() { return {.dtype = "float32", .cache_dtype = "float32"}; }

void add_moments(Tensor& moments, const Tensor& x) {
  const Tensor product = matmul(transpose(x, 0, 1), x).to(DType::F64);
  moments = moments.defined() ? moments + product : product;
}

// The upper triangular U with U^T U = (moments + damping)^-1, float32.
Tensor inverse_factor(const Tensor& moments) {
  const int64_t k = moments.size(0);
  double mean = 0;
  for (int64_t i = 0; i < k; ++i) mean += moments.data_as<double>()[i * (k + 1)] / static_cast<double>(k);
  WEFT_CHECK(std::isfinite(mean), "quantize: the calibration text gives infinite or NaN activations");
  if (mean == 0) mean = 1;
  for (double damping = 0.01;; damping *= 10) {
    Tensor damped = moments.clone();
    for (int64_t i = 0; i < k; ++i) damped.data_as<double>()[i * (k + 1)] += damping * mean;
    try {
      return transpose(cholesky(inv(damped)), 0, 1).to(DType::F32).contiguous();
    } catch (const Error&) {  // not positive definite, by rounding
      if (damping > 10) throw;
    }
  }
}

// Some rows of a matrix, column after column.
class RowBlock {
 public:
  RowBlock(const Tensor& weight, int64_t first)
      : k_(weight.size(1)),
        first_(first),
        count_(std::min(kRows, weight.size(0) - first)),
        columns_(static_cast<size_t>(k_)) {
    const float* w = weight.data_as<float>() + first * k_;
    for (int64_t r = 0; r < count_; ++r)
      for (int64_t i = 0; i < k_; ++i)
        columns_[static_cast<size_t>(i)][static_cast<size_t>(r)] = w[r * k_ + i];
  }

  void quantize(const Tensor& factor, int64_t group, const LinearWeight& out) {
    const int64_t n = out.weight.size(0);
    std::vector<kernels::Int4Range> ranges;
    for (int64_t i = 0; i < k_; ++i) {
      if (i % group == 0) {
        ranges = ranges_of(i, std::min(k_, i + group));
        for (int64_t r = 0; r < count_; ++r) {
          BFloat16* scale = out.scales.data_as<BFloat16>() + (i / group * n + first_ + r) * 2;
          scale[0] = ranges[static_cast<size_t>(r)].scale, scale[1] = ranges[static_cast<size_t>(r)].zero;
        }
      }
      const float* u = factor.data_as<float>() + i * k_;
      std::array<float, kRows> error{};
      for (int64_t r = 0; r < count_; ++r) {
        const kernels::Int4Range& range = ranges[static_cast<size_t>(r)];
        const float x = columns_[static_cast<size_t>(i)][static_cast<size_t>(r)];
        const uint8_t q = range.quantize(x);
        error[static_cast<size_t>(r)] = (x - range.dequantize(q)) / u[i];
        uint8_t& byte = out.weight.data_as<uint8_t>()[(first_ + r) * (k_ / 2) + i / 2];
        byte = static_cast<uint8_t>(i % 2 == 0 ? q << 4 : byte | q);
      }
      for (int64_t j = i + 1; j < k_; ++j) {
        std::array<float, kRows>& column = columns_[static_cast<size_t>(j)];
        for (size_t r = 0; r < kRows; ++r) column[r] -= error[r] * u[j];
      }
    }
  }

 private:
  std::vector<kernels::Int4Range> ranges_of(int64_t begin, int64_t end) const {
    std::vector<kernels::Int4Range> ranges;
    std::vector<float> row(static_cast<size_t>(end - begin));
    for (int64_t r = 0; r < count_; ++r) {
      for (int64_t i = begin; i < end; ++i)
        row[static_cast<size_t>(i - begin)] = columns_[static_cast<size_t>(i)][static_cast<size_t>(r)];
      ranges.emplace_back(row.data(), end - begin);
    }
    return ranges;
  }

  int64_t k_, first_, count_;
  std::vector<std::array<float, kRows>> columns_;
};

// sum of (x a^T)^2 over the inputs x.
double output_energy(const Tensor& a, const Tensor& moments) {
  const Tensor x = a.to(DType::F64);
  return sum(matmul(x, moments) * x).item().to_double();
}

// A model of one layer of the checkpoint, some of whose weights are given.
class OneLayerWeights : public WeightSource {
 public:
  OneLayerWeights(WeightSource& source, int64_t layer, const std::map<std::string, GptqWeight>& quantized)
      : source_(source), layer_(layer), quantized_(quantized) {}
  Tensor vector(const std::string& name, const Shape& shape) override {
    return name.starts_with(kFirst) ? source_.vector(own(name), shape) : Tensor::full(shape, 1.0, DType::F32);
  }
  LinearWeight linear(const MatrixName& matrix, int64_t out, int64_t in, bool bias,
                      const MatrixPart& part) override {
    LinearWeight weight = source_.linear(MatrixName{.name = own(matrix.name)}, out, in, bias, part);
    if (const auto found = quantized_.find(own(matrix.name)); found != quantized_.end())
      weight.weight = dequantize(found->second.weight);
    return weight;
  }
  Tensor embedding(const std::string&, int64_t rows, int64_t columns) override {
    return Tensor::full({rows, columns}, 0.0, DType::F32);
  }
  LinearWeight tied_head(const std::string&, const std::string&, int64_t rows, int64_t columns,
                         const MatrixPart&) override {
    return {.weight = embedding("", rows, columns)};
  }

 private:
  static constexpr std::string_view kFirst = "model.layers.0.";
  std::string own(const std::string& name) const {
    return fmt::format("model.layers.{}.{}", layer_, name.substr(kFirst.size()));
  }

  WeightSource& source_;
  int64_t layer_;
  const std::map<std::string, GptqWeight>& quantized_;
};

struct CalibratedProduct {
  const char* name;
  const char* input;  // as CausalModel's observers are told
};
constexpr CalibratedProduct kProducts[] = {{"self_attn.q_proj", "qkv"},  {"self_attn.k_proj", "qkv"},
                                           {"self_attn.v_proj", "qkv"},  {"self_attn.o_proj", "output"},
                                           {"mlp.gate_proj", "gate_up"}, {"mlp.up_proj", "gate_up"},
                                           {"mlp.down_proj", "down"}};

}  // namespace

LinearWeight quantize_gptq(const Tensor& weight, const Tensor& moments, const QuantizationScheme& scheme) {
  WEFT_CHECK(scheme.kind == QuantizationScheme::Kind::Int4,
             fmt::format("GPTQ is for int4 schemes, got '{}'", scheme.name()));
  const Tensor dense = weight.to(DType::F32).contiguous();
  WEFT_CHECK(
      dense.dim() == 2 && dense.size(1) % 2 == 0 &&
          moments.shape() == (Shape{dense.size(1), dense.size(1)}) && moments.dtype() == DType::F64,
      fmt::format(
          "GPTQ: expected a weight [out, in] with an even in, and float64 moments [in, in], got {} and {}",
          describe(weight), describe(moments)));
  WEFT_CHECK(std::all_of(dense.data_as<float>(), dense.data_as<float>() + dense.numel(),
                         [](float x) { return std::isfinite(x); }),
             "GPTQ: expected finite weights, got infinity or NaN");
  const int64_t n = dense.size(0), k = dense.size(1),
                groups = (k + scheme.group_size - 1) / scheme.group_size;
  const LinearWeight result{.weight = Tensor::empty({n, k / 2}, DType::U8),
                            .scales = Tensor::empty({groups, n, 2}, DType::BF16),
                            .group_size = scheme.group_size};
  const Tensor factor = inverse_factor(moments.contiguous());
  parallel_for(0, (n + kRows - 1) / kRows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block)
      RowBlock(dense, block * kRows).quantize(factor, scheme.group_size, result);
  });
  return result;
}

Gptq::Gptq(std::shared_ptr<const Checkpoint> checkpoint, const QuantizationScheme& scheme,
           const std::vector<std::vector<int64_t>>& sequences)
    : checkpoint_(std::move(checkpoint)), scheme_(scheme), config_(checkpoint_->config()) {
  WEFT_CHECK(scheme.kind == QuantizationScheme::Kind::Int4,
             fmt::format("GPTQ is for int4 schemes, got '{}'", scheme.name()));
  const TensorNames names;
  bool is_plain = config_.norm == NormKind::Rms && config_.norm_offset == 0 && config_.embedding_scale == 1 &&
                  config_.head_norm == HeadNorm::None && !config_.is_parallel && !config_.experts &&
                  config_.residual_scale == 1;
  for (const auto& [own, usual] : {std::pair{&config_.names.query, &names.query},
                                   {&config_.names.gate, &names.gate},
                                   {&config_.names.down, &names.down}})
    is_plain = is_plain && own->name == usual->name && own->block == 0;
  WEFT_CHECK(is_plain && config_.names.attention_post_norm.empty(),
             fmt::format("GPTQ is for models of the Llama and Qwen2 families, not '{}'", config_.model_type));
  ModelOptions options = float32_options();
  weights_ = checkpoint_weights(checkpoint_, options);
  const Tensor table =
      weights_->embedding("model.embed_tokens.weight", config_.vocab_size, config_.hidden_size);
  for (const std::vector<int64_t>& ids : sequences) {
    if (ids.empty()) continue;
    for (const int64_t id : ids)
      WEFT_CHECK_INDEX(
          id >= 0 && id < config_.vocab_size,
          fmt::format("GPTQ: token id {} is outside the vocabulary of {}", id, config_.vocab_size));
    const int64_t count = static_cast<int64_t>(ids.size());
    const Tensor x = Tensor::empty({count, config_.hidden_size}, DType::F32);
    for (int64_t i = 0; i < count; ++i)
      std::copy_n(table.data_as<float>() + ids[static_cast<size_t>(i)] * config_.hidden_size,
                  config_.hidden_size, x.data_as<float>() + i * config_.hidden_size);
    hidden_.push_back(x);
    longest_ = std::max(longest_, count);
  }
  WEFT_CHECK(!hidden_.empty(), "GPTQ: no tokens to calibrate with");
}

Gptq::~Gptq() = default;

std::shared_ptr<const CausalModel> Gptq::one_layer(const std::map<std::string, GptqWeight>& quantized) const {
  DecoderConfig config = config_;
  config.num_layers = config.vocab_size = 1;
  config.layers = {config_.layer(layer_)};
  config.bos_token_id.reset();
  config.eos_token_ids.clear();
  config.tie_word_embeddings = true;
  ModelOptions options = float32_options();
  options.max_positions = longest_;
  OneLayerWeights weights(*weights_, layer_, quantized);
  return std::shared_ptr<const CausalModel>(new CausalModel(config, options, weights));
}

GptqWeight Gptq::quantized(const Tensor& weight, const Tensor& moments) const {
  const LinearWeight result = quantize_gptq(weight, moments, scheme_);
  const double all = output_energy(weight, moments);
  return {result, all > 0
                      ? std::sqrt(std::max(0.0, output_energy(weight - dequantize(result), moments)) / all)
                      : 0.0};
}

std::map<std::string, GptqWeight> Gptq::next_layer() {
  WEFT_CHECK(layer_ < config_.num_layers, fmt::format("GPTQ: the model has {} layers", config_.num_layers));
  std::map<std::string, Tensor> moments;
  const auto run = [&](const CausalModel& model, const Tensor& x, const CausalModel::Observer& observe) {
    KVCache cache = model.make_cache(x.size(0));
    return model.run_alone(x, cache, observe);
  };
  const std::shared_ptr<const CausalModel> exact = one_layer({});
  for (const Tensor& x : hidden_)
    run(*exact, x, [&](const char* products, const Tensor& input) { add_moments(moments[products], input); });
  const int64_t hidden = config_.hidden_size, heads = config_.num_heads * config_.head_dim,
                kv = config_.num_kv_heads * config_.head_dim;
  const std::map<std::string, std::pair<int64_t, int64_t>> sizes = {
      {"self_attn.q_proj", {heads, hidden}},
      {"self_attn.k_proj", {kv, hidden}},
      {"self_attn.v_proj", {kv, hidden}},
      {"self_attn.o_proj", {hidden, heads}},
      {"mlp.gate_proj", {config_.intermediate_size, hidden}},
      {"mlp.up_proj", {config_.intermediate_size, hidden}},
      {"mlp.down_proj", {hidden, config_.intermediate_size}}};
  std::map<std::string, GptqWeight> result;
  for (const CalibratedProduct& product : kProducts) {
    const std::string name = fmt::format("model.layers.{}.{}", layer_, product.name);
    const auto [out, in] = sizes.at(product.name);
    result[name] = quantized(weights_->linear(name, out, in).weight, moments[product.input]);
  }
  const std::shared_ptr<const CausalModel> rounded = one_layer(result);
  for (Tensor& x : hidden_) x = run(*rounded, x, nullptr);
  ++layer_;
  return result;
}

GptqWeight Gptq::head() {
  WEFT_CHECK(layer_ == config_.num_layers, "GPTQ: the head comes after all layers");
  const Tensor norm = weights_->vector("model.norm.weight", {config_.hidden_size});
  Tensor moments;
  for (const Tensor& x : hidden_)
    add_moments(moments, rms_norm(x, {config_.hidden_size}, norm, config_.norm_eps));
  const LinearWeight weight = config_.tie_word_embeddings
                                  ? weights_->tied_head("model.embed_tokens.weight", "lm_head",
                                                        config_.vocab_size, config_.hidden_size)
                                  : weights_->linear("lm_head", config_.vocab_size, config_.hidden_size);
  return quantized(weight.weight, moments);
}

}  // namespace weft::models
