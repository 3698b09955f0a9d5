#include "weft/jit/type.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/error.h"
#include "weft/jit/module.h"
#include "weft/jit/schema.h"

namespace weft::jit {

namespace {

// Types share their parts: "x = (x, x)", line by line, doubles what str() and equals() go through.
constexpr size_t kMaxParts = 10000;

// Counts until there are too many.
void count_parts(const std::vector<TypePtr>& elements, size_t& parts) {
  for (const TypePtr& element : elements) {
    WEFT_CHECK_TYPE(++parts <= kMaxParts, fmt::format("a type of more than {} parts", kMaxParts));
    count_parts(element->elements(), parts);
  }
}
void check_size(const std::vector<TypePtr>& elements) {
  size_t parts = 0;
  count_parts(elements, parts);
}

}  // namespace

struct TypeFactory {
  static TypePtr make(TypeKind kind, std::vector<TypePtr> elements = {}, std::string name = "") {
    check_size(elements);
    return std::shared_ptr<Type>(new Type(kind, std::move(elements), std::move(name)));
  }
  static ClassTypePtr make_class(std::string name, bool is_module) {
    return std::shared_ptr<ClassType>(new ClassType(std::move(name), is_module));
  }
  static std::shared_ptr<InterfaceType> make_interface(std::string name, bool is_module) {
    return std::shared_ptr<InterfaceType>(new InterfaceType(std::move(name), is_module));
  }
  static TypePtr make_enum(std::string name, TypePtr value,
                           std::vector<std::pair<std::string, IValue>> members) {
    return std::shared_ptr<EnumType>(new EnumType(std::move(name), std::move(value), std::move(members)));
  }
};

namespace {

std::string joined(const std::vector<TypePtr>& types) {
  std::string text;
  for (const TypePtr& type : types) text += (text.empty() ? "" : ", ") + type->str();
  return text;
}

bool all_equal(const std::vector<TypePtr>& a, const std::vector<TypePtr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TypePtr& x, const TypePtr& y) { return x->equals(*y); });
}

bool is_named(TypeKind kind) {
  return kind == TypeKind::Class || kind == TypeKind::Interface || kind == TypeKind::Enum;
}

// The questions that fulfils() is at: methods may take and return the very interfaces that are compared.
using Question = std::pair<const Type*, const InterfaceType*>;
thread_local std::vector<Question> open_questions;

struct OpenQuestion {
  explicit OpenQuestion(const Question& question) { open_questions.push_back(question); }
  ~OpenQuestion() { open_questions.pop_back(); }
};

// Does the class (or interface) have every method of `interface`, with arguments and results that fit?
bool fulfils(const Type& type, const InterfaceType& interface) {
  const Question question{&type, &interface};
  if (std::find(open_questions.begin(), open_questions.end(), question) != open_questions.end()) return true;
  const OpenQuestion open(question);
  for (const auto& wanted : interface.methods()) {
    const Schema* found = nullptr;
    std::shared_ptr<Function> method;
    if (type.is(TypeKind::Class)) {
      method = static_cast<const ClassType&>(type).find_method(wanted->name);
      if (method) found = &method->schema();
    } else {
      found = static_cast<const InterfaceType&>(type).find_method(wanted->name);
    }
    if (!found || found->arguments.size() != wanted->arguments.size()) return false;
    for (size_t i = 1; i < wanted->arguments.size(); ++i) {  // without self
      if (!wanted->arguments[i].type->is_subtype_of(*found->arguments[i].type)) return false;
    }
    if (!found->return_type()->is_subtype_of(*wanted->return_type())) return false;
  }
  return true;
}

// Is each of `wanted` among `members`?
bool has_all(const std::vector<TypePtr>& members, const std::vector<TypePtr>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const TypePtr& one) {
    return std::any_of(members.begin(), members.end(),
                       [&](const TypePtr& member) { return member->equals(*one); });
  });
}

}  // namespace

