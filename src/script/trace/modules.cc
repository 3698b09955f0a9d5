#include <fmt/format.h>

#include "script/trace/trace.h"
#include "weft/error.h"

namespace weft::jit {

size_t TracedModules::add(const std::string& class_name, bool training) {
  const ClassTypePtr type = ClassType::create(unit_->unique_name(class_name), true);
  unit_->add_type(type);
  auto object = std::make_shared<Object>(Object{type, {}});
  type->add_attribute({"training", Type::boolean()});
  object->slots.push_back(training);
  nodes_.push_back({std::move(object), {}});
  return nodes_.size() - 1;
}

size_t TracedModules::add_script(std::shared_ptr<Object> object) {
  nodes_.push_back({std::move(object), {}});
  return nodes_.size() - 1;
}

void TracedModules::add_child(size_t parent, const std::string& name, size_t child) {
  Object& object = *nodes_[parent].object;
  object.type->add_attribute({name, nodes_[child].object->type});
  object.slots.emplace_back(nodes_[child].object);
  nodes_[parent].children.emplace_back(name, child);
}

void TracedModules::add_tensor(size_t module, const std::string& name, const Tensor& tensor,
                               bool is_parameter, bool is_persistent) {
  Object& object = *nodes_[module].object;
  const TypePtr type = tensor.defined() ? Type::tensor() : Type::none();
  object.type->add_attribute({name, type, is_parameter, !is_parameter, is_persistent});
  object.slots.push_back(tensor.defined() ? IValue(tensor) : IValue());
  if (tensor.defined()) places_[tensor.impl().get()].push_back({module, name});
}

std::span<const TracedModules::Place> TracedModules::places(const TensorImpl* tensor) const {
  const auto found = places_.find(tensor);
  if (found == places_.end()) return {};
  return found->second;
}

std::optional<std::vector<std::string>> TracedModules::path(size_t from, size_t to) const {
  if (from == to) return std::vector<std::string>();
  for (const auto& [name, child] : nodes_[from].children) {
    std::optional<std::vector<std::string>> rest = path(child, to);
    if (!rest) continue;
    rest->insert(rest->begin(), name);
    return rest;
  }
  return std::nullopt;
}

}  // namespace weft::jit
