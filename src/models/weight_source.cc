#include "models/weight_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "core/printable.h"
#include "core/suggest.h"
#include "kernels/cpu/weight_blocks.h"
#include "models/gguf.h"
#include "models/tensor_names.h"
#include "weft/error.h"
#include "weft/ops.h"
#include "weft/parallel.h"

namespace weft::models {
namespace {

DType weight_dtype(const std::string& name) {
  const std::optional<DType> dtype = dtype_from_name(name);
  WEFT_CHECK(dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16,
             fmt::format("dtype must be float32, bfloat16 or float16, got '{}'{}", printable(name),
                         did_you_mean(name, std::vector<std::string>{"float32", "bfloat16", "float16"})));
  return *dtype;
}

void complete(ModelOptions& options, const std::string& own_dtype) {
  if (options.dtype.empty()) options.dtype = own_dtype;
  weight_dtype(options.dtype);
  // What a float16 model computes, bfloat16 would round once more.
  if (options.cache_dtype.empty()) options.cache_dtype = options.dtype;
  if (options.cache_dtype != "int8") weight_dtype(options.cache_dtype);
  QuantizationScheme::parse(options.quantize);
}

Tensor cut(const Tensor& tensor, int64_t dim, const std::optional<Range>& range) {
  return range ? slice(tensor, dim, range->begin, range->end) : tensor;
}

// Part of a matrix of blocks.
LinearWeight cut_blocks(const LinearWeight& weight, const std::string& name, const MatrixPart& part) {
  LinearWeight result = weight;
  if (part.rows) result.weight = cut(result.weight, 0, part.rows);
  if (part.columns) {
    const auto [begin, end] = *part.columns;
    const BlockSize block = block_size(weight.blocks);
    WEFT_CHECK(begin % block.elements == 0 && end % block.elements == 0,
               fmt::format("'{}': a rank's inputs {} to {} are not whole blocks of {} {}; take fewer ranks",
                           name, begin, end - 1, block.elements, block.name));
    result.weight = cut(result.weight, 1,
                        Range{begin / block.elements * block.bytes, end / block.elements * block.bytes});
  }
  result.weight = result.weight.contiguous();
  return result;
}

// Part of a quantized matrix [out, in].
LinearWeight cut(const LinearWeight& weight, const std::string& name, const MatrixPart& part) {
  if (weight.blocks != BlockFormat::None) return cut_blocks(weight, name, part);
  LinearWeight result = weight;
  const bool is_int4 = weight.group_size > 0;
  const int64_t per_byte = weight.weight.dtype() == DType::U8 ? 2 : 1;
  WEFT_CHECK(
      !part.columns || !weight.order.defined(),
      fmt::format("'{}': its groups' inputs lie in another order (act-order), which ranks cannot divide",
                  name));
  if (part.rows) {
    result.weight = cut(result.weight, 0, part.rows);
    result.scales = cut(result.scales, is_int4 ? 1 : 0, part.rows);
  }
  if (part.columns && !is_int4) result.weight = cut(result.weight, 1, part.columns);
  if (part.columns && is_int4) {
    const auto [begin, end] = *part.columns;
    const int64_t group = weight.group_size;
    WEFT_CHECK(
        begin % 2 == 0 && (begin % group == 0 || begin / group == (end - 1) / group),
        fmt::format(
            "'{}': a rank's inputs {} to {} begin within one group of {} weights and end in another; take "
            "smaller groups, fewer ranks or int8",
            name, begin, end - 1, group));
    result.weight = cut(result.weight, 1, Range{begin / per_byte, (end + per_byte - 1) / per_byte});
    result.scales = cut(result.scales, 0, Range{begin / group, (end + group - 1) / group});
  }
  result.weight = result.weight.contiguous();
  result.scales = result.scales.contiguous();
  return result;
}

// The columns that have to be quantized together to give those of the part: whole groups; for int8, whole
// rows.
std::optional<Range> quantized_together(const QuantizationScheme& scheme, const MatrixPart& part,
                                        int64_t in) {
  if (!part.columns || scheme.kind == QuantizationScheme::Kind::Int8) return std::nullopt;
  const int64_t group = scheme.group_size;
  return Range{part.columns->begin / group * group,
               std::min(in, (part.columns->end + group - 1) / group * group)};
}

class CheckpointWeights : public WeightSource {
 public:
  // keeps_dtypes: of floating matrices, which are not converted to that of the options.
  CheckpointWeights(std::shared_ptr<const Checkpoint> checkpoint, const ModelOptions& options,
                    bool keeps_dtypes)
      : checkpoint_(std::move(checkpoint)),
        keeps_dtypes_(keeps_dtypes),
        dtype_(weight_dtype(options.dtype)),
        scheme_(QuantizationScheme::parse(options.quantize)) {}

