#include "script/emit/special_forms.h"

#include <fmt/format.h>

#include <limits>
#include <unordered_map>

#include "script/builtins/prim.h"
#include "script/emit/emitter.h"

namespace weft::jit {
namespace {

SugaredPtr none() { return std::make_shared<ConstantSugar>(IValue()); }

void expect_arguments(const Range& range, const Expr::Call& call, const char* name, size_t least,
                      size_t most) {
  const size_t count = call.arguments.size();
  if (count >= least && count <= most && call.keywords.empty()) return;
  type_error(range,
             fmt::format("{}() takes {} argument{}, got {}", name,
                         least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most),
                         most == 1 ? "" : "s", count + call.keywords.size()));
}

// ---- types -----------------------------------------------------------------------------------------------
SugaredPtr annotate(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr&) {
  expect_arguments(range, call, "annotate", 2, 2);
  const TypePtr type = parse_type(*call.arguments[0], e.resolver());
  ir::Value* value = e.emit(*call.arguments[1], type);
  // tensor.tolist(): what it gives is known when it runs.
  if (type_of(value)->is(TypeKind::Any) && !type->is(TypeKind::Any))
    return simple(e.value(prim::kCast, {value}, type, range));
  ir::Value* converted = e.try_convert(value, type, range, true);
  if (!converted)
    type_error(range, fmt::format("a value of type {} cannot be annotated as {}", type_of(value)->str(),
                                  type->str()));
  return simple(e.retyped(converted, type, range));
}

SugaredPtr attribute(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr&) {
  expect_arguments(range, call, "Attribute", 2, 2);
  const TypePtr type = parse_type(*call.arguments[1], e.resolver());
  ir::Value* value = e.emit(*call.arguments[0], type);
  return simple(e.retyped(e.convert(value, type, range, "Attribute"), type, range));
}

SugaredPtr unchecked_cast(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr&) {
  expect_arguments(range, call, "unchecked_cast", 2, 2);
  return simple(e.retyped(e.emit(*call.arguments[1]), parse_type(*call.arguments[0], e.resolver()), range));
}

SugaredPtr uninitialized(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr&) {
  expect_arguments(range, call, "uninitialized", 1, 1);
  return simple(e.uninitialized(parse_type(*call.arguments[0], e.resolver()), range));
}

SugaredPtr isinstance(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr&) {
  expect_arguments(range, call, "isinstance", 2, 2);
  return simple(e.emit_isinstance(call, range).value);
}

SugaredPtr hasattr(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr&) {
  expect_arguments(range, call, "hasattr", 2, 2);
  return simple(e.emit_hasattr(call, range).value);
}

SugaredPtr getattr(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr& hint) {
  expect_arguments(range, call, "getattr", 2, 3);
  const auto* name = call.arguments[1]->as<Expr::Constant>();
  if (!name || !std::holds_alternative<std::string>(name->value))
    type_error(range, "getattr() takes a literal name");
  const SugaredPtr object = e.emit_sugared(*call.arguments[0]);
  const std::string& text = std::get<std::string>(name->value);
  if (call.arguments.size() == 3 && !object->has_attribute(e, text))
    return e.emit_sugared(*call.arguments[2], hint);
  return object->attribute(e, range, text);
}

SugaredPtr is_scripting(Emitter& e, const Range& range, const Expr::Call&, const TypePtr&) {
  return simple(e.constant(true, range));
}
SugaredPtr is_tracing(Emitter& e, const Range& range, const Expr::Call&, const TypePtr&) {
  return simple(e.constant(false, range));
}

// super().__init__() has nothing to do: attributes come from the class itself.
class SuperSugar final : public SugaredValue {
 public:
  std::string kind() const override { return "super()"; }
  SugaredPtr attribute(Emitter& emitter, const Range& range, const std::string& name) override {
    if (name == "__init__") return shared_from_this();
    return SugaredValue::attribute(emitter, range, name);
  }
  SugaredPtr call(Emitter&, const Range&, const CallArguments&) override { return none(); }
};
SugaredPtr super(Emitter&, const Range&, const Expr::Call&, const TypePtr&) {
  return std::make_shared<SuperSugar>();
}

// ---- loops -----------------------------------------------------------------------------------------------
SugaredPtr range_form(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr&) {
  expect_arguments(range, call, "range", 1, 3);
  std::vector<ir::Value*> bounds;
  for (const ExprPtr& argument : call.arguments)
    bounds.push_back(e.to_int(e.emit(*argument), argument->range));
  Iteration iteration;
  if (bounds.size() == 1) {
    iteration.length = bounds[0];
    iteration.element = [](ir::Value* index) { return simple(index); };
  } else {
    if (bounds.size() == 2) bounds.push_back(e.constant(1, range));
    iteration.length = e.builtin("aten::__range_length", bounds, range);
    iteration.element = [&e, range, bounds](ir::Value* index) {
      return simple(e.builtin("aten::__derive_index", {index, bounds[0], bounds[2]}, range));
    };
  }
  return std::make_shared<IterationSugar>("range", std::move(iteration));
}

// Pairs, triples … of several iterations, as long as the shortest.
Iteration together(Emitter& e, const Range& range, std::vector<Iteration> parts) {
  Iteration result;
  const auto tuple_of = [](std::vector<SugaredPtr> elements) {
    return std::make_shared<TupleSugar>(std::move(elements));
  };
  size_t shortest = std::numeric_limits<size_t>::max();
  bool is_static = false, is_dynamic = false;
  for (const Iteration& part : parts) {
    if (part.unrolled) shortest = std::min(shortest, part.unrolled->size());
    (part.unrolled ? is_static : is_dynamic) = true;
  }
  if (is_static) {
    // Against a list of unknown length an element is read as each module needs it.
    result.unrolled.emplace();
    for (size_t i = 0; i < shortest; ++i) {
      std::vector<SugaredPtr> elements;
      for (const Iteration& part : parts) {
        elements.push_back(part.unrolled ? (*part.unrolled)[i]
                                         : part.element(e.constant(static_cast<int64_t>(i), range)));
      }
      result.unrolled->push_back(tuple_of(std::move(elements)));
    }
    return result;
  }
  std::vector<ir::Value*> lengths;
  for (const Iteration& part : parts) {
    if (part.length) lengths.push_back(part.length);
  }
  result.length = lengths.size() == 1
                      ? lengths[0]
                      : e.builtin("prim::min", {e.make_list(Type::integer(), lengths, range)}, range);
  result.element = [parts = std::move(parts), tuple_of](ir::Value* index) -> SugaredPtr {
    std::vector<SugaredPtr> elements;
    for (const Iteration& part : parts) elements.push_back(part.element(index));
    return tuple_of(std::move(elements));
  };
  return result;
}

SugaredPtr zip(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr&) {
  expect_arguments(range, call, "zip", 1, std::numeric_limits<size_t>::max());
  std::vector<Iteration> parts;
  for (const ExprPtr& argument : call.arguments)
    parts.push_back(e.emit_sugared(*argument)->iterate(e, argument->range));
  return std::make_shared<IterationSugar>("zip", together(e, range, std::move(parts)));
}

SugaredPtr enumerate(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr&) {
  const bool has_start = call.arguments.size() == 2 || !call.keywords.empty();
  if (call.arguments.empty() || call.arguments.size() + call.keywords.size() > 2)
    type_error(range, "enumerate() takes an iterable and a start");
  ir::Value* start = nullptr;
  if (has_start)
    start =
        e.to_int(e.emit(call.arguments.size() == 2 ? *call.arguments[1] : *call.keywords[0].value), range);
  const Iteration inner = e.emit_sugared(*call.arguments[0])->iterate(e, range);
  const auto number = [&e, range, start](ir::Value* index) {
    return simple(start ? e.builtin("aten::add", {index, start}, range) : index);
  };
  Iteration counter;
  counter.element = number;
  if (inner.unrolled) {
    counter.unrolled.emplace();
    for (size_t i = 0; i < inner.unrolled->size(); ++i)
      counter.unrolled->push_back(number(e.constant(static_cast<int64_t>(i), range)));
  }
  return std::make_shared<IterationSugar>("enumerate", together(e, range, {counter, inner}));
}

SugaredPtr reversed(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr&) {
  expect_arguments(range, call, "reversed", 1, 1);
  Iteration iteration = e.emit_sugared(*call.arguments[0])->iterate(e, range);
  if (iteration.unrolled) {
    std::reverse(iteration.unrolled->begin(), iteration.unrolled->end());
    return std::make_shared<IterationSugar>("reversed", std::move(iteration));
  }
  ir::Value* last = e.builtin("aten::sub", {iteration.length, e.constant(1, range)}, range);
  iteration.element = [&e, range, last, element = iteration.element](ir::Value* index) {
    return element(e.builtin("aten::sub", {last, index}, range));
  };
  return std::make_shared<IterationSugar>("reversed", std::move(iteration));
}

SugaredPtr len(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr&) {
  expect_arguments(range, call, "len", 1, 1);
  const SugaredPtr object = e.emit_sugared(*call.arguments[0]);
  ir::Value* value = object->value();
  if (value && type_of(value)->is(TypeKind::Class) &&
      static_cast<const ClassType&>(*type_of(value)).find_method("__len__")) {
    return e.call_method(value, "__len__", {}, range);
  }
  const bool is_static =
      !value || type_of(value)->is(TypeKind::Tuple) || container_kind(*type_of(value)) != ContainerKind::None;
  if (!is_static) return simple(e.builtin("aten::len", {value}, range));
  if (dynamic_cast<const ConstantSugar*>(object.get()))
    return simple(e.builtin("aten::len", {object->as_value(e, range)}, range));
  const Iteration iteration = object->iterate(e, range);
  return simple(iteration.unrolled ? e.constant(static_cast<int64_t>(iteration.unrolled->size()), range)
                                   : iteration.length);
}

// ---- conversions -----------------------------------------------------------------------------------------
struct Cast {
  const char* name;
  const char* builtin;
  const char* method;
  TypePtr (*type)();
};

SugaredPtr cast(Emitter& e, const Range& range, const Expr::Call& call, const Cast& to) {
  expect_arguments(range, call, to.name, 0, to.type == &Type::complex ? 2 : 1);
  if (call.arguments.empty()) {
    if (to.type == &Type::string) return simple(e.constant("", range));
    if (to.type == &Type::boolean) return simple(e.constant(false, range));
    return simple(to.type == &Type::integer ? e.constant(0, range) : e.constant(0.0, range));
  }
  std::vector<ir::Value*> values;
  for (const ExprPtr& argument : call.arguments) values.push_back(e.emit(*argument));
  const TypePtr& type = type_of(values[0]);
  if (values.size() == 1 && type->equals(*to.type())) return simple(values[0]);
  if (type->is(TypeKind::Class) && static_cast<const ClassType&>(*type).find_method(to.method))
    return e.call_method(values[0], to.method, {}, range);
  if (to.type == &Type::boolean) return simple(e.to_bool(values[0], range));
  if (to.type == &Type::string && find_builtins("aten::str").empty())
    return simple(e.emit_format("{}", values, range));
  return simple(e.builtin(to.builtin, values, range));
}

SugaredPtr to_int(Emitter& e, const Range& r, const Expr::Call& c, const TypePtr&) {
  return cast(e, r, c, {"int", "aten::Int", "__int__", &Type::integer});
}
SugaredPtr to_float(Emitter& e, const Range& r, const Expr::Call& c, const TypePtr&) {
  return cast(e, r, c, {"float", "aten::Float", "__float__", &Type::floating});
}
SugaredPtr to_complex(Emitter& e, const Range& r, const Expr::Call& c, const TypePtr&) {
  return cast(e, r, c, {"complex", "aten::Complex", "__complex__", &Type::complex});
}
SugaredPtr to_bool(Emitter& e, const Range& r, const Expr::Call& c, const TypePtr&) {
  return cast(e, r, c, {"bool", "aten::Bool", "__bool__", &Type::boolean});
}
SugaredPtr to_str(Emitter& e, const Range& r, const Expr::Call& c, const TypePtr&) {
  return cast(e, r, c, {"str", "aten::str", "__str__", &Type::string});
}

// A list of what `iteration` gives.
ir::Value* listed(Emitter& e, const Range& range, const Iteration& iteration) {
  if (iteration.unrolled) {
    std::vector<ir::Value*> values;
    TypePtr element;
    for (const SugaredPtr& item : *iteration.unrolled) {
      values.push_back(item->as_value(e, range));
      element = element ? unify(element, type_of(values.back())) : type_of(values.back());
      if (!element) type_error(range, "a list's elements are of one type");
    }
    return e.make_list(element ? element : Type::tensor(), values, range);
  }
  ir::Value* result = e.make_list(never_type(), {}, range);
  Emitter::LoopPlan plan;
  ir::Value* item = nullptr;
  plan.body = [&] {
    result->type.script = Type::list(type_of(item));
    e.builtin("aten::append", {result, item}, range);
  };
  e.emit_iteration(
      iteration, std::move(plan), [&](SugaredPtr value) { item = value->as_value(e, range); }, range);
  return result;
}

SugaredPtr to_list(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr& hint) {
  expect_arguments(range, call, "list", 0, 1);
  if (call.arguments.empty()) {
    const TypePtr wanted = hint ? without_none(hint) : nullptr;
    return simple(
        e.make_list(wanted && wanted->is(TypeKind::List) ? wanted->element() : Type::tensor(), {}, range));
  }
  const SugaredPtr object = e.emit_sugared(*call.arguments[0], hint);
  ir::Value* value = object->value();
  if (value && (type_of(value)->is(TypeKind::List) || type_of(value)->is(TypeKind::String)))
    return simple(e.builtin("aten::list", {value}, range));
  if (value && type_of(value)->is(TypeKind::Dict)) return simple(e.builtin("aten::keys", {value}, range));
  return simple(listed(e, range, object->iterate(e, range)));
}

SugaredPtr to_tuple(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr&) {
  expect_arguments(range, call, "tuple", 1, 1);
  const auto tuple =
      std::make_shared<TupleSugar>(e.emit_sugared(*call.arguments[0])->as_tuple(e, range, std::nullopt));
  return simple(tuple->as_value(e, range));
}

SugaredPtr to_dict(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr& hint) {
  const TypePtr wanted = hint && without_none(hint)->is(TypeKind::Dict) ? without_none(hint) : nullptr;
  if (call.arguments.empty()) {
    std::vector<ir::Value*> inputs;
    TypePtr item = wanted ? wanted->elements()[1] : nullptr;
    for (const Keyword& keyword : call.keywords) {
      inputs.push_back(e.constant(keyword.name, range));
      inputs.push_back(e.emit(*keyword.value, item));
      item = item ? unify(item, type_of(inputs.back())) : type_of(inputs.back());
      if (!item) type_error(range, "a dictionary's values are of one type");
    }
    const TypePtr type = wanted ? wanted : Type::dict(Type::string(), item ? item : Type::tensor());
    return simple(e.value(prim::kDictConstruct, inputs, type, range));
  }
  expect_arguments(range, call, "dict", 0, 1);
  ir::Value* value = e.emit(*call.arguments[0], hint);
  return simple(e.builtin("aten::dict", {value}, range));
}

// ---- the rest --------------------------------------------------------------------------------------------
SugaredPtr print(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr&) {
  std::vector<ir::Value*> values;
  for (const CallArgument& argument : e.emit_arguments(call)) values.push_back(argument.value);
  e.node(prim::kPrint, values, {}, range);
  return none();
}

SugaredPtr fork(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr&) {
  return e.emit_fork(range, call);
}

SugaredPtr wait(Emitter& e, const Range& range, const Expr::Call& call, const TypePtr&) {
  expect_arguments(range, call, "wait", 1, 1);
  return simple(e.builtin("aten::wait", {e.emit(*call.arguments[0])}, range));
}

}  // namespace

SugaredPtr find_special_form(const std::string& name) {
  static const auto& table = *new std::unordered_map<std::string, SpecialForm::Emit>{
      {"annotate", annotate},
      {"attribute", attribute},
      {"unchecked_cast", unchecked_cast},
      {"uninitialized", uninitialized},
      {"isinstance", isinstance},
      {"hasattr", hasattr},
      {"getattr", getattr},
      {"is_scripting", is_scripting},
      {"is_tracing", is_tracing},
      {"super", super},
      {"range", range_form},
      {"zip", zip},
      {"enumerate", enumerate},
      {"reversed", reversed},
      {"len", len},
      {"int", to_int},
      {"float", to_float},
      {"complex", to_complex},
      {"bool", to_bool},
      {"str", to_str},
      {"list", to_list},
      {"tuple", to_tuple},
      {"dict", to_dict},
      {"print", print},
      {"fork", fork},
      {"wait", wait},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : std::make_shared<SpecialForm>(name, found->second);
}

}  // namespace weft::jit
