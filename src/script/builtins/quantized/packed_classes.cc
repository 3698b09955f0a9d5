#include "script/builtins/quantized/packed_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "core/printable.h"
#include "core/quantized.h"
#include "weft/error.h"
#include "weft/jit/module.h"

namespace weft::jit::packed {
namespace {

constexpr std::string_view kQuantized = "__torch__.torch.classes.quantized.",
                           kLinear = "__torch__.torch.classes.quantized.LinearPackedParamsBase",
                           kConv2d = "__torch__.torch.classes.quantized.Conv2dPackedParamsBase",
                           kConv3d = "__torch__.torch.classes.quantized.Conv3dPackedParamsBase",
                           kEmbedding = "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase",
                           kCell = "__torch__.torch.classes.rnn.CellParamsBase";

ClassTypePtr make_class(std::string_view name, std::vector<std::pair<const char*, TypePtr>> attributes) {
  ClassTypePtr type = ClassType::create(std::string(name), false);
  for (auto& [attribute, attribute_type] : attributes)
    type->add_attribute({.name = attribute, .type = std::move(attribute_type)});
  return type;
}

const std::map<std::string_view, ClassTypePtr>& classes() {
  static const auto& table = *[] {
    const TypePtr tensor = Type::tensor(), ints = Type::list(Type::integer());
    const std::vector<std::pair<const char*, TypePtr>> conv = {
        {"weight", tensor},          {"bias", Type::optional(tensor)}, {"stride", ints},
        {"padding", ints},           {"output_padding", ints},         {"dilation", ints},
        {"groups", Type::integer()}, {"transpose", Type::boolean()}};
    auto* made = new std::map<std::string_view, ClassTypePtr>{
        {kLinear, make_class(kLinear, {{"weight", tensor}, {"bias", Type::optional(tensor)}})},
        {kConv2d, make_class(kConv2d, conv)},
        {kConv3d, make_class(kConv3d, conv)},
        {kEmbedding, make_class(kEmbedding, {{"weight", tensor}})}};
    (*made)[kCell] = make_class(kCell, {{"kind", Type::string()},
                                        {"tensors", Type::list(tensor)},
                                        {"floats", Type::list(Type::floating())},
                                        {"integers", ints},
                                        {"packed", Type::list(made->at(kLinear))}});
    return made;
  }();
  return table;
}

const Object& object_of(const IValue& value, std::string_view name) {
  WEFT_CHECK_TYPE(value.is(IValue::Tag::Object) && value.to_object()->type->name().starts_with(name),
                  fmt::format("expected an object of {}, got {}", name, value.type()->str()));
  const Object& object = *value.to_object();
  WEFT_CHECK(!object.slots.empty() && !object.slots[0].is_none(),
             fmt::format("{}: its weights were never set", object.type->name()));
  return object;
}

std::shared_ptr<Object> make_object(std::string_view name, std::vector<IValue> slots = {}) {
  return std::make_shared<Object>(Object{classes().at(name), std::move(slots)});
}

// Packed weights have scales in float32. The memory is the object's own.
Tensor packed_weight(const Tensor& weight) {
  if (!is_quantized(weight.dtype()) || !weight.quantizer()) return weight.clone();
  auto quantizer = std::make_shared<Quantizer>(*weight.quantizer());
  for (double& scale : quantizer->scales) scale = static_cast<double>(static_cast<float>(scale));
  return copy_weight(of_integers(as_integers(weight), weight.dtype(), std::move(quantizer)));
}

Tensor tensor_or_none(const IValue& value) { return value.is_none() ? Tensor() : value.to_tensor(); }
IValue none_or_tensor(const Tensor& tensor) { return tensor.defined() ? IValue(tensor) : IValue(); }

[[noreturn]] void fail(const Object& object, const std::string& what) {
  throw_error(ErrorKind::Value, fmt::format("{}: {}", object.type->name(), what));
}

// Elements of a state that is a tuple of `count`.
const std::vector<IValue>& parts(const Object& object, const IValue& state, size_t count) {
  if (!state.is(IValue::Tag::Tuple) || state.elements().size() < count)
    fail(object, fmt::format("expected a state of {} parts, got {}", count, state.type()->str()));
  return state.elements();
}

// ---- convolutions ----------------------------------------------------------------------------------------
// dimensions, stride, padding, dilation, output padding (one for each of them), groups, is it transposed?
std::vector<int64_t> numbers_of(const ops::ConvSizes& sizes) {
  std::vector<int64_t> numbers{static_cast<int64_t>(sizes.stride.size())};
  for (const auto* each : {&sizes.stride, &sizes.padding, &sizes.dilation, &sizes.output_padding})
    numbers.insert(numbers.end(), each->begin(), each->end());
  numbers.insert(numbers.end(), {sizes.groups, sizes.is_transposed});
  return numbers;
}

ops::ConvSizes sizes_of(const Object& object, const std::vector<int64_t>& numbers) {
  const size_t spatial = object.type->name() == kConv3d ? 3 : 2;
  if (numbers.size() != 4 * spatial + 3 || numbers[0] != static_cast<int64_t>(spatial))
    fail(object,
         fmt::format("expected {} numbers of a convolution, got {}", 4 * spatial + 3, numbers.size()));
  const auto next = [&, at = numbers.begin() + 1]() mutable {
    at += static_cast<std::ptrdiff_t>(spatial);
    return std::vector<int64_t>(at - static_cast<std::ptrdiff_t>(spatial), at);
  };
  auto each = next;
  ops::ConvSizes sizes;
  sizes.stride = each();
  sizes.padding = each();
  sizes.dilation = each();
  sizes.output_padding = each();
  sizes.groups = numbers[4 * spatial + 1];
  sizes.is_transposed = (numbers[4 * spatial + 2] & 1) != 0;
  return sizes;
}

std::vector<int64_t> integers(const Tensor& tensor) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < tensor.numel(); ++i) result.push_back(static_cast<int64_t>(tensor.at(i)));
  return result;
}