  Tensor vector(const std::string& name, const Shape& shape) override {
    return floating(name, shape).to(DType::F32).contiguous();
  }
  LinearWeight linear(const MatrixName& matrix, int64_t out, int64_t in, bool bias,
                      const MatrixPart& part) override {
    LinearWeight weight;
    if (const auto stored = matrix.is_exact ? quantized_elsewhere(matrix, out, in) : std::nullopt)
      weight.weight = dequantize(*stored).to(dtype_);
    else if (matrix.is_exact)
      weight.weight = floating(matrix, out, in).to(dtype_).contiguous();
    else if (const std::optional<LinearWeight> stored = quantized_elsewhere(matrix, out, in))
      weight = scheme_.kind == QuantizationScheme::Kind::None
                   ? cut(*stored, matrix.name, part)
                   : converted(dequantize(*stored), matrix.name, part);
    else if (checkpoint_->has(matrix.name + ".scales"))
      weight = cut(quantized(matrix, out, in), matrix.name, part);
    else
      weight = converted(floating(matrix, out, in), matrix.name, part);
    if (bias) {
      const std::string name = matrix.bias.empty() ? matrix.name + ".bias" : matrix.bias;
      const int64_t rows = rows_in(matrix, out);
      const Tensor all = matrix.count > 0 ? select(floating(name, {matrix.count, rows}), 0, matrix.index)
                                          : floating(name, {rows});
      weight.bias = cut(rows_of_matrix(all, 0, matrix, out), 0, part.rows).to(DType::F32).contiguous();
    }
    return weight;
  }
  RowTable embedding(const std::string& name, int64_t rows, int64_t columns) override {
    if (const auto blocks = checkpoint_->blocks(name, {rows, columns}))
      return {.rows = blocks->rows.contiguous(), .blocks = blocks->format, .columns = columns};
    const Tensor table = floating(name, {rows, columns});
    return {.rows = table.to(dtype_of(table)).contiguous(), .columns = columns};
  }
  LinearWeight tied_head(const std::string& name, const std::string& head, int64_t rows, int64_t columns,
                         const MatrixPart& part) override {
    const std::string base = name.substr(0, name.size() - std::string_view(".weight").size());
    if (scheme_.kind == QuantizationScheme::Kind::None)
      if (const std::optional<LinearWeight> stored = quantized_elsewhere({.name = base}, rows, columns))
        return cut(*stored, name, part);
    return checkpoint_->has(head + ".scales") ? cut(quantized({.name = head}, rows, columns), head, part)
                                              : converted(floating(name, {rows, columns}), name, part);
  }

