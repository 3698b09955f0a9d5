// Arrays and masks as indices in native loops. What an array of ints gives is a part of the tree of pending
// operations, whose indices have been looked at before; what a mask chooses is copied.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "capture/loops/builder.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

LoopValue all_of_dimension() {
  LoopValue all;
  all.kind = LoopKind::Slice;
  all.items.assign(3, loop_const(Py_None));
  return all;
}

// Two sizes and strides for each operand, the first 1 and 0 where there is one dimension.
std::string two_dimensions(const LoopValue& view) {
  if (view.dims == 1) return fmt::format("0L, {}", view.stride(0).expr);
  return fmt::format("{}, {}", view.stride(0).expr, view.stride(1).expr);
}

// Do both stand for the same elements, as long as nothing is stored?
bool is_same(const LoopValue& a, const LoopValue& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.dims == b.dims && a.object == b.object &&
         a.expr == b.expr && a.known == b.known && a.operation == b.operation && a.compute == b.compute &&
         a.items.size() == b.items.size() &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), is_same);
}

}  // namespace

// A mask of one dimension among ints: of the array that they leave.
bool LoopBuilder::has_mask_of_row(const LoopValue& key) const {
  const std::vector<LoopValue> parts = parts_of_key(key);
  return key.kind == LoopKind::Tuple && std::all_of(parts.begin(), parts.end(), [&](const LoopValue& part) {
           return part.is_number() ||
                  (is_arraylike(part) && part.dtype == DType::Bool && num_dims(part) == 1);
         });
}

// Splits container[i, mask] into (container[i, :])[mask].
std::pair<LoopValue, LoopValue> LoopBuilder::without_ints(const LoopValue& container, const LoopValue& key) {
  std::vector<LoopValue> parts = parts_of_key(key);
  LoopValue mask;
  for (LoopValue& part : parts) {
    if (!is_arraylike(part)) continue;
    if (is_arraylike(mask) || static_cast<int>(parts.size()) != num_dims(container))
      throw LoopUnsupported{"several masks in one index"};
    mask = part;
    part = all_of_dimension();
  }
  return {view_subscript(container, parts), mask};
}

bool LoopBuilder::has_arrays(const LoopValue& key) const {
  const std::vector<LoopValue> parts = parts_of_key(key);
  return std::any_of(parts.begin(), parts.end(), [](const LoopValue& part) { return is_arraylike(part); });
}

// An array of indices in memory, all of them in the range of `size`.
LoopValue LoopBuilder::checked_indices(const LoopValue& value, const std::string& size) {
  if (!is_integral(value.dtype) || value.dtype == DType::U64)
    throw LoopUnsupported{"an index that is an array of this type"};
  if (num_dims(value) > 1 && is_in_fortran_order(value)) throw LoopUnsupported{"an index in Fortran order"};
  const LoopValue view = as_view(num_dims(value) > 1 ? materialized(value, true) : materialized(value));
  parts_.push_back(view);
  std::string count;
  for (const std::string& one : shape_of(view)) count += (count.empty() ? "" : " * ") + one;
  block_has_arrays_ = true;
  require(fmt::format("all_in_range({}, {}, {}, {})", count, view.items[0].expr,
                      view.dims == 1 ? view.stride(0).expr : "1L", size));
  return view;
}

// The view that arrays of ints index, one for each dimension, and these arrays.
LoopBuilder::Gathered LoopBuilder::gathered(const LoopValue& container, const LoopValue& key) {
  std::vector<LoopValue> parts = taken_apart(key, num_dims(container)), indices;
  for (LoopValue& part : parts) {
    if (!is_arraylike(part)) continue;
    if (part.dtype == DType::Bool) throw LoopUnsupported{"a mask among other indices"};
    indices.push_back(part);
    part = all_of_dimension();
  }
  for (const LoopValue& part : taken_apart(key, num_dims(container)))
    if (!is_arraylike(part) && !part.is_number()) throw LoopUnsupported{"arrays and slices as indices"};
  Gathered result{view_subscript(container, parts), {}};
  parts_.push_back(result.source);
  for (size_t d = 0; d < indices.size(); ++d)
    result.indices.push_back(checked_indices(indices[d], result.source.size(static_cast<int>(d)).expr));
  return result;
}

// container[key] where the key has arrays.
LoopValue LoopBuilder::gather(const LoopValue& container, const LoopValue& key) {
  if (is_arraylike(key) && key.dtype == DType::Bool) return chosen(container, key);
  if (has_mask_of_row(key)) {
    const auto [row, mask] = without_ints(container, key);
    return chosen(row, mask);
  }
  if (is_arraylike(key) && num_dims(container) == 2) return rows_of(container, key);
  Gathered found = gathered(container, key);
  LoopValue result;
  result.kind = LoopKind::Pending;
  result.operation = kGather;
  result.dtype = result.compute = container.dtype;
  result.object = kept_function("operator", "getitem");
  std::vector<std::vector<std::string>> shapes;
  for (const LoopValue& index : found.indices) shapes.push_back(shape_of(index));
  result.sizes = broadcast(shapes);
  const bool is_one = found.indices.size() == 1;
  result.items = {found.source, is_one ? found.indices[0] : loop_tuple(found.indices)};
  block_has_arrays_ = true;
  return result;
}

