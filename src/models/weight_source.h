// Where a model's weights come from: a checkpoint, quantized on the way where asked for, or random numbers.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "models/checkpoint.h"
#include "weft/models/causal_model.h"

namespace weft::models {

// A scheme's name: "int8", or "int4-g32" and its like.
struct QuantizationScheme {
  enum class Kind : uint8_t { None, Int8, Int4 } kind = Kind::None;
  int64_t group_size = 0;  // int4
  std::string name() const;
  // "" and "none", "int8", "int4-g32", "int4-g64", "int4-g128", "int4-g256"; ValueError with the list for
  // another.
  static QuantizationScheme parse(const std::string& name);
  // ValueError where a row of one of the model's matrices is shorter than a group.
  void check(const DecoderConfig& config) const;
};

// Quantizes a floating [out, in]; a last group may be shorter. ValueError for int4 where `in` is odd.
LinearWeight quantize(const Tensor& weight, const QuantizationScheme& scheme);
// Back to float32 [out, in].
Tensor dequantize(const LinearWeight& weight);

// Places begin to end - 1.
struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// What a rank has of a matrix; all of what is not said. Columns of quantized weights keep their groups whole,
// or lie within one: ValueError naming the matrix otherwise.
struct MatrixPart {
  std::optional<Range> rows = std::nullopt, columns = std::nullopt;
};

// Rows that are looked up: floating [rows, columns], or blocks.
struct RowTable {
  Tensor rows = {};
  BlockFormat blocks = BlockFormat::None;
  int64_t columns = 0;

  bool defined() const { return rows.defined(); }
  void gather(std::span<const int64_t> numbers, float* out) const;
  RowTable to(Device device) const;  // ValueError for blocks on another one than the CPU
};

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual Tensor vector(const std::string& name, const Shape& shape) = 0;  // float32
  // The sizes are those of the whole matrix, of which `part` alone is read.
  virtual LinearWeight linear(const MatrixName& matrix, int64_t out, int64_t in, bool bias = false,
                              const MatrixPart& part = {}) = 0;
  LinearWeight linear(const std::string& name, int64_t out, int64_t in, bool bias = false,
                      const MatrixPart& part = {}) {
    return linear(MatrixName{.name = name}, out, in, bias, part);
  }
  virtual RowTable embedding(const std::string& name, int64_t rows, int64_t columns) = 0;
  // The embedding as the last linear layer, which is called `head`.
  virtual LinearWeight tied_head(const std::string& name, const std::string& head, int64_t rows,
                                 int64_t columns, const MatrixPart& part = {}) = 0;
};

// A matrix's name with what is before it, and the number of an expert.
MatrixName in_layer(const std::string& prefix, const MatrixName& matrix, int64_t expert = -1);
// Of what a tensor's rows hold, along `dim`, those of the matrix.
Tensor rows_of_matrix(const Tensor& all, int64_t dim, const MatrixName& matrix, int64_t out);
// The tensor that it lies in.
std::string tensor_of(const MatrixName& matrix);

// `options` gets what was left to the checkpoint: its dtype and the cache's.
std::unique_ptr<WeightSource> checkpoint_weights(std::shared_ptr<const Checkpoint> checkpoint,
                                                 ModelOptions& options);
std::unique_ptr<WeightSource> random_weights(ModelOptions& options, uint64_t seed);

}  // namespace weft::models