 private:
  Tensor floating(const std::string& name, const Shape& shape) const {
    const Tensor tensor = checkpoint_->tensor(name, shape);
    WEFT_CHECK_TYPE(is_floating(tensor.dtype()), wrong_dtype(name, tensor, "a floating dtype"));
    return tensor;
  }
  static int64_t rows_in(const MatrixName& matrix, int64_t out) {
    return matrix.rows > 0 ? matrix.rows : out;
  }
  Tensor floating(const MatrixName& matrix, int64_t out, int64_t in) const {
    const int64_t rows = rows_in(matrix, out);
    Shape shape = matrix.is_transposed ? Shape{in, rows} : Shape{rows, in};
    if (matrix.count > 0) shape.insert(shape.begin(), matrix.count);
    Tensor tensor = floating(tensor_of(matrix), shape);
    if (matrix.count > 0) tensor = select(tensor, 0, matrix.index);
    if (matrix.is_transposed) tensor = transpose(tensor, 0, 1);
    return rows_of_matrix(tensor, 0, matrix, out);
  }
  // A matrix that the checkpoint has quantized in another way than weft's.
  std::optional<LinearWeight> quantized_elsewhere(const MatrixName& matrix, int64_t out, int64_t in) const {
    std::optional<LinearWeight> weight = checkpoint_->quantized_rows(matrix, rows_in(matrix, out), in);
    if (!weight) return std::nullopt;
    weight->weight = rows_of_matrix(weight->weight, 0, matrix, out);
    if (weight->scales.defined()) weight->scales = rows_of_matrix(weight->scales, 1, matrix, out);
    return weight;
  }
  DType dtype_of(const Tensor& tensor) const {
    const DType own = tensor.dtype();
    return keeps_dtypes_ && (own == DType::F32 || own == DType::F16 || own == DType::BF16) ? own : dtype_;
  }
  // As `weft quantize` writes it.
  Tensor stored(const std::string& name, const Shape& shape, DType dtype) const {
    const Tensor tensor = checkpoint_->tensor(name, shape);
    WEFT_CHECK_TYPE(tensor.dtype() == dtype, wrong_dtype(name, tensor, weft::name(dtype)));
    return tensor;
  }
  std::string wrong_dtype(const std::string& name, const Tensor& tensor, std::string_view expected) const {
    return fmt::format("'{}': tensor '{}' is {}, expected {}", checkpoint_->file_of(name), name,
                       weft::name(tensor.dtype()), expected);
  }
  LinearWeight converted(const Tensor& tensor, const std::string& name, const MatrixPart& part) const {
    const Tensor rows = cut(tensor, 0, part.rows);
    if (scheme_.kind == QuantizationScheme::Kind::None)
      return {.weight = cut(rows, 1, part.columns).to(dtype_of(tensor)).contiguous()};
    const std::optional<Range> together = quantized_together(scheme_, part, tensor.size(1));
    const LinearWeight whole = quantize(cut(rows, 1, together), scheme_);
    if (!part.columns) return whole;
    const int64_t first = together ? together->begin : 0;
    return cut(whole, name, {.columns = Range{part.columns->begin - first, part.columns->end - first}});
  }
  LinearWeight quantized(const MatrixName& matrix, int64_t out, int64_t in) const {
    const std::string& name = matrix.name;
    const QuantizationScheme scheme = QuantizationScheme::parse(checkpoint_->quantization());
    WEFT_CHECK(scheme.kind != QuantizationScheme::Kind::None &&
                   (scheme_.kind == QuantizationScheme::Kind::None || scheme_.name() == scheme.name()),
               fmt::format("'{}': the weights are quantized as '{}', and '{}' was asked for",
                           checkpoint_->file_of(name + ".weight"), scheme.name(), scheme_.name()));
    const int64_t rows = rows_in(matrix, out);
    if (scheme.kind == QuantizationScheme::Kind::Int8)
      return {.weight = rows_of_matrix(stored(name + ".weight", {rows, in}, DType::I8), 0, matrix, out),
              .scales = rows_of_matrix(stored(name + ".scales", {rows}, DType::F32), 0, matrix, out)};
    const int64_t groups = (in + scheme.group_size - 1) / scheme.group_size;
    return {
        .weight = rows_of_matrix(stored(name + ".weight", {rows, in / 2}, DType::U8), 0, matrix, out),
        .scales = rows_of_matrix(stored(name + ".scales", {groups, rows, 2}, DType::BF16), 1, matrix, out),
        .group_size = scheme.group_size};
  }

