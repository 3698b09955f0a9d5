#include "models/gptq.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "kernels/cpu/int4_range.h"
#include "models/decoder_weights.h"
#include "models/tensor_names.h"
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
  OneLayerWeights(WeightSource& source, const TensorNames& names, int64_t layer,
                  const std::map<std::string, GptqWeight>& quantized)
      : source_(source),
        first_(layer_prefix(names, 0)),
        own_(layer_prefix(names, layer)),
        quantized_(quantized) {}
  Tensor vector(const std::string& name, const Shape& shape) override {
    return name.starts_with(first_) ? source_.vector(own(name), shape) : Tensor::full(shape, 1.0, DType::F32);
  }
  LinearWeight linear(const MatrixName& matrix, int64_t out, int64_t in, bool bias,
                      const MatrixPart& part) override {
    MatrixName name = matrix;
    name.name = own(matrix.name);
    if (!matrix.bias.empty()) name.bias = own(matrix.bias);
    LinearWeight weight = source_.linear(name, out, in, bias, part);
    if (const auto found = quantized_.find(name.name); found != quantized_.end())
      weight.weight = rows_of_matrix(dequantize(found->second.weight), 0, name, out);
    return weight;
  }
  RowTable embedding(const std::string&, int64_t rows, int64_t columns) override {
    return {.rows = Tensor::full({rows, columns}, 0.0, DType::F32), .columns = columns};
  }
  LinearWeight tied_head(const std::string&, const std::string&, int64_t rows, int64_t columns,
                         const MatrixPart&) override {
    return {.weight = embedding("", rows, columns).rows};
  }

 private:
  std::string own(const std::string& name) const { return own_ + name.substr(first_.size()); }

  WeightSource& source_;
  std::string first_, own_;  // what a name begins with in the model of one layer, and in the checkpoint
  const std::map<std::string, GptqWeight>& quantized_;
};

struct CalibratedProduct {
  Role role;
  const char* input;  // as CausalModel's observers are told
};
constexpr CalibratedProduct kProducts[] = {
    {Role::Query, "qkv"},    {Role::Key, "qkv"},    {Role::Value, "qkv"}, {Role::Output, "output"},
    {Role::Gate, "gate_up"}, {Role::Up, "gate_up"}, {Role::Down, "down"}};

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
  const bool is_mixed = std::any_of(config_.layers.begin(), config_.layers.end(), [](const LayerKind& layer) {
    return layer.has_experts || layer.is_convolution || layer.is_delta;
  });
  WEFT_CHECK(!is_mixed && !config_.latent && !config_.gates_attention,
             fmt::format(
                 "GPTQ is for models of attention and an MLP, not for '{}' with experts, latent attention or "
                 "convolutions",
                 config_.model_type));
  ModelOptions options = float32_options();
  weights_ = checkpoint_weights(checkpoint_, options);
  const RowTable table =
      weights_->embedding(config_.names.embedding + ".weight", config_.vocab_size, config_.hidden_size);
  RowTable positions;
  if (config_.has_learned_positions)
    positions = weights_->embedding(config_.names.positions + ".weight", config_.position_rows(),
                                    config_.hidden_size);
  for (const std::vector<int64_t>& ids : sequences) {
    if (ids.empty()) continue;
    for (const int64_t id : ids)
      WEFT_CHECK_INDEX(
          id >= 0 && id < config_.vocab_size,
          fmt::format("GPTQ: token id {} is outside the vocabulary of {}", id, config_.vocab_size));
    const int64_t count = static_cast<int64_t>(ids.size());
    Tensor x = Tensor::empty({count, config_.hidden_size}, DType::F32);
    table.gather(ids, x.data_as<float>());
    if (config_.embedding_scale != 1) x = x * config_.embedding_scale;
    if (positions.defined()) {
      std::vector<int64_t> numbers(ids.size());
      std::iota(numbers.begin(), numbers.end(), config_.position_offset);
      const Tensor of_places = Tensor::empty(x.shape(), DType::F32);
      positions.gather(numbers, of_places.data_as<float>());
      x = x + of_places;
    }
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
  config.head_bias = config.has_learned_positions = false;  // what enters has them
  ModelOptions options = float32_options();
  options.max_positions = longest_;
  OneLayerWeights weights(*weights_, config_.names, layer_, quantized);
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
  std::map<std::string, GptqWeight> result;
  for (const CalibratedProduct& product : kProducts) {
    if (product.role == Role::Gate && !config_.is_gated) continue;
    const NamedMatrix matrix = named_matrix(config_, layer_, product.role);
    // All rows of the tensor, whose matrices have one input.
    const std::string& name = matrix.name.name;
    if (result.contains(name)) continue;
    MatrixName whole = matrix.name;
    whole.first = whole.block = whole.period = whole.rows = 0;
    const int64_t rows = matrix.name.rows > 0 ? matrix.name.rows : matrix.out;
    result[name] = quantized(weights_->linear(whole, rows, matrix.in).weight, moments[product.input]);
  }
  const std::shared_ptr<const CausalModel> rounded = one_layer(result);
  for (Tensor& x : hidden_) x = run(*rounded, x, nullptr);
  ++layer_;
  return result;
}

GptqWeight Gptq::head() {
  WEFT_CHECK(layer_ == config_.num_layers, "GPTQ: the head comes after all layers");
  const TensorNames& names = config_.names;
  const int64_t hidden = config_.hidden_size;
  Norm norm{.kind = config_.norm, .eps = config_.norm_eps, .size = hidden};
  norm.weight = weights_->vector(names.final_norm + ".weight", {hidden});
  if (config_.norm_offset != 0) norm.weight = norm.weight + config_.norm_offset;
  if (config_.norm_bias) norm.bias = weights_->vector(names.final_norm + ".bias", {hidden});
  Tensor moments;
  for (const Tensor& x : hidden_) add_moments(moments, norm(x));
  const LinearWeight weight =
      config_.tie_word_embeddings
          ? weights_->tied_head(names.embedding + ".weight", names.head, config_.vocab_size, hidden)
          : weights_->linear(names.head, config_.vocab_size, hidden);
  return quantized(weight.weight, moments);
}

}  // namespace weft::models
