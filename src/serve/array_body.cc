#include "serve/array_body.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/printable.h"
#include "io/json.h"
#include "serve/api_error.h"
#include "serve/base64.h"
#include "serve/json_body.h"
#include "weft/error.h"

namespace weft::serve {
namespace {


[[noreturn]] void refuse_input(const std::string& name, const std::string& why) {
  throw ApiError(400, fmt::format("inputs: '{}' {}", printable(name), why), "inputs");
}

std::optional<double> special_number(const Json& leaf) {
  if (!leaf.is_string()) return std::nullopt;
  const auto& text = leaf.get_ref<const std::string&>();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

// Lists of lists, flattened, with what they are made of.
struct Leaves {
  Shape shape;
  std::vector<const Json*> values;
  int64_t floats = 0, integers = 0, flags = 0, texts = 0;  // special numbers count as texts

  Leaves(const Json& data, const std::string& name) {
    for (const Json* at = &data; at->is_array(); at = &(*at)[0]) {
      shape.push_back(static_cast<int64_t>(at->size()));
      if (at->empty()) break;
    }
    add(data, 0, name);
  }
  bool are_numbers() const { return floats + integers > 0; }

 private:
  void add(const Json& node, size_t depth, const std::string& name) {
    if (depth < shape.size()) {
      if (!node.is_array() || static_cast<int64_t>(node.size()) != shape[depth])
        refuse_input(name,
                     fmt::format("has lists of different lengths: expected a list of {} in dimension {}",
                                 shape[depth], depth));
      for (const Json& element : node) add(element, depth + 1, name);
      return;
    }
    if (node.is_number_float())
      ++floats;
    else if (node.is_number_integer())
      ++integers;
    else if (node.is_boolean())
      ++flags;
    else if (node.is_string())
      ++texts;
    else
      refuse_input(name,
                   fmt::format("holds {}: expected numbers, true and false, or strings", node.type_name()));
    values.push_back(&node);
  }
};

double number_of(const Json& leaf, const std::string& name) {
  if (leaf.is_number()) return leaf.get<double>();
  if (const auto special = special_number(leaf)) return *special;
  refuse_input(name, fmt::format("has a {} among its numbers", leaf.type_name()));
}

template <class T, class F>
Tensor tensor_of(const Leaves& leaves, DType dtype, const F& value_of) {
  const Tensor tensor = Tensor::empty(leaves.shape, dtype);
  T* at = tensor.numel() > 0 ? tensor.data_as<T>() : nullptr;
  for (const Json* leaf : leaves.values) *at++ = value_of(*leaf);
  return tensor;
}
Tensor floats_of(const Leaves& leaves, const std::string& name) {
  return tensor_of<double>(leaves, DType::F64, [&](const Json& leaf) { return number_of(leaf, name); });
}
// Whole numbers between the least and the most.
Tensor integers_of(const Leaves& leaves, int64_t least, int64_t most, const std::string& name) {
  return tensor_of<int64_t>(leaves, DType::I64, [&](const Json& leaf) {
    const bool fits = leaf.is_number_integer() &&
                      (!leaf.is_number_unsigned() || leaf.get<uint64_t>() <= uint64_t{INT64_MAX}) &&
                      leaf.get<int64_t>() >= least && leaf.get<int64_t>() <= most;
    if (!fits)
      refuse_input(name, fmt::format("has {}: expected whole numbers between {} and {}",
                                     printable(leaf.dump(-1, ' ', false, Json::error_handler_t::replace), 40),
                                     least, most));
    return leaf.get<int64_t>();
  });
}
Tensor flags_of(const Leaves& leaves, const std::string& name) {
  return tensor_of<bool>(leaves, DType::Bool, [&](const Json& leaf) {
    if (!leaf.is_boolean())
      refuse_input(name, fmt::format("has a {} among true and false", leaf.type_name()));
    return leaf.get<bool>();
  });
}

Tensor typed(const Leaves& leaves, DType dtype, const std::string& name) {
  if (is_complex(dtype)) refuse_input(name, "is complex: send it as base64 or .npz");
  if (dtype == DType::Bool) return flags_of(leaves, name);
  if (is_floating(dtype)) return floats_of(leaves, name).to(dtype);
  const int bits = static_cast<int>(8 * itemsize(dtype));
  const bool is_unsigned =
      dtype == DType::U8 || dtype == DType::U16 || dtype == DType::U32 || dtype == DType::U64;
  const int64_t most = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - (is_unsigned ? 0 : 1))) - 1;
  const int64_t least = is_unsigned ? 0 : -most - 1;
  return integers_of(leaves, least, most, name).to(dtype);
}

Tensor from_bytes(const std::string& bytes, DType dtype, const Shape& shape, const std::string& name) {
  const Tensor tensor = Tensor::empty(shape, dtype);
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  if (dtype == DType::Bool)  // of C++: no other values
    for (const char byte : bytes)
      if (byte != 0 && byte != 1) refuse_input(name, "has bytes that are neither 0 nor 1");
  return tensor;
}

class ArrayParser {
 public:
  explicit ArrayParser(uint64_t max_bytes) : left_(max_bytes), max_bytes_(max_bytes) {}

