// A TorchScript value of any type.
#pragma once

#include <complex>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/device.h"
#include "weft/dtype.h"
#include "weft/jit/type.h"
#include "weft/tensor.h"

namespace weft {

namespace jit {
struct List;
struct Dict;
struct Tuple;
struct Object;
struct EnumValue;
struct FunctionValue;
class Future;
}  // namespace jit

// Numbers and strings are values; lists, dictionaries, objects and futures are references, as in Python.
class IValue {
 public:
  enum class Tag : uint8_t {
    None,
    Tensor,
    Int,
    Float,
    Bool,
    Complex,
    String,
    Device,
    List,
    Dict,
    Tuple,
    Object,
    Enum,
    Future,
    Function,
  };

  IValue() = default;
  IValue(std::nullptr_t) {}
  IValue(Tensor value) : value_(std::move(value)) {}  // an undefined tensor stays a tensor
  IValue(int64_t value) : value_(value) {}
  IValue(int value) : value_(int64_t{value}) {}
  IValue(double value) : value_(value) {}
  IValue(bool value) : value_(value) {}
  IValue(std::complex<double> value);
  IValue(std::string value) : value_(std::make_shared<const std::string>(std::move(value))) {}
  IValue(const char* value) : IValue(std::string(value)) {}
  IValue(weft::Device value) : value_(value) {}
  IValue(weft::DType value);  // its number
  IValue(std::shared_ptr<jit::List> value) : value_(std::move(value)) {}
  IValue(std::shared_ptr<jit::Dict> value) : value_(std::move(value)) {}
  IValue(std::shared_ptr<jit::Tuple> value) : value_(std::move(value)) {}
  IValue(std::shared_ptr<jit::Object> value) : value_(std::move(value)) {}
  IValue(std::shared_ptr<jit::EnumValue> value) : value_(std::move(value)) {}
  IValue(std::shared_ptr<jit::Future> value) : value_(std::move(value)) {}
  IValue(std::shared_ptr<jit::FunctionValue> value) : value_(std::move(value)) {}
  IValue(Scalar value);
  // List[Tensor], List[int], List[float], List[bool], List[str].
  IValue(std::vector<Tensor> values);
  IValue(const std::vector<int64_t>& values);
  IValue(const std::vector<double>& values);
  IValue(const std::vector<bool>& values);
  IValue(const std::vector<std::string>& values);
  static IValue list(jit::TypePtr element, std::vector<IValue> values = {});
  static IValue tuple(std::vector<IValue> values);  // typed by its values
  static IValue named_tuple(jit::TypePtr type, std::vector<IValue> values);
  static IValue dict(jit::TypePtr key, jit::TypePtr value);

  Tag tag() const { return static_cast<Tag>(value_.index()); }
  bool is(Tag tag) const { return this->tag() == tag; }
  bool is_none() const { return is(Tag::None); }
  bool is_tensor() const { return is(Tag::Tensor); }
  bool is_int() const { return is(Tag::Int); }
  bool is_double() const { return is(Tag::Float); }
  bool is_bool() const { return is(Tag::Bool); }
  bool is_string() const { return is(Tag::String); }
  bool is_list() const { return is(Tag::List); }
  bool is_number() const { return is_int() || is_double() || is_bool() || is(Tag::Complex); }

  // The value itself where it is of that type, null otherwise.
  const int64_t* if_int() const { return std::get_if<int64_t>(&value_); }
  const double* if_double() const { return std::get_if<double>(&value_); }
  const bool* if_bool() const { return std::get_if<bool>(&value_); }
  const std::shared_ptr<jit::List>* if_list() const {
    return std::get_if<std::shared_ptr<jit::List>>(&value_);
  }

