// x[…]: reading, assigning and updating in place.
#include <fmt/format.h>

#include <algorithm>

#include "script/builtins/prim.h"
#include "script/emit/emitter.h"

namespace weft::jit {

// A tensor after its ints, slices, None and Ellipsis were applied, and the index tensors that are left: null
// where a dimension is not indexed.
struct Emitter::TensorIndices {
  ir::Value* sliced = nullptr;
  std::vector<ir::Value*> tensors;
  bool is_advanced() const {
    return std::any_of(tensors.begin(), tensors.end(),
                       [](const ir::Value* index) { return index != nullptr; });
  }
};

namespace {

bool is_none_literal(const Expr& expr) {
  const auto* literal = expr.as<Expr::Constant>();
  return literal && std::holds_alternative<std::monostate>(literal->value);
}

bool is_sequence(const TypePtr& type) { return type->is(TypeKind::List) || type->is(TypeKind::Tuple); }

}  // namespace

Emitter::TensorIndices Emitter::slice_tensor(ir::Value* tensor, const std::vector<ExprPtr>& indices,
                                             const Range& range) {
  TensorIndices result;
  result.sliced = tensor;
  std::vector<const Expr*> items;
  for (const ExprPtr& index : indices) {
    const auto* tuple = index->as<Expr::Tuple>();
    if (tuple && indices.size() == 1) {
      for (const ExprPtr& element : tuple->elements) items.push_back(element.get());
    } else {
      items.push_back(index.get());
    }
  }
  // Dimensions before an Ellipsis count from the front, those after it from the back.
  int64_t dim = 0;
  bool after_ellipsis = false;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i]->as<Expr::Ellipsis>()) {
      if (after_ellipsis) syntax_error(items[i]->range, "a subscript has at most one Ellipsis");
      after_ellipsis = true;
      continue;
    }
    if (after_ellipsis) {
      dim = -std::count_if(items.begin() + static_cast<std::ptrdiff_t>(i), items.end(),
                           [](const Expr* e) { return !is_none_literal(*e); });
      if (is_none_literal(*items[i])) --dim;
    }
    apply_index(result, *items[i], dim, after_ellipsis, range);
  }
  return result;
}

// Applies one index to dimension `dim` and moves `dim` to the next one.
void Emitter::apply_index(TensorIndices& result, const Expr& item, int64_t& dim, bool from_back,
                          const Range& range) {
  const auto at = [&](ir::Value* index) {
    if (from_back) type_error(item.range, "an index tensor after an Ellipsis is not supported");
    result.tensors.resize(static_cast<size_t>(dim), nullptr);
    result.tensors.push_back(index);
    ++dim;
  };
  if (const auto* slice = item.as<Expr::Slice>()) {
    const auto bound = [&](const ExprPtr& e) { return e ? emit(*e) : none(range); };
    if (slice->start || slice->stop || slice->step) {
      ir::Value* start = bound(slice->start);
      ir::Value* stop = bound(slice->stop);
      ir::Value* step = slice->step ? emit(*slice->step) : constant(1, range);
      result.sliced = builtin("aten::slice", {result.sliced, constant(dim, range), start, stop, step}, range);
    }
    ++dim;
    return;
  }
  if (is_none_literal(item)) {
    result.sliced = builtin("aten::unsqueeze", {result.sliced, constant(dim, range)}, range);
    ++dim;
    return;
  }
  ir::Value* index = emit(item);
  const TypePtr& type = type_of(index);
  if (type->is(TypeKind::Int)) {
    result.sliced = builtin("aten::select", {result.sliced, constant(dim, range), index}, range);
  } else if (type->is(TypeKind::Tensor) || may_be_none(type)) {
    at(index);
  } else if (type->is(TypeKind::Bool) || is_sequence(type)) {
    at(builtin("aten::tensor", {index}, range));
  } else {
    type_error(item.range,
               fmt::format("a tensor is indexed by int, slice, None, Ellipsis, list or Tensor, not {}",
                           type->str()));
  }
}

ir::Value* Emitter::index_list(const TensorIndices& indices, const Range& range) {
  const TypePtr element = Type::optional(Type::tensor());
  std::vector<ir::Value*> values;
  for (ir::Value* index : indices.tensors) values.push_back(index ? index : none(range));
  return make_list(element, values, range);
}

ir::Value* Emitter::emit_tensor_subscript(ir::Value* tensor, const std::vector<ExprPtr>& indices,
                                          const Range& range) {
  const TensorIndices sliced = slice_tensor(tensor, indices, range);
  if (!sliced.is_advanced())
    return sliced.sliced == tensor ? builtin("aten::alias", {tensor}, range) : sliced.sliced;
  return builtin("aten::index", {sliced.sliced, index_list(sliced, range)}, range);
}

