// source: AutoGPTQ's and GPTQModel's QuantLinear, AutoAWQ's WQLinear_GEMM, compressed-tensors' compressors,
// the integrations finegrained_fp8, mxfp4 and bitsandbytes of transformers.
#include "models/hub_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "core/printable.h"
#include "models/json_fields.h"
#include "weft/error.h"
#include "weft/ops.h"
#include "weft/parallel.h"

namespace weft::models {
namespace {

// A part of a matrix, checked.
Tensor part_of(const HubTensors& tensors, const std::string& name, const Shape& shape,
               std::initializer_list<DType> dtypes) {
  WEFT_CHECK(tensors.has(name),
             fmt::format("'{}': the checkpoint has no tensor '{}'", tensors.where, printable(name)));
  const Tensor tensor = tensors.read(name);
  WEFT_CHECK(tensor.shape() == shape,
             fmt::format("'{}': tensor '{}' has shape {}, expected {}", tensors.where, printable(name),
                         str(tensor.shape()), str(shape)));
  WEFT_CHECK_TYPE(std::find(dtypes.begin(), dtypes.end(), tensor.dtype()) != dtypes.end(),
                  fmt::format("'{}': tensor '{}' is {}, which it never is", tensors.where, printable(name),
                              weft::name(tensor.dtype())));
  return tensor.contiguous();
}
constexpr std::initializer_list<DType> kFloats = {DType::F16, DType::BF16, DType::F32};

// Numbers of so many bits that lie in int32, the first in the lowest.
struct PackedInts {
  const int32_t* words;
  int64_t bits, stride;  // words of a row

  int64_t per_word() const { return 32 / bits; }
  uint32_t at(int64_t row, int64_t column, int64_t place) const {
    return static_cast<uint32_t>(words[row * stride + column]) >> (bits * place) & ((1u << bits) - 1);
  }
};

// Codes [rows, in] and a scale and a zero of each group of inputs: w = scale (code - zero).
class GroupedRows {
 public:
  GroupedRows(int64_t rows, int64_t in, int64_t bits, int64_t group)
      : rows_(rows), in_(in), bits_(bits), given_(group), group_(own_group(group, in)) {
    weight_.weight =
        bits == 4 ? Tensor::empty({rows, in / 2}, DType::U8) : Tensor::empty({rows, in}, DType::I8);
    weight_.scales = Tensor::empty({(in + group_ - 1) / group_, rows, 2}, DType::F32);
    weight_.group_size = group_;
  }
  int64_t groups() const { return (in_ + given_ - 1) / given_; }  // of the checkpoint

  // code(row, input), below 2^bits; scale(row, group) and zero(row, group).
  template <class Code, class Scale, class Zero>
  LinearWeight fill(const Code& code, const Scale& scale, const Zero& zero) {
    const int middle = bits_ == 4 ? 8 : 128;
    parallel_for(0, rows_, 4, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t i = 0; i < in_; ++i) {
          const uint32_t q = code(row, i);
          if (bits_ == 8) {
            weight_.weight.data_as<int8_t>()[row * in_ + i] =
                static_cast<int8_t>(static_cast<int>(q) - middle);
            continue;
          }
          uint8_t& byte = weight_.weight.data_as<uint8_t>()[row * (in_ / 2) + i / 2];
          byte = static_cast<uint8_t>(i % 2 == 0 ? q << 4 : byte | q);
        }
        for (int64_t group = 0; group * group_ < in_; ++group) {
          const int64_t given = group * group_ / given_;
          const float s = scale(row, given);
          float* const to = weight_.scales.data_as<float>() + (group * rows_ + row) * 2;
          to[0] = s, to[1] = s * (static_cast<float>(middle) - zero(row, given));
        }
      }
    });
    return weight_;
  }

  // Groups that kernels have: the checkpoint's, or parts of it.
  static int64_t own_group(int64_t group, int64_t in) {
    for (const int64_t own : {256, 128, 64, 32, 16})
      if (group % own == 0 || (group >= in && own <= 128)) return own;
    throw_error(ErrorKind::Value,
                fmt::format("groups of {} weights are not supported; weft has multiples of 16", group));
  }

 private:
  int64_t rows_, in_, bits_, given_, group_;
  LinearWeight weight_;
};

