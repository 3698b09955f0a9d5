// Expressions but calls and subscripts.
#include <fmt/format.h>

#include "script/builtins/prim.h"
#include "script/emit/emitter.h"

namespace weft::jit {
namespace {

const char* name_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add: return "add";
    case BinaryOp::Sub: return "sub";
    case BinaryOp::Mul: return "mul";
    case BinaryOp::Div: return "div";
    case BinaryOp::FloorDiv: return "floordiv";
    case BinaryOp::Mod: return "remainder";
    case BinaryOp::Pow: return "pow";
    case BinaryOp::MatMul: return "matmul";
    case BinaryOp::BitAnd: return "__and__";
    case BinaryOp::BitOr: return "__or__";
    case BinaryOp::BitXor: return "__xor__";
    case BinaryOp::ShiftLeft: return "__lshift__";
    case BinaryOp::ShiftRight: return "__rshift__";
  }
  return "";
}

// The method by which a user's class defines the operator.
const char* method_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add: return "__add__";
    case BinaryOp::Sub: return "__sub__";
    case BinaryOp::Mul: return "__mul__";
    case BinaryOp::Div: return "__truediv__";
    case BinaryOp::FloorDiv: return "__floordiv__";
    case BinaryOp::Mod: return "__mod__";
    case BinaryOp::Pow: return "__pow__";
    case BinaryOp::MatMul: return "__matmul__";
    default: return name_of(op);
  }
}

const char* name_of(CompareOp op) {
  switch (op) {
    case CompareOp::Eq: return "eq";
    case CompareOp::Ne: return "ne";
    case CompareOp::Lt: return "lt";
    case CompareOp::Le: return "le";
    case CompareOp::Gt: return "gt";
    case CompareOp::Ge: return "ge";
    case CompareOp::Is: return "__is__";
    case CompareOp::IsNot: return "__isnot__";
    case CompareOp::In:
    case CompareOp::NotIn: return "__contains__";
  }
  return "";
}

CompareOp mirrored(CompareOp op) {
  switch (op) {
    case CompareOp::Lt: return CompareOp::Gt;
    case CompareOp::Le: return CompareOp::Ge;
    case CompareOp::Gt: return CompareOp::Lt;
    case CompareOp::Ge: return CompareOp::Le;
    default: return op;
  }
}

bool has_method(const ir::Value* value, const std::string& name) {
  const TypePtr& type = type_of(value);
  return type->is(TypeKind::Class) && static_cast<const ClassType&>(*type).find_method(name);
}

IValue literal_value(const Expr::Constant& constant) {
  return std::visit(
      [](const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
          return IValue();
        else
          return IValue(value);
      },
      constant.value);
}

// The element type of a list literal: the hint's where all fit, else what they have in common.
TypePtr element_type(const std::vector<ir::Value*>& values, const TypePtr& hint, const Range& range,
                     const char* what) {
  if (hint) {
    bool all_fit = true;
    for (const ir::Value* value : values) all_fit &= type_of(value)->is_subtype_of(*hint);
    if (all_fit) return hint;
  }
  TypePtr element = type_of(values[0]);
  for (const ir::Value* value : values) {
    const TypePtr merged = unify(element, type_of(value));
    if (!merged)
      type_error(range, fmt::format("{} are of one type, got {} and {}", what, element->str(),
                                    type_of(value)->str()));
    element = merged;
  }
  return element;
}

TypePtr hinted(const TypePtr& hint, TypeKind kind) {
  if (!hint) return nullptr;
  const TypePtr inner = without_none(hint);
  if (inner->is(kind)) return inner;
  if (inner->is(TypeKind::Union)) {
    for (const TypePtr& member : inner->elements()) {
      if (member->is(kind)) return member;
    }
  }
  return nullptr;
}

}  // namespace

ir::Value* Emitter::emit(const Expr& expr, const TypePtr& hint) {
  return emit_sugared(expr, hint)->as_value(*this, expr.range);
}