  std::shared_ptr<const Checkpoint> checkpoint_;
  bool keeps_dtypes_;
  DType dtype_;
  QuantizationScheme scheme_;
};

// Numbers in [-1, 1) times `scale`, of the position and the seed only.
class RandomWeights : public WeightSource {
 public:
  RandomWeights(const ModelOptions& options, uint64_t seed)
      : state_(seed),
        dtype_(weight_dtype(options.dtype)),
        scheme_(QuantizationScheme::parse(options.quantize)) {}

  Tensor vector(const std::string&, const Shape& shape) override {
    return Tensor::full(shape, 1.0, DType::F32);
  }
  LinearWeight linear(const MatrixName& matrix, int64_t out, int64_t in, bool bias,
                      const MatrixPart& part) override {
    LinearWeight weight;
    if (scheme_.kind == QuantizationScheme::Kind::None || matrix.is_exact)
      weight = {.weight = cut(cut(uniform(out, in, dtype_), 0, part.rows), 1, part.columns).contiguous()};
    else
      weight = cut(quantize(uniform(out, in, DType::BF16), scheme_), matrix.name, part);
    if (bias) weight.bias = Tensor::full({part.rows ? part.rows->size() : out}, 0.0, DType::F32);
    return weight;
  }
  RowTable embedding(const std::string&, int64_t rows, int64_t columns) override {
    const Tensor table = uniform(rows, columns, dtype_);
    if (!embedding_.defined()) embedding_ = table;  // the first is that of words
    return {.rows = table, .columns = columns};
  }
  LinearWeight tied_head(const std::string& name, const std::string&, int64_t, int64_t,
                         const MatrixPart& part) override {
    if (scheme_.kind == QuantizationScheme::Kind::None)
      return {.weight = cut(embedding_, 0, part.rows).contiguous()};
    return cut(quantize(embedding_, scheme_), name, part);
  }

 private:
  Tensor uniform(int64_t rows, int64_t columns, DType dtype) {
    Tensor result = Tensor::empty({rows, columns}, dtype);
    const float scale = std::sqrt(3.0f / static_cast<float>(columns));
    const uint64_t stream = ++state_ * 0x9E3779B97F4A7C15u;
    const auto fill = [&]<class T>(T* out) {
      parallel_for(0, rows, 16, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          uint32_t x =
              static_cast<uint32_t>((stream ^ static_cast<uint64_t>(row) * 0xD1342543DE82EF95u) >> 16) | 1u;
          for (int64_t i = 0; i < columns; ++i) {
            x ^= x << 13, x ^= x >> 17, x ^= x << 5;  // Marsaglia 2003
            out[row * columns + i] = T(static_cast<float>(static_cast<int32_t>(x)) * (scale * 0x1p-31f));
          }
        }
      });
    };
    if (dtype == DType::F32)
      fill(result.data_as<float>());
    else if (dtype == DType::F16)
      fill(result.data_as<Half>());
    else
      fill(result.data_as<BFloat16>());
    return result;
  }

  uint64_t state_;
  DType dtype_;
  QuantizationScheme scheme_;
  Tensor embedding_;
};

}  // namespace

std::string QuantizationScheme::name() const {
  if (kind == Kind::None) return "none";
  return kind == Kind::Int8 ? "int8" : fmt::format("int4-g{}", group_size);
}

QuantizationScheme QuantizationScheme::parse(const std::string& name) {
  if (name.empty() || name == "none") return {};
  if (name == "int8") return {Kind::Int8, 0};
  for (const int64_t group : {32, 64, 128, 256})
    if (name == fmt::format("int4-g{}", group)) return {Kind::Int4, group};
  const std::vector<std::string> names = {"int8", "int4-g32", "int4-g64", "int4-g128", "int4-g256"};
  throw_error(ErrorKind::Value,
              fmt::format("unknown quantization scheme '{}'; they are {}{}", printable(name),
                          fmt::join(names, ", "), did_you_mean(name, names)));
}

