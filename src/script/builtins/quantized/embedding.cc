// Embeddings whose rows are bytes, or numbers of four bits, each with a scale and a zero point of its own.
#include <fmt/format.h>

#include <cmath>

#include "core/quantized.h"
#include "script/builtins/aten.h"
#include "script/builtins/quantized/packed_classes.h"
#include "weft/error.h"

namespace weft::jit::aten {
namespace {

// Rows as they are added up: scale * q + offset.
struct Rows {
  Tensor integers;  // U8 [rows, width]
  std::vector<float> scales, offsets;

  explicit Rows(const Tensor& weight) : integers(as_integers(weight).contiguous()) {
    const Quantizer& quantizer = *weight.quantizer();
    for (size_t row = 0; row < quantizer.scales.size(); ++row) {
      const auto scale = static_cast<float>(quantizer.scales[row]);
      scales.push_back(kept(scale, weight.dtype()));
      offsets.push_back(kept(-(static_cast<float>(quantizer.zero_points[row]) * scale), weight.dtype()));
    }
  }
  int64_t width() const { return integers.size(1); }

  // Beside four bits they are of float16.
  static float kept(float number, DType dtype) {
    return dtype == DType::QU4x2 ? static_cast<float>(Half(number)) : number;
  }

  // to += weight * row
  void add(int64_t row, float weight, float* to) const {
    WEFT_CHECK_INDEX(
        row >= 0 && row < integers.size(0),
        fmt::format("quantized::embedding: index {} is out of range for {} rows", row, integers.size(0)));
    const auto at = static_cast<size_t>(row);
    const uint8_t* const from = integers.data_as<uint8_t>() + row * width();
    const float scale = weight * scales[at], offset = weight * offsets[at];
    for (int64_t i = 0; i < width(); ++i)
      to[i] = std::fma(scale, static_cast<float>(from[i]), to[i] + offset);
  }
};

IValue prepack(const Tensor& weight) {
  const bool is_rows = weight.dim() == 2 && weight.quantizer() && weight.quantizer()->axis == 0 &&
                       (weight.dtype() == DType::QU8 || weight.dtype() == DType::QU4x2);
  WEFT_CHECK_TYPE(
      is_rows,
      "quantized::embedding_bag_prepack: expected rows quantized per channel to quint8 or quint4x2, "
      "got " +
          describe(weight));
  return packed::make_embedding(weight);
}

Tensor embedding(const IValue& object, const Tensor& indices) {
  const Rows rows(packed::embedding_weight(object));
  const Tensor places = cast(indices, DType::I64).contiguous();
  Shape shape = indices.shape();
  shape.push_back(rows.width());
  const Tensor result = Tensor::full(shape, Scalar(0), DType::F32);
  for (int64_t i = 0; i < places.numel(); ++i)
    rows.add(places.data_as<int64_t>()[i], 1, result.data_as<float>() + i * rows.width());
  return result;
}

// Sums of the rows of each bag; offsets are where bags begin, or indices [bags, length] have none.
Tensor embedding_bag(const IValue& object, const Tensor& indices, const OptionalTensor& offsets, int64_t mode,
                     const OptionalTensor& weights, const OptionalTensor& mapping, bool include_last_offset) {
  WEFT_CHECK(!mapping || mapping->numel() == 0, "quantized::embedding_bag: pruned weights are not supported");
  if (mode != 0)
    throw_error(ErrorKind::NotImplemented, "quantized::embedding_bag: of modes only 'sum' is there");
  const Rows rows(packed::embedding_weight(object));
  const Tensor places = cast(indices, DType::I64).contiguous();
  const Tensor factors = weights ? cast(*weights, DType::F32).contiguous() : Tensor();
  std::vector<int64_t> starts;
  if (indices.dim() == 2) {
    for (int64_t bag = 0; bag < indices.size(0); ++bag) starts.push_back(bag * indices.size(1));
  } else {
    WEFT_CHECK(offsets.has_value(), "embedding_bag expects offsets to be set for 1D indices.");
    for (int64_t bag = 0; bag < offsets->numel(); ++bag)
      starts.push_back(static_cast<int64_t>(offsets->at(bag)));
  }
  if (indices.dim() == 2 || !include_last_offset) starts.push_back(places.numel());
  const int64_t bags = std::max<int64_t>(static_cast<int64_t>(starts.size()) - 1, 0);
  const Tensor result = Tensor::full({bags, rows.width()}, Scalar(0), DType::F32);
  for (int64_t bag = 0; bag < bags; ++bag) {
    const int64_t first = starts[static_cast<size_t>(bag)], last = starts[static_cast<size_t>(bag) + 1];
    WEFT_CHECK(first >= 0 && first <= last && last <= places.numel(),
               fmt::format("quantized::embedding_bag: a bag from {} to {} of {} indices", first, last,
                           places.numel()));
    for (int64_t i = first; i < last; ++i)
      rows.add(places.data_as<int64_t>()[i], factors.defined() ? factors.data_as<float>()[i] : 1,
               result.data_as<float>() + bag * rows.width());
  }
  return result;
}

[[maybe_unused]] const bool kEmbeddings = [] {
#define WEFT_EMBEDDING "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase"
  builtin(
      "quantized::embedding_bag_prepack(Tensor weight) -> " WEFT_EMBEDDING " W_prepack",
      [](const Tensor& weight) { return prepack(weight); }, false);
  builtin(
      "quantized::embedding_bag_unpack(" WEFT_EMBEDDING " W_prepack) -> Tensor W_origin",
      [](const IValue& object) { return packed::embedding_weight(object); }, false);
  for (const char* schema : {"quantized::embedding_byte(" WEFT_EMBEDDING
                             " weight, Tensor indices, bool pruned_weights=False) -> Tensor",
                             "quantized::embedding_4bit(" WEFT_EMBEDDING
                             " weight, Tensor indices, bool pruned_weights=False) -> Tensor"})
    builtin(
        schema, [](const IValue& object, const Tensor& indices, bool) { return embedding(object, indices); },
        false);
  for (
      const char* schema :
      {"quantized::embedding_bag_byte(" WEFT_EMBEDDING
       " weight, Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, bool "
       "pruned_weights=False, Tensor? per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool "
       "include_last_offset=False) -> Tensor",
       "quantized::embedding_bag_4bit(" WEFT_EMBEDDING
       " weight, Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, bool "
       "pruned_weights=False, Tensor? per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool "
       "include_last_offset=False) -> Tensor"})
    builtin(
        schema,
        [](const IValue& object, const Tensor& indices, const OptionalTensor& offsets, bool, int64_t mode,
           bool, const OptionalTensor& weights, const OptionalTensor& mapping, bool include_last) {
          return embedding_bag(object, indices, offsets, mode, weights, mapping, include_last);
        },
        false);
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