SugaredPtr Emitter::emit_sugared(const Expr& expr, const TypePtr& hint) {
  const Range& range = expr.range;
  return std::visit(
      [&](const auto& e) -> SugaredPtr {
        using T = std::decay_t<decltype(e)>;
        if constexpr (std::is_same_v<T, Expr::Name>)
          return get_name(e.id, range);
        else if constexpr (std::is_same_v<T, Expr::Constant>)
          return std::make_shared<ConstantSugar>(literal_value(e));
        else if constexpr (std::is_same_v<T, Expr::Attribute>)
          return emit_sugared(*e.object)->attribute(*this, range, e.name);
        else if constexpr (std::is_same_v<T, Expr::Subscript>)
          return emit_subscript(expr);
        else if constexpr (std::is_same_v<T, Expr::Call>)
          return emit_call(expr, hint);
        else if constexpr (std::is_same_v<T, Expr::Unary>)
          return simple(emit_unary(e, range, hint));
        else if constexpr (std::is_same_v<T, Expr::Binary>) {
          ir::Value* left = emit(*e.left, hint);
          return simple(emit_binary(e.op, left, emit(*e.right, hint), range));
        } else if constexpr (std::is_same_v<T, Expr::BoolOp>)
          return simple(emit_condition(expr).value);
        else if constexpr (std::is_same_v<T, Expr::Compare>)
          return simple(emit_compare_chain(e, expr));
        else if constexpr (std::is_same_v<T, Expr::IfExpr>) {
          const Condition condition = emit_condition(*e.condition);
          return simple(emit_choice(
              condition, range, hint, [&] { return emit(*e.then, hint); },
              [&] { return emit(*e.otherwise, hint); }));
        } else if constexpr (std::is_same_v<T, Expr::List>)
          return simple(emit_list(e, range, hint));
        else if constexpr (std::is_same_v<T, Expr::Tuple>)
          return emit_tuple(e, range, hint);
        else if constexpr (std::is_same_v<T, Expr::Dict>)
          return simple(emit_dict(e, range, hint));
        else if constexpr (std::is_same_v<T, Expr::ListComp>)
          return simple(emit_list_comp(e, range, hint));
        else if constexpr (std::is_same_v<T, Expr::DictComp>)
          return simple(emit_dict_comp(e, range, hint));
        else if constexpr (std::is_same_v<T, Expr::FString>)
          return simple(emit_fstring(e, range));
        else
          syntax_error(range, "this cannot stand here");
      },
      expr.node);
}

// ---- operators -------------------------------------------------------------------------------------------
ir::Value* Emitter::emit_unary(const Expr::Unary& unary, const Range& range, const TypePtr& hint) {
  if (unary.op == UnaryOp::Not) {
    Condition condition = emit_condition(*unary.operand);
    if (condition.known) return constant(!*condition.known, range);
    return builtin("aten::__not__", {condition.value}, range);
  }
  if (const auto* literal = unary.operand->as<Expr::Constant>(); literal && unary.op == UnaryOp::Neg) {
    if (const auto* integer = std::get_if<int64_t>(&literal->value)) {
      return constant(static_cast<int64_t>(-static_cast<uint64_t>(*integer)), range);
    }
    if (const auto* real = std::get_if<double>(&literal->value)) return constant(-*real, range);
  }
  ir::Value* operand = emit(*unary.operand, hint);
  if (unary.op == UnaryOp::Neg && has_method(operand, "__neg__"))
    return call_method(operand, "__neg__", {}, range)->value();
  if (unary.op == UnaryOp::Pos) return operand;
  return builtin(unary.op == UnaryOp::Neg ? "aten::neg" : "aten::bitwise_not", {operand}, range);
}