  // Each raises TypeError ("expected int, got str") when the value is of another type.
  const Tensor& to_tensor() const { return get<Tensor>(Tag::Tensor); }
  Tensor& to_tensor() { return const_cast<Tensor&>(std::as_const(*this).to_tensor()); }
  int64_t to_int() const;    // also of a bool
  double to_double() const;  // also of an int
  bool to_bool() const { return get<bool>(Tag::Bool); }
  std::complex<double> to_complex() const;  // of any number
  Scalar to_scalar() const;
  const std::string& to_string() const { return *get<std::shared_ptr<const std::string>>(Tag::String); }
  weft::Device to_device() const;  // also of a string: "cpu"
  weft::DType to_dtype() const;    // of a dtype's number; ValueError where weft has no such dtype
  const std::shared_ptr<jit::List>& to_list() const { return get<std::shared_ptr<jit::List>>(Tag::List); }
  const std::shared_ptr<jit::Dict>& to_dict() const { return get<std::shared_ptr<jit::Dict>>(Tag::Dict); }
  const std::shared_ptr<jit::Tuple>& to_tuple() const { return get<std::shared_ptr<jit::Tuple>>(Tag::Tuple); }
  const std::shared_ptr<jit::Object>& to_object() const {
    return get<std::shared_ptr<jit::Object>>(Tag::Object);
  }
  const std::shared_ptr<jit::EnumValue>& to_enum() const {
    return get<std::shared_ptr<jit::EnumValue>>(Tag::Enum);
  }
  const std::shared_ptr<jit::Future>& to_future() const {
    return get<std::shared_ptr<jit::Future>>(Tag::Future);
  }
  const std::shared_ptr<jit::FunctionValue>& to_function() const {
    return get<std::shared_ptr<jit::FunctionValue>>(Tag::Function);
  }
  std::vector<int64_t> to_int_list() const;  // a list or tuple of int
  std::vector<double> to_double_list() const;
  std::vector<Tensor> to_tensor_list() const;
  const std::vector<IValue>& elements() const;  // of a list or tuple

  // The most precise static type of this very value.
  jit::TypePtr type() const;
  // Is this value of `type`? Checks containers by their declared element types.
  bool is_instance(const jit::Type& type) const;
  // As Python's repr() gives it; tensors as PyTorch prints them.
  std::string repr() const;
  // Python's `is`.
  bool is_same(const IValue& other) const;
  // Python's == where it is defined without tensors: numbers, strings, containers of these; tensors:
  // identity.
  bool equals(const IValue& other) const;
  size_t hash() const;  // of a dictionary's key; TypeError for others

 private:
  template <class T>
  const T& get(Tag expected) const {
    const T* found = std::get_if<T>(&value_);
    if (!found) [[unlikely]]
      wrong_type(expected);
    return *found;
  }
  [[noreturn]] void wrong_type(Tag expected) const;

  std::variant<std::monostate, Tensor, int64_t, double, bool, std::shared_ptr<const std::complex<double>>,
               std::shared_ptr<const std::string>, weft::Device, std::shared_ptr<jit::List>,
               std::shared_ptr<jit::Dict>, std::shared_ptr<jit::Tuple>, std::shared_ptr<jit::Object>,
               std::shared_ptr<jit::EnumValue>, std::shared_ptr<jit::Future>,
               std::shared_ptr<jit::FunctionValue>>
      value_;
};
const char* str(IValue::Tag tag);
// TorchScript's number of a dtype (float32 is 6, int64 is 4), and back; ValueError for a number weft has no
// dtype for.
int64_t dtype_number(DType dtype);
DType dtype_of_number(int64_t number);

namespace jit {

struct List {
  TypePtr element;
  std::vector<IValue> values;
};

// Keeps insertion order, as Python's does.
struct Dict {
  TypePtr key, value;
  using Item = std::pair<IValue, IValue>;
  const std::vector<Item>& items() const { return items_; }
  const IValue* find(const IValue& key) const;
  void set(IValue key, IValue value);
  bool erase(const IValue& key);
  void clear();
  size_t size() const { return items_.size(); }

 private:
  std::vector<Item> items_;
  std::unordered_multimap<size_t, size_t> index_;  // hash to position
};

struct Tuple {
  std::vector<IValue> values;
  TypePtr type;  // of a NamedTuple; null for a plain tuple
};

struct Object {
  ClassTypePtr type;
  std::vector<IValue> slots;  // one for each of type->attributes()
  // Of classes of C++: what is made of the slots once, and never changes.
  std::shared_ptr<const void> native = nullptr;
  // AttributeError-like ValueError naming class and attribute.
  const IValue& attribute(std::string_view name) const;
  void set_attribute(std::string_view name, IValue value);
  bool has_attribute(std::string_view name) const;
};

struct EnumValue {
  TypePtr type;
  std::string name;
  IValue value;
};

struct FunctionValue {
  std::shared_ptr<Function> function;
};

}  // namespace jit
}  // namespace weft
