#include "values/containers.h"

#include <fmt/format.h>

#include "weft/error.h"
#include "weft/jit/module.h"

namespace weft::jit {

SliceRange slice_range(int64_t size, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  WEFT_CHECK(step != 0, "slice step cannot be zero");
  const int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
  const auto bound = [&](std::optional<int64_t> index, int64_t otherwise) {
    if (!index) return otherwise;
    return std::clamp(*index < 0 ? *index + size : *index, lowest, highest);
  };
  const int64_t from = bound(start, step > 0 ? 0 : size - 1), to = bound(end, step > 0 ? size : -1);
  const int64_t distance = step > 0 ? to - from : from - to;
  if (distance <= 0) return {from, step, 0};
  // The step may be INT64_MIN.
  const auto stride = step > 0 ? static_cast<uint64_t>(step) : ~static_cast<uint64_t>(step) + 1;
  return {from, step, static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / stride + 1)};
}

size_t checked_index(const char* what, size_t size, int64_t index) {
  const auto count = static_cast<int64_t>(size);
  const int64_t position = index < 0 ? index + count : index;
  WEFT_CHECK_INDEX(position >= 0 && position < count,
                   fmt::format("{} index out of range: index {} of a {} of {}", what, index, what, count));
  return static_cast<size_t>(position);
}

namespace {

bool less_sequences(const std::vector<IValue>& a, const std::vector<IValue>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!a[i].equals(b[i])) return less(a[i], b[i]);
  }
  return a.size() < b.size();
}

}  // namespace

bool less(const IValue& a, const IValue& b) {
  if (a.is_int() && b.is_int()) return a.to_int() < b.to_int();
  if (a.is_string() && b.is_string()) return a.to_string() < b.to_string();
  if (a.is(IValue::Tag::Complex) || b.is(IValue::Tag::Complex)) {
    throw_error(ErrorKind::Type, "'<' is not defined for complex numbers");
  }
  if (a.is_number() && b.is_number()) return a.to_double() < b.to_double();
  if (a.is_tensor() && b.is_tensor())
    return a.to_tensor().item().to_double() < b.to_tensor().item().to_double();
  if ((a.is_list() && b.is_list()) || (a.is(IValue::Tag::Tuple) && b.is(IValue::Tag::Tuple))) {
    return less_sequences(a.elements(), b.elements());
  }
  if (a.is(IValue::Tag::Object)) {
    const auto method = a.to_object()->type->find_method("__lt__");
    WEFT_CHECK_TYPE(method, fmt::format("{} has no method '__lt__'", a.to_object()->type->name()));
    return (*method)({a, b}).to_bool();
  }
  throw_error(ErrorKind::Type,
              fmt::format("'<' is not defined between {} and {}", a.type()->str(), b.type()->str()));
}

}  // namespace weft::jit