ir::Value* Emitter::emit_binary(BinaryOp op, ir::Value* left, ir::Value* right, const Range& range) {
  if (has_method(left, method_of(op))) {
    return call_method(left, method_of(op), {{"", right, range}}, range)->as_value(*this, range);
  }
  const bool tensor_left = type_of(left)->is(TypeKind::Tensor),
             tensor_right = type_of(right)->is(TypeKind::Tensor);
  std::string name = std::string("aten::") + name_of(op);
  if (op == BinaryOp::FloorDiv && (tensor_left || tensor_right)) name = "aten::floor_divide";
  if (op == BinaryOp::Mod && type_of(left)->is(TypeKind::String)) name = "aten::percentFormat";
  // number op tensor
  if (tensor_right && is_number_type(type_of(left))) {
    switch (op) {
      case BinaryOp::Add:
      case BinaryOp::Mul:
      case BinaryOp::BitAnd:
      case BinaryOp::BitOr:
      case BinaryOp::BitXor: std::swap(left, right); break;
      case BinaryOp::Sub: return builtin("aten::rsub", {right, left}, range);
      case BinaryOp::Div:
        return builtin("aten::mul", {builtin("aten::reciprocal", {right}, range), left}, range);
      case BinaryOp::FloorDiv:
        return builtin(name, {builtin("aten::scalar_tensor", {left}, range), right}, range);
      default: break;
    }
  }
  return builtin(name, {left, right}, range);
}

ir::Value* Emitter::emit_compare(CompareOp op, ir::Value* left, ir::Value* right, const Range& range) {
  const bool is_contained = op == CompareOp::In || op == CompareOp::NotIn;
  if (is_contained)
    std::swap(left, right);
  else if (type_of(right)->is(TypeKind::Tensor) && is_number_type(type_of(left)) && op != CompareOp::Is &&
           op != CompareOp::IsNot) {
    std::swap(left, right);
    op = mirrored(op);
  }
  const std::string bare = name_of(op);
  const std::string method = is_contained ? bare : "__" + bare + "__";
  ir::Value* result = nullptr;
  if (has_method(left, method)) {
    result = call_method(left, method, {{"", right, range}}, range)->as_value(*this, range);
  } else if (op == CompareOp::Ne && has_method(left, "__eq__")) {
    result =
        builtin("aten::__not__", {call_method(left, "__eq__", {{"", right, range}}, range)->value()}, range);
  } else {
    result = builtin("aten::" + bare, {left, right}, range);
  }
  return op == CompareOp::NotIn ? builtin("aten::__not__", {to_bool(result, range)}, range) : result;
}

ir::Value* Emitter::emit_compare_chain(const Expr::Compare& compare, const Expr& expr) {
  const Range& range = expr.range;
  const CompareOp first = compare.rest[0].first;
  if (compare.rest.size() == 1 && (first == CompareOp::Is || first == CompareOp::IsNot)) {
    if (const auto* literal = compare.rest[0].second->as<Expr::Constant>();
        literal && std::holds_alternative<std::monostate>(literal->value)) {
      return emit_condition(expr).value;
    }
  }
  const auto membership = emit_module_membership(compare, range);
  if (membership) return membership;
  ir::Value* left = emit(*compare.left);
  ir::Value* result = nullptr;
  // a < b < c: the rest is looked at only where what precedes holds.
  const std::function<ir::Value*(size_t, ir::Value*)> chain = [&](size_t i,
                                                                  ir::Value* operand) -> ir::Value* {
    ir::Value* right = emit(*compare.rest[i].second);
    ir::Value* holds = emit_compare(compare.rest[i].first, operand, right, range);
    if (i + 1 == compare.rest.size()) return holds;
    Condition condition;
    condition.value = to_bool(holds, range);
    return emit_choice(
        condition, range, nullptr, [&] { return to_bool(chain(i + 1, right), range); },
        [&] { return constant(false, range); });
  };
  result = chain(0, left);
  return result;
}

// "name" in module_dict: known now.
ir::Value* Emitter::emit_module_membership(const Expr::Compare& compare, const Range& range) {
  const CompareOp op = compare.rest[0].first;
  if (compare.rest.size() != 1 || (op != CompareOp::In && op != CompareOp::NotIn)) return nullptr;
  const auto* key = compare.left->as<Expr::Constant>();
  if (!key || !std::holds_alternative<std::string>(key->value)) return nullptr;
  const SugaredPtr container = emit_sugared(*compare.rest[0].second);
  if (!container->value() || container_kind(*type_of(container->value())) != ContainerKind::Dict) {
    ir::Value* left = emit(*compare.left);
    return emit_compare(op, left, container->as_value(*this, range), range);
  }
  bool found = false;
  for (const auto& [name, module] : container_items(*this, range, container->value()))
    found |= name == std::get<std::string>(key->value);
  return constant(found == (op == CompareOp::In), range);
}