int64_t size_of_groups(int64_t group, int64_t in) { return group <= 0 ? in : group; }

void check_bits(int64_t bits, const std::string& where, const char* method) {
  WEFT_CHECK(bits == 4 || bits == 8,
             fmt::format("{}: {} of {} bits is not supported; weft has 4 and 8", where, method, bits));
}

class GptqMatrices : public HubWeights {
 public:
  GptqMatrices(const JsonFields& fields)
      : bits_(fields.integer("bits")), group_(fields.integer("group_size", 128)) {
    check_bits(bits_, fields.where(), "GPTQ");
    const std::string format = fields.text("checkpoint_format", "gptq");
    WEFT_CHECK(format == "gptq" || format == "gptq_v2",
               fmt::format("{}: checkpoint_format '{}' is not supported; weft has gptq and gptq_v2",
                           fields.where(), printable(format)));
    added_ = format == "gptq" ? 1 : 0;  // zeros are stored so much less
  }
  std::string name() const override { return fmt::format("gptq, {} bits, groups of {}", bits_, group_); }
  std::vector<std::string> suffixes() const override { return {".qweight", ".qzeros", ".scales", ".g_idx"}; }

  std::optional<LinearWeight> matrix(const HubTensors& tensors, const MatrixName& matrix, int64_t rows,
                                     int64_t in) const override {
    const std::string& base = matrix.name;
    if (!tensors.has(base + ".qweight")) return std::nullopt;
    const int64_t per_word = 32 / bits_, group = size_of_groups(group_, in);
    GroupedRows result(rows, in, bits_, group);
    const int64_t groups = result.groups();
    const Tensor words = part_of(tensors, base + ".qweight", {in / per_word, rows}, {DType::I32}),
                 zeros = part_of(tensors, base + ".qzeros", {groups, rows / per_word}, {DType::I32}),
                 scales = part_of(tensors, base + ".scales", {groups, rows}, kFloats).to(DType::F32);
    const PackedInts codes{words.data_as<int32_t>(), bits_, rows},
        lows{zeros.data_as<int32_t>(), bits_, rows / per_word};
    const std::vector<int64_t> order =
        tensors.has(base + ".g_idx") ? order_of(tensors, base, in, group) : std::vector<int64_t>();
    LinearWeight weight = result.fill(
        [&](int64_t row, int64_t i) {
          const int64_t input = order.empty() ? i : order[static_cast<size_t>(i)];
          return codes.at(input / per_word, row, input % per_word);
        },
        [&](int64_t row, int64_t g) { return scales.data_as<float>()[g * rows + row]; },
        [&](int64_t row, int64_t g) {
          return static_cast<float>(lows.at(g, row / per_word, row % per_word) + added_);
        });
    if (!order.empty()) weight.order = Tensor::of(order);
    return weight;
  }

 private:
  // The inputs, group after group; nothing where they lie so.
  std::vector<int64_t> order_of(const HubTensors& tensors, const std::string& base, int64_t in,
                                int64_t group) const {
    const Tensor of_inputs = part_of(tensors, base + ".g_idx", {in}, {DType::I32});
    const int32_t* const groups = of_inputs.data_as<int32_t>();
    if (std::is_sorted(groups, groups + in) && groups[0] == 0 && groups[in - 1] == (in - 1) / group)
      return {};
    std::vector<int64_t> order(static_cast<size_t>(in));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return groups[a] < groups[b]; });
    for (int64_t i = 0; i < in; ++i)
      WEFT_CHECK(groups[order[static_cast<size_t>(i)]] == i / group,
                 fmt::format("'{}': tensor '{}.g_idx' does not give every group {} inputs", tensors.where,
                             printable(base), group));
    return order;
  }

  int64_t bits_, group_;
  uint32_t added_ = 1;
};