// ---- reading ---------------------------------------------------------------------------------------------
SugaredPtr Emitter::emit_slice(const SugaredPtr& object, const Expr::Slice& slice, const Range& range) {
  const auto bound = [&](const ExprPtr& e) { return e ? emit(*e) : none(range); };
  ir::Value* start = bound(slice.start);
  ir::Value* stop = bound(slice.stop);
  ir::Value* step = slice.step ? emit(*slice.step) : constant(1, range);
  ir::Value* value = object->value();
  if (dynamic_cast<const ConstantSugar*>(object.get())) value = object->as_value(*this, range);
  const bool is_static =
      !value || type_of(value)->is(TypeKind::Tuple) || container_kind(*type_of(value)) == ContainerKind::List;
  if (!is_static) return simple(builtin("aten::slice", {value, start, stop, step}, range));
  const std::vector<SugaredPtr> elements = object->as_tuple(*this, range, std::nullopt);
  const auto count = static_cast<int64_t>(elements.size());
  const auto known = [&](ir::Value* v, int64_t absent) -> int64_t {
    if (type_of(v)->is(TypeKind::None)) return absent;
    const auto constant = constant_int(v);
    if (!constant) type_error(range, "slices of tuples and module lists must be literals");
    return *constant;
  };
  const int64_t by = known(step, 1);
  if (by == 0) type_error(range, "a slice's step must not be 0");
  const auto clamp = [&](int64_t i) {
    return std::clamp(i < 0 ? i + count : i, by < 0 ? int64_t{-1} : int64_t{0}, by < 0 ? count - 1 : count);
  };
  const int64_t begin =
      type_of(start)->is(TypeKind::None) ? (by < 0 ? count - 1 : 0) : clamp(known(start, 0));
  const int64_t end = type_of(stop)->is(TypeKind::None) ? (by < 0 ? -1 : count) : clamp(known(stop, 0));
  std::vector<SugaredPtr> chosen;
  for (int64_t i = begin; by < 0 ? i > end : i < end; i += by)
    chosen.push_back(elements[static_cast<size_t>(i)]);
  const auto tuple = std::make_shared<TupleSugar>(std::move(chosen));
  return value && type_of(value)->is(TypeKind::Tuple) ? simple(tuple->as_value(*this, range))
                                                      : SugaredPtr(tuple);
}

SugaredPtr Emitter::emit_subscript(const Expr& expr) {
  const auto& subscript = *expr.as<Expr::Subscript>();
  const Range& range = expr.range;
  const SugaredPtr object = emit_sugared(*subscript.object);
  if (object->value() && type_of(object->value())->is(TypeKind::Tensor)) {
    return simple(emit_tensor_subscript(object->value(), subscript.indices, range));
  }
  if (subscript.indices.size() == 1 && subscript.indices[0]->as<Expr::Slice>()) {
    return emit_slice(object, *subscript.indices[0]->as<Expr::Slice>(), range);
  }
  std::vector<ir::Value*> indices;
  for (const ExprPtr& index : subscript.indices) indices.push_back(emit(*index));
  return object->subscript(*this, range, indices.size() == 1 ? indices[0] : make_tuple(indices, range));
}

// ---- writing ---------------------------------------------------------------------------------------------
void Emitter::assign_subscript(const Expr& target, ir::Value* value, const Range& range) {
  const auto& subscript = *target.as<Expr::Subscript>();
  ir::Value* object = emit(*subscript.object);
  if (!type_of(object)->is(TypeKind::Tensor)) {
    if (subscript.indices.size() != 1 || subscript.indices[0]->as<Expr::Slice>()) {
      type_error(range, fmt::format("this subscript of {} cannot be assigned to", type_of(object)->str()));
    }
    return set_item(object, emit(*subscript.indices[0]), value, range);
  }
  const TensorIndices sliced = slice_tensor(object, subscript.indices, range);
  ir::Value* tensor = value;
  if (is_number_type(type_of(value))) tensor = tensor_like(value, sliced.sliced, range);
  if (!type_of(tensor)->is(TypeKind::Tensor))
    type_error(range, fmt::format("{} cannot be assigned to a part of a tensor", type_of(value)->str()));
  if (sliced.is_advanced())
    builtin("aten::index_put_", {sliced.sliced, index_list(sliced, range), tensor}, range);
  else
    builtin("aten::copy_", {sliced.sliced, tensor}, range);
}

// A number as a tensor of another's dtype and device.
ir::Value* Emitter::tensor_like(ir::Value* number, ir::Value* other, const Range& range) {
  ir::Value* dtype = builtin("prim::dtype", {other}, range);
  ir::Value* device = builtin("prim::device", {other}, range);
  return call_builtin("aten::tensor",
                      {{"", number, range}, {"dtype", dtype, range}, {"device", device, range}}, range)
      ->as_value(*this, range);
}

void Emitter::set_item(ir::Value* object, ir::Value* index, ir::Value* value, const Range& range) {
  if (type_of(object)->is(TypeKind::Class)) {
    call_method(object, "__setitem__", {{"", index, range}, {"", value, range}}, range);
  } else {
    builtin("aten::_set_item", {object, index, value}, range);
  }
}

void Emitter::augment_subscript(const Expr& target, BinaryOp op, const Expr& value_expr, const Range& range) {
  const auto& subscript = *target.as<Expr::Subscript>();
  ir::Value* object = emit(*subscript.object);
  if (!type_of(object)->is(TypeKind::Tensor)) {
    if (subscript.indices.size() != 1 || subscript.indices[0]->as<Expr::Slice>()) {
      type_error(range, fmt::format("this subscript of {} cannot be assigned to", type_of(object)->str()));
    }
    ir::Value* index = emit(*subscript.indices[0]);
    ir::Value* before = simple(object)->subscript(*this, range, index)->as_value(*this, range);
    return set_item(object, index, emit_augment(before, op, emit(value_expr), range), range);
  }
  const TensorIndices sliced = slice_tensor(object, subscript.indices, range);
  ir::Value* value = emit(value_expr);
  if (!sliced.is_advanced()) {
    emit_augment(sliced.sliced, op, value, range);
    return;
  }
  ir::Value* list = index_list(sliced, range);
  ir::Value* before = builtin("aten::index", {sliced.sliced, list}, range);
  builtin("aten::index_put_", {sliced.sliced, list, emit_binary(op, before, value, range)}, range);
}

}  // namespace weft::jit
