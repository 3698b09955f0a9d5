// The classes of C++ whose objects hold the weights of quantized modules, as archives name them:
// "__torch__.torch.classes.quantized.LinearPackedParamsBase". Here they are classes without methods, whose
// attributes are the weights as they were given, in memory of their own; beside them, packed once and for
// all, lie the weights of products.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ops/quantized/products.h"
#include "weft/ivalue.h"
#include "weft/jit/type.h"

namespace weft::jit::packed {

inline constexpr std::string_view kPrefix = "__torch__.torch.classes.";

// By its whole name; null where there is none.
TypePtr find_class(std::string_view qualified_name);
// An object of LinearPackedParamsBase and the like from what PyTorch pickles of it, in whatever version, and
// that again in the one that PyTorch writes. ValueError for other states.
void set_state(Object& object, const IValue& state);
IValue get_state(const Object& object);
// What get_state gives for objects of the class; and such an object of it. ValueError for other classes.
TypePtr state_type(std::string_view qualified_name);
std::shared_ptr<Object> object_of_state(std::string_view qualified_name, const IValue& state);

// The operator that does what a method of such a class does: "quantized::conv2d_unpack" for unpack; empty
// where there is none.
std::string operator_of(const ClassType& type, std::string_view method);

// The same in memory of its own, as unpacking gives weights.
Tensor copy_weight(const Tensor& weight);

// Products of LinearPackedParamsBase, whose weight is QI8, and of Conv2dPackedParamsBase and the like.
// ValueError where the weight is no such one.
const ops::AffineProduct& product_of(const IValue& object);
// Undefined where there is none.
Tensor bias_of(const IValue& object);

// LinearPackedParamsBase. The weight is QI8, or F32 whose numbers are those of float16.
struct LinearParams {
  Tensor weight, bias;  // bias: undefined where there is none
};
LinearParams linear_params(const IValue& object);
std::shared_ptr<Object> make_linear(const LinearParams& params);

// Conv2dPackedParamsBase, Conv3dPackedParamsBase; a convolution of one dimension is one of two whose first
// has size 1.
struct ConvParams {
  Tensor weight, bias;
  ops::ConvSizes sizes;
};
ConvParams conv_params(const IValue& object);
std::shared_ptr<Object> make_conv(const ConvParams& params);

// EmbeddingPackedParamsBase: rows of QU8 or QU4x2.
Tensor embedding_weight(const IValue& object);
std::shared_ptr<Object> make_embedding(const Tensor& weight);

// CellParamsBase.
struct CellParams {
  std::string kind;  // "quantized_dynamic", "quantized_fp16", "quantized"
  std::vector<Tensor> tensors;
  std::vector<double> floats;
  std::vector<int64_t> integers;
  std::vector<IValue> packed;  // LinearPackedParamsBase
};
CellParams cell_params(const IValue& object);
std::shared_ptr<Object> make_cell(const CellParams& params);

}  // namespace weft::jit::packed