class AwqMatrices : public HubWeights {
 public:
  AwqMatrices(const JsonFields& fields) : group_(fields.integer("group_size", 128)) {
    const int64_t bits = fields.integer("bits", 4);
    WEFT_CHECK(bits == 4,
               fmt::format("{}: AWQ of {} bits is not supported; weft has 4", fields.where(), bits));
    std::string version = fields.text("version", "gemm");
    std::transform(version.begin(), version.end(), version.begin(),
                   [](char c) { return static_cast<char>(std::tolower(c)); });
    WEFT_CHECK(version == "gemm", fmt::format("{}: AWQ's version '{}' is not supported; weft has gemm",
                                              fields.where(), printable(version)));
  }
  std::string name() const override { return fmt::format("awq, 4 bits, groups of {}", group_); }
  std::vector<std::string> suffixes() const override { return {".qweight", ".qzeros", ".scales"}; }

  std::optional<LinearWeight> matrix(const HubTensors& tensors, const MatrixName& matrix, int64_t rows,
                                     int64_t in) const override {
    const std::string& base = matrix.name;
    if (!tensors.has(base + ".qweight")) return std::nullopt;
    constexpr int64_t kPlaces[8] = {0, 4, 1, 5, 2, 6, 3, 7};  // of outputs in a word
    GroupedRows result(rows, in, 4, size_of_groups(group_, in));
    const int64_t groups = result.groups();
    const Tensor words = part_of(tensors, base + ".qweight", {in, rows / 8}, {DType::I32}),
                 zeros = part_of(tensors, base + ".qzeros", {groups, rows / 8}, {DType::I32}),
                 scales = part_of(tensors, base + ".scales", {groups, rows}, kFloats).to(DType::F32);
    const PackedInts codes{words.data_as<int32_t>(), 4, rows / 8},
        lows{zeros.data_as<int32_t>(), 4, rows / 8};
    return result.fill(
        [&](int64_t row, int64_t i) { return codes.at(i, row / 8, kPlaces[row % 8]); },
        [&](int64_t row, int64_t g) { return scales.data_as<float>()[g * rows + row]; },
        [&](int64_t row, int64_t g) { return static_cast<float>(lows.at(g, row / 8, kPlaces[row % 8])); });
  }

 private:
  int64_t group_;
};

// A float8 matrix with scales of blocks, of rows, or one.
LinearWeight float8_rows(const Tensor& weight, const Tensor& scales, int64_t block_rows,
                         int64_t block_columns) {
  constexpr int64_t kGroup = 128;
  const int64_t rows = weight.size(0), in = weight.size(1), columns = (in + kGroup - 1) / kGroup;
  const Tensor result = Tensor::full({columns, rows, 2}, 0.0, DType::F32);
  const int64_t stride = scales.dim() > 1 ? scales.size(1) : 1;
  for (int64_t group = 0; group < columns; ++group)
    for (int64_t row = 0; row < rows; ++row)
      result.data_as<float>()[(group * rows + row) * 2] =
          scales.data_as<float>()[row / block_rows * stride + group * kGroup / block_columns];
  return {.weight = weight, .scales = result, .group_size = kGroup};
}