// Rows of a matrix, by an array of ints.
LoopValue LoopBuilder::rows_of(const LoopValue& container, const LoopValue& key) {
  const LoopValue source = as_view(container);
  parts_.push_back(source);
  const LoopValue indices = checked_indices(key, source.size(0).expr);
  if (indices.dims != 1) throw LoopUnsupported{"rows by an array of more dimensions"};
  const LoopValue result = allocated(source.dtype, {indices.size(0).expr, source.size(1).expr});
  emit(fmt::format("take_rows({}, {}, {}, {}, {}, {}, {}, {}, {});", indices.size(0).expr,
                   indices.items[0].expr, indices.stride(0).expr, source.size(0).expr, source.items[0].expr,
                   source.stride(0).expr, source.size(1).expr, source.stride(1).expr, result.items[0].expr));
  return result;
}

// A mask and an array of its shape, for functions that go over both: sizes, then the mask.
std::string LoopBuilder::masked(const LoopValue& array, const LoopValue& mask) {
  if (array.dims != mask.dims || array.dims > 2) throw LoopUnsupported{"a mask of fewer dimensions"};
  for (int d = 0; d < array.dims; ++d) require_equal_sizes(array.size(d).expr, mask.size(d).expr);
  block_has_arrays_ = block_stores_arrays_ = true;
  const std::string rows = mask.dims == 1 ? "1L" : mask.size(0).expr;
  return fmt::format("{}, {}, {}, {}", rows, mask.size(mask.dims - 1).expr, mask.items[0].expr,
                     two_dimensions(mask));
}

// A key that is a mask, as a view. Where the program has it a second time (x[m] += 1), it stays one mask.
LoopValue LoopBuilder::mask_of(const LoopValue& key) {
  const LoopValue mask = as_view(materialized(key));
  parts_.push_back(mask);
  if (key.kind != LoopKind::Pending) return mask;
  for (LoopValue& other : frame().stack)
    if (other.kind == LoopKind::Pending && is_same(other, key)) other = mask;
  return mask;
}

// How many elements a mask chooses: one name for all that is still pending.
std::string LoopBuilder::count_of(const LoopValue& mask, const std::string& both) {
  std::string count;
  const std::function<void(const LoopValue&)> visit = [&](const LoopValue& value) {
    if (value.operation == kChosen && is_same(value.items[1], mask)) count = value.sizes[0];
    if (value.kind == LoopKind::Pending)
      for (const LoopValue& item : value.items) visit(item);
  };
  for (const LoopValue& value : frame().stack) visit(value);
  if (count.empty()) return temporary("i64", fmt::format("count_chosen({})", both));
  return count;
}

// container[mask], which is taken where it is used: where it is stored by the same mask, never.
LoopValue LoopBuilder::chosen(const LoopValue& container, const LoopValue& key) {
  const LoopValue mask = mask_of(key), source = as_view(container);
  parts_.push_back(source);
  if (mask.dims == 1 && source.dims == 2) return chosen_rows(source, mask);
  LoopValue result;
  result.kind = LoopKind::Pending;
  result.operation = kChosen;
  result.dtype = result.compute = source.dtype;
  result.sizes = {count_of(mask, masked(source, mask))};
  result.items = {source, mask};
  result.object = kept_function("operator", "getitem");
  return result;
}

// What a mask chooses, as an array.
LoopValue LoopBuilder::taken(const LoopValue& chosen) {
  const LoopValue &source = chosen.items[0], &mask = chosen.items[1];
  parts_.insert(parts_.end(), {mask, source});
  const std::string both = masked(source, mask);
  const LoopValue result = allocated(source.dtype, chosen.sizes);
  emit(fmt::format("take_chosen({}, {}, {}, {});", both, source.items[0].expr, two_dimensions(source),
                   result.items[0].expr));
  return result;
}

LoopValue LoopBuilder::with_chosen_taken(const LoopValue& value) {
  if (value.kind != LoopKind::Pending) return value;
  if (value.operation == kChosen) return taken(value);
  LoopValue result = value;
  for (LoopValue& item : result.items) item = with_chosen_taken(item);
  return result;
}

// Rows of a matrix, by a mask.
LoopValue LoopBuilder::chosen_rows(const LoopValue& source, const LoopValue& mask) {
  require_equal_sizes(source.size(0).expr, mask.size(0).expr);
  const std::string rows =
      fmt::format("{}, {}, {}", mask.size(0).expr, mask.items[0].expr, mask.stride(0).expr);
  const std::string count =
      temporary("i64", fmt::format("count_chosen(1L, {}, {}, 0L, {})", mask.size(0).expr, mask.items[0].expr,
                                   mask.stride(0).expr));
  const LoopValue result = allocated(source.dtype, {count, source.size(1).expr});
  emit(fmt::format("take_chosen_rows({}, {}, {}, {}, {}, {});", rows, source.items[0].expr,
                   source.stride(0).expr, source.size(1).expr, source.stride(1).expr, result.items[0].expr));
  return result;
}