void QuantizationScheme::check(const DecoderConfig& config) const {
  int64_t row =
      std::min({config.hidden_size, config.intermediate_size, config.num_heads * config.value_dim()});
  if (config.latent) row = std::min(row, config.latent->rank);
  if (config.latent && config.latent->query_rank > 0) row = std::min(row, config.latent->query_rank);
  if (config.experts) row = std::min(row, config.experts->intermediate_size);
  if (config.experts && config.experts->shared_size > 0) row = std::min(row, config.experts->shared_size);
  WEFT_CHECK(
      group_size <= row,
      fmt::format("{}: groups of {} weights are longer than the model's rows of {}; take int8, or int4 with "
                  "smaller groups",
                  name(), group_size, row));
}

LinearWeight quantize(const Tensor& floating, const QuantizationScheme& scheme) {
  const Tensor weight = floating.dtype() == DType::F64 ? floating.to(DType::F32) : floating;
  if (scheme.kind == QuantizationScheme::Kind::Int8) {
    const auto [values, scales] = quantize_int8(weight);
    return {.weight = values, .scales = scales};
  }
  const auto [values, scales] = quantize_int4(weight, scheme.group_size);
  return {.weight = values, .scales = scales, .group_size = scheme.group_size};
}

namespace {

template <class T>
void gather_rows(const Tensor& table, std::span<const int64_t> numbers, float* out) {
  const int64_t columns = table.size(1);
  const T* rows = table.data_as<T>();
  for (const int64_t number : numbers)
    for (int64_t i = 0; i < columns; ++i) *out++ = static_cast<float>(rows[number * columns + i]);
}

// Codes of 8 bits or 4, floats of 8, each with a scale and a zero of its group.
Tensor dequantize_groups(const LinearWeight& weight) {
  const int64_t rows = weight.weight.size(0), in = weight.in_features();
  const Tensor codes = weight.weight.dtype() == DType::F8E4M3FN ? weight.weight.to(DType::F32).contiguous()
                                                                : weight.weight.contiguous();
  const Tensor scales = weight.scales.contiguous(),
               table = weight.table.defined() ? weight.table.contiguous() : Tensor();
  const Tensor result = Tensor::empty({rows, in}, DType::F32);
  const auto code = [&](int64_t row, int64_t i) {
    if (codes.dtype() == DType::F32) return codes.data_as<float>()[row * in + i];
    if (codes.dtype() == DType::I8) return static_cast<float>(codes.data_as<int8_t>()[row * in + i]);
    const uint8_t byte = codes.data_as<uint8_t>()[row * (in / 2) + i / 2];
    const int q = i % 2 == 0 ? byte >> 4 : byte & 15;
    return table.defined() ? table.data_as<float>()[q] : static_cast<float>(q - 8);
  };
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < in; ++i) {
      const float* const scale = scales.data_as<float>() + (i / weight.group_size * rows + row) * 2;
      const int64_t column = weight.order.defined() ? weight.order.data_as<int64_t>()[i] : i;
      result.data_as<float>()[row * in + column] = code(row, i) * scale[0] + scale[1];
    }
  return result;
}

}  // namespace

void RowTable::gather(std::span<const int64_t> numbers, float* out) const {
  if (blocks != BlockFormat::None) {
    for (size_t i = 0; i < numbers.size(); ++i)
      kernels::dequantize_blocks(blocks, rows.data_as<uint8_t>() + numbers[i] * rows.size(1), columns,
                                 out + static_cast<int64_t>(i) * columns);
    return;
  }
  switch (rows.dtype()) {
    case DType::F32: return gather_rows<float>(rows, numbers, out);
    case DType::F16: return gather_rows<Half>(rows, numbers, out);
    default: return gather_rows<BFloat16>(rows, numbers, out);
  }
}