class Float8Matrices : public HubWeights {
 public:
  Float8Matrices(const JsonFields& fields) {
    if (!fields.has("weight_block_size")) return;
    const std::vector<int64_t> sizes = fields.integers("weight_block_size");
    WEFT_CHECK(
        sizes.size() == 2 && sizes[0] > 0 && sizes[1] > 0 && sizes[1] % 128 == 0,
        fmt::format("{}: weight_block_size must be two sizes, the second a multiple of 128", fields.where()));
    block_rows_ = sizes[0], block_columns_ = sizes[1];
  }
  std::string name() const override {
    return block_rows_ == 0 ? "fp8"
                            : fmt::format("fp8, a scale for {} x {} weights", block_rows_, block_columns_);
  }
  std::vector<std::string> suffixes() const override {
    return {".weight_scale_inv", ".weight_scale", ".input_scale", ".activation_scale"};
  }
  std::optional<LinearWeight> matrix(const HubTensors& tensors, const MatrixName& matrix, int64_t rows,
                                     int64_t in) const override {
    return float8_matrix(tensors, matrix.name, rows, in, block_rows_, block_columns_);
  }
  static std::optional<LinearWeight> float8_matrix(const HubTensors& tensors, const std::string& base,
                                                   int64_t rows, int64_t in, int64_t block_rows,
                                                   int64_t block_columns) {
    const std::string inverse = base + ".weight_scale_inv", plain = base + ".weight_scale";
    if (!tensors.has(inverse) && !tensors.has(plain)) return std::nullopt;
    const Tensor weight = part_of(tensors, base + ".weight", {rows, in}, {DType::F8E4M3FN});
    const std::string& scale = tensors.has(inverse) ? inverse : plain;
    const Tensor scales = tensors.read(scale).to(DType::F32).contiguous();
    const Shape of_blocks =
        block_rows > 0 ? Shape{(rows + block_rows - 1) / block_rows, (in + block_columns - 1) / block_columns}
                       : Shape{};
    if (block_rows > 0 && scales.shape() == of_blocks)
      return float8_rows(weight, scales, block_rows, block_columns);
    if (scales.numel() == 1) return float8_rows(weight, reshape(scales, {1, 1}), rows, in);
    WEFT_CHECK(scales.numel() == rows,
               fmt::format("'{}': tensor '{}' has shape {}, expected {}", tensors.where, printable(scale),
                           str(scales.shape()), block_rows > 0 ? str(of_blocks) : str(Shape{rows, 1})));
    return float8_rows(weight, reshape(scales, {rows, 1}), 1, in);
  }

 private:
  int64_t block_rows_ = 0, block_columns_ = 0;
};

class CompressedMatrices : public HubWeights {
 public:
  CompressedMatrices(const JsonFields& fields) {
    format_ = fields.text("format", "dense");
    const Json& groups = fields.get("config_groups");
    WEFT_CHECK(groups.is_object() && groups.size() == 1,
               fmt::format("{}: compressed-tensors with {} config_groups is not supported; weft has one",
                           fields.where(), groups.is_object() ? groups.size() : 0));
    const JsonFields group(groups.begin().value(), fields.where() + ".config_groups");
    const JsonFields weights(group.get("weights"), group.where() + ".weights");
    bits_ = weights.integer("num_bits", 8);
    kind_ = weights.text("type", "int");
    strategy_ = weights.has("strategy") ? weights.text("strategy", "channel") : "channel";
    if (weights.has("group_size")) group_ = weights.integer("group_size");
    if (weights.has("block_structure")) {
      const std::vector<int64_t> sizes = weights.integers("block_structure");
      WEFT_CHECK(sizes.size() == 2 && sizes[0] > 0 && sizes[1] > 0 && sizes[1] % 128 == 0,
                 fmt::format("{}: block_structure must be two sizes, the second a multiple of 128",
                             weights.where()));
      block_rows_ = sizes[0], block_columns_ = sizes[1];
    }
    const std::vector<std::string> formats = {"pack-quantized", "int-quantized", "float-quantized",
                                              "naive-quantized"};
    WEFT_CHECK(std::find(formats.begin(), formats.end(), format_) != formats.end() &&
                   (kind_ == "int" || kind_ == "float"),
               fmt::format("{}: compressed-tensors in the format '{}' of type '{}' is not supported; weft "
                           "has pack-quantized, "
                           "int-quantized, float-quantized and naive-quantized",
                           fields.where(), printable(format_), printable(kind_)));
    if (kind_ == "int") check_bits(bits_, fields.where(), "compressed-tensors");
    if (kind_ == "float")
      WEFT_CHECK(bits_ == 8,
                 fmt::format("{}: floats of {} bits are not supported; weft has 8", fields.where(), bits_));
  }
  std::string name() const override {
    return fmt::format("compressed-tensors, {}, {} of {} bits", format_, kind_, bits_);
  }
  std::vector<std::string> suffixes() const override {
    return {".weight_packed", ".weight_scale", ".weight_zero_point", ".weight_shape",
            ".weight_g_idx",  ".input_scale",  ".input_zero_point"};
  }

