#include "serve/joined_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace weft::serve {
namespace {

size_t byte_count(const Tensor& tensor) {
  return static_cast<size_t>(tensor.numel()) * static_cast<size_t>(itemsize(tensor.dtype()));
}

bool holds_tensors(const IValue& value) {
  if (value.is_tensor()) return true;
  if (value.is_list() || value.is(IValue::Tag::Tuple))
    return std::any_of(value.elements().begin(), value.elements().end(), holds_tensors);
  if (value.is(IValue::Tag::Dict))
    return std::any_of(value.to_dict()->items().begin(), value.to_dict()->items().end(),
                       [](const auto& item) { return holds_tensors(item.second); });
  return false;
}

std::string key_of(const jit::Keywords& arguments, bool with_sizes) {
  std::string key;
  for (const auto& [name, value] : arguments) {
    if (value.is_tensor()) {
      const Tensor& tensor = value.to_tensor();
      Shape shape = tensor.shape();
      if (!shape.empty()) shape[0] = -1;
      if (!with_sizes) std::fill(shape.begin(), shape.end(), -1);
      key += fmt::format("{}:{}{};", name, weft::name(tensor.dtype()), str(shape));
    } else {
      const std::string text = value.repr();
      key += fmt::format("{}={}:{};", name, text.size(), text);
    }
  }
  return key;
}

// Of the rounding in one dtype; sums of some hundred terms in another order.
double tolerance(DType dtype) {
  switch (dtype) {
    case DType::F64:
    case DType::C128: return 1e-10;
    case DType::F32:
    case DType::C64: return 1e-4;
    default: return 3e-2;
  }
}

bool are_close(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const Tensor x = a.contiguous(), y = b.contiguous();
  if (byte_count(x) == 0 || std::memcmp(x.data(), y.data(), byte_count(x)) == 0) return true;
  if (!is_floating(a.dtype())) return false;
  double largest = 0;
  for (int64_t i = 0; i < y.numel(); ++i)
    if (const double value = std::abs(y.at(i)); std::isfinite(value)) largest = std::max(largest, value);
  const double bound = tolerance(a.dtype()) * largest;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double left = x.at(i), right = y.at(i);
    const bool is_same = left == right || (std::isnan(left) && std::isnan(right));
    if (!is_same && !(std::abs(left - right) <= bound)) return false;
  }
  return true;
}

// `count` rows from `first` on.
Tensor rows_from(const Tensor& tensor, int64_t first, int64_t count) {
  Shape shape = tensor.shape();
  shape[0] = count;
  return tensor.as_strided(shape, tensor.strides(), tensor.offset() + first * tensor.strides()[0]);
}

Tensor joined(const std::vector<Tensor>& parts) {
  Shape shape = parts.front().shape();
  shape[0] = 0;
  for (const Tensor& part : parts) shape[0] += part.size(0);
  const Tensor whole = Tensor::empty(shape, parts.front().dtype());
  auto* to = static_cast<std::byte*>(whole.data());
  for (const Tensor& part : parts) {
    const Tensor from = part.contiguous();
    if (const size_t size = byte_count(from); size > 0) {
      std::memcpy(to, from.data(), size);
      to += size;
    }
  }
  return whole;
}

}  // namespace

std::optional<int64_t> rows_of(const jit::Keywords& arguments) {
  std::optional<int64_t> rows;
  for (const auto& item : arguments) {
    const IValue& value = item.second;
    if (!value.is_tensor()) {
      if (holds_tensors(value)) return std::nullopt;
      continue;
    }
    const Tensor& tensor = value.to_tensor();
    if (!tensor.defined() || tensor.dim() == 0 || rows.value_or(tensor.size(0)) != tensor.size(0))
      return std::nullopt;
    rows = tensor.size(0);
  }
  return rows.value_or(0) > 0 ? rows : std::nullopt;
}

std::string shape_key(const jit::Keywords& arguments) { return key_of(arguments, true); }
std::string kind_key(const jit::Keywords& arguments) { return key_of(arguments, false); }

namespace {

uint64_t bytes_of(const IValue& value) {
  uint64_t bytes = 64;
  if (value.is_tensor()) return value.to_tensor().defined() ? bytes + byte_count(value.to_tensor()) : bytes;
  if (value.is_string()) return bytes + value.to_string().size();
  if (value.is_list() || value.is(IValue::Tag::Tuple))
    for (const IValue& element : value.elements()) bytes += bytes_of(element);
  if (value.is(IValue::Tag::Dict))
    for (const auto& [key, element] : value.to_dict()->items()) bytes += bytes_of(key) + bytes_of(element);
  return bytes;
}

}  // namespace

uint64_t bytes_of(const jit::Keywords& arguments) {
  uint64_t bytes = 0;
  for (const auto& item : arguments) bytes += bytes_of(item.second);
  return bytes;
}

jit::Keywords join(const std::vector<const jit::Keywords*>& calls) {
  jit::Keywords whole = *calls.front();
  for (size_t i = 0; i < whole.size(); ++i) {
    if (!whole[i].second.is_tensor()) continue;
    std::vector<Tensor> parts;
    for (const jit::Keywords* call : calls) parts.push_back((*call)[i].second.to_tensor());
    whole[i].second = joined(parts);
  }
  return whole;
}

std::optional<std::vector<NamedValues>> split(const NamedValues& arrays, const std::vector<int64_t>& rows) {
  int64_t total = 0;
  for (const int64_t count : rows) total += count;
  std::vector<NamedValues> parts(rows.size());
  for (const auto& [name, value] : arrays) {
    if (!value.is_tensor() || !value.to_tensor().defined() || value.to_tensor().dim() == 0 ||
        value.to_tensor().size(0) != total)
      return std::nullopt;
    int64_t first = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      parts[i].emplace_back(name, rows_from(value.to_tensor(), first, rows[i]));
      first += rows[i];
    }
  }
  return parts;
}

bool are_same(const jit::Keywords& a, const jit::Keywords& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].second.is_tensor()) continue;
    const Tensor x = a[i].second.to_tensor().contiguous(), y = b[i].second.to_tensor().contiguous();
    if (x.shape() != y.shape()) return false;
    if (byte_count(x) > 0 && std::memcmp(x.data(), y.data(), byte_count(x)) != 0) return false;
  }
  return true;
}

bool are_close(const NamedValues& a, const NamedValues& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].first != b[i].first || !a[i].second.is_tensor() || !b[i].second.is_tensor()) return false;
    if (!are_close(a[i].second.to_tensor(), b[i].second.to_tensor())) return false;
  }
  return true;
}

}  // namespace weft::serve
