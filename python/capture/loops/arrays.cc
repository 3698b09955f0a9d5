// Elements of arrays in native loops.
#include <fmt/format.h>

#include <algorithm>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

bool has_only_ints(const std::vector<LoopValue>& parts) {
  return std::all_of(parts.begin(), parts.end(), [](const LoopValue& part) {
    return part.kind == LoopKind::Int || (part.kind == LoopKind::Numpy && is_integral(part.dtype));
  });
}

bool is_nonnegative(const LoopValue& index) {
  return index.nonnegative || index.most || (index.kind == LoopKind::Numpy && !is_signed(index.dtype));
}

}  // namespace

// The element or row that `key` names. An index that is out of range is Python's to report.
LoopBuilder::Place LoopBuilder::place(const LoopValue& container, const LoopValue& key, bool stores) {
  const int first = container.kind == LoopKind::Row ? container.dims : 0;
  const std::vector<LoopValue> indices = parts_of_key(key);
  if (indices.empty() || static_cast<int>(indices.size()) > num_dims(container))
    throw LoopUnsupported{"an index with more dimensions than the array"};
  Expr offset;
  for (size_t i = 0; i < indices.size(); ++i) {
    const int d = static_cast<int>(i);
    const Expr size = size_text(container, d), stride = stride_text(container, d);
    Expr index;
    if (is_fixed(size) && check_before(indices[i].affine, loopir::integer(0), size)) {
      index = as_index(indices[i]);
    } else if (indices[i].known) {
      const int64_t k = *indices[i].known;
      const Expr places = Expr::constant(std::to_string(std::abs(k)));
      require(Expr::apply(op::infix(k >= 0 ? "<" : "<="), {places, size}));
      index = k >= 0 ? Expr::constant(fmt::format("{}L", k))
                     : Expr::apply(op::kBrackets, {Expr::apply(op::infix("-"), {size, places})});
    } else if (checked_ && indices[i].most && is_fixed(size)) {
      checked_->checks.insert(Expr::apply(op::infix("<"), {loopir::integer(*indices[i].most), size}));
      index = as_index(indices[i]);
    } else {
      const Expr given = as_index(indices[i]);
      if (is_nonnegative(indices[i])) {
        index = given;
        require(Expr::apply(op::kIsInRange, {index, size}));
      } else {  // few are negative
        std::string& settled = settled_indices_[given + " of " + size];
        if (settled.empty()) {
          settled = fresh_name("t");
          emit(loopir::settle(settled, given, size, exit_to(LoopExit::Kind::Perform, before_)));
        }
        index = Expr::name(settled);
      }
    }
    const Expr term = stride == "1L" ? index : Expr::apply(op::infix("*"), {index, stride});
    offset = offset.empty() ? term : Expr::apply(op::infix("+"), {offset, term});
  }
  Place result;
  result.data = data_text(container);
  result.offset = std::move(offset);
  result.array = container.index;
  result.dims = first + static_cast<int>(indices.size());
  result.is_element = static_cast<int>(indices.size()) == num_dims(container);
  if (parallel_) note_access(container, indices, stores, result);
  if (checked_ && result.is_element) note_element(container, indices, stores, result);
  return result;
}

// Does the key give an array, not an element? Rows of the entry's arrays have a form of their own.
bool LoopBuilder::takes_view(const LoopValue& container, const LoopValue& key) const {
  const std::vector<LoopValue> parts = parts_of_key(key);
  return !has_only_ints(parts) || static_cast<int>(parts.size()) < num_dims(container);
}

std::string LoopBuilder::origin_of(const LoopValue& container, const LoopValue& key) const {
  std::string text;
  const std::function<void(const LoopValue&)> visit = [&](const LoopValue& value) {
    append_key(value, text);
    text += value.expr + ",";
    for (const LoopValue& item : value.items) visit(item);
  };
  visit(container);
  visit(key);
  return text;
}

LoopValue LoopBuilder::number_of_list(const LoopValue& list, const LoopValue& key) {
  if (!has_only_ints({key})) throw LoopUnsupported{"a slice of a list"};
  LoopValue array = list;
  array.kind = LoopKind::Array;
  const Place found = place(array, key);
  if (list.dtype == DType::Bool) return loop_bool(loaded("bool", found, " != 0"));
  return list.dtype == DType::F64 ? loop_float(loaded("f64", found)) : loop_int(loaded("i64", found));
}

