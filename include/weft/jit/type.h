// TorchScript's static types. Immutable and shared, but for class types, whose members are added while their
// source is read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft {
class IValue;
}

namespace weft::jit {

class Function;
class Type;
class ClassType;
using TypePtr = std::shared_ptr<const Type>;
using ClassTypePtr = std::shared_ptr<ClassType>;

enum class TypeKind : uint8_t {
  Any,
  Tensor,
  Int,
  Float,
  Complex,
  Bool,
  Number,
  String,
  None,
  Device,
  Generator,
  List,
  Dict,
  Tuple,
  Optional,
  Union,
  Future,
  Class,
  Interface,
  Enum,
  Function,
  Var,  // a type variable of a builtin's schema: "t"
};

class Type : public std::enable_shared_from_this<Type> {
 public:
  virtual ~Type() = default;
  TypeKind kind() const { return kind_; }
  bool is(TypeKind kind) const { return kind_ == kind; }
  // List, Optional, Future: the one element; Dict: key, value; Tuple: elements; Union: members.
  const std::vector<TypePtr>& elements() const { return elements_; }
  const TypePtr& element() const { return elements_.front(); }
  // Qualified name of a class, interface, enum or NamedTuple ("__torch__.M"); the variable's name of a Var.
  const std::string& name() const { return name_; }
  // NamedTuple: its fields' names, as many as elements(). Empty for a plain tuple.
  const std::vector<std::string>& fields() const { return fields_; }

  // As archives and errors write it: "Tensor", "List[int]", "Optional[Dict[str, Tensor]]", "__torch__.M".
  std::string str() const;
  bool equals(const Type& other) const;
  // May a value of this type stand where `other` is expected? T for Optional[T], None for Optional[T],
  // anything for Any, int and float for Number, a member for its Union, a class for an interface it fulfils;
  // int is not a float (conversions are the compiler's). Lists and dictionaries are invariant.
  bool is_subtype_of(const Type& other) const;

  static TypePtr any();
  static TypePtr tensor();
  static TypePtr integer();
  static TypePtr floating();
  static TypePtr complex();
  static TypePtr boolean();
  static TypePtr number();  // Scalar
  static TypePtr string();
  static TypePtr none();
  static TypePtr device();
  // dtype, layout and memory format are int: TorchScript counts them (weft/ivalue.h, dtype_number).
  static TypePtr generator();
  static TypePtr list(TypePtr element);
  static TypePtr dict(TypePtr key, TypePtr value);
  static TypePtr tuple(std::vector<TypePtr> elements);
  static TypePtr named_tuple(std::string name, std::vector<std::string> fields,
                             std::vector<TypePtr> elements);
  static TypePtr named_tuple(std::string name, std::vector<std::string> fields, std::vector<TypePtr> elements,
                             std::vector<IValue> defaults);
  static TypePtr optional(TypePtr element);  // collapses Optional[Optional[T]] and Optional[None]
  static TypePtr union_of(std::vector<TypePtr> members);  // flattened; one member is that member
  static TypePtr future(TypePtr element);
  static TypePtr function(std::shared_ptr<Function> function);
  static TypePtr variable(std::string name);

 protected:
  Type(TypeKind kind, std::vector<TypePtr> elements, std::string name = "")
      : kind_(kind), elements_(std::move(elements)), name_(std::move(name)) {}
  friend struct TypeFactory;
  TypeKind kind_;
  std::vector<TypePtr> elements_;
  std::string name_;
  std::vector<std::string> fields_;
};

// The common supertype two branches' values merge to: T and None give Optional[T]; null if there is none.
TypePtr unify(const TypePtr& a, const TypePtr& b);

// A NamedTuple's defaults, of its last fields.
class NamedTupleType final : public Type {
 public:
  NamedTupleType(std::string name, std::vector<std::string> fields, std::vector<TypePtr> elements,
                 std::vector<IValue> defaults);
  const std::vector<IValue>& defaults() const { return defaults_; }

 private:
  std::vector<IValue> defaults_;
};

struct Attribute {
  std::string name;
  TypePtr type;
  bool is_parameter = false;
  bool is_buffer = false;
  bool is_persistent = true;  // of a buffer
};

// A user's class, or a module's (is_module). Attributes have a slot each in the object; constants (Final) do
// not.
class ClassType final : public Type {
 public:
  static ClassTypePtr create(std::string qualified_name, bool is_module);
  bool is_module() const { return is_module_; }

  const std::vector<Attribute>& attributes() const { return attributes_; }
  size_t add_attribute(Attribute attribute);  // ValueError when the name is taken by another type
  std::optional<size_t> find_slot(std::string_view name) const;
  void set_attribute_type(size_t slot, TypePtr type) { attributes_[slot].type = std::move(type); }
  void remove_attribute(std::string_view name);

  const std::vector<std::pair<std::string, IValue>>& constants() const { return constants_; }
  void add_constant(std::string name, IValue value);
  const IValue* find_constant(std::string_view name) const;

  const std::vector<std::shared_ptr<Function>>& methods() const { return methods_; }
  void add_method(std::shared_ptr<Function> method);
  void remove_method(std::string_view name);
  std::shared_ptr<Function> find_method(std::string_view name) const;
  std::shared_ptr<Function> find_static_method(std::string_view name) const;
  void add_static_method(std::shared_ptr<Function> method);
  const std::vector<std::shared_ptr<Function>>& static_methods() const { return static_methods_; }
  // Methods, properties and hooks refer to the class: its program lets go of them when it goes.
  void remove_functions();

  // @property: getter and, if there is one, setter.
  struct Property {
    std::string name;
    std::shared_ptr<Function> getter, setter;
  };
  std::vector<Property> properties;
  std::vector<std::shared_ptr<Function>> forward_hooks, forward_pre_hooks;
  // A class derived from ModuleList or ModuleDict: the compiler loops over its sub-modules.
  enum class Container : uint8_t { None, List, Dict };
  Container container = Container::None;
  // Archives say which attributes they do not save or are parameters by these lists.
  std::string doc;

 private:
  friend struct TypeFactory;
  ClassType(std::string name, bool is_module);
  bool is_module_;
  std::vector<Attribute> attributes_;
  std::vector<std::pair<std::string, IValue>> constants_;
  std::vector<std::shared_ptr<Function>> methods_, static_methods_;
  std::unordered_map<std::string, size_t> slots_;
};

struct Schema;

// Methods that a class must have.
class InterfaceType final : public Type {
 public:
  static std::shared_ptr<InterfaceType> create(std::string qualified_name, bool is_module);
  bool is_module() const { return is_module_; }
  void add_method(std::shared_ptr<const Schema> schema) { methods_.push_back(std::move(schema)); }
  void remove_methods() { methods_.clear(); }  // which refer to the interface
  const std::vector<std::shared_ptr<const Schema>>& methods() const { return methods_; }
  const Schema* find_method(std::string_view name) const;

 private:
  friend struct TypeFactory;
  InterfaceType(std::string name, bool is_module);
  bool is_module_;
  std::vector<std::shared_ptr<const Schema>> methods_;
};

// element(): the type of the values.
class EnumType final : public Type {
 public:
  static TypePtr create(std::string qualified_name, TypePtr value_type,
                        std::vector<std::pair<std::string, IValue>> members);
  const std::vector<std::pair<std::string, IValue>>& members() const { return members_; }

 private:
  friend struct TypeFactory;
  EnumType(std::string name, TypePtr value_type, std::vector<std::pair<std::string, IValue>> members);
  std::vector<std::pair<std::string, IValue>> members_;
};

}  // namespace weft::jit
