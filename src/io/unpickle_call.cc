#include "io/unpickle_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "core/printable.h"
#include "core/quantized.h"
#include "values/type_tag.h"
#include "weft/error.h"

namespace weft::jit {

namespace {

using Arguments = std::vector<PickleValue>;
constexpr size_t kMaxDimensions = 64;

void expect_arguments(const Arguments& arguments, size_t least, size_t most, const char* what) {
  if (arguments.size() < least || arguments.size() > most)
    fail_unpickling(
        fmt::format("{}: expected {} to {} arguments, got {}", what, least, most, arguments.size()));
}

int64_t integer(const IValue& value, const char* what) {
  if (!value.is_int()) fail_unpickling(fmt::format("{}: expected int, got {}", what, str(value.tag())));
  return value.to_int();
}

// A tuple (or, from old files, a list) of integers that are not negative.
std::vector<int64_t> sizes(const IValue& value, const char* what) {
  if (!value.is(IValue::Tag::Tuple) && !value.is_list())
    fail_unpickling(fmt::format("{}: expected a tuple of int, got {}", what, str(value.tag())));
  std::vector<int64_t> result;
  if (value.elements().size() > kMaxDimensions)
    fail_unpickling(
        fmt::format("{}: {} dimensions, more than {}", what, value.elements().size(), kMaxDimensions));
  for (const IValue& element : value.elements()) {
    result.push_back(integer(element, what));
    if (result.back() < 0) fail_unpickling(fmt::format("{}: {} is negative", what, result.back()));
  }
  return result;
}

IValue make_tensor(const StorageRef& storage, DType dtype, const Arguments& arguments) {
  const int64_t offset = integer(value_argument(arguments, 1), "storage offset");
  if (offset < 0) fail_unpickling(fmt::format("storage offset: {} is negative", offset));
  Shape shape = sizes(value_argument(arguments, 2), "size");
  Strides strides = sizes(value_argument(arguments, 3), "stride");
  if (shape.size() != strides.size())
    fail_unpickling(fmt::format("tensor: {} sizes and {} strides", shape.size(), strides.size()));
  check_extent(shape, strides, offset, dtype, storage.storage->nbytes());
  return Tensor(storage.storage, dtype, std::move(shape), std::move(strides), offset);
}

const StorageRef& storage_argument(const Arguments& arguments) {
  const auto* storage = std::get_if<StorageRef>(&arguments.at(0));
  if (!storage) fail_unpickling("tensor: expected a storage as first argument");
  return *storage;
}

// Flags of lazily conjugated or negated tensors, which weft has not.
void check_metadata(const Arguments& arguments, size_t index) {
  if (index >= arguments.size()) return;
  const IValue& metadata = value_argument(arguments, index);
  if (!metadata.is(IValue::Tag::Dict)) return;
  for (const auto& [key, value] : metadata.to_dict()->items()) {
    if (key.is_string() && value.is_bool() && value.to_bool())
      fail_unpickling(fmt::format(
          "tensor: its flag '{}' is set; save tensor.resolve_conj().resolve_neg() instead", key.to_string()));
  }
}

// (storage, offset, size, stride[, requires_grad, backward_hooks[, metadata]])
IValue rebuild_tensor(const Arguments& arguments, const UnpickleOptions&) {
  expect_arguments(arguments, 4, 7, "_rebuild_tensor");
  const StorageRef& storage = storage_argument(arguments);
  if (!storage.is_typed) fail_unpickling("_rebuild_tensor_v2: the storage has no dtype");
  check_metadata(arguments, 6);
  return make_tensor(storage, storage.dtype, arguments);
}

// (storage, offset, size, stride, requires_grad, backward_hooks, dtype[, metadata])
IValue rebuild_tensor_v3(const Arguments& arguments, const UnpickleOptions&) {
  expect_arguments(arguments, 7, 8, "_rebuild_tensor_v3");
  check_metadata(arguments, 7);
  const DType dtype = dtype_of_number(integer(value_argument(arguments, 6), "dtype"));
  return make_tensor(storage_argument(arguments), dtype, arguments);
}

constexpr std::pair<std::string_view, int64_t> kSchemes[] = {
    {"per_tensor_affine", 0},
    {"per_channel_affine", 1},
    {"per_tensor_symmetric", 2},
    {"per_channel_symmetric", 3},
    {"per_channel_affine_float_qparams", 4},
};

// Scales or zero points of channels: a tensor, or numbers.
Tensor of_channels(const IValue& value) {
  if (value.is_tensor() && value.to_tensor().defined()) return value.to_tensor();
  if (!value.is_list() && !value.is(IValue::Tag::Tuple))
    fail_unpickling(fmt::format("_rebuild_qtensor: expected scales of channels, got {}", str(value.tag())));
  std::vector<double> numbers;
  for (const IValue& number : value.elements()) numbers.push_back(number.to_double());
  return Tensor::of(numbers);
}

std::shared_ptr<const Quantizer> quantizer_of(const IValue& value) {
  const bool is_tuple = value.is(IValue::Tag::Tuple) && value.elements().size() >= 3;
  if (!is_tuple) fail_unpickling("_rebuild_qtensor: expected a tuple of a scheme, scale and zero point");
  const std::vector<IValue>& parts = value.elements();
  const int64_t scheme = integer(parts[0], "_rebuild_qtensor");
  if (scheme == 0) return per_tensor(parts[1].to_double(), parts[2].to_int());
  if ((scheme != 1 && scheme != 4) || parts.size() != 4)
    fail_unpickling(fmt::format("_rebuild_qtensor: unknown scheme {}", scheme));
  const Tensor zero_points = of_channels(parts[2]);
  return per_channel(of_channels(parts[1]), zero_points.to(scheme == 4 ? DType::F32 : DType::I64),
                     integer(parts[3], "_rebuild_qtensor"));
}

// (storage, offset, size, stride, (scheme, …), requires_grad, backward_hooks)
IValue rebuild_qtensor(const Arguments& arguments, const UnpickleOptions&) {
  expect_arguments(arguments, 5, 7, "_rebuild_qtensor");
  StorageRef storage = storage_argument(arguments);
  if (!storage.is_typed || !is_quantized(storage.dtype))
    fail_unpickling("_rebuild_qtensor: expected a storage of a quantized dtype");
  if (storage.dtype == DType::QU4x2) {
    const auto bytes = static_cast<int64_t>(storage.storage->nbytes());
    storage.storage = unpack_nibbles(Tensor(storage.storage, DType::U8, {bytes}, {1})).storage();
  }
  const Tensor tensor = make_tensor(storage, storage.dtype, arguments).to_tensor();
  tensor.impl()->quantizer = quantizer_of(value_argument(arguments, 4));
  check_quantizer(*tensor.quantizer(), tensor.dtype(), tensor.shape());
  return tensor;
}

// (tensor, requires_grad, backward_hooks)
IValue rebuild_parameter(const Arguments& arguments, const UnpickleOptions&) {
  expect_arguments(arguments, 1, 3, "_rebuild_parameter");
  const IValue& tensor = value_argument(arguments, 0);
  if (!tensor.is_tensor())
    fail_unpickling(fmt::format("_rebuild_parameter: expected Tensor, got {}", str(tensor.tag())));
  return tensor;
}

void check_key(const IValue& key) {
  if (!key.is_string() && !key.is_number() && !key.is_none())
    fail_unpickling(fmt::format(
        "expected str, int, float, bool, complex or None as a dictionary's key, got {}", str(key.tag())));
}

// ([[key, value], …])
IValue ordered_dict(const Arguments& arguments, const UnpickleOptions&) {
  expect_arguments(arguments, 0, 1, "OrderedDict");
  IValue result = IValue::dict(Type::any(), Type::any());
  if (arguments.empty()) return result;
  const IValue& pairs = value_argument(arguments, 0);
  const auto is_sequence = [](const IValue& value) {
    return value.is_list() || value.is(IValue::Tag::Tuple);
  };
  if (!is_sequence(pairs))
    fail_unpickling(fmt::format("OrderedDict: expected a list of pairs, got {}", str(pairs.tag())));
  for (const IValue& pair : pairs.elements()) {
    if (!is_sequence(pair) || pair.elements().size() != 2)
      fail_unpickling("OrderedDict: expected a list of pairs");
    check_key(pair.elements()[0]);
    result.to_dict()->set(pair.elements()[0], pair.elements()[1]);
  }
  return result;
}

// ((2, 3),)
IValue size(const Arguments& arguments, const UnpickleOptions&) {
  expect_arguments(arguments, 0, 1, "torch.Size");
  std::vector<IValue> values;
  if (!arguments.empty())
    for (const int64_t value : sizes(value_argument(arguments, 0), "torch.Size")) values.emplace_back(value);
  return IValue::tuple(std::move(values));
}

// ('cuda',) or ('cuda', 0)
IValue device(const Arguments& arguments, const UnpickleOptions&) {
  expect_arguments(arguments, 1, 2, "torch.device");
  const IValue& type = value_argument(arguments, 0);
  if (!type.is_string()) fail_unpickling(fmt::format("torch.device: expected str, got {}", str(type.tag())));
  if (arguments.size() == 1) return Device::parse(type.to_string());
  const int64_t index = integer(value_argument(arguments, 1), "torch.device");
  return type.to_string() == "cpu" ? Device{} : Device::parse(fmt::format("{}:{}", type.to_string(), index));
}

IValue complex_number(const Arguments& arguments, const UnpickleOptions&) {
  expect_arguments(arguments, 2, 2, "complex");
  const IValue &real = value_argument(arguments, 0), &imaginary = value_argument(arguments, 1);
  if (!real.is_double() || !imaginary.is_double()) fail_unpickling("complex: expected two floats");
  return std::complex<double>(real.to_double(), imaginary.to_double());
}

template <TypePtr (*element)()>
IValue build_list(const Arguments& arguments, const UnpickleOptions&) {
  expect_arguments(arguments, 1, 1, "build_list");
  IValue list = value_argument(arguments, 0);
  if (const TypePtr type = Type::list(element()); !conform(list, type))
    fail_unpickling(fmt::format("expected a value of {}, got a {} of others", type->str(), str(list.tag())));
  return list;
}

// (value, 'List[int]')
IValue restore_type_tag(const Arguments& arguments, const UnpickleOptions& options) {
  expect_arguments(arguments, 2, 2, "restore_type_tag");
  IValue value = value_argument(arguments, 0);
  const IValue& tag = value_argument(arguments, 1);
  if (!tag.is_string())
    fail_unpickling(fmt::format("restore_type_tag: expected str, got {}", str(tag.tag())));
  if (!conform(value, parse_type_tag(tag.to_string(), options.find_type)))
    fail_unpickling(
        fmt::format("the {} is not of its declared type {}", str(value.tag()), printable(tag.to_string())));
  return value;
}

const auto& kFunctions = *new std::unordered_map<std::string_view, Global::Call>{
    {"torch._utils._rebuild_tensor", rebuild_tensor},
    {"torch._utils._rebuild_tensor_v2", rebuild_tensor},
    {"torch._utils._rebuild_tensor_v3", rebuild_tensor_v3},
    {"torch._utils._rebuild_qtensor", rebuild_qtensor},
    {"torch._utils._rebuild_parameter", rebuild_parameter},
    {"collections.OrderedDict", ordered_dict},
    {"torch.Size", size},
    {"torch.device", device},
    {"builtins.complex", complex_number},
    {"__builtin__.complex", complex_number},
    {"torch.jit._pickle.build_intlist", build_list<Type::integer>},
    {"torch.jit._pickle.build_doublelist", build_list<Type::floating>},
    {"torch.jit._pickle.build_boollist", build_list<Type::boolean>},
    {"torch.jit._pickle.build_tensorlist", build_list<Type::tensor>},
    {"torch.jit._pickle.restore_type_tag", restore_type_tag},
};

const auto& kStorageTypes = *new std::unordered_map<std::string_view, std::optional<DType>>{
    {"torch.BoolStorage", DType::Bool},
    {"torch.ByteStorage", DType::U8},
    {"torch.CharStorage", DType::I8},
    {"torch.ShortStorage", DType::I16},
    {"torch.IntStorage", DType::I32},
    {"torch.LongStorage", DType::I64},
    {"torch.HalfStorage", DType::F16},
    {"torch.BFloat16Storage", DType::BF16},
    {"torch.FloatStorage", DType::F32},
    {"torch.DoubleStorage", DType::F64},
    {"torch.ComplexFloatStorage", DType::C64},
    {"torch.ComplexDoubleStorage", DType::C128},
    {"torch.QInt8Storage", DType::QI8},
    {"torch.QUInt8Storage", DType::QU8},
    {"torch.QInt32Storage", DType::QI32},
    {"torch.QUInt4x2Storage", DType::QU4x2},
    {"torch.UntypedStorage", std::nullopt},
    {"torch.storage.UntypedStorage", std::nullopt},
    {"torch.storage._UntypedStorage", std::nullopt},
};

// What may well be in a real file; the rest is refused without a reason of its own.
constexpr std::pair<std::string_view, std::string_view> kReasons[] = {
    {"torch.QUInt2x4Storage", "weft has no quantized tensors of two bits"},
    {"torch._utils._rebuild_sparse_tensor", "weft has no sparse tensors"},
    {"torch._utils._rebuild_sparse_csr_tensor", "weft has no sparse tensors"},
    {"torch._utils._rebuild_meta_tensor_no_storage", "a meta tensor has no elements to load"},
    {"torch._utils._rebuild_nested_tensor", "weft has no nested tensors"},
    {"torch._utils._rebuild_parameter_with_state", "save the parameter without attributes of its own"},
    {"numpy.core.multiarray.scalar", "save a Python number or a tensor in place of a NumPy scalar"},
    {"numpy.core.multiarray._reconstruct", "save a tensor in place of a NumPy array"},
    {"numpy._core.multiarray.scalar", "save a Python number or a tensor in place of a NumPy scalar"},
    {"numpy._core.multiarray._reconstruct", "save a tensor in place of a NumPy array"},
    {"numpy.core.numeric._frombuffer", "save a tensor in place of a NumPy array"},
    {"numpy._core.numeric._frombuffer", "save a tensor in place of a NumPy array"},
    {"builtins.set", "weft has no sets"},
    {"__builtin__.set", "weft has no sets"},
    {"_codecs.encode", "weft has no bytes values"},
};

PickleValue make_global(Global global) { return std::make_shared<const Global>(std::move(global)); }

PickleValue find_class(const std::string& qualified_name, const UnpickleOptions& options) {
  const TypePtr type = options.find_type ? options.find_type(qualified_name) : nullptr;
  if (!type) fail_unpickling(fmt::format("the class '{}' is not in the archive", printable(qualified_name)));
  const bool is_named_tuple = type->is(TypeKind::Tuple) && !type->name().empty();
  if (!type->is(TypeKind::Class) && !type->is(TypeKind::Enum) && !is_named_tuple)
    fail_unpickling(fmt::format("'{}' has no objects", printable(qualified_name)));
  return make_global({Global::Kind::Class, qualified_name, nullptr, DType::U8, false, type});
}

}  // namespace

PickleValue find_global(const std::string& module, const std::string& name, const UnpickleOptions& options) {
  const std::string full = fmt::format("{}.{}", module, name);
  if (module == "__torch__" || module.starts_with("__torch__.")) return find_class(full, options);
  if (const auto function = kFunctions.find(full); function != kFunctions.end())
    return make_global({Global::Kind::Function, full, function->second, DType::U8, false, nullptr});
  if (const auto storage = kStorageTypes.find(full); storage != kStorageTypes.end())
    return make_global({Global::Kind::StorageType, full, nullptr, storage->second.value_or(DType::U8),
                        storage->second.has_value(), nullptr});
  if (const auto dtype = dtype_from_name(name); module == "torch" && dtype && info(*dtype).name == name)
    return IValue(*dtype);
  for (const auto& [scheme, number] : kSchemes)
    if (module == "torch" && name == scheme) return IValue(number);
  for (const auto& [refused, reason] : kReasons)
    if (full == refused) fail_unpickling(fmt::format("'{}' is not allowed: {}", full, reason));
  fail_unpickling(fmt::format(
      "'{}' is not allowed: a pickle may hold tensors, parameters, numbers, strings, lists, tuples, "
      "dictionaries, sizes, dtypes, devices and objects of the archive's own classes",
      printable(full)));
}

const IValue& value_argument(const std::vector<PickleValue>& arguments, size_t index) {
  if (index >= arguments.size())
    fail_unpickling(fmt::format("expected more than {} arguments", arguments.size()));
  const auto* value = std::get_if<IValue>(&arguments[index]);
  if (!value)
    fail_unpickling(
        fmt::format("argument {}: expected a value, got the name of a function, class or storage", index));
  return *value;
}

IValue make_enum(const TypePtr& type, const IValue& value) {
  if (!value.is_string() && !value.is_number())
    fail_unpickling(fmt::format("{}: expected a number or str, got {}", type->name(), str(value.tag())));
  for (const auto& [name, member] : static_cast<const EnumType&>(*type).members()) {
    if (member.equals(value)) return std::make_shared<EnumValue>(EnumValue{type, name, member});
  }
  fail_unpickling(fmt::format("{} has no member of value {}", type->name(), printable(value.repr())));
}

IValue make_named_tuple(const TypePtr& type, std::vector<IValue> values) {
  IValue plain = IValue::tuple(std::move(values));
  if (!conform(plain, type))
    fail_unpickling(
        fmt::format("{}: expected {} values of its fields' types", type->name(), type->elements().size()));
  return plain;
}

void set_attributes(const std::shared_ptr<Object>& object, const IValue& state) {
  const ClassType& type = *object->type;
  if (!state.is(IValue::Tag::Dict))
    fail_unpickling(
        fmt::format("{}: expected a dictionary of its attributes, got {}", type.name(), str(state.tag())));
  for (size_t slot = 0; slot < type.attributes().size(); ++slot) {
    const Attribute& attribute = type.attributes()[slot];
    const IValue* found = state.to_dict()->find(IValue(attribute.name));
    if (!found)
      fail_unpickling(fmt::format("{}: the attribute '{}' is missing", type.name(), attribute.name));
    IValue value = *found;
    if (!conform(value, attribute.type))
      fail_unpickling(fmt::format("{}: the attribute '{}' is a {}: expected {}", type.name(), attribute.name,
                                  str(value.tag()), attribute.type->str()));
    object->slots[slot] = std::move(value);
  }
}

void check_extent(const Shape& shape, const Strides& strides, int64_t offset, DType dtype, size_t nbytes) {
  const auto refuse = [&](const char* why) {
    fail_unpickling(
        fmt::format("tensor of {} with shape {}, strides {} and offset {}: {} (the storage has {} bytes)",
                    name(dtype), weft::str(shape), weft::str(strides), offset, why, nbytes));
  };
  int64_t count = itemsize(dtype), last = offset;
  bool overflow = false, empty = false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) {
      empty = true;
      continue;
    }
    int64_t step = 0;
    overflow |= __builtin_mul_overflow(count, shape[d], &count);
    overflow |= __builtin_mul_overflow(shape[d] - 1, strides[d], &step);
    overflow |= __builtin_add_overflow(last, step, &last);
  }
  if (overflow) refuse("its size overflows");
  const int64_t available = static_cast<int64_t>(nbytes) / itemsize(dtype);
  if (empty ? offset > available : last >= available) refuse("it reaches outside its storage");
}

void fail_unpickling(std::string message) { throw_error(ErrorKind::Value, std::move(message)); }

}  // namespace weft::jit
