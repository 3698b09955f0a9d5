// Attributes, calls and elements of values of the graph, by their type.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "script/builtins/prim.h"
#include "script/builtins/quantized/packed_classes.h"
#include "script/emit/emitter.h"

namespace weft::jit {

std::string SimpleValue::kind() const { return fmt::format("a value of type {}", type_of(value_)->str()); }

// ---- attributes ------------------------------------------------------------------------------------------
namespace {

// Attributes of tensors and devices that are builtins of one operand: x.dtype is prim::dtype(x).
struct BuiltinAttribute {
  TypeKind type;
  const char* name;
  const char* builtin;
};
constexpr BuiltinAttribute kBuiltinAttributes[] = {
    {TypeKind::Tensor, "dtype", "prim::dtype"},
    {TypeKind::Tensor, "device", "prim::device"},
    {TypeKind::Tensor, "grad", "prim::grad"},
    {TypeKind::Tensor, "data", "prim::data"},
    {TypeKind::Tensor, "shape", "aten::size"},
    {TypeKind::Tensor, "is_cuda", "prim::is_cuda"},
    {TypeKind::Tensor, "is_cpu", "prim::is_cpu"},
    {TypeKind::Tensor, "is_xpu", "prim::is_xpu"},
    {TypeKind::Tensor, "is_sparse", "prim::is_sparse"},
    {TypeKind::Tensor, "is_sparse_csr", "prim::is_sparse_csr"},
    {TypeKind::Tensor, "is_mkldnn", "prim::is_mkldnn"},
    {TypeKind::Tensor, "is_mps", "prim::is_mps"},
    {TypeKind::Tensor, "is_quantized", "prim::is_quantized"},
    {TypeKind::Tensor, "is_vulkan", "prim::is_vulkan"},
    {TypeKind::Tensor, "is_ipu", "prim::is_ipu"},
    {TypeKind::Tensor, "is_meta", "prim::is_meta"},
    {TypeKind::Tensor, "is_nested", "prim::is_nested"},
    {TypeKind::Tensor, "is_leaf", "aten::is_leaf"},
    {TypeKind::Tensor, "requires_grad", "prim::requires_grad"},
    {TypeKind::Tensor, "layout", "prim::layout"},
    {TypeKind::Tensor, "ndim", "aten::dim"},
    {TypeKind::Tensor, "itemsize", "prim::itemsize"},
    {TypeKind::Tensor, "nbytes", "prim::nbytes"},
    {TypeKind::Tensor, "name", "prim::name"},
    {TypeKind::Tensor, "T", "aten::numpy_T"},
    {TypeKind::Tensor, "mT", "aten::mT"},
    {TypeKind::Tensor, "H", "aten::matrix_H"},
    {TypeKind::Tensor, "mH", "aten::mH"},
    {TypeKind::Tensor, "real", "aten::real"},
    {TypeKind::Tensor, "imag", "aten::imag"},
    {TypeKind::Device, "type", "prim::type"},
    {TypeKind::Device, "index", "prim::index"},
    {TypeKind::Complex, "real", "aten::real"},
    {TypeKind::Complex, "imag", "aten::imag"},
};

const char* builtin_attribute(TypeKind type, const std::string& name) {
  for (const BuiltinAttribute& entry : kBuiltinAttributes) {
    if (entry.type == type && name == entry.name) return entry.builtin;
  }
  return nullptr;
}

SugaredPtr field_of(Emitter& emitter, const Range& range, ir::Value* tuple, const std::string& name) {
  const auto& fields = type_of(tuple)->fields();
  const auto found = std::find(fields.begin(), fields.end(), name);
  if (found == fields.end()) return nullptr;
  return simple(tuple)->subscript(emitter, range,
                                  emitter.constant(static_cast<int64_t>(found - fields.begin()), range));
}

SugaredPtr enum_attribute(Emitter& emitter, const Range& range, ir::Value* value, const std::string& name) {
  if (name == "name") return simple(emitter.value(prim::kEnumName, {value}, Type::string(), range));
  if (name == "value")
    return simple(emitter.value(prim::kEnumValue, {value}, type_of(value)->element(), range));
  return nullptr;
}

// Methods of tensors that are conversions to a dtype, by torch's number of it.
constexpr std::pair<const char*, int64_t> kCastMethods[] = {
    {"byte", 0},  {"char", 1},   {"short", 2},  {"int", 3},      {"long", 4},  {"half", 5},
    {"float", 6}, {"double", 7}, {"cfloat", 9}, {"cdouble", 10}, {"bool", 11}, {"bfloat16", 15},
};

// x.float(), …: aten::to of the dtype.
class CastMethod final : public SugaredValue {
 public:
  CastMethod(ir::Value* tensor, std::string name, int64_t dtype)
      : tensor_(tensor), name_(std::move(name)), dtype_(dtype) {}
  std::string kind() const override { return "method '" + name_ + "'"; }
  SugaredPtr call(Emitter& emitter, const Range& range, const CallArguments& arguments) override {
    if (!arguments.empty())
      type_error(range, fmt::format("'{}' of a tensor takes no arguments in a script", name_));
    return simple(emitter.builtin("aten::to", {tensor_, emitter.constant(dtype_, range)}, range));
  }