std::string Type::str() const {
  switch (kind_) {
    case TypeKind::Any: return "Any";
    case TypeKind::Tensor: return "Tensor";
    case TypeKind::Int: return "int";
    case TypeKind::Float: return "float";
    case TypeKind::Complex: return "complex";
    case TypeKind::Bool: return "bool";
    case TypeKind::Number: return "number";
    case TypeKind::String: return "str";
    case TypeKind::None: return "NoneType";
    case TypeKind::Device: return "Device";
    case TypeKind::Generator: return "Generator";
    case TypeKind::List: return "List[" + element()->str() + "]";
    case TypeKind::Dict: return "Dict[" + joined(elements_) + "]";
    case TypeKind::Tuple:
      if (!name_.empty()) return name_;
      return elements_.empty() ? "Tuple[()]" : "Tuple[" + joined(elements_) + "]";
    case TypeKind::Optional: return "Optional[" + element()->str() + "]";
    case TypeKind::Union: return "Union[" + joined(elements_) + "]";
    case TypeKind::Future: return "Future[" + element()->str() + "]";
    case TypeKind::Class:
    case TypeKind::Interface:
    case TypeKind::Enum: return name_;
    case TypeKind::Function: return "Function";
    case TypeKind::Var: return name_;
  }
  return "?";
}

bool Type::equals(const Type& other) const {
  if (this == &other) return true;
  if (kind_ != other.kind_) return false;
  if (is_named(kind_)) return false;  // one object each
  if (kind_ == TypeKind::Union)
    return has_all(other.elements_, elements_) && has_all(elements_, other.elements_);
  return name_ == other.name_ && all_equal(elements_, other.elements_);
}

bool Type::is_subtype_of(const Type& other) const {
  if (other.is(TypeKind::Any) || equals(other)) return true;
  if (is(TypeKind::Union)) {
    return std::all_of(elements_.begin(), elements_.end(),
                       [&](const TypePtr& t) { return t->is_subtype_of(other); });
  }
  if (is(TypeKind::Optional) && (other.is(TypeKind::Optional) || other.is(TypeKind::Union))) {
    return Type::none()->is_subtype_of(other) && element()->is_subtype_of(other);
  }
  switch (other.kind_) {
    case TypeKind::Optional: return is(TypeKind::None) || is_subtype_of(*other.element());
    case TypeKind::Union:
      return std::any_of(other.elements_.begin(), other.elements_.end(),
                         [&](const TypePtr& member) { return is_subtype_of(*member); });
    case TypeKind::Number: return is(TypeKind::Int) || is(TypeKind::Float) || is(TypeKind::Complex);
    case TypeKind::Generator: return false;
    case TypeKind::Interface:
      return (is(TypeKind::Class) || is(TypeKind::Interface)) &&
             fulfils(*this, static_cast<const InterfaceType&>(other));
    case TypeKind::Tuple:
      if (!is(TypeKind::Tuple) || elements_.size() != other.elements_.size()) return false;
      if (!other.name_.empty()) return false;  // a plain tuple, or another NamedTuple, is not this NamedTuple
      for (size_t i = 0; i < elements_.size(); ++i) {
        if (!elements_[i]->is_subtype_of(*other.elements_[i])) return false;
      }
      return true;
    case TypeKind::Future: return is(TypeKind::Future) && element()->is_subtype_of(*other.element());
    default: return false;
  }
}

#define WEFT_SINGLETON(NAME, KIND)                                                \
  TypePtr Type::NAME() {                                                          \
    static const TypePtr& type = *new TypePtr(TypeFactory::make(TypeKind::KIND)); \
    return type;                                                                  \
  }
WEFT_SINGLETON(any, Any)
WEFT_SINGLETON(tensor, Tensor)
WEFT_SINGLETON(integer, Int)
WEFT_SINGLETON(floating, Float)
WEFT_SINGLETON(complex, Complex)
WEFT_SINGLETON(boolean, Bool)
WEFT_SINGLETON(number, Number)
WEFT_SINGLETON(string, String)
WEFT_SINGLETON(none, None)
WEFT_SINGLETON(device, Device)
WEFT_SINGLETON(generator, Generator)
#undef WEFT_SINGLETON

TypePtr Type::list(TypePtr element) { return TypeFactory::make(TypeKind::List, {std::move(element)}); }
TypePtr Type::future(TypePtr element) { return TypeFactory::make(TypeKind::Future, {std::move(element)}); }
TypePtr Type::variable(std::string name) { return TypeFactory::make(TypeKind::Var, {}, std::move(name)); }
TypePtr Type::tuple(std::vector<TypePtr> elements) {
  return TypeFactory::make(TypeKind::Tuple, std::move(elements));
}
TypePtr Type::function(std::shared_ptr<Function> function) {
  return TypeFactory::make(TypeKind::Function, {}, function ? function->qualified_name() : "");
}