  // The arrays of a value and of its parts.
  void add(const std::string& name, const Json& value) {
    if (value.is_null()) return;
    if (value.is_object()) {
      if (const auto dtype = value.find("dtype"); dtype != value.end() && dtype->is_string())
        return put(name, described(name, value));
      for (const auto& [key, part] : value.items()) add(name.empty() ? key : name + "." + key, part);
      return;
    }
    put(name, plain(name, value));
  }

  ArrayRequest request;

 private:
  void put(const std::string& name, IValue value) { request.arrays.emplace_back(name, std::move(value)); }

  void take(uint64_t bytes) {
    if (bytes > left_)
      throw ApiError(413, fmt::format("the arrays have more than {} bytes", max_bytes_), "inputs");
    left_ -= bytes;
  }

  IValue plain(const std::string& name, const Json& value) {
    const Leaves leaves(value, name);
    take(leaves.values.size() * sizeof(double));
    if (leaves.texts == static_cast<int64_t>(leaves.values.size()) && leaves.texts > 0)
      return text(name, leaves);
    if (leaves.flags > 0) return flags_of(leaves, name);
    if (leaves.integers > 0 && leaves.floats + leaves.texts == 0)
      return integers_of(leaves, INT64_MIN, INT64_MAX, name);
    const Tensor tensor = floats_of(leaves, name);
    request.any_float.insert(tensor.impl().get());
    return tensor;
  }

  static IValue text(const std::string& name, const Leaves& leaves) {
    if (leaves.shape.size() > 1)
      refuse_input(name, "has lists of lists of strings: expected a string or a list");
    if (leaves.shape.empty()) return leaves.values.front()->get<std::string>();
    std::vector<std::string> strings;
    for (const Json* leaf : leaves.values) strings.push_back(leaf->get<std::string>());
    return strings;
  }

  static Shape shape_of(const std::string& name, const Json& shape, int64_t itemsize) {
    Shape sizes;
    int64_t bytes = itemsize;
    if (!shape.is_array() || shape.size() > 64) refuse_input(name, "has a 'shape' that is no list of sizes");
    for (const Json& size : shape) {
      const bool is_size = size.is_number_unsigned() && size.get<uint64_t>() <= uint64_t{INT64_MAX};
      if (!is_size || __builtin_mul_overflow(bytes, std::max<int64_t>(size.get<int64_t>(), 1), &bytes))
        refuse_input(name, "has a 'shape' that is no list of sizes, or too large");
      sizes.push_back(size.get<int64_t>());
    }
    return sizes;
  }

  IValue described(const std::string& name, const Json& value) {
    const std::optional<DType> dtype = dtype_from_name(value["dtype"].get_ref<const std::string&>());
    if (!dtype)
      refuse_input(name,
                   fmt::format("has the unknown dtype '{}'", printable(value["dtype"].get<std::string>())));
    for (const auto& [key, unused] : value.items())
      if (key != "dtype" && key != "shape" && key != "data" && key != "base64")
        refuse_input(name, fmt::format("has '{}' beside its dtype: expected shape, and data or base64",
                                       printable(key)));
    if (value.contains("data") == value.contains("base64"))
      refuse_input(name, "needs one of data and base64");
    const bool has_shape = value.contains("shape");
    const Shape shape = has_shape ? shape_of(name, value["shape"], weft::itemsize(*dtype)) : Shape();
    const auto bytes_needed = [&](const Shape& sizes) {
      return static_cast<uint64_t>(numel(sizes)) * static_cast<uint64_t>(weft::itemsize(*dtype));
    };
    if (value.contains("base64")) {
      if (!has_shape || !value["base64"].is_string())
        refuse_input(name, "needs a shape and a string of base64");
      const auto bytes = from_base64(value["base64"].get_ref<const std::string&>());
      if (!bytes) refuse_input(name, "is no base64");
      if (bytes->size() != bytes_needed(shape))
        refuse_input(name, fmt::format("has {} bytes: {} of {} need {}", bytes->size(), str(shape),
                                       weft::name(*dtype), bytes_needed(shape)));
      take(bytes->size());
      return from_bytes(*bytes, *dtype, shape, name);
    }
    Leaves leaves(value["data"], name);
    if (has_shape && leaves.shape != shape) {
      const bool is_flat =
          leaves.shape.size() <= 1 && static_cast<int64_t>(leaves.values.size()) == numel(shape);
      const bool is_empty = leaves.values.empty() && numel(shape) == 0;
      if (!is_flat && !is_empty)
        refuse_input(name, fmt::format("has data of shape {}, and says {}", str(leaves.shape), str(shape)));
      leaves.shape = shape;
    }
    take(leaves.values.size() * sizeof(double));
    return typed(leaves, *dtype, name);
  }