 private:
  ir::Value* tensor_;
  std::string name_;
  int64_t dtype_;
};

SugaredPtr cast_method(ir::Value* tensor, const std::string& name) {
  for (const auto& [known, dtype] : kCastMethods) {
    if (name == known) return std::make_shared<CastMethod>(tensor, name, dtype);
  }
  return nullptr;
}

// module.items(), .keys(), .values() of a container.
class ContainerMethod final : public SugaredValue {
 public:
  ContainerMethod(ir::Value* module, std::string name) : module_(module), name_(std::move(name)) {}
  std::string kind() const override { return "method '" + name_ + "'"; }
  SugaredPtr call(Emitter& emitter, const Range& range, const CallArguments&) override {
    std::vector<SugaredPtr> elements;
    for (auto& [name, item] : container_items(emitter, range, module_)) {
      const SugaredPtr key = std::make_shared<ConstantSugar>(IValue(name));
      if (name_ == "keys")
        elements.push_back(key);
      else if (name_ == "values")
        elements.push_back(item);
      else
        elements.push_back(std::make_shared<TupleSugar>(std::vector<SugaredPtr>{key, item}));
    }
    return std::make_shared<TupleSugar>(std::move(elements));
  }

 private:
  ir::Value* module_;
  std::string name_;
};

}  // namespace

SugaredPtr SimpleValue::object_attribute(Emitter& emitter, const Range& range, const std::string& name) {
  const auto& type = static_cast<const ClassType&>(*type_of(value_));
  if (const std::string known = packed::operator_of(type, name); !known.empty())
    return std::make_shared<BuiltinSugar>(known, value_);
  if (const auto slot = type.find_slot(name)) {
    ir::ScriptPayload payload;
    payload.text = name;
    return simple(emitter.value(prim::kGetAttr, {value_}, type.attributes()[*slot].type, range, payload));
  }
  if (type.find_method(name)) return std::make_shared<MethodSugar>(value_, name);
  if (const auto method = type.find_static_method(name))
    return std::make_shared<FunctionSugar>(std::vector{method});
  if (const IValue* constant = type.find_constant(name)) return std::make_shared<ConstantSugar>(*constant);
  for (const ClassType::Property& property : type.properties) {
    if (property.name == name) return emitter.call_method(value_, property.getter->name(), {}, range);
  }
  const bool is_container_method = name == "items" || name == "keys" || name == "values";
  if (is_container_method && container_kind(type) == ContainerKind::Dict)
    return std::make_shared<ContainerMethod>(value_, name);
  return emitter.resolver().resolve_member(emitter, value_, name, range);
}

SugaredPtr SimpleValue::find_attribute(Emitter& emitter, const Range& range, const std::string& name) {
  const TypePtr& type = type_of(value_);
  if (type->is(TypeKind::Class)) return object_attribute(emitter, range, name);
  if (type->is(TypeKind::Interface)) {
    const bool found = static_cast<const InterfaceType&>(*type).find_method(name);
    return found ? std::make_shared<MethodSugar>(value_, name) : nullptr;
  }
  if (type->is(TypeKind::Enum)) return enum_attribute(emitter, range, value_, name);
  if (!type->fields().empty()) {
    if (SugaredPtr field = field_of(emitter, range, value_, name)) return field;
  }
  if (const char* builtin = builtin_attribute(type->kind(), name))
    return simple(emitter.builtin(builtin, {value_}, range));
  for (const char* space : {"aten::", "prim::"}) {
    if (is_operator(space + name)) return std::make_shared<BuiltinSugar>(space + name, value_);
  }
  if (type->is(TypeKind::Tensor)) return cast_method(value_, name);
  if (type->is(TypeKind::String) && name == "format")
    return std::make_shared<BuiltinSugar>("aten::format", value_);
  return nullptr;
}

SugaredPtr SimpleValue::attribute(Emitter& emitter, const Range& range, const std::string& name) {
  if (SugaredPtr found = find_attribute(emitter, range, name)) return found;
  const TypePtr& type = type_of(value_);
  const bool is_optional = type->is(TypeKind::Optional);
  type_error(range,
             fmt::format(
                 "a value of type {} has no attribute '{}'{}", type->str(), name,
                 is_optional ? "; check that it is not None first, with the value in a local variable" : ""));
}

bool SimpleValue::has_attribute(Emitter& emitter, const std::string& name) {
  const TypePtr& type = type_of(value_);
  if (type->is(TypeKind::Class)) {
    const auto& object = static_cast<const ClassType&>(*type);
    const bool is_property = std::any_of(object.properties.begin(), object.properties.end(),
                                         [&](const auto& p) { return p.name == name; });
    return object.find_slot(name) || object.find_method(name) || object.find_constant(name) || is_property ||
           emitter.resolver().has_member(object, name);
  }
  if (type->is(TypeKind::Interface))
    return static_cast<const InterfaceType&>(*type).find_method(name) != nullptr;
  const auto& fields = type->fields();
  if (std::find(fields.begin(), fields.end(), name) != fields.end()) return true;
  if (type->is(TypeKind::Tensor) && cast_method(value_, name)) return true;
  return builtin_attribute(type->kind(), name) || is_operator("aten::" + name);
}

void SimpleValue::set_attribute(Emitter& emitter, const Range& range, const std::string& name,
                                ir::Value* value) {
  const TypePtr type = type_of(value_);
  if (!type->is(TypeKind::Class)) return SugaredValue::set_attribute(emitter, range, name, value);
  const auto& object = static_cast<const ClassType&>(*type);
  for (const ClassType::Property& property : object.properties) {
    if (property.name != name) continue;
    if (!property.setter) type_error(range, fmt::format("property '{}' has no setter", name));
    emitter.call_method(value_, property.setter->name(), {{"", value, range}}, range);
    return;
  }
  auto slot = object.find_slot(name);
  if (!slot && emitter.constructing.get() == &object) {
    emitter.constructing->add_attribute({.name = name, .type = type_of(value)});
    slot = object.find_slot(name);
  }
  if (!slot) {
    type_error(range, fmt::format("'{}' has no attribute '{}' to set; attributes are defined in __init__{}",
                                  type->str(), name,
                                  object.find_constant(name) ? ", and this one is a constant" : ""));
  }
  ir::ScriptPayload payload;
  payload.text = name;
  ir::Value* converted =
      emitter.convert(value, object.attributes()[*slot].type, range, fmt::format("attribute '{}'", name));
  emitter.node(prim::kSetAttr, {value_, converted}, {}, range, payload);
}

// ---- calls -----------------------------------------------------------------------------------------------
namespace {

// Forward with the hooks around it: a pre-hook's result replaces the input, a hook's the output.
SugaredPtr call_with_hooks(Emitter& emitter, const Range& range, ir::Value* module, CallArguments arguments) {
  const auto& type = static_cast<const ClassType&>(*type_of(module));
  const auto inputs_of = [&] {
    std::vector<ir::Value*> inputs;
    for (const CallArgument& argument : arguments) inputs.push_back(argument.value);
    return emitter.make_tuple(inputs, range);
  };
  for (const auto& hook : type.forward_pre_hooks) {
    ir::Value* result = emitter.call_function({hook}, {{"", module, range}, {"", inputs_of(), range}}, range)
                            ->as_value(emitter, range);
    if (type_of(result)->is(TypeKind::None)) continue;
    const TypePtr packed = type_of(result);
    arguments.clear();
    if (packed->is(TypeKind::Tuple)) {
      for (ir::Value* element : emitter.unpack_tuple(result, range))
        arguments.push_back({"", element, range});
    } else {
      arguments.push_back({"", result, range});
    }
  }
  SugaredPtr output = emitter.call_method(module, "forward", arguments, range);
  for (const auto& hook : type.forward_hooks) {
    ir::Value* result = emitter
                            .call_function({hook},
                                           {{"", module, range},
                                            {"", inputs_of(), range},
                                            {"", output->as_value(emitter, range), range}},
                                           range)
                            ->as_value(emitter, range);
    if (!type_of(result)->is(TypeKind::None)) output = simple(result);
  }
  return output;
}

}  // namespace

SugaredPtr SimpleValue::call(Emitter& emitter, const Range& range, const CallArguments& arguments) {
  const TypePtr& type = type_of(value_);
  if (type->is(TypeKind::Class)) {
    const auto& object = static_cast<const ClassType&>(*type);
    if (object.is_module()) return call_with_hooks(emitter, range, value_, arguments);
    if (object.find_method("__call__")) return emitter.call_method(value_, "__call__", arguments, range);
  }
  if (type->is(TypeKind::Interface)) {
    const bool is_module = static_cast<const InterfaceType&>(*type).is_module();
    return emitter.call_method(value_, is_module ? "forward" : "__call__", arguments, range);
  }
  if (const IValue* constant = constant_of(value_); constant && constant->is(IValue::Tag::Function)) {
    return emitter.call_function({constant->to_function()->function}, arguments, range);
  }
  return SugaredValue::call(emitter, range, arguments);
}

// ---- elements --------------------------------------------------------------------------------------------
namespace {

SugaredPtr tuple_element(Emitter& emitter, const Range& range, ir::Value* tuple, ir::Value* index) {
  const auto& types = type_of(tuple)->elements();
  const auto known = constant_int(index);
  const bool all_equal =
      std::all_of(types.begin(), types.end(), [&](const TypePtr& t) { return t->equals(*types[0]); });
  if (!known) {
    if (!all_equal || types.empty())
      type_error(range, "the index of a tuple of different types must be a literal");
    return simple(emitter.value(prim::kTupleIndex, {tuple, emitter.to_int(index, range)}, types[0], range));
  }
  const auto count = static_cast<int64_t>(types.size());
  if (*known < -count || *known >= count)
    type_error(range, fmt::format("index {} is out of range for a tuple of {}", *known, count));
  const auto at = static_cast<size_t>(*known < 0 ? *known + count : *known);
  if (tuple->def && tuple->def->script == &prim::kTupleConstruct) return simple(tuple->def->inputs[at]);
  return simple(emitter.value(prim::kTupleIndex, {tuple, index}, types[at], range));
}

SugaredPtr container_element(Emitter& emitter, const Range& range, ir::Value* module, ir::Value* index) {
  const auto items = container_items(emitter, range, module);
  const IValue* known = constant_of(index);
  if (!known)
    type_error(range,
               "the subscript of a module container must be a literal: its modules have different types");
  if (known->is_string()) {
    for (const auto& [name, item] : items) {
      if (name == known->to_string()) return item;
    }
    type_error(range, fmt::format("there is no module '{}'", known->to_string()));
  }
  const auto count = static_cast<int64_t>(items.size());
  const int64_t at = known->to_int() < 0 ? known->to_int() + count : known->to_int();
  if (at < 0 || at >= count)
    type_error(range, fmt::format("index {} is out of range for {} modules", known->to_int(), count));
  return items[static_cast<size_t>(at)].second;
}

}  // namespace

SugaredPtr SimpleValue::subscript(Emitter& emitter, const Range& range, ir::Value* index) {
  const TypePtr& type = type_of(value_);
  switch (type->kind()) {
    case TypeKind::Tuple: return tuple_element(emitter, range, value_, index);
    case TypeKind::List:
    case TypeKind::Dict:
    case TypeKind::String: return simple(emitter.builtin("aten::__getitem__", {value_, index}, range));
    case TypeKind::Tensor:
      return simple(emitter.builtin("aten::select", {value_, emitter.constant(0, range), index}, range));
    case TypeKind::Class:
      if (static_cast<const ClassType&>(*type).find_method("__getitem__"))
        return emitter.call_method(value_, "__getitem__", {{"", index, range}}, range);
      if (container_kind(*type) != ContainerKind::None)
        return container_element(emitter, range, value_, index);
      break;
    default: break;
  }
  return SugaredValue::subscript(emitter, range, index);
}

std::vector<SugaredPtr> SimpleValue::as_tuple(Emitter& emitter, const Range& range,
                                              std::optional<size_t> size) {
  const TypePtr& type = type_of(value_);
  std::vector<SugaredPtr> elements;
  if (type->is(TypeKind::Tuple)) {
    for (ir::Value* element : emitter.unpack_tuple(value_, range)) elements.push_back(simple(element));
    return elements;
  }
  if (type->is(TypeKind::Class) && container_kind(*type) != ContainerKind::None)
    return SugaredValue::as_tuple(emitter, range, size);
  if (!size)
    type_error(range,
               fmt::format("the length of a {} is not known when compiling: it cannot be unpacked here",
                           type->str()));
  ir::Value* list = value_;
  if (type->is(TypeKind::Tensor))
    list = emitter.builtin("aten::unbind", {value_, emitter.constant(0, range)}, range);
  if (!type_of(list)->is(TypeKind::List))
    type_error(range, fmt::format("a value of type {} cannot be unpacked", type->str()));
  const std::vector<TypePtr> types(*size, type_of(list)->element());
  for (ir::Value* element : emitter.node(prim::kListUnpack, {list}, types, range)->outputs)
    elements.push_back(simple(element));
  return elements;
}

Iteration SimpleValue::iterate(Emitter& emitter, const Range& range) {
  const TypePtr& type = type_of(value_);
  Iteration result;
  const auto by_index = [&](ir::Value* sequence) {
    result.length = emitter.builtin("aten::len", {sequence}, range);
    result.element = [&emitter, range, sequence](ir::Value* index) {
      return simple(sequence)->subscript(emitter, range, index);
    };
    return result;
  };
  switch (type->kind()) {
    case TypeKind::Tuple: result.unrolled = as_tuple(emitter, range, std::nullopt); return result;
    case TypeKind::List:
    case TypeKind::String:
    case TypeKind::Tensor: return by_index(value_);
    case TypeKind::Dict: return by_index(emitter.builtin("aten::keys", {value_}, range));
    case TypeKind::Class: {
      const ContainerKind container = container_kind(*type);
      if (container == ContainerKind::None) break;
      result.unrolled.emplace();
      for (const auto& [name, module] : container_items(emitter, range, value_)) {
        result.unrolled->push_back(
            container == ContainerKind::Dict ? std::make_shared<ConstantSugar>(IValue(name)) : module);
      }
      return result;
    }
    default: break;
  }
  return SugaredValue::iterate(emitter, range);
}

// ---- module containers -----------------------------------------------------------------------------------
ContainerKind container_kind(const Type& type) {
  if (!type.is(TypeKind::Class) || !static_cast<const ClassType&>(type).is_module())
    return ContainerKind::None;
  switch (static_cast<const ClassType&>(type).container) {
    case ClassType::Container::None: break;
    case ClassType::Container::List: return ContainerKind::List;
    case ClassType::Container::Dict: return ContainerKind::Dict;
  }
  const std::string name = type.name().substr(type.name().rfind('.') + 1);
  static constexpr std::array<std::string_view, 3> kLists = {"ModuleList", "Sequential", "ParameterList"};
  static constexpr std::array<std::string_view, 2> kDicts = {"ModuleDict", "ParameterDict"};
  if (std::find(kLists.begin(), kLists.end(), name) != kLists.end()) return ContainerKind::List;
  if (std::find(kDicts.begin(), kDicts.end(), name) != kDicts.end()) return ContainerKind::Dict;
  return ContainerKind::None;
}

std::vector<std::pair<std::string, SugaredPtr>> container_items(Emitter& emitter, const Range& range,
                                                                ir::Value* module) {
  const auto& type = static_cast<const ClassType&>(*type_of(module));
  const auto is_module = [](const Attribute& attribute) {
    return attribute.type->is(TypeKind::Class) || attribute.type->is(TypeKind::Interface);
  };
  // A list of modules may have parameters of its own; those of ParameterList and ParameterDict are all that they have.
  const bool has_modules = std::any_of(type.attributes().begin(), type.attributes().end(), is_module);
  std::vector<std::pair<std::string, SugaredPtr>> items;
  for (const Attribute& attribute : type.attributes()) {
    if (has_modules ? is_module(attribute) : attribute.is_parameter)
      items.emplace_back(attribute.name, simple(module)->attribute(emitter, range, attribute.name));
  }
  return items;
}

}  // namespace weft::jit