  std::optional<LinearWeight> matrix(const HubTensors& tensors, const MatrixName& matrix, int64_t rows,
                                     int64_t in) const override {
    const std::string& base = matrix.name;
    if (!tensors.has(base + ".weight_scale")) return std::nullopt;
    if (kind_ == "float")
      return Float8Matrices::float8_matrix(tensors, base, rows, in, block_rows_, block_columns_);
    WEFT_CHECK(!tensors.has(base + ".weight_g_idx"),
               fmt::format(
                   "'{}': '{}.weight_g_idx': groups of compressed-tensors in another order are not supported",
                   tensors.where, printable(base)));
    const bool in_groups = strategy_ == "group";
    GroupedRows result(rows, in, bits_, in_groups ? size_of_groups(group_, in) : in);
    const int64_t groups = result.groups(), per_word = 32 / bits_;
    const bool is_one = strategy_ == "tensor";
    Tensor scales = tensors.read(base + ".weight_scale").to(DType::F32).contiguous();
    WEFT_CHECK(
        scales.numel() == (is_one ? 1 : rows * groups),
        fmt::format("'{}': tensor '{}.weight_scale' has shape {}, expected {}", tensors.where,
                    printable(base), str(scales.shape()), is_one ? str(Shape{1}) : str(Shape{rows, groups})));
    const auto scale = [&](int64_t row, int64_t g) {
      return scales.data_as<float>()[is_one ? 0 : row * groups + g];
    };
    const std::string zero_name = base + ".weight_zero_point";
    const auto middle = static_cast<float>(1 << (bits_ - 1));
    if (format_ == "pack-quantized") {
      const Tensor words = part_of(tensors, base + ".weight_packed", {rows, in / per_word}, {DType::I32});
      const PackedInts codes{words.data_as<int32_t>(), bits_, in / per_word};
      const Tensor zeros =
          tensors.has(zero_name)
              ? part_of(tensors, zero_name, {(rows + per_word - 1) / per_word, groups}, {DType::I32})
              : Tensor();
      return result.fill([&](int64_t row, int64_t i) { return codes.at(row, i / per_word, i % per_word); },
                         scale,
                         [&](int64_t row, int64_t g) {
                           if (!zeros.defined()) return middle;
                           const PackedInts lows{zeros.data_as<int32_t>(), bits_, groups};
                           return static_cast<float>(lows.at(row / per_word, g, row % per_word));
                         });
    }
    const Tensor codes = part_of(tensors, base + ".weight", {rows, in}, {DType::I8});
    const Tensor zeros =
        tensors.has(zero_name) ? tensors.read(zero_name).to(DType::F32).contiguous() : Tensor();
    if (zeros.defined())
      WEFT_CHECK(zeros.numel() == scales.numel(),
                 fmt::format("'{}': tensor '{}' has shape {}, and there are {} scales", tensors.where,
                             printable(zero_name), str(zeros.shape()), scales.numel()));
    const int offset = 1 << (bits_ - 1), mask = (1 << bits_) - 1;
    return result.fill(
        [&](int64_t row, int64_t i) {
          return static_cast<uint32_t>((codes.data_as<int8_t>()[row * in + i] + offset) & mask);
        },
        scale,
        [&](int64_t row, int64_t g) {
          return middle + (zeros.defined() ? zeros.data_as<float>()[is_one ? 0 : row * groups + g] : 0.0f);
        });
  }