LoopValue LoopBuilder::subscript(const LoopValue& container, const LoopValue& key) {
  if (container.kind == LoopKind::Dict) return item_of_dict(container, key, nullptr);
  if ((container.kind == LoopKind::Tuple || container.kind == LoopKind::List) && key.known) {
    const auto size = static_cast<int64_t>(container.items.size());
    const int64_t index = *key.known < 0 ? *key.known + size : *key.known;
    if (index < 0 || index >= size) throw LoopUnsupported{"an index out of range"};
    return container.items[static_cast<size_t>(index)];
  }
  if (container.kind == LoopKind::Pending) return subscript(materialized(container), key);
  if (container.kind == LoopKind::Vector) return number_of_list(container, key);
  if (const auto item = item_at(container, key)) return *item;
  if (!is_array(container)) throw LoopUnsupported{"an element of what is not an array"};
  if (has_arrays(key)) return gather(container, key);
  const bool is_row = container.kind != LoopKind::View && has_only_ints(parts_of_key(key));
  if (takes_view(container, key) && !is_row) {
    LoopValue view = view_subscript(container, taken_apart(key, num_dims(container)));
    view.origin = origin_of(container, key);
    return view;
  }
  const Place found = place(container, key);
  const DType dtype = container.dtype;
  if (found.is_element && dtype == DType::C128) return complex_element(found);
  if (found.is_element) {
    LoopValue element = loop_numpy(dtype, loaded(c_type(dtype), found, dtype == DType::Bool ? " != 0" : ""));
    if (container.kind == LoopKind::Array && array_of(container).is_counted_in)
      element.counts_of = container.index;
    return element;
  }
  LoopValue row;
  row.kind = LoopKind::Row;
  row.dtype = dtype;
  row.index = found.array;
  row.dims = found.dims;
  row.expr = operation(c_type(row), found.data, "+", Expr::apply(op::kBrackets, {found.offset}));
  row.origin = origin_of(container, key);
  note_row(row.expr);
  return row;
}

// The number as the array's elements hold it.
Expr LoopBuilder::stored(const LoopValue& value, DType dtype) {
  if (dtype == DType::C128 && (value.is_number() || value.is_complex())) return element_of_complex(value);
  if (value.kind == LoopKind::Either) return stored(value.items[0], dtype);
  if (value.kind == LoopKind::ScalarArray) return stored(scalar_of(value), dtype);
  if (!value.is_number()) throw LoopUnsupported{"assignment of what is not a number"};
  const bool is_float =
      value.kind == LoopKind::Float || (value.kind == LoopKind::Numpy && is_floating(value.dtype));
  if (is_float && is_integral(dtype)) {
    // Truncated; where it does not fit NumPy warns or raises.
    const int bits = itemsize(dtype) * 8 - (is_signed(dtype) ? 1 : 0);
    const std::string most = fmt::format("0x1p{}", std::min(bits, 62));
    const Expr least = Expr::constant(is_signed(dtype) ? "-" + most : "-1.0");
    require(both(Expr::apply(op::infix(">"), {value.expr, least}),
                 Expr::apply(op::infix("<"), {value.expr, Expr::constant(most)})));
    return cast(c_type(dtype), cast("i64", value.expr));
  }
  if (is_float && dtype == DType::F32 && c_type(value) == "f64") {
    const Expr narrow = temporary("f32", cast("f32", value.expr));
    const Expr was_infinite = Expr::apply(op::kNot, {Expr::apply(op::kIsFinite, {value.expr})});
    require(Expr::apply(op::kOr, {Expr::apply(op::kIsFinite, {narrow}), was_infinite}));
    return narrow;
  }
  // What does not fit is NumPy's to wrap or to refuse.
  if (value.kind == LoopKind::Numpy && is_integral(value.dtype) && is_integral(dtype) &&
      value.dtype != dtype) {
    const Expr narrow = temporary(c_type(dtype), cast(c_type(dtype), value.expr));
    require(Expr::apply(op::kIsSameInt, {narrow, value.expr}, c_type(value.dtype)));
    return narrow;
  }
  return as_dtype(value, dtype);
}

void LoopBuilder::store_subscript(const LoopValue& container, const LoopValue& key, const LoopValue& value) {
  if (container.kind == LoopKind::Vector) return store_in_list(container, key, value);
  if (container.kind == LoopKind::Resized) return store_item(container, key, value);
  if (!is_array(container)) throw LoopUnsupported{"assignment to an element of what is not an array"};
  if (!is_writable(container)) throw LoopUnsupported{"assignment to a read-only array"};
  note_stored(container, has_arrays(key) || takes_view(container, key) ? nullptr : &value);
  if (has_arrays(key)) return scatter(container, key, value);
  if (takes_view(container, key)) {
    // An update in place assigns the view to itself.
    if (!value.origin.empty() && value.origin == origin_of(container, key)) return;
    materialize_all();
    const LoopValue view = view_subscript(container, taken_apart(key, num_dims(container)));
    return store_view(view, value, false);
  }
  const Place found = place(container, key, true);
  const std::string element = stored(value, container.dtype);
  materialize_all();
  store(found, element);
}

}  // namespace weft::capture
