#include "weft/jit/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/memory_watch.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

bool is_module(const IValue& value) {
  return value.is(IValue::Tag::Object) && value.to_object()->type->is_module();
}

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

// Every module below `module`, itself first; one that is reached twice is listed once.
void collect_modules(const std::string& prefix, const Module& module, std::unordered_set<const Object*>& seen,
                     std::vector<std::pair<std::string, Module>>& result) {
  if (!seen.insert(module.object().get()).second) return;
  result.emplace_back(prefix, module);
  for (const auto& [name, child] : module.named_children())
    collect_modules(joined(prefix, name), child, seen, result);
}

// Who is given a tensor of a module may write through its address, unseen.
std::vector<NamedTensor> handed_out(std::vector<NamedTensor> tensors) {
  for (const NamedTensor& each : tensors) note_exposed(each.tensor.storage());
  return tensors;
}

template <class Select>
void own_tensors(const std::string& prefix, const Object& object, Select select,
                 std::vector<NamedTensor>& result) {
  const std::vector<Attribute>& attributes = object.type->attributes();
  for (size_t i = 0; i < attributes.size(); ++i) {
    const IValue& value = object.slots[i];
    if (select(attributes[i]) && value.is_tensor() && value.to_tensor().defined()) {
      result.push_back({joined(prefix, attributes[i].name), value.to_tensor()});
    }
  }
}

// As named_parameters() and named_buffers() of Python do it: a tensor of two names has its first.
template <class Select>
std::vector<NamedTensor> named_tensors(const Module& module, bool recurse, Select select) {
  std::vector<NamedTensor> all, result;
  if (recurse) {
    for (const auto& [prefix, inner] : module.named_modules())
      own_tensors(prefix, *inner.object(), select, all);
  } else {
    own_tensors("", *module.object(), select, all);
  }
  std::unordered_set<const TensorImpl*> seen;
  for (NamedTensor& item : all) {
    if (seen.insert(item.tensor.impl().get()).second) result.push_back(std::move(item));
  }
  return result;
}

void add_state(const std::string& prefix, const Module& module, std::vector<NamedTensor>& result) {
  own_tensors(prefix, *module.object(), [](const Attribute& a) { return a.is_parameter; }, result);
  own_tensors(
      prefix, *module.object(), [](const Attribute& a) { return a.is_buffer && a.is_persistent; }, result);
  for (const auto& [name, child] : module.named_children()) add_state(joined(prefix, name), child, result);
}

// Copies values with what they refer to; what is shared stays shared.
class DeepCopy {
 public:
  IValue copy(const IValue& value) {
    switch (value.tag()) {
      case IValue::Tag::Tensor: return copy_tensor(value.to_tensor());
      case IValue::Tag::List: return copy_list(value.to_list());
      case IValue::Tag::Dict: return copy_dict(value.to_dict());
      case IValue::Tag::Tuple: {
        const Tuple& tuple = *value.to_tuple();
        std::vector<IValue> values = copy_all(tuple.values);
        return tuple.type ? IValue::named_tuple(tuple.type, std::move(values))
                          : IValue::tuple(std::move(values));
      }
      case IValue::Tag::Object: return copy_object(value.to_object());
      default: return value;
    }
  }
  std::shared_ptr<Object> copy_object(const std::shared_ptr<Object>& object) {
    IValue& copied = copies_[object.get()];
    if (!copied.is_none()) return copied.to_object();
    auto result = std::make_shared<Object>(Object{object->type, {}});
    copied = result;
    result->slots = copy_all(object->slots);
    result->native = object->native;
    return result;
  }

 private:
  std::vector<IValue> copy_all(const std::vector<IValue>& values) {
    std::vector<IValue> result;
    result.reserve(values.size());
    for (const IValue& value : values) result.push_back(copy(value));
    return result;
  }
  IValue copy_tensor(const Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    IValue& copied = copies_[tensor.impl().get()];
    if (copied.is_none()) copied = tensor.clone();
    return copied;
  }
  IValue copy_list(const std::shared_ptr<List>& list) {
    const auto found = copies_.find(list.get());
    if (found != copies_.end()) return found->second;
    const IValue result = IValue::list(list->element);
    copies_[list.get()] = result;
    result.to_list()->values = copy_all(list->values);
    return result;
  }
  IValue copy_dict(const std::shared_ptr<Dict>& dict) {
    const auto found = copies_.find(dict.get());
    if (found != copies_.end()) return found->second;
    const IValue result = IValue::dict(dict->key, dict->value);
    copies_[dict.get()] = result;
    for (const auto& [key, value] : dict->items()) result.to_dict()->set(copy(key), copy(value));
    return result;
  }

  std::unordered_map<const void*, IValue> copies_;
};

// A hook's result stands for what it was given, unless the hook returns nothing.
bool replaces(const Function& hook) { return !hook.schema().return_type()->is(TypeKind::None); }

}  // namespace

// ---- methods ---------------------------------------------------------------------------------------------
IValue Module::forward(std::vector<IValue> inputs, const Keywords& keywords) const {
  for (const auto& hook : object_->type->forward_pre_hooks) {
    IValue result = (*hook)({object_, IValue::tuple(inputs)});
    if (!replaces(*hook)) continue;
    if (result.is(IValue::Tag::Tuple))
      inputs = result.elements();
    else
      inputs = {std::move(result)};
  }
  if (object_->type->forward_hooks.empty()) return run_method("forward", std::move(inputs), keywords);
  const IValue given = IValue::tuple(inputs);
  IValue output = run_method("forward", std::move(inputs), keywords);
  for (const auto& hook : object_->type->forward_hooks) {
    IValue result = (*hook)({object_, given, output});
    if (replaces(*hook)) output = std::move(result);
  }
  return output;
}