  uint64_t left_, max_bytes_;
};

// ---- answers -----------------------------------------------------------------------------------
void write_float(std::string& text, double value, bool is_single) {
  if (std::isnan(value))
    text += "\"NaN\"";
  else if (std::isinf(value))
    text += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  else if (is_single)
    fmt::format_to(std::back_inserter(text), "{}", static_cast<float>(value));
  else
    fmt::format_to(std::back_inserter(text), "{}", value);
}

void write_element(std::string& text, const Tensor& tensor, int64_t at) {
  switch (tensor.dtype()) {
    case DType::Bool: text += tensor.data_as<bool>()[at] ? "true" : "false"; return;
    case DType::I64: text += std::to_string(tensor.data_as<int64_t>()[at]); return;
    case DType::U64: text += std::to_string(tensor.data_as<uint64_t>()[at]); return;
    case DType::F64: return write_float(text, tensor.data_as<double>()[at], false);
    default:
      if (is_floating(tensor.dtype())) return write_float(text, tensor.at(at), true);
      text += std::to_string(static_cast<int64_t>(tensor.at(at)));
  }
}

void write_lists(std::string& text, const Tensor& tensor, int64_t dim, int64_t& at) {
  if (dim == tensor.dim()) return write_element(text, tensor, at++);
  text += '[';
  for (int64_t i = 0; i < tensor.size(dim); ++i) {
    if (i > 0) text += ',';
    write_lists(text, tensor, dim + 1, at);
  }
  text += ']';
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void write_tensor(std::string& text, const std::string& name, const Tensor& value) {
  if (!value.defined()) throw ApiError(500, fmt::format("'{}' is an undefined tensor", printable(name)));
  if (is_complex(value.dtype()))
    throw ApiError(406, fmt::format("'{}' is complex, which JSON has not: ask for .npz (Accept: "
                                    "application/x-npz)",
                                    printable(name)));
  const Tensor tensor = value.contiguous();
  std::string sizes;
  for (const int64_t size : tensor.shape()) sizes += fmt::format("{}{}", sizes.empty() ? "" : ",", size);
  text += fmt::format("{{\"dtype\":\"{}\",\"shape\":[{}],\"data\":", weft::name(tensor.dtype()), sizes);
  int64_t at = 0;
  if (tensor.numel() == 0)
    text += "[]";  // its lists might be many
  else
    write_lists(text, tensor, 0, at);
  text += '}';
}

void write_value(std::string& text, const std::string& name, const IValue& value) {
  if (value.is_tensor()) return write_tensor(text, name, value.to_tensor());
  if (value.is_bool()) {
    text += value.to_bool() ? "true" : "false";
  } else if (value.is_int()) {
    text += std::to_string(value.to_int());
  } else if (value.is_double()) {
    write_float(text, value.to_double(), false);
  } else if (value.is_string()) {
    text += dump(value.to_string());
  } else {
    throw ApiError(406, fmt::format("'{}' is {}, which JSON has not", printable(name), value.type()->str()));
  }
}

}  // namespace

ArrayRequest arrays_of(const Json& inputs, uint64_t max_bytes) {
  if (!inputs.is_object() && !inputs.is_array())
    throw ApiError(400, "'inputs' must be an object of arrays by name, or a list of them", "inputs");
  ArrayParser parser(max_bytes);
  if (inputs.is_object()) {
    for (const auto& [name, value] : inputs.items()) parser.add(name, value);
  } else {
    for (size_t i = 0; i < inputs.size(); ++i) parser.add(std::to_string(i), inputs[i]);
  }
  return std::move(parser.request);
}

ArrayRequest parse_arrays(std::string_view body, uint64_t max_bytes) {
  const Json json = parse_json_body(body);
  const auto inputs = json.find("inputs");
  if (inputs == json.end()) throw ApiError(400, "the parameter 'inputs' is missing", "inputs");
  ArrayRequest request = arrays_of(*inputs, max_bytes);
  if (const auto model = json.find("model"); model != json.end() && !model->is_null()) {
    if (!model->is_string()) throw ApiError(400, "'model' must be a string", "model");
    request.model = model->get<std::string>();
  }
  return request;
}

std::string arrays_json(const std::string& model, const NamedValues& arrays) {
  std::string text = fmt::format("{{\"model\":{},\"outputs\":{{", dump(model));
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (i > 0) text += ',';
    text += dump(arrays[i].first) + ":";
    write_value(text, arrays[i].first, arrays[i].second);
  }
  return text + "}}";
}

}  // namespace weft::serve
