// Elements of arrays in native loops.
#include <fmt/format.h>

#include "capture/loop_builder.h"

namespace weft::capture {

// The element or row that `key` names. An index that is out of range is Python's to report.
LoopBuilder::Place LoopBuilder::place(const LoopValue& container, const LoopValue& key) {
  const LoopArray& array = array_of(container);
  const int first = container.kind == LoopKind::Row ? container.dims : 0;
  const std::vector<LoopValue> indices =
      key.kind == LoopKind::Tuple ? key.items : std::vector<LoopValue>{key};
  if (indices.empty() || static_cast<int>(indices.size()) > array.dim - first)
    throw LoopUnsupported{"an index with more dimensions than the array"};
  std::string offset;
  for (size_t i = 0; i < indices.size(); ++i) {
    const int d = first + static_cast<int>(i);
    const std::string size = fmt::format("{}_n{}", array.name, d);
    std::string index;
    if (check_before(indices[i].affine, "0L", size)) {
      index = as_index(indices[i]);
    } else if (indices[i].known) {
      const int64_t k = *indices[i].known;
      require(k >= 0 ? fmt::format("{} < {}", k, size) : fmt::format("{} <= {}", -k, size));
      index = k >= 0 ? fmt::format("{}L", k) : fmt::format("({} - {})", size, -k);
    } else {
      const std::string given = as_index(indices[i]);
      index = given;
      if (!indices[i].nonnegative)
        index = temporary("i64", fmt::format("{0} < 0 ? {0} + {1} : {0}", given, size));
      require(fmt::format("(u64){} < (u64){}", index, size));
    }
    if (!offset.empty()) offset += " + ";
    offset += array.unit >> d & 1 ? index : fmt::format("{} * {}_s{}", index, array.name, d);
  }
  const std::string base = container.kind == LoopKind::Row ? container.expr : array.name + "_data";
  Place result;
  result.array = container.index;
  result.dims = first + static_cast<int>(indices.size());
  if (result.dims == array.dim)
    result.element = fmt::format("{}[{}]", base, offset);
  else
    result.pointer = fmt::format("{} + ({})", base, offset);
  return result;
}

LoopValue LoopBuilder::subscript(const LoopValue& container, const LoopValue& key) {
  if (container.kind == LoopKind::Tuple && key.known) {
    const auto size = static_cast<int64_t>(container.items.size());
    const int64_t index = *key.known < 0 ? *key.known + size : *key.known;
    if (index < 0 || index >= size) throw LoopUnsupported{"a tuple index out of range"};
    return container.items[static_cast<size_t>(index)];
  }
  if (container.kind != LoopKind::Array && container.kind != LoopKind::Row)
    throw LoopUnsupported{"an element of what is not an array"};
  const Place found = place(container, key);
  const DType dtype = array_of(container).dtype;
  if (!found.element.empty())
    return loop_numpy(dtype, temporary(c_type(dtype), found.element + (dtype == DType::Bool ? " != 0" : "")));
  LoopValue row;
  row.kind = LoopKind::Row;
  row.dtype = dtype;
  row.index = found.array;
  row.dims = found.dims;
  row.expr = temporary(c_type(row), found.pointer);
  return row;
}

// The number as the array's elements hold it.
std::string LoopBuilder::stored(const LoopValue& value, DType dtype) {
  if (!value.is_number()) throw LoopUnsupported{"assignment of what is not a number"};
  const bool is_float =
      value.kind == LoopKind::Float || (value.kind == LoopKind::Numpy && is_floating(value.dtype));
  if (is_float && is_integral(dtype)) {
    // Truncated; where it does not fit NumPy warns or raises.
    const int bits = itemsize(dtype) * 8 - (is_signed(dtype) ? 1 : 0);
    require(fmt::format("{0} > {1} && {0} < {2}", value.expr,
                        is_signed(dtype) ? fmt::format("-0x1p{}", std::min(bits, 62)) : "-1.0",
                        fmt::format("0x1p{}", std::min(bits, 62))));
    return fmt::format("({})(i64){}", c_type(dtype), value.expr);
  }
  if (is_float && dtype == DType::F32 && c_type(value) == "f64") {
    const std::string narrow = temporary("f32", fmt::format("(f32){}", value.expr));
    require(fmt::format("is_finite({}) || !is_finite({})", narrow, value.expr));
    return narrow;
  }
  // What does not fit is NumPy's to wrap or to refuse.
  if (value.kind == LoopKind::Numpy && is_integral(value.dtype) && is_integral(dtype) &&
      value.dtype != dtype) {
    const std::string narrow = temporary(c_type(dtype), fmt::format("({}){}", c_type(dtype), value.expr));
    require(
        fmt::format("({1}){0} == {2} && ({0} < 0) == ({2} < 0)", narrow, c_type(value.dtype), value.expr));
    return narrow;
  }
  return as_dtype(value, dtype);
}

void LoopBuilder::store_subscript(const LoopValue& container, const LoopValue& key, const LoopValue& value) {
  if (container.kind != LoopKind::Array && container.kind != LoopKind::Row)
    throw LoopUnsupported{"assignment to an element of what is not an array"};
  const LoopArray& array = array_of(container);
  if (!array.writable) throw LoopUnsupported{"assignment to a read-only array"};
  const Place found = place(container, key);
  if (found.element.empty()) throw LoopUnsupported{"assignment to a row of an array"};
  emit(fmt::format("{} = {};", found.element, stored(value, array.dtype)));
}

}  // namespace weft::capture