IValue Module::run_method(std::string_view name, std::vector<IValue> inputs, const Keywords& keywords) const {
  inputs.insert(inputs.begin(), IValue(object_));
  return (*method(name))(std::move(inputs), keywords);
}

std::shared_ptr<Function> Module::method(std::string_view name) const {
  std::shared_ptr<Function> found = object_->type->find_method(name);
  if (found) return found;
  std::string there;
  for (const std::string& other : method_names()) there += (there.empty() ? "" : ", ") + other;
  throw_error(ErrorKind::Value, fmt::format("module {} has no method '{}'; it has: {}", type_name(), name,
                                            there.empty() ? "none" : there));
}

std::vector<std::string> Module::method_names() const {
  std::vector<std::string> names;
  for (const auto& method : object_->type->methods()) names.push_back(method->name());
  return names;
}

bool Module::has_method(std::string_view name) const { return object_->type->find_method(name) != nullptr; }
const std::string& Module::type_name() const { return object_->type->name(); }

// ---- attributes ------------------------------------------------------------------------------------------
const IValue& Module::attribute(std::string_view name) const {
  const IValue& value = object_->attribute(name);
  if (value.is_tensor() && value.to_tensor().defined()) note_exposed(value.to_tensor().storage());
  return value;
}

bool Module::has_attribute(std::string_view name) const {
  return object_->has_attribute(name) || object_->type->find_constant(name);
}

void Module::set_attribute(std::string_view name, IValue value) const {
  const auto slot = object_->type->find_slot(name);
  WEFT_CHECK(slot, fmt::format("module {} has no attribute '{}'", type_name(), name));
  const Type& declared = *object_->type->attributes()[*slot].type;
  if (declared.is(TypeKind::Float) && value.is_int()) value = value.to_double();
  WEFT_CHECK_TYPE(value.is_instance(declared), fmt::format("attribute '{}' of {}: expected {}, got {}", name,
                                                           type_name(), declared.str(), value.type()->str()));
  object_->slots[*slot] = std::move(value);
}

// ---- sub-modules and their tensors -----------------------------------------------------------------------
Module Module::submodule(std::string_view path) const {
  Module module = *this;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    const std::string_view name = path.substr(0, dot);
    const auto slot = module.object_->type->find_slot(name);
    WEFT_CHECK(slot && is_module(module.object_->slots[*slot]),
               fmt::format("module {} has no sub-module '{}'", module.type_name(), name));
    module = Module(module.object_->slots[*slot].to_object(), unit_);
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  }
  return module;
}

std::vector<std::pair<std::string, Module>> Module::named_children() const {
  std::vector<std::pair<std::string, Module>> children;
  const std::vector<Attribute>& attributes = object_->type->attributes();
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (is_module(object_->slots[i]))
      children.emplace_back(attributes[i].name, Module(object_->slots[i].to_object(), unit_));
  }
  return children;
}

std::vector<std::pair<std::string, Module>> Module::named_modules() const {
  std::vector<std::pair<std::string, Module>> modules;
  std::unordered_set<const Object*> seen;
  collect_modules("", *this, seen, modules);
  return modules;
}

std::vector<NamedTensor> Module::named_parameters(bool recurse) const {
  return handed_out(
      named_tensors(*this, recurse, [](const Attribute& attribute) { return attribute.is_parameter; }));
}

std::vector<NamedTensor> Module::named_buffers(bool recurse) const {
  return handed_out(
      named_tensors(*this, recurse, [](const Attribute& attribute) { return attribute.is_buffer; }));
}

std::vector<NamedTensor> Module::state_dict() const {
  std::vector<NamedTensor> state;
  add_state("", *this, state);
  return handed_out(std::move(state));
}

// ---- the whole module ------------------------------------------------------------------------------------
bool Module::is_training() const { return has_attribute("training") && attribute("training").to_bool(); }

void Module::train(bool on) const {
  for (const auto& [name, module] : named_modules()) {
    if (module.object_->type->find_slot("training")) module.set_attribute("training", on);
  }
}

Module Module::clone() const { return Module(DeepCopy().copy_object(object_), unit_); }

void Module::to(DType dtype) const {
  WEFT_CHECK_TYPE(is_floating(dtype),
                  fmt::format("Module::to: expected a floating point dtype, got {}", name(dtype)));
  replace_tensors(
      [&](const Tensor& tensor) { return is_floating(tensor.dtype()) ? tensor.to(dtype) : tensor; });
}

void Module::to(Device device) const {
  replace_tensors([&](const Tensor& tensor) { return tensor.to(device); });
}

void Module::replace_tensors(const std::function<Tensor(const Tensor&)>& replace) const {
  std::unordered_map<const TensorImpl*, Tensor> replaced;  // what is shared stays shared
  for (const auto& [path, module] : named_modules()) {
    const std::vector<Attribute>& attributes = module.object_->type->attributes();
    for (size_t i = 0; i < attributes.size(); ++i) {
      IValue& value = module.object_->slots[i];
      if (!(attributes[i].is_parameter || attributes[i].is_buffer) || !value.is_tensor() ||
          !value.to_tensor().defined())
        continue;
      const Tensor tensor = value.to_tensor();
      Tensor& to = replaced[tensor.impl().get()];
      if (!to.defined()) to = replace(tensor);
      value = to;
    }
  }
}

}  // namespace weft::jit