// Version 1 begins with the weight, 2 with "2", 3 with 3.
ConvParams conv_of_state(const Object& object, const IValue& state) {
  const std::vector<IValue>& elements = parts(object, state, 3);
  ConvParams params;
  if (elements[0].is_tensor()) {
    parts(object, state, 6);
    std::vector<int64_t> numbers{static_cast<int64_t>(elements[2].elements().size())};
    for (size_t i = 2; i < 5; ++i)
      for (const Tensor& size : elements[i].to_tensor_list()) numbers.push_back(size.item().to_int());
    numbers.insert(numbers.end(), elements[2].elements().size(), 0);
    numbers.insert(numbers.end(), {elements[5].to_tensor().item().to_int(), 0});
    params.sizes = sizes_of(object, numbers);
    params.weight = elements[0].to_tensor();
    params.bias = tensor_or_none(elements[1]);
  } else if (elements[0].is_string()) {
    if (elements[0].to_string() != "2") fail(object, "unknown version " + elements[0].repr());
    const std::vector<IValue>&tensors = elements[1].elements(), &optional = elements[2].elements();
    if (tensors.size() < 2 || optional.empty()) fail(object, "its state has no weight and bias");
    params.sizes = sizes_of(object, integers(tensors[0].to_tensor()));
    params.weight = tensors[1].to_tensor();
    params.bias = tensor_or_none(optional[0]);
  } else {
    if (elements[0].to_int() != 3) fail(object, "unknown version " + elements[0].repr());
    const std::vector<IValue>& tensors = elements[2].elements();
    if (tensors.size() < 3) fail(object, "its state has no weight and bias");
    params.sizes = sizes_of(object, elements[1].to_int_list());
    params.weight = tensors[1].to_tensor();
    params.bias = tensor_or_none(tensors[2]);
  }
  return params;
}

IValue state_of_conv(const ConvParams& params) {
  std::vector<int16_t> words;
  for (const int64_t number : numbers_of(params.sizes)) words.push_back(static_cast<int16_t>(number));
  return IValue::tuple({"2", IValue(std::vector<Tensor>{Tensor::of(words), params.weight}),
                        IValue::list(Type::optional(Type::tensor()), {none_or_tensor(params.bias)})});
}

void set_linear(Object& object, const LinearParams& params) {
  const Tensor weight = packed_weight(params.weight);
  if (weight.dtype() == DType::QI8) object.native = ops::pack_affine_linear(weight);
  object.slots = {weight, none_or_tensor(params.bias)};
}

void set_conv(Object& object, const ConvParams& params) {
  const Tensor weight = packed_weight(params.weight);
  object.native = ops::pack_affine_conv(weight, params.sizes);
  object.slots = {weight,
                  none_or_tensor(params.bias),
                  params.sizes.stride,
                  params.sizes.padding,
                  params.sizes.output_padding,
                  params.sizes.dilation,
                  params.sizes.groups,
                  params.sizes.is_transposed};
}

}  // namespace

TypePtr find_class(std::string_view qualified_name) {
  const auto found = classes().find(qualified_name);
  return found == classes().end() ? nullptr : found->second;
}

void set_state(Object& object, const IValue& state) {
  const std::string& name = object.type->name();
  if (name == kLinear) {
    const std::vector<IValue>& elements = parts(object, state, 2);
    set_linear(object, {elements[0].to_tensor(), tensor_or_none(elements[1])});
  } else if (name == kConv2d || name == kConv3d) {
    set_conv(object, conv_of_state(object, state));
  } else if (name == kEmbedding) {
    const std::vector<IValue>& tensors = parts(object, state, 2)[1].elements();
    if (tensors.empty()) fail(object, "its state has no weight");
    object.slots = {tensors[0].to_tensor()};
  } else {
    const std::vector<IValue>& elements = parts(object, state, 5);
    elements[0].to_string();
    object.slots.assign(elements.begin(), elements.begin() + 5);
  }
}