RowTable RowTable::to(Device device) const {
  WEFT_CHECK(blocks == BlockFormat::None || device == Device(),
             fmt::format("a model of {} blocks runs on the CPU, not on {}; load it with quantize=\"int8\" or "
                         "\"int4-g32\" there",
                         block_size(blocks).name, device.str()));
  return {.rows = rows.to(device), .blocks = blocks, .columns = columns};
}

Tensor dequantize(const LinearWeight& weight) {
  if (weight.blocks != BlockFormat::None)
    return blocks_in_float32(weight.weight, weight.blocks, {weight.weight.size(0), weight.in_features()});
  if (!weight.scales.defined()) return weight.weight.to(DType::F32);
  if (weight.group_size == 0) return dequantize_int8(weight.weight, weight.scales);
  if (weight.scales.dtype() == DType::F32) return dequantize_groups(weight);
  return dequantize_int4(weight.weight, weight.scales, weight.group_size);
}

MatrixName in_layer(const std::string& prefix, const MatrixName& matrix, int64_t expert) {
  MatrixName result = matrix;
  result.name = prefix + matrix.name;
  if (!matrix.bias.empty()) result.bias = prefix + matrix.bias;
  if (expert < 0) return result;
  if (matrix.count > 0)
    result.index = expert;
  else if (const size_t at = result.name.find("{}"); at != std::string::npos)
    result.name.replace(at, 2, std::to_string(expert));
  return result;
}

Tensor rows_of_matrix(const Tensor& all, int64_t dim, const MatrixName& matrix, int64_t out) {
  if (matrix.block == 0) return all;
  if (matrix.block == out) return slice(all, dim, matrix.first, matrix.first + out);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < out; ++i)
    rows.push_back(matrix.first + i / matrix.block * matrix.period + i % matrix.block);
  return index_select(all, dim, Tensor::of(rows));
}

std::string tensor_of(const MatrixName& matrix) { return matrix.name + (matrix.is_bare ? "" : ".weight"); }

std::unique_ptr<WeightSource> checkpoint_weights(std::shared_ptr<const Checkpoint> checkpoint,
                                                 ModelOptions& options) {
  check_tensors(*checkpoint);
  std::string own = checkpoint->config().torch_dtype;
  if (own != "bfloat16" && own != "float16") own = "float32";
  if (options.quantize.empty() || options.quantize == "none") options.quantize = checkpoint->quantization();
  const bool keeps_dtypes = checkpoint->has_own_dtypes() && options.dtype.empty();
  complete(options, own);
  QuantizationScheme::parse(options.quantize).check(checkpoint->config());
  return std::make_unique<CheckpointWeights>(std::move(checkpoint), options, keeps_dtypes);
}

std::unique_ptr<WeightSource> random_weights(ModelOptions& options, uint64_t seed) {
  complete(options, "bfloat16");
  return std::make_unique<RandomWeights>(options, seed);
}

std::shared_ptr<const CausalModel> CausalModel::from_pretrained(const std::string& folder,
                                                                const ModelOptions& options) {
  const std::shared_ptr<const Checkpoint> checkpoint = Checkpoint::open(folder, options.verify);
  ModelOptions completed = options;
  const std::unique_ptr<WeightSource> weights = checkpoint_weights(checkpoint, completed);
  return std::shared_ptr<const CausalModel>(new CausalModel(checkpoint->config(), completed, *weights));
}

std::shared_ptr<const CausalModel> CausalModel::random(const DecoderConfig& config,
                                                       const ModelOptions& options, uint64_t seed) {
  ModelOptions completed = options;
  const std::unique_ptr<WeightSource> weights = random_weights(completed, seed);
  QuantizationScheme::parse(completed.quantize).check(config);
  return std::shared_ptr<const CausalModel>(new CausalModel(config, completed, *weights));
}

}  // namespace weft::models