TypePtr Type::dict(TypePtr key, TypePtr value) {
  switch (key->kind()) {
    case TypeKind::String:
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Bool:
    case TypeKind::Complex:
    case TypeKind::Tensor:
    case TypeKind::Device:
    case TypeKind::Any:
    case TypeKind::Var: break;
    default:
      throw_error(
          ErrorKind::Type,
          fmt::format("a dictionary's keys are str, int, float, bool, complex, device or Tensor, not {}",
                      key->str()));
  }
  return TypeFactory::make(TypeKind::Dict, {std::move(key), std::move(value)});
}

TypePtr Type::named_tuple(std::string name, std::vector<std::string> fields, std::vector<TypePtr> elements) {
  return named_tuple(std::move(name), std::move(fields), std::move(elements), {});
}

TypePtr Type::named_tuple(std::string name, std::vector<std::string> fields, std::vector<TypePtr> elements,
                          std::vector<IValue> defaults) {
  check_size(elements);
  return std::make_shared<NamedTupleType>(std::move(name), std::move(fields), std::move(elements),
                                          std::move(defaults));
}

TypePtr Type::optional(TypePtr element) {
  if (element->is(TypeKind::Optional) || element->is(TypeKind::None) || element->is(TypeKind::Any))
    return element;
  if (element->is(TypeKind::Union)) {
    std::vector<TypePtr> members = element->elements();
    members.push_back(none());
    return union_of(std::move(members));
  }
  return TypeFactory::make(TypeKind::Optional, {std::move(element)});
}

TypePtr Type::union_of(std::vector<TypePtr> members) {
  std::vector<TypePtr> flat;
  const auto add = [&](const TypePtr& type) {
    for (const TypePtr& seen : flat) {
      if (type->is_subtype_of(*seen)) return;
    }
    std::erase_if(flat, [&](const TypePtr& seen) { return seen->is_subtype_of(*type); });
    flat.push_back(type);
  };
  for (const TypePtr& member : members) {
    if (member->is(TypeKind::Union)) {
      for (const TypePtr& inner : member->elements()) add(inner);
    } else if (member->is(TypeKind::Optional)) {
      add(member->element());
      add(none());
    } else {
      add(member);
    }
  }
  WEFT_CHECK_TYPE(!flat.empty(), "Union: at least one member is needed");
  if (flat.size() == 1) return flat[0];
  if (flat.size() == 2 && flat[0]->is(TypeKind::None))
    return TypeFactory::make(TypeKind::Optional, {flat[1]});
  if (flat.size() == 2 && flat[1]->is(TypeKind::None))
    return TypeFactory::make(TypeKind::Optional, {flat[0]});
  return TypeFactory::make(TypeKind::Union, std::move(flat));
}

TypePtr unify(const TypePtr& a, const TypePtr& b) {
  if (a->is_subtype_of(*b)) return b;
  if (b->is_subtype_of(*a)) return a;
  if (a->is(TypeKind::None)) return Type::optional(b);
  if (b->is(TypeKind::None)) return Type::optional(a);
  if (a->is(TypeKind::Optional) || b->is(TypeKind::Optional)) {
    const TypePtr inner =
        unify(a->is(TypeKind::Optional) ? a->element() : a, b->is(TypeKind::Optional) ? b->element() : b);
    return inner ? Type::optional(inner) : nullptr;
  }
  if (a->is(TypeKind::Tuple) && b->is(TypeKind::Tuple) && a->elements().size() == b->elements().size()) {
    std::vector<TypePtr> elements;
    for (size_t i = 0; i < a->elements().size(); ++i) {
      elements.push_back(unify(a->elements()[i], b->elements()[i]));
      if (!elements.back()) return nullptr;
    }
    return Type::tuple(std::move(elements));
  }
  return nullptr;
}