// Are all arrays in the value chosen by the mask?
bool LoopBuilder::is_all_chosen(const LoopValue& value, const LoopValue& mask) {
  if (value.is_number() || value.is_complex()) return true;
  if (value.kind != LoopKind::Pending) return false;
  if (value.operation == kChosen) return is_same(value.items[1], mask);
  return value.operation != kGather &&
         std::all_of(value.items.begin(), value.items.end(),
                     [&](const LoopValue& item) { return is_all_chosen(item, mask); });
}

// Element by element in place, where the mask holds.
void LoopBuilder::store_where(const LoopValue& view, const LoopValue& mask, const LoopValue& value) {
  std::vector<LoopValue> operands;
  collect_views(value, operands);
  for (const LoopValue& operand : operands)
    if (const std::string conflict = is_conflict(view, operand); !conflict.empty()) require("!" + conflict);
  parts_.insert(parts_.end(), operands.begin(), operands.end());
  materialize_all();
  Target target{view.items[0].expr, element_type(view.dtype), {}, {}, "", mask};
  for (int d = 0; d < view.dims; ++d) {
    target.sizes.push_back(view.size(d).expr);
    target.strides.push_back(view.stride(d).expr);
  }
  emit_elements(value, view.dtype, target);
}

void LoopBuilder::store_chosen(const LoopValue& container, const LoopValue& key, const LoopValue& value) {
  const LoopValue view = as_view(container);
  LoopValue mask = mask_of(key);
  parts_.push_back(view);
  // Storing bools may change the mask.
  if (view.dtype == DType::Bool) mask = materialized(mask, true);
  if (!is_arraylike(value)) {
    const std::string number = temporary(c_type(view.dtype), stored(value, view.dtype));
    masked(view, mask);
    return store_where(view, mask, loop_numpy(view.dtype, number));
  }
  const bool same_type = value.dtype == view.dtype;
  if (same_type && is_all_chosen(value, mask) && view.dims == mask.dims) {
    masked(view, mask);
    return store_where(view, mask, value);
  }
  if (!same_type || num_dims(value) != 1)
    throw LoopUnsupported{"assignment through a mask that changes the type"};
  const LoopValue source = as_view(materialized(value, true));
  parts_.insert(parts_.end(), {mask, source});
  materialize_all();
  const std::string both = masked(view, mask);
  require(fmt::format("count_chosen({}) == {}", both, source.size(0).expr));
  emit(fmt::format("put_chosen({}, {}, {}, {});", both, view.items[0].expr, two_dimensions(view),
                   source.items[0].expr));
}

// container[key] = value where the key has arrays. Of equal indices the last counts.
void LoopBuilder::scatter(const LoopValue& container, const LoopValue& key, const LoopValue& value) {
  if (is_arraylike(key) && key.dtype == DType::Bool) return store_chosen(container, key, value);
  if (has_mask_of_row(key)) {
    const auto [row, mask] = without_ints(container, key);
    return store_chosen(row, mask, value);
  }
  Gathered found = gathered(container, key);
  const LoopValue& view = found.source;
  if (found.indices.size() > 2) throw LoopUnsupported{"assignment through three arrays"};
  const std::string count = found.indices[0].size(0).expr;
  std::string indices;
  for (size_t d = 0; d < found.indices.size(); ++d) {
    LoopValue& index = found.indices[d];
    if (index.dims != 1) throw LoopUnsupported{"assignment through an array of more dimensions"};
    // Storing ints may change the indices.
    if (index.dtype == view.dtype) index = as_view(materialized(index, true));
    parts_.push_back(index);
    require_equal_sizes(index.size(0).expr, count);
    indices += fmt::format("{}, {}, {}, {}, ", index.items[0].expr, index.stride(0).expr,
                           view.size(static_cast<int>(d)).expr, view.stride(static_cast<int>(d)).expr);
  }
  std::string source, stride = "0L";
  if (is_arraylike(value)) {
    if (value.dtype != view.dtype || num_dims(value) != 1)
      throw LoopUnsupported{"assignment through an array that changes the type"};
    const LoopValue values = as_view(materialized(value, true));
    parts_.push_back(values);
    require(fmt::format("{} == {}", values.size(0).expr, count));
    source = values.items[0].expr;
    stride = values.stride(0).expr;
  } else {
    const std::string number = stored(value, view.dtype);
    const std::string name = fresh_name("number");
    emit(fmt::format("const {} {} = {};", element_type(view.dtype), name, number));
    source = "&" + name;
  }
  materialize_all();
  block_has_arrays_ = block_stores_arrays_ = true;
  emit(fmt::format("scatter({}, {}{}, {}, {});", count, indices, view.items[0].expr, source, stride));
}

}  // namespace weft::capture
