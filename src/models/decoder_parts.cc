// Norms, products and activations, each as kernel call and as tensor functions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/norm.h"
#include "models/decoder_weights.h"
#include "ops/registry.h"
#include "weft/error.h"
#include "weft/ops.h"
#include "weft/parallel.h"

namespace weft::models {
namespace {

int64_t bytes_in(const Tensor& tensor) {
  return tensor.defined() ? tensor.numel() * itemsize(tensor.dtype()) : 0;
}

const char* name_of(LinearActivation activation) {
  switch (activation) {
    case LinearActivation::Relu: return "relu";
    case LinearActivation::Silu: return "silu";
    case LinearActivation::GeluTanh: return "gelu_tanh";
    default: return "none";
  }
}

// activation(x w^T + bias) + residual, on any device.
Tensor product_of(const Tensor& x, const LinearWeight& w, LinearActivation activation,
                  const Tensor& residual) {
  return ops::call1("linear_packed", {x, w.weight, w.scales, w.bias, residual},
                    {{"group_size", Sym(w.group_size)},
                     {"activation", std::string(name_of(activation))},
                     {"precision", std::string("float32")}});
}

constexpr float kSlope = 1.702f;  // of ClampedSilu. source: GptOssExperts of transformers

float activated(MlpActivation activation, float x) {
  switch (activation) {
    case MlpActivation::Gelu: return 0.5f * x * (1.0f + std::erf(x * 0.70710678f));
    case MlpActivation::SquaredRelu: return x > 0 ? x * x : 0.0f;
    case MlpActivation::Relu: return std::max(x, 0.0f);
    case MlpActivation::Silu: return x / (1.0f + std::exp(-x));
    case MlpActivation::GeluTanh:
      return 0.5f * x * (1.0f + std::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
    case MlpActivation::ClampedSilu: return x / (1.0f + std::exp(-kSlope * x));
    case MlpActivation::Xielu: break;  // which has numbers of its own
  }
  return x;
}

constexpr float kXieluBeta = 0.5f, kXieluMost = -1e-6f;  // source: XIELUActivation of transformers

float xielu(const Mlp& mlp, float x) {
  if (x > 0) return static_cast<float>(mlp.alpha_positive) * x * x + kXieluBeta * x;
  return (std::expm1(std::min(x, kXieluMost)) - x) * static_cast<float>(mlp.alpha_negative) + kXieluBeta * x;
}

}  // namespace

Tensor Norm::operator()(const Tensor& x) const {
  if (kind == NormKind::Rms) return rms_norm(x, {size}, weight, eps);
  return layer_norm(x, {size}, weight, bias, eps);
}

void Norm::run(const Tensor& x, const Tensor& out) const {
  kernels::normalize_rows(x, size, kind == NormKind::Layer, eps, weight, bias, out);
}

Tensor HeadNorms::operator()(const Tensor& x, const std::function<void(const Tensor&)>& add) const {
  Tensor result;
  if (shape == HeadNorm::Whole) {
    const Tensor squares = weft::sum(x * x, std::vector<int64_t>{1, 2}, true).contiguous();  // [tokens, 1, 1]
    add(squares);
    result = x * rsqrt(squares / static_cast<double>(all_heads * dim) + eps);
  } else if (kind == NormKind::Rms) {
    result = rms_norm(x, {dim}, Tensor(), eps);
  } else {
    result = layer_norm(x, {dim}, Tensor(), Tensor(), eps);
  }
  if (weight.defined()) result = result * weight;
  return bias.defined() ? result + bias : result;
}

void HeadNorms::run(float* x, int64_t rows, int64_t stride, const Tensor& sums,
                    const std::function<void(const Tensor&)>& add) const {
  const float* const weights = weight.defined() ? weight.data_as<float>() : nullptr;
  const float* const added = bias.defined() ? bias.data_as<float>() : nullptr;
  const auto scaled = [&](float* head, int64_t number, float mean, float factor) {
    const float* const own =
        weights == nullptr || shape == HeadNorm::Shared ? weights : weights + number * dim;
    for (int64_t d = 0; d < dim; ++d)
      head[d] =
          (head[d] - mean) * factor * (own == nullptr ? 1.0f : own[d]) + (added == nullptr ? 0.0f : added[d]);
  };
  const auto inverse = [&](double squares, int64_t count) {
    return static_cast<float>(1 / std::sqrt(squares / static_cast<double>(count) + eps));
  };
  const auto squares_of = [&](const float* head, float mean) {
    double squares = 0;
    for (int64_t d = 0; d < dim; ++d) squares += static_cast<double>(head[d] - mean) * (head[d] - mean);
    return squares;
  };
  if (shape == HeadNorm::Whole) {
    float* const of_row = sums.data_as<float>();
    for (int64_t row = 0; row < rows; ++row) {
      double squares = 0;
      for (int64_t i = 0; i < heads; ++i) squares += squares_of(x + row * stride + i * dim, 0);
      of_row[row] = static_cast<float>(squares);
    }
    add(sums);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < heads; ++i)
        scaled(x + row * stride + i * dim, i, 0, inverse(of_row[row], all_heads * dim));
    return;
  }
  parallel_for(0, rows * heads, 64, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      float* const head = x + item / heads * stride + item % heads * dim;
      double mean = 0;
      if (kind == NormKind::Layer) {
        for (int64_t d = 0; d < dim; ++d) mean += head[d];
        mean /= static_cast<double>(dim);
      }
      const auto of_head = static_cast<float>(mean);
      scaled(head, item % heads, of_head, inverse(squares_of(head, of_head), dim));
    }
  });
}

