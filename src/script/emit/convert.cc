// Values where another type is expected.
#include <fmt/format.h>

#include "script/builtins/prim.h"
#include "script/emit/emitter.h"

namespace weft::jit {
namespace {

// (1, 2) where List[int] is expected.
bool fits_list(const Type& tuple, const Type& list) {
  for (const TypePtr& element : tuple.elements()) {
    if (!element->is_subtype_of(*list.element())) return false;
  }
  return true;
}

// The builtin that makes `type` of a value of type `from` where the program does not say so.
const char* implicit_cast(const Type& from, const Type& type) {
  const bool from_tensor = from.is(TypeKind::Tensor), from_number = from.is(TypeKind::Number);
  switch (type.kind()) {
    case TypeKind::Float:
      if (from_tensor) return "aten::FloatImplicit";
      return from_number || from.is(TypeKind::Int) ? "aten::Float" : nullptr;
    case TypeKind::Complex:
      return from_tensor ? "aten::ComplexImplicit" : from_number ? "aten::Complex" : nullptr;
    case TypeKind::Int: return from_tensor ? "aten::IntImplicit" : from_number ? "aten::Int" : nullptr;
    // A truth value counts as an integer where a number is wanted.
    case TypeKind::Number:
      return from_tensor ? "aten::ScalarImplicit" : from.is(TypeKind::Bool) ? "aten::Int" : nullptr;
    case TypeKind::Bool: return from_tensor ? "aten::Bool" : nullptr;
    case TypeKind::Device: return from.is(TypeKind::String) ? "aten::device" : nullptr;
    default: return nullptr;
  }
}

}  // namespace

bool Emitter::is_empty_literal(const ir::Value* value, const ir::ScriptOp& made_by) {
  const ir::Node* def = value->def;
  return def && def->script == &made_by && def->inputs.empty() && value->uses.empty() &&
         def->parent == &block();
}

ir::Value* Emitter::try_convert(ir::Value* input, const TypePtr& type, const Range& range, bool implicit) {
  const TypePtr from = jit::type_of(input);
  if (from->is_subtype_of(*type)) return input;
  const TypePtr wanted = without_none(type);
  if (wanted->is(TypeKind::List)) {
    if (is_empty_literal(input, prim::kListConstruct)) return value(prim::kListConstruct, {}, wanted, range);
    if (from->is(TypeKind::Tuple) && fits_list(*from, *wanted)) {
      return make_list(wanted->element(), unpack_tuple(input, range), range);
    }
  }
  if (wanted->is(TypeKind::Dict) && is_empty_literal(input, prim::kDictConstruct))
    return value(prim::kDictConstruct, {}, wanted, range);
  if (wanted->is(TypeKind::Tuple) && from->is(TypeKind::Tuple) && wanted->fields().empty() &&
      wanted->elements().size() == from->elements().size()) {
    std::vector<ir::Value*> elements = unpack_tuple(input, range);
    for (size_t i = 0; i < elements.size(); ++i) {
      elements[i] = try_convert(elements[i], wanted->elements()[i], range, implicit);
      if (!elements[i]) return nullptr;
    }
    return value(prim::kTupleConstruct, elements, wanted, range);
  }
  if (!implicit) return nullptr;
  const char* cast = implicit_cast(*from, *wanted);
  return cast ? builtin(cast, {input}, range) : nullptr;
}

ir::Value* Emitter::convert(ir::Value* input, const TypePtr& type, const Range& range,
                            const std::string& what) {
  ir::Value* converted = try_convert(input, type, range, false);
  if (!converted)
    type_error(range, fmt::format("{}: expected {}, got {}", what, type->str(), jit::type_of(input)->str()));
  return converted;
}

ir::Value* Emitter::to_bool(ir::Value* input, const Range& range) {
  const TypePtr& type = jit::type_of(input);
  if (type->is(TypeKind::Bool)) return input;
  if (type->is(TypeKind::Class) && static_cast<const ClassType&>(*type).find_method("__bool__")) {
    return call_method(input, "__bool__", {}, range)->as_value(*this, range);
  }
  if (const IValue* known = constant_of(input); known && known->is_int())
    return constant(known->to_int() != 0, range);
  if (type->is(TypeKind::String) || type->is(TypeKind::List) || type->is(TypeKind::Dict))
    return builtin("aten::gt", {builtin("aten::len", {input}, range), constant(int64_t{0}, range)}, range);
  if (!has_builtin_for("aten::Bool", {input})) {
    type_error(
        range,
        fmt::format("a condition must be a bool, a number, a tensor, a string, a list or a dict, not {}",
                    type->str()));
  }
  return builtin("aten::Bool", {input}, range);
}

ir::Value* Emitter::to_int(ir::Value* input, const Range& range) {
  ir::Value* converted = try_convert(input, Type::integer(), range, true);
  if (!converted) type_error(range, fmt::format("expected an int, got {}", jit::type_of(input)->str()));
  return converted;
}

}  // namespace weft::jit