 private:
  std::string format_, kind_, strategy_;
  int64_t bits_ = 8, group_ = 128, block_rows_ = 0, block_columns_ = 0;
};

// gpt-oss: experts' matrices of one tensor, 32 weights in 16 bytes, the first of each byte in its low bits.
class Mxfp4Matrices : public HubWeights {
 public:
  std::string name() const override { return "mxfp4"; }
  std::vector<std::string> suffixes() const override { return {"_blocks", "_scales"}; }

  std::optional<LinearWeight> matrix(const HubTensors& tensors, const MatrixName& matrix, int64_t rows,
                                     int64_t in) const override {
    if (!tensors.has(matrix.name + "_blocks")) return std::nullopt;
    const BlockSize size = block_size(BlockFormat::MXFP4);
    const int64_t count = in / size.elements;
    WEFT_CHECK(in % size.elements == 0 && matrix.count > 0,
               fmt::format("'{}': '{}': MXFP4 is for experts with rows of whole blocks of {}, got {}",
                           tensors.where, printable(matrix.name), size.elements, in));
    const Tensor numbers = select(part_of(tensors, matrix.name + "_blocks", {matrix.count, rows, count, 16},
                                          {DType::U8}),
                                  0, matrix.index)
                               .contiguous(),
                 scales = select(part_of(tensors, matrix.name + "_scales", {matrix.count, rows, count},
                                         {DType::U8}),
                                 0, matrix.index)
                              .contiguous();
    const Tensor result = Tensor::empty({rows, count * size.bytes}, DType::U8);
    parallel_for(0, rows * count, 256, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const uint8_t* const from = numbers.data_as<uint8_t>() + block * 16;
        uint8_t* const to = result.data_as<uint8_t>() + block * size.bytes;
        const auto code = [&](int64_t i) { return i % 2 == 0 ? from[i / 2] & 15 : from[i / 2] >> 4; };
        to[0] = scales.data_as<uint8_t>()[block];
        for (int64_t i = 0; i < 16; ++i) to[1 + i] = static_cast<uint8_t>(code(i) | code(i + 16) << 4);
      }
    });
    return LinearWeight{.weight = result, .blocks = BlockFormat::MXFP4};
  }
};

// bitsandbytes: codes of a table, the first of two in the high bits, and a scale for every 64 weights, rows
// one behind another.
class Nf4Matrices : public HubWeights {
 public:
  Nf4Matrices(const JsonFields& fields) {
    WEFT_CHECK(!fields.boolean("load_in_8bit", false) && !fields.boolean("_load_in_8bit", false),
               fields.where() + ": bitsandbytes of 8 bits is not supported; weft has its nf4");
    const std::string type = fields.text("bnb_4bit_quant_type", "fp4");
    WEFT_CHECK(type == "nf4", fmt::format("{}: bitsandbytes' '{}' is not supported; weft has nf4",
                                          fields.where(), printable(type)));
  }
  std::string name() const override { return "bitsandbytes, nf4"; }
  std::vector<std::string> suffixes() const override {
    return {".weight.absmax", ".weight.quant_map", kState, ".weight.nested_absmax",
            ".weight.nested_quant_map"};
  }