Product::Product(std::vector<LinearWeight> weights, Device device, bool is_gated) : is_gated_(is_gated) {
  if (device == Device()) {
    packed_ = is_gated ? PackedLinear::gated(weights[0], weights[1]) : PackedLinear(weights);
    return;
  }
  for (LinearWeight& weight : weights) {
    WEFT_CHECK(
        weight.blocks == BlockFormat::None && !(weight.group_size > 0 && weight.scales.dtype() == DType::F32),
        fmt::format("weights in blocks, or with scales of their own, run on the CPU, not on {}; load the "
                    "model with quantize=\"int8\" or \"int4-g32\" there",
                    device.str()));
    for (Tensor* part : {&weight.weight, &weight.scales, &weight.bias})
      if (part->defined()) *part = part->contiguous().to(device);
  }
  parts_ = std::move(weights);
}

int64_t Product::bytes() const {
  if (packed_.defined()) return packed_.weight_bytes();
  int64_t bytes = 0;
  for (const LinearWeight& part : parts_) bytes += bytes_in(part.weight) + bytes_in(part.scales);
  return bytes;
}

Tensor Product::operator()(const Tensor& x, const LinearEpilogue& epilogue) const {
  if (packed_.defined()) return packed_(x, epilogue);
  const Tensor residual = epilogue.residual == nullptr ? Tensor() : *epilogue.residual;
  if (is_gated_)
    return product_of(x, parts_[0], epilogue.activation, {}) *
           product_of(x, parts_[1], LinearActivation::None, {});
  if (parts_.size() == 1) return product_of(x, parts_[0], epilogue.activation, residual);
  std::vector<Tensor> results;
  for (const LinearWeight& part : parts_) results.push_back(product_of(x, part, epilogue.activation, {}));
  return concatenate(results, 1);
}

void activate(const Mlp& mlp, const Tensor& in, const Tensor& out) {
  const int64_t rows = in.size(0), size = mlp.size, width = mlp.width();
  const auto limit = static_cast<float>(mlp.limit);
  const bool is_clamped = mlp.activation == MlpActivation::ClampedSilu;
  parallel_for(0, rows * size, 2048, [&](int64_t begin, int64_t end) {
    const float* const from = in.data_as<float>();
    float* const to = out.data_as<float>();
    for (int64_t item = begin; item < end; ++item) {
      const int64_t row = item / size, column = item % size;
      float gate = from[row * width + column];
      if (is_clamped) gate = std::min(gate, limit);
      float result =
          mlp.activation == MlpActivation::Xielu ? xielu(mlp, gate) : activated(mlp.activation, gate);
      if (mlp.is_gated) {
        const float up = from[row * width + size + column];
        result *= is_clamped ? std::clamp(up, -limit, limit) + 1 : up;
      }
      to[item] = result;
    }
  });
}

Tensor activate(const Mlp& mlp, const Tensor& in) {
  if (mlp.fused) return in;
  const int64_t size = mlp.size;
  const Tensor gate = mlp.is_gated ? slice(in, 1, 0, size) : in;
  const auto gated = [&](const Tensor& x) { return mlp.is_gated ? x * slice(in, 1, size, 2 * size) : x; };
  switch (mlp.activation) {
    case MlpActivation::Gelu: return gated(gelu(gate));
    case MlpActivation::SquaredRelu: return gated(relu(gate) * relu(gate));
    case MlpActivation::ClampedSilu: {
      const Tensor low = minimum(gate, mlp.limit);
      const Tensor up = minimum(maximum(slice(in, 1, size, 2 * size), -mlp.limit), mlp.limit);
      return low * sigmoid(low * static_cast<double>(kSlope)) * (up + 1.0);
    }
    case MlpActivation::Xielu: {
      const Tensor positive = gate * gate * mlp.alpha_positive,
                   negative = (expm1(minimum(gate, kXieluMost)) - gate) * mlp.alpha_negative;
      return gated(where(gate > 0.0, positive, negative) + gate * kXieluBeta);
    }
    case MlpActivation::Silu: return gated(silu(gate));
    case MlpActivation::GeluTanh: return gated(gelu(gate, "tanh"));
    case MlpActivation::Relu: return gated(relu(gate));
  }
  WEFT_ASSERT(false, "an activation without a function");
}

}  // namespace weft::models
