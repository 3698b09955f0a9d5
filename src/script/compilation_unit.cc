#include "script/compilation_unit.h"

#include <fmt/format.h>

#include <unordered_map>

#include "script/code.h"
#include "script/function.h"
#include "script/importer.h"
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

// Attributes whose types lead back to the class that has them keep it alive. One of every cycle becomes Any: objects
// that outlive their program keep their values.
class CyclicAttributes {
 public:
  explicit CyclicAttributes(const std::map<std::string, TypePtr>& types) {
    for (const auto& [name, type] : types)
      if (type->is(TypeKind::Class)) states_.emplace(type.get(), State::New);
  }

  // True if the type leads to a class whose attributes are being looked at. Classes of other programs are left alone.
  bool cut(const TypePtr& type) {
    bool leads_back = false;
    for (const TypePtr& element : type->elements()) leads_back |= cut(element);
    const auto found = states_.find(type.get());
    if (found == states_.end() || found->second == State::Done) return leads_back;
    if (found->second == State::Open) return true;
    found->second = State::Open;
    ClassType& cls = class_of(type);
    for (size_t slot = 0; slot < cls.attributes().size(); ++slot)
      if (const TypePtr attribute = cls.attributes()[slot].type; cut(attribute)) cls.set_attribute_type(slot, Type::any());
    found->second = State::Done;
    return leads_back;
  }

 private:
  enum class State { New, Open, Done };
  std::unordered_map<const Type*, State> states_;
};

}  // namespace

CompilationUnit::~CompilationUnit() {
  RecursiveFunctions recursive;
  CyclicAttributes cyclic(types_);
  for (const auto& [name, function] : functions_) recursive.visit(function);
  for (const auto& [name, type] : types_) {
    if (type->is(TypeKind::Interface)) std::const_pointer_cast<InterfaceType>(std::static_pointer_cast<const InterfaceType>(type))->remove_methods();
    if (!type->is(TypeKind::Class)) continue;
    ClassType& cls = class_of(type);
    for (const auto* methods : {&cls.methods(), &cls.static_methods()})
      for (const auto& method : *methods) recursive.visit(method);
    cls.remove_functions();
    cyclic.cut(type);
  }
  for (const auto& function : recursive.found()) function->impl().forget();
}

std::shared_ptr<CompilationUnit> CompilationUnit::create() { return std::shared_ptr<CompilationUnit>(new CompilationUnit); }

std::shared_ptr<CompilationUnit> CompilationUnit::from_archive(std::shared_ptr<const ArchiveReader> archive, std::vector<IValue> constants) {
  auto unit = create();
  unit->importer_ = std::make_shared<Importer>(*unit, archive->version(), std::move(constants),
                                               [archive](const std::string& entry) -> std::optional<std::string> {
                                                 if (!archive->has(entry)) return std::nullopt;
                                                 return archive->read(entry);
                                               });
  return unit;
}

TypePtr CompilationUnit::find_type(const std::string& qualified_name) {
  const std::lock_guard lock(mutex_);
  const auto found = types_.find(qualified_name);
  if (found != types_.end()) return found->second;
  return importer_ ? importer_->load_type(qualified_name) : nullptr;
}

std::shared_ptr<Function> CompilationUnit::find_function(const std::string& qualified_name) {
  const std::lock_guard lock(mutex_);
  const auto found = functions_.find(qualified_name);
  if (found != functions_.end()) return found->second;
  return importer_ ? importer_->load_function(qualified_name) : nullptr;
}

void CompilationUnit::add_type(TypePtr type) {
  const std::lock_guard lock(mutex_);
  const std::string name = type->name();
  WEFT_CHECK(types_.emplace(name, std::move(type)).second, fmt::format("the class '{}' is defined already", name));
}

void CompilationUnit::add_function(std::shared_ptr<Function> function) {
  const std::lock_guard lock(mutex_);
  const std::string name = function->qualified_name();
  WEFT_CHECK(functions_.emplace(name, std::move(function)).second, fmt::format("the function '{}' is defined already", name));
}

void CompilationUnit::keep(std::shared_ptr<const CompilationUnit> other) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(other));
}

std::string CompilationUnit::unique_name(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto is_taken = [&](const std::string& candidate) { return types_.contains(candidate) || functions_.contains(candidate); };
  if (!is_taken(name)) return name;
  const size_t dot = name.rfind('.');
  for (int i = 0;; ++i) {
    const std::string mangle = fmt::format("___torch_mangle_{}.", i);
    std::string candidate = dot == std::string::npos ? mangle + name : name.substr(0, dot + 1) + mangle + name.substr(dot + 1);
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