IValue get_state(const Object& object) {
  const std::string& name = object.type->name();
  const IValue self(std::make_shared<Object>(object));
  if (name == kConv2d || name == kConv3d) return state_of_conv(conv_params(self));
  if (name == kEmbedding) {
    const Tensor weight = embedding_weight(self);
    const int64_t bits = weight.dtype() == DType::QU8 ? 8 : 4;
    return IValue::tuple({1, IValue(std::vector<Tensor>{weight}), IValue(std::vector<double>()),
                          IValue(std::vector<int64_t>{bits})});
  }
  return IValue::tuple(object.slots);
}

TypePtr state_type(std::string_view name) {
  WEFT_CHECK(find_class(name), fmt::format("packed weights: there is no class '{}'", printable(name)));
  const TypePtr tensor = Type::tensor(), tensors = Type::list(tensor), ints = Type::list(Type::integer());
  if (name == kLinear) return Type::tuple({tensor, Type::optional(tensor)});
  if (name == kConv2d || name == kConv3d)
    return Type::tuple({Type::string(), tensors, Type::list(Type::optional(tensor))});
  const TypePtr floats = Type::list(Type::floating());
  if (name == kEmbedding) return Type::tuple({Type::integer(), tensors, floats, ints});
  return Type::tuple({Type::string(), tensors, floats, ints, Type::list(find_class(kLinear))});
}

std::shared_ptr<Object> object_of_state(std::string_view name, const IValue& state) {
  auto object = make_object(name);
  set_state(*object, state);
  return object;
}

std::string operator_of(const ClassType& type, std::string_view method) {
  const std::string& name = type.name();
  if (name == kConv2d || name == kConv3d) {
    constexpr std::string_view kMethods[] = {"unpack",   "stride", "padding",
                                             "dilation", "groups", "transpose"};
    const bool is_known = std::find(std::begin(kMethods), std::end(kMethods), method) != std::end(kMethods);
    return is_known ? fmt::format("quantized::conv{}d_{}", name == kConv2d ? 2 : 3, method) : "";
  }
  if (method != "unpack") return "";
  return name == kLinear      ? "quantized::linear_unpack"
         : name == kEmbedding ? "quantized::embedding_bag_unpack"
                              : "";
}

Tensor copy_weight(const Tensor& weight) {
  if (!is_quantized(weight.dtype())) return weight.clone();
  return of_integers(as_integers(weight).clone(), weight.dtype(), weight.quantizer());
}

const ops::AffineProduct& product_of(const IValue& value) {
  const Object& object = object_of(value, kQuantized);
  if (!object.native) fail(object, "expected a weight of qint8, got " + object.slots[0].type()->str());
  return *static_cast<const ops::AffineProduct*>(object.native.get());
}
Tensor bias_of(const IValue& value) { return tensor_or_none(object_of(value, kQuantized).slots.at(1)); }

LinearParams linear_params(const IValue& value) {
  const Object& object = object_of(value, kLinear);
  return {object.slots[0].to_tensor(), tensor_or_none(object.slots[1])};
}
std::shared_ptr<Object> make_linear(const LinearParams& params) {
  auto object = make_object(kLinear);
  set_linear(*object, params);
  return object;
}

ConvParams conv_params(const IValue& value) {
  constexpr std::string_view kConv = "__torch__.torch.classes.quantized.Conv";
  const std::vector<IValue>& slots = object_of(value, kConv).slots;
  return {slots[0].to_tensor(),
          tensor_or_none(slots[1]),
          {slots[2].to_int_list(), slots[3].to_int_list(), slots[4].to_int_list(), slots[5].to_int_list(),
           slots[6].to_int(), slots[7].to_bool()}};
}
std::shared_ptr<Object> make_conv(const ConvParams& params) {
  auto object = make_object(params.sizes.stride.size() == 3 ? kConv3d : kConv2d);
  set_conv(*object, params);
  return object;
}

Tensor embedding_weight(const IValue& value) { return object_of(value, kEmbedding).slots[0].to_tensor(); }
std::shared_ptr<Object> make_embedding(const Tensor& weight) { return make_object(kEmbedding, {weight}); }

CellParams cell_params(const IValue& value) {
  const std::vector<IValue>& slots = object_of(value, kCell).slots;
  return {slots[0].to_string(), slots[1].to_tensor_list(), slots[2].to_double_list(), slots[3].to_int_list(),
          slots[4].elements()};
}
std::shared_ptr<Object> make_cell(const CellParams& params) {
  return make_object(kCell, {params.kind, params.tensors, params.floats, params.integers,
                             IValue::list(find_class(kLinear), params.packed)});
}

}  // namespace weft::jit::packed