// ---- literals --------------------------------------------------------------------------------------------
ir::Value* Emitter::emit_list(const Expr::List& list, const Range& range, const TypePtr& hint) {
  const TypePtr hinted_list = hinted(hint, TypeKind::List);
  const TypePtr element_hint = hinted_list ? hinted_list->element() : nullptr;
  std::vector<ir::Value*> values;
  for (const ExprPtr& element : list.elements) {
    if (const auto* starred = element->as<Expr::Starred>()) {
      const SugaredPtr inner = emit_sugared(*starred->value);
      for (const SugaredPtr& item : inner->as_tuple(*this, range, std::nullopt))
        values.push_back(item->as_value(*this, range));
    } else {
      values.push_back(emit(*element, element_hint));
    }
  }
  if (values.empty()) return make_list(element_hint ? element_hint : Type::tensor(), {}, range);
  return make_list(element_type(values, element_hint, range, "a list's elements"), values, range);
}

SugaredPtr Emitter::emit_tuple(const Expr::Tuple& tuple, const Range& range, const TypePtr& hint) {
  const TypePtr hinted_tuple = hinted(hint, TypeKind::Tuple);
  const bool use_hint = hinted_tuple && hinted_tuple->elements().size() == tuple.elements.size();
  std::vector<SugaredPtr> values;
  bool all_simple = true;
  for (size_t i = 0; i < tuple.elements.size(); ++i) {
    const Expr& element = *tuple.elements[i];
    if (const auto* starred = element.as<Expr::Starred>()) {
      for (const SugaredPtr& item : emit_sugared(*starred->value)->as_tuple(*this, range, std::nullopt))
        values.push_back(item);
    } else {
      values.push_back(emit_sugared(element, use_hint ? hinted_tuple->elements()[i] : nullptr));
      if (dynamic_cast<ConstantSugar*>(values.back().get()))
        values.back() = simple(values.back()->as_value(*this, element.range));
    }
    all_simple &= values.back()->value() != nullptr;
  }
  const auto packed = std::make_shared<TupleSugar>(std::move(values));
  return all_simple ? simple(packed->as_value(*this, range)) : packed;
}

ir::Value* Emitter::emit_dict(const Expr::Dict& dict, const Range& range, const TypePtr& hint) {
  const TypePtr hinted_dict = hinted(hint, TypeKind::Dict);
  std::vector<ir::Value*> keys, values, inputs;
  for (const auto& [key, value] : dict.items) {
    keys.push_back(emit(*key));
    values.push_back(emit(*value, hinted_dict ? hinted_dict->elements()[1] : nullptr));
    inputs.insert(inputs.end(), {keys.back(), values.back()});
  }
  TypePtr type = hinted_dict ? hinted_dict : Type::dict(Type::string(), Type::tensor());
  if (!keys.empty()) {
    type = Type::dict(
        element_type(keys, hinted_dict ? hinted_dict->elements()[0] : nullptr, range, "a dictionary's keys"),
        element_type(values, hinted_dict ? hinted_dict->elements()[1] : nullptr, range,
                     "a dictionary's values"));
  }
  return value(prim::kDictConstruct, inputs, type, range);
}