NamedTupleType::NamedTupleType(std::string name, std::vector<std::string> fields,
                               std::vector<TypePtr> elements, std::vector<IValue> defaults)
    : Type(TypeKind::Tuple, std::move(elements), std::move(name)), defaults_(std::move(defaults)) {
  fields_ = std::move(fields);
  WEFT_CHECK_TYPE(fields_.size() == elements_.size() && defaults_.size() <= fields_.size(),
                  fmt::format("{}: as many fields as types are needed", name_));
}

// ---- classes ---------------------------------------------------------------------------------------------
ClassType::ClassType(std::string name, bool is_module)
    : Type(TypeKind::Class, {}, std::move(name)), is_module_(is_module) {}

ClassTypePtr ClassType::create(std::string qualified_name, bool is_module) {
  return TypeFactory::make_class(std::move(qualified_name), is_module);
}

size_t ClassType::add_attribute(Attribute attribute) {
  const auto found = slots_.find(attribute.name);
  if (found != slots_.end()) {
    WEFT_CHECK(attributes_[found->second].type->equals(*attribute.type),
               fmt::format("{}: attribute '{}' is {}, and {} here", name_, attribute.name,
                           attributes_[found->second].type->str(), attribute.type->str()));
    return found->second;
  }
  slots_[attribute.name] = attributes_.size();
  attributes_.push_back(std::move(attribute));
  return attributes_.size() - 1;
}

std::optional<size_t> ClassType::find_slot(std::string_view name) const {
  const auto found = slots_.find(std::string(name));
  return found == slots_.end() ? std::nullopt : std::optional(found->second);
}

void ClassType::remove_attribute(std::string_view name) {
  const auto slot = find_slot(name);
  if (!slot) return;
  attributes_.erase(attributes_.begin() + static_cast<std::ptrdiff_t>(*slot));
  slots_.clear();
  for (size_t i = 0; i < attributes_.size(); ++i) slots_[attributes_[i].name] = i;
}

void ClassType::add_constant(std::string name, IValue value) {
  constants_.emplace_back(std::move(name), std::move(value));
}

const IValue* ClassType::find_constant(std::string_view name) const {
  for (const auto& [constant, value] : constants_) {
    if (constant == name) return &value;
  }
  return nullptr;
}

namespace {

std::shared_ptr<Function> find_function(const std::vector<std::shared_ptr<Function>>& functions,
                                        std::string_view name) {
  for (const auto& function : functions) {
    if (function->name() == name) return function;
  }
  return nullptr;
}

}  // namespace

void ClassType::add_method(std::shared_ptr<Function> method) { methods_.push_back(std::move(method)); }
void ClassType::remove_method(std::string_view name) {
  std::erase_if(methods_, [&](const auto& method) { return method->name() == name; });
}
std::shared_ptr<Function> ClassType::find_method(std::string_view name) const {
  return find_function(methods_, name);
}
void ClassType::remove_functions() {
  methods_.clear();
  static_methods_.clear();
  properties.clear();
  forward_hooks.clear();
  forward_pre_hooks.clear();
}

void ClassType::add_static_method(std::shared_ptr<Function> method) {
  static_methods_.push_back(std::move(method));
}
std::shared_ptr<Function> ClassType::find_static_method(std::string_view name) const {
  return find_function(static_methods_, name);
}

InterfaceType::InterfaceType(std::string name, bool is_module)
    : Type(TypeKind::Interface, {}, std::move(name)), is_module_(is_module) {}
std::shared_ptr<InterfaceType> InterfaceType::create(std::string qualified_name, bool is_module) {
  return TypeFactory::make_interface(std::move(qualified_name), is_module);
}
const Schema* InterfaceType::find_method(std::string_view name) const {
  for (const auto& method : methods_) {
    if (method->name == name) return method.get();
  }
  return nullptr;
}

EnumType::EnumType(std::string name, TypePtr value_type, std::vector<std::pair<std::string, IValue>> members)
    : Type(TypeKind::Enum, {std::move(value_type)}, std::move(name)), members_(std::move(members)) {}
TypePtr EnumType::create(std::string qualified_name, TypePtr value_type,
                         std::vector<std::pair<std::string, IValue>> members) {
  return TypeFactory::make_enum(std::move(qualified_name), std::move(value_type), std::move(members));
}

}  // namespace weft::jit
