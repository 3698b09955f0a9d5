#include "script/program/compilation_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "script/program/function.h"
#include "weft/error.h"

namespace weft::jit {

namespace {

// Functions that call themselves, by themselves or through others: one of every cycle.
class RecursiveFunctions {
 public:
  void visit(const std::shared_ptr<Function>& function) {
    if (!function->impl().unit.expired()) return;  // of another program, which may be running it
    const auto [found, is_new] = states_.emplace(function.get(), State::Open);
    if (!is_new) {
      if (found->second == State::Open) recursive_.push_back(function);
      return;
    }
    if (const ir::Graph* graph = function->impl().graph.get()) {
      ir::for_each_node(graph->body(), [&](const ir::Node& node) {
        if (node.payload && node.payload->function) visit(node.payload->function);
      });
    }
    states_[function.get()] = State::Done;
  }
  const std::vector<std::shared_ptr<Function>>& found() const { return recursive_; }

 private:
  enum class State { Open, Done };
  std::unordered_map<const Function*, State> states_;
  std::vector<std::shared_ptr<Function>> recursive_;
};

ClassType& class_of(const TypePtr& type) {
  return const_cast<ClassType&>(static_cast<const ClassType&>(*type));
}

// Attributes whose types lead back to the class that has them keep it alive. One of every cycle becomes Any:
// objects that outlive their program keep their values. Chains of classes may be as long as an archive likes:
// nothing recurses over them.
class CyclicAttributes {
 public:
  explicit CyclicAttributes(const std::map<std::string, TypePtr>& types) {
    for (const auto& [name, type] : types)
      if (type->is(TypeKind::Class)) states_.emplace(type.get(), State::New);
  }

  void cut(const TypePtr& root) {
    open(root);
    while (!path_.empty()) {
      auto& [type, slot] = path_.back();
      ClassType& cls = class_of(type);
      if (slot == cls.attributes().size()) {
        states_[type.get()] = State::Done;
        path_.pop_back();
        continue;
      }
      std::vector<TypePtr> classes;  // of this program that the attribute's type is made of
      collect(cls.attributes()[slot].type, classes);
      const auto is = [&](State state) {
        return [this, state](const TypePtr& t) { return states_[t.get()] == state; };
      };
      if (std::any_of(classes.begin(), classes.end(), is(State::Open))) {
        cls.set_attribute_type(slot++, Type::any());
      } else if (const auto next = std::find_if(classes.begin(), classes.end(), is(State::New));
                 next != classes.end()) {
        open(*next);
      } else {
        ++slot;
      }
    }
  }

 private:
  enum class State { New, Open, Done };
  void open(const TypePtr& type) {
    const auto found = states_.find(type.get());
    if (found == states_.end() || found->second != State::New) return;
    found->second = State::Open;
    path_.emplace_back(type, 0);
  }
  void collect(const TypePtr& type, std::vector<TypePtr>& classes) const {
    if (states_.contains(type.get())) classes.push_back(type);
    for (const TypePtr& element : type->elements()) collect(element, classes);
  }

  std::unordered_map<const Type*, State> states_;
  std::vector<std::pair<TypePtr, size_t>> path_;  // the class, and the attribute that is next
};

// Lets go of types one by one: what a type holds goes after it, not inside of it.
void release(std::vector<TypePtr> types) {
  while (!types.empty()) {
    const TypePtr type = std::move(types.back());
    types.pop_back();
    if (type.use_count() > 1) continue;
    types.insert(types.end(), type->elements().begin(), type->elements().end());
    if (!type->is(TypeKind::Class)) continue;
    for (const auto& attribute : class_of(type).attributes()) types.push_back(attribute.type);
  }
}

}  // namespace

CompilationUnit::~CompilationUnit() {
  RecursiveFunctions recursive;
  CyclicAttributes cyclic(types_);
  for (const auto& [name, function] : functions_) recursive.visit(function);
  for (const auto& [name, type] : types_) {
    if (type->is(TypeKind::Interface))
      std::const_pointer_cast<InterfaceType>(std::static_pointer_cast<const InterfaceType>(type))
          ->remove_methods();
    if (!type->is(TypeKind::Class)) continue;
    ClassType& cls = class_of(type);
    for (const auto* methods : {&cls.methods(), &cls.static_methods()})
      for (const auto& method : *methods) recursive.visit(method);
    cls.remove_functions();
    cyclic.cut(type);
  }
  for (const auto& function : recursive.found()) function->impl().forget();
  std::vector<TypePtr> types;
  for (auto& [name, type] : types_) types.push_back(std::move(type));
  types_.clear();
  release(std::move(types));
}

std::shared_ptr<CompilationUnit> CompilationUnit::create() {
  return std::shared_ptr<CompilationUnit>(new CompilationUnit);
}

std::shared_ptr<CompilationUnit> CompilationUnit::create(const MakeDefinitions& make_definitions) {
  auto unit = create();
  unit->definitions_ = make_definitions(*unit);
  return unit;
}

TypePtr CompilationUnit::find_type(const std::string& qualified_name) {
  const std::lock_guard lock(mutex_);
  const auto found = types_.find(qualified_name);
  if (found != types_.end()) return found->second;
  return definitions_ ? definitions_->load_type(qualified_name) : nullptr;
}

std::shared_ptr<Function> CompilationUnit::find_function(const std::string& qualified_name) {
  const std::lock_guard lock(mutex_);
  const auto found = functions_.find(qualified_name);
  if (found != functions_.end()) return found->second;
  return definitions_ ? definitions_->load_function(qualified_name) : nullptr;
}

void CompilationUnit::add_type(TypePtr type) {
  const std::lock_guard lock(mutex_);
  const std::string name = type->name();
  WEFT_CHECK(types_.emplace(name, std::move(type)).second,
             fmt::format("the class '{}' is defined already", name));
}

void CompilationUnit::add_function(std::shared_ptr<Function> function) {
  const std::lock_guard lock(mutex_);
  const std::string name = function->qualified_name();
  WEFT_CHECK(functions_.emplace(name, std::move(function)).second,
             fmt::format("the function '{}' is defined already", name));
}

void CompilationUnit::keep(std::shared_ptr<const CompilationUnit> other) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(other));
}

std::string CompilationUnit::unique_name(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto is_taken = [&](const std::string& candidate) {
    return types_.contains(candidate) || functions_.contains(candidate);
  };
  if (!is_taken(name)) return name;
  const size_t dot = name.rfind('.');
  for (int i = 0;; ++i) {
    const std::string mangle = fmt::format("___torch_mangle_{}.", i);
    std::string candidate =
        dot == std::string::npos ? mangle + name : name.substr(0, dot + 1) + mangle + name.substr(dot + 1);
    if (!is_taken(candidate)) return candidate;
  }
}

std::vector<TypePtr> CompilationUnit::types() const {
  const std::lock_guard lock(mutex_);
  std::vector<TypePtr> result;
  for (const auto& [name, type] : types_) result.push_back(type);
  return result;
}

std::vector<std::shared_ptr<Function>> CompilationUnit::functions() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Function>> result;
  for (const auto& [name, function] : functions_) result.push_back(function);
  return result;
}

}  // namespace weft::jit