// ---- comprehensions --------------------------------------------------------------------------------------
void Emitter::emit_comprehension(const Comprehension& loop, const Range& range,
                                 const std::function<void()>& add) {
  const SugaredPtr iterable = emit_sugared(*loop.iterable);
  const Iteration iteration = iterable->iterate(*this, loop.iterable->range);
  LoopPlan plan;
  const std::function<void(size_t)> filtered = [&](size_t i) {
    if (i == loop.conditions.size()) return add();
    emit_branches(emit_condition(*loop.conditions[i]), range, [&] { filtered(i + 1); }, [] {});
  };
  plan.body = [&] { filtered(0); };
  // The target lives in the comprehension only.
  std::set<std::string> targets;
  add_target_names(*loop.target, targets);
  std::map<std::string, Environment::Entry> hidden;
  for (const std::string& name : targets) {
    if (const auto found = frame_->names.find(name); found != frame_->names.end()) hidden.insert(*found);
  }
  const Flow before = flow_;
  emit_iteration(
      iteration, std::move(plan),
      [&](SugaredPtr value) { assign(*loop.target, std::move(value), loop.target->range); }, range);
  flow_ = before;
  for (const std::string& name : targets) frame_->names.erase(name);
  frame_->names.merge(hidden);
}

ir::Value* Emitter::emit_list_comp(const Expr::ListComp& comp, const Range& range, const TypePtr& hint) {
  const TypePtr hinted_list = hinted(hint, TypeKind::List);
  // The list's element type is known when its first element has been compiled.
  ir::Value* result = make_list(hinted_list ? hinted_list->element() : never_type(), {}, range);
  emit_comprehension(comp.loop, range, [&] {
    ir::Value* element = emit(*comp.element, hinted_list ? hinted_list->element() : nullptr);
    const TypePtr& type = jit::type_of(result)->element();
    const TypePtr merged = is_never(type) ? jit::type_of(element) : type;
    if (!jit::type_of(element)->is_subtype_of(*merged)) {
      type_error(comp.element->range, fmt::format("the list's elements are {}, got {}", merged->str(),
                                                  jit::type_of(element)->str()));
    }
    if (is_never(type)) result->type.script = Type::list(merged);
    builtin("aten::append", {result, element}, range);
  });
  if (is_never(jit::type_of(result)->element())) result->type.script = Type::list(Type::tensor());
  return result;
}

ir::Value* Emitter::emit_dict_comp(const Expr::DictComp& comp, const Range& range, const TypePtr& hint) {
  const TypePtr hinted_dict = hinted(hint, TypeKind::Dict);
  ir::Value* result = value(prim::kDictConstruct, {},
                            hinted_dict ? hinted_dict : Type::dict(Type::any(), never_type()), range);
  emit_comprehension(comp.loop, range, [&] {
    ir::Value* key = emit(*comp.key, hinted_dict ? hinted_dict->elements()[0] : nullptr);
    ir::Value* item = emit(*comp.value, hinted_dict ? hinted_dict->elements()[1] : nullptr);
    if (is_never(jit::type_of(result)->elements()[1]))
      result->type.script = Type::dict(jit::type_of(key), jit::type_of(item));
    builtin("aten::_set_item", {result, key, item}, range);
  });
  if (is_never(jit::type_of(result)->elements()[1]))
    result->type.script = Type::dict(Type::string(), Type::tensor());
  return result;
}

// ---- text ------------------------------------------------------------------------------------------------
ir::Value* Emitter::emit_format(const std::string& format, const std::vector<ir::Value*>& values,
                                const Range& range) {
  std::vector<ir::Value*> inputs = {constant(format, range)};
  inputs.insert(inputs.end(), values.begin(), values.end());
  return value(prim::kFormat, std::move(inputs), Type::string(), range);
}

ir::Value* Emitter::emit_fstring(const Expr::FString& text, const Range& range) {
  std::string format;
  std::vector<ir::Value*> values;
  for (const Expr::FString::Part& part : text.parts) {
    for (const char c : part.text) format += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
    if (!part.value) continue;
    if (part.conversion || !part.spec.empty())
      syntax_error(part.value->range,
                   "TorchScript's f-strings have neither conversions nor format specifications");
    format += "{}";
    values.push_back(emit(*part.value));
  }
  if (values.empty()) {
    std::string plain;
    for (const Expr::FString::Part& part : text.parts) plain += part.text;
    return constant(plain, range);
  }
  return emit_format(format, values, range);
}

}  // namespace weft::jit