  std::optional<LinearWeight> matrix(const HubTensors& tensors, const MatrixName& matrix, int64_t rows,
                                     int64_t in) const override {
    const std::string base = matrix.name + ".weight";
    if (!tensors.has(base + ".absmax")) return std::nullopt;
    const std::string state_name = matrix.name + kState;
    WEFT_CHECK(tensors.has(state_name),
               fmt::format("'{}': the checkpoint has no tensor '{}'", tensors.where, printable(state_name)));
    const Tensor text = tensors.read(state_name).contiguous();
    WEFT_CHECK_TYPE(text.dtype() == DType::U8,
                    fmt::format("'{}': tensor '{}' is no text", tensors.where, printable(state_name)));
    const Json json = parse_json(
        {reinterpret_cast<const char*>(text.data_as<uint8_t>()), static_cast<size_t>(text.numel())},
        fmt::format("'{}': '{}'", tensors.where, printable(state_name)));
    const JsonFields state(json, fmt::format("'{}': '{}'", tensors.where, printable(state_name)));
    const int64_t block = state.integer("blocksize", 64);
    WEFT_CHECK((block == 64 || block == 128 || block == 256) && in % block == 0,
               fmt::format("{}: rows of {} weights are not whole blocks of {}, of 64, 128 or 256 weights",
                           state.where(), in, block));
    const int64_t blocks = rows * in / block;
    const Tensor codes = part_of(tensors, base, {rows * in / 2, 1}, {DType::U8});
    Tensor scales = part_of(tensors, base + ".absmax", {blocks}, {DType::U8, DType::F32});
    if (scales.dtype() == DType::U8) scales = nested(tensors, base, scales, state);
    const int64_t groups = in / block;
    const Tensor both = Tensor::full({groups, rows, 2}, 0.0, DType::F32);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t g = 0; g < groups; ++g)
        both.data_as<float>()[(g * rows + row) * 2] = scales.data_as<float>()[row * groups + g];
    return LinearWeight{.weight = reshape(codes, {rows, in / 2}),
                        .scales = both,
                        .group_size = block,
                        .table = part_of(tensors, base + ".quant_map", {16}, {DType::F32})};
  }

 private:
  static constexpr const char* kState = ".weight.quant_state.bitsandbytes__nf4";

  // Scales that are codes of a table of 256 themselves.
  static Tensor nested(const HubTensors& tensors, const std::string& base, const Tensor& codes,
                       const JsonFields& state) {
    const int64_t block = state.integer("nested_blocksize", 256), count = codes.numel();
    WEFT_CHECK(block > 0, fmt::format("{}: nested_blocksize must be positive, got {}", state.where(), block));
    const Tensor table = part_of(tensors, base + ".nested_quant_map", {256}, {DType::F32}),
                 scales =
                     part_of(tensors, base + ".nested_absmax", {(count + block - 1) / block}, {DType::F32}),
                 result = Tensor::empty({count}, DType::F32);
    const auto offset = static_cast<float>(state.real("nested_offset", 0.0));
    for (int64_t i = 0; i < count; ++i)
      result.data_as<float>()[i] =
          table.data_as<float>()[codes.data_as<uint8_t>()[i]] * scales.data_as<float>()[i / block] + offset;
    return result;
  }
};

}  // namespace

std::unique_ptr<HubWeights> HubWeights::make(const Json& quantization, const std::string& where) {
  const JsonFields fields(quantization, where + ": quantization_config");
  const std::string method = fields.text("quant_method", "");
  if (method == "gptq") return std::make_unique<GptqMatrices>(fields);
  if (method == "awq") return std::make_unique<AwqMatrices>(fields);
  if (method == "compressed-tensors") return std::make_unique<CompressedMatrices>(fields);
  if (method == "fp8" || method == "fbgemm_fp8") return std::make_unique<Float8Matrices>(fields);
  if (method == "mxfp4") return std::make_unique<Mxfp4Matrices>();
  if (method == "bitsandbytes") return std::make_unique<Nf4Matrices>(fields);
  throw_error(
      ErrorKind::Value,
      fmt::format(
          "{}: the method '{}' is not supported; weft has gptq, awq, compressed-tensors, fp8, fbgemm_fp8, "
          "mxfp4 and bitsandbytes",
          fields.where(), printable(method)));
}

}  // namespace weft::models
