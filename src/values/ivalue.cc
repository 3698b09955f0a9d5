#include "weft/ivalue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/error.h"
#include "weft/jit/module.h"

namespace weft {

using jit::Type;
using jit::TypeKind;
using jit::TypePtr;

namespace {

// The dtypes weft has, by PyTorch's numbers. 8 is half-precision complex.
constexpr std::pair<int64_t, DType> kDTypeNumbers[] = {
    {0, DType::U8},        {1, DType::I8},          {2, DType::I16},         {3, DType::I32},
    {4, DType::I64},       {5, DType::F16},         {6, DType::F32},         {7, DType::F64},
    {9, DType::C64},       {10, DType::C128},       {11, DType::Bool},       {15, DType::BF16},
    {27, DType::U16},      {28, DType::U32},        {29, DType::U64},        {23, DType::F8E5M2},
    {24, DType::F8E4M3FN}, {25, DType::F8E5M2FNUZ}, {26, DType::F8E4M3FNUZ}, {44, DType::F8E8M0FNU},
    {12, DType::QI8},      {13, DType::QU8},        {14, DType::QI32},       {16, DType::QU4x2},
};

template <class T>
std::vector<IValue> boxed(const std::vector<T>& values) {
  std::vector<IValue> result;
  result.reserve(values.size());
  for (const auto& value : values) result.emplace_back(T(value));
  return result;
}

std::string float_repr(double value) { return Scalar(value).str(); }

std::string complex_repr(std::complex<double> z) {
  const auto part = [](double value) {
    std::string text = float_repr(value);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text;
  };
  if (z.real() == 0 && !std::signbit(z.real())) return part(z.imag()) + "j";
  const bool plus = !std::signbit(z.imag()) || std::isnan(z.imag());
  return fmt::format("({}{}{}j)", part(z.real()), plus ? "+" : "", part(z.imag()));
}

// Python's repr of a str.
std::string quoted(const std::string& text) {
  const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string result(1, quote);
  for (const char c : text) {
    switch (c) {
      case '\n': result += "\\n"; break;
      case '\r': result += "\\r"; break;
      case '\t': result += "\\t"; break;
      case '\\': result += "\\\\"; break;
      default:
        if (c == quote) result += '\\';
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          result += c;
        }
    }
  }
  return result + quote;
}

std::string joined(const std::vector<IValue>& values) {
  std::string text;
  for (const IValue& value : values) text += (text.empty() ? "" : ", ") + value.repr();
  return text;
}

}  // namespace

const char* str(IValue::Tag tag) {
  constexpr const char* kNames[] = {"None",    "Tensor", "int",    "float",  "bool",
                                    "complex", "str",    "Device", "List",   "Dict",
                                    "Tuple",   "object", "Enum",   "Future", "Function"};
  return kNames[static_cast<size_t>(tag)];
}

int64_t dtype_number(DType dtype) {
  for (const auto& [number, candidate] : kDTypeNumbers) {
    if (candidate == dtype) return number;
  }
  throw_error(ErrorKind::Internal, fmt::format("no number for dtype {}", name(dtype)));
}

DType dtype_of_number(int64_t number) {
  for (const auto& [candidate, dtype] : kDTypeNumbers) {
    if (candidate == number) return dtype;
  }
  throw_error(ErrorKind::Value,
              fmt::format("dtype number {} of TorchScript: weft has no such dtype", number));
}

// ---- construction ----------------------------------------------------------------------------------------
IValue::IValue(std::complex<double> value) : value_(std::make_shared<const std::complex<double>>(value)) {}
IValue::IValue(weft::DType value) : value_(dtype_number(value)) {}
IValue::IValue(Scalar value) {
  switch (value.kind()) {
    case WeakKind::Bool: value_ = value.to_bool(); break;
    case WeakKind::Int: value_ = value.to_int(); break;
    case WeakKind::Float: value_ = value.to_double(); break;
    case WeakKind::Complex: *this = IValue(value.to_complex()); break;
  }
}
IValue::IValue(std::vector<Tensor> values) : IValue(list(Type::tensor(), boxed(values))) {}
IValue::IValue(const std::vector<int64_t>& values) : IValue(list(Type::integer(), boxed(values))) {}
IValue::IValue(const std::vector<double>& values) : IValue(list(Type::floating(), boxed(values))) {}
IValue::IValue(const std::vector<bool>& values) : IValue(list(Type::boolean(), boxed(values))) {}
IValue::IValue(const std::vector<std::string>& values) : IValue(list(Type::string(), boxed(values))) {}

IValue IValue::list(TypePtr element, std::vector<IValue> values) {
  return std::make_shared<jit::List>(jit::List{std::move(element), std::move(values)});
}
IValue IValue::tuple(std::vector<IValue> values) {
  return std::make_shared<jit::Tuple>(jit::Tuple{std::move(values), nullptr});
}
IValue IValue::named_tuple(TypePtr type, std::vector<IValue> values) {
  return std::make_shared<jit::Tuple>(jit::Tuple{std::move(values), std::move(type)});
}
IValue IValue::dict(TypePtr key, TypePtr value) {
  auto result = std::make_shared<jit::Dict>();
  result->key = std::move(key);
  result->value = std::move(value);
  return result;
}

// ---- conversion ------------------------------------------------------------------------------------------
void IValue::wrong_type(Tag expected) const {
  throw_error(ErrorKind::Type, fmt::format("expected {}, got {}", str(expected), type()->str()));
}

int64_t IValue::to_int() const {
  if (const auto* value = std::get_if<int64_t>(&value_)) return *value;
  if (const auto* value = std::get_if<bool>(&value_)) return *value;
  wrong_type(Tag::Int);
}

double IValue::to_double() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<bool>(&value_)) return *value;
  wrong_type(Tag::Float);
}

std::complex<double> IValue::to_complex() const {
  if (const auto* value = std::get_if<std::shared_ptr<const std::complex<double>>>(&value_)) return **value;
  if (is_number()) return to_double();
  wrong_type(Tag::Complex);
}

Scalar IValue::to_scalar() const {
  switch (tag()) {
    case Tag::Int: return Scalar(std::get<int64_t>(value_));
    case Tag::Float: return Scalar(std::get<double>(value_));
    case Tag::Bool: return Scalar(std::get<bool>(value_));
    case Tag::Complex: return Scalar(to_complex());
    case Tag::Tensor: return to_tensor().item();
    default: wrong_type(Tag::Float);
  }
}

weft::Device IValue::to_device() const {
  if (is_string()) return weft::Device::parse(to_string());
  return get<weft::Device>(Tag::Device);
}

weft::DType IValue::to_dtype() const { return dtype_of_number(to_int()); }

const std::vector<IValue>& IValue::elements() const {
  if (is(Tag::Tuple)) return to_tuple()->values;
  return to_list()->values;
}

std::vector<int64_t> IValue::to_int_list() const {
  std::vector<int64_t> result;
  for (const IValue& value : elements()) result.push_back(value.to_int());
  return result;
}
std::vector<double> IValue::to_double_list() const {
  std::vector<double> result;
  for (const IValue& value : elements()) result.push_back(value.to_double());
  return result;
}
std::vector<Tensor> IValue::to_tensor_list() const {
  std::vector<Tensor> result;
  for (const IValue& value : elements()) result.push_back(value.to_tensor());
  return result;
}

// ---- types -----------------------------------------------------------------------------------------------
TypePtr IValue::type() const {
  switch (tag()) {
    case Tag::None: return Type::none();
    case Tag::Tensor: return Type::tensor();
    case Tag::Int: return Type::integer();
    case Tag::Float: return Type::floating();
    case Tag::Bool: return Type::boolean();
    case Tag::Complex: return Type::complex();
    case Tag::String: return Type::string();
    case Tag::Device: return Type::device();
    case Tag::List: return Type::list(to_list()->element);
    case Tag::Dict: return Type::dict(to_dict()->key, to_dict()->value);
    case Tag::Tuple: {
      if (to_tuple()->type) return to_tuple()->type;
      std::vector<TypePtr> elements;
      for (const IValue& value : to_tuple()->values) elements.push_back(value.type());
      return Type::tuple(std::move(elements));
    }
    case Tag::Object: return to_object()->type;
    case Tag::Enum: return to_enum()->type;
    case Tag::Future: return Type::future(to_future()->element());
    case Tag::Function: return Type::function(to_function()->function);
  }
  return Type::any();
}

bool IValue::is_instance(const Type& type) const {
  switch (type.kind()) {
    case TypeKind::Any: return true;
    case TypeKind::Tensor: return is_tensor();
    case TypeKind::Int: return is_int();
    case TypeKind::Float: return is_double();
    case TypeKind::Bool: return is_bool();
    case TypeKind::Complex: return is(Tag::Complex);
    case TypeKind::Number: return is_int() || is_double() || is(Tag::Complex);
    case TypeKind::String: return is_string();
    case TypeKind::None: return is_none();
    case TypeKind::Device: return is(Tag::Device);
    case TypeKind::Generator: return false;
    case TypeKind::Optional: return is_none() || is_instance(*type.element());
    case TypeKind::Union:
      return std::any_of(type.elements().begin(), type.elements().end(),
                         [&](const TypePtr& member) { return is_instance(*member); });
    case TypeKind::Tuple: {
      if (!is(Tag::Tuple)) return false;
      const jit::Tuple& tuple = *to_tuple();
      if (tuple.values.size() != type.elements().size()) return false;
      if (!type.name().empty() && (!tuple.type || tuple.type->name() != type.name())) return false;
      for (size_t i = 0; i < tuple.values.size(); ++i) {
        if (!tuple.values[i].is_instance(*type.elements()[i])) return false;
      }
      return true;
    }
    default: return this->type()->is_subtype_of(type);
  }
}

// ---- Python's view ---------------------------------------------------------------------------------------
std::string IValue::repr() const {
  switch (tag()) {
    case Tag::None: return "None";
    case Tag::Tensor: return to_tensor().defined() ? to_tensor().str() : "tensor(undefined)";
    case Tag::Int: return fmt::format("{}", to_int());
    case Tag::Float: return float_repr(to_double());
    case Tag::Bool: return to_bool() ? "True" : "False";
    case Tag::Complex: return complex_repr(to_complex());
    case Tag::String: return quoted(to_string());
    case Tag::Device: return fmt::format("device(type='{}')", to_device().str());
    case Tag::List: return "[" + joined(to_list()->values) + "]";
    case Tag::Dict: {
      std::string text;
      for (const auto& [key, value] : to_dict()->items()) {
        text += (text.empty() ? "" : ", ") + key.repr() + ": " + value.repr();
      }
      return "{" + text + "}";
    }
    case Tag::Tuple: {
      const jit::Tuple& tuple = *to_tuple();
      if (tuple.type) {
        const std::string& qualified = tuple.type->name();
        std::string text;
        for (size_t i = 0; i < tuple.values.size(); ++i) {
          text += (i ? ", " : "") + tuple.type->fields()[i] + "=" + tuple.values[i].repr();
        }
        return qualified.substr(qualified.find_last_of('.') + 1) + "(" + text + ")";
      }
      return "(" + joined(tuple.values) + (tuple.values.size() == 1 ? ",)" : ")");
    }
    case Tag::Object: return fmt::format("<{} object>", to_object()->type->name());
    case Tag::Enum: {
      const std::string& qualified = to_enum()->type->name();
      return fmt::format("{}.{}", qualified.substr(qualified.find_last_of('.') + 1), to_enum()->name);
    }
    case Tag::Future: return "<future>";
    case Tag::Function: return fmt::format("<function {}>", to_function()->function->qualified_name());
  }
  return "?";
}

bool IValue::is_same(const IValue& other) const {
  if (tag() != other.tag()) return false;
  switch (tag()) {
    case Tag::Tensor: return to_tensor().impl() == other.to_tensor().impl();
    case Tag::List: return to_list() == other.to_list();
    case Tag::Dict: return to_dict() == other.to_dict();
    case Tag::Tuple: return to_tuple() == other.to_tuple();
    case Tag::Object: return to_object() == other.to_object();
    case Tag::Future: return to_future() == other.to_future();
    case Tag::Function: return to_function()->function == other.to_function()->function;
    default: return equals(other);
  }
}

bool IValue::equals(const IValue& other) const {
  if (is_number() && other.is_number()) {
    if (is(Tag::Complex) || other.is(Tag::Complex)) return to_complex() == other.to_complex();
    if (is_double() || other.is_double()) return to_double() == other.to_double();
    return to_int() == other.to_int();
  }
  if (tag() != other.tag()) return false;
  const auto same_elements = [](const std::vector<IValue>& a, const std::vector<IValue>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const IValue& x, const IValue& y) { return x.equals(y); });
  };
  switch (tag()) {
    case Tag::None: return true;
    case Tag::String: return to_string() == other.to_string();
    case Tag::Device: return to_device() == other.to_device();
    case Tag::List: return same_elements(elements(), other.elements());
    case Tag::Tuple: return same_elements(elements(), other.elements());
    case Tag::Dict: {
      const jit::Dict &a = *to_dict(), &b = *other.to_dict();
      return a.size() == b.size() && std::all_of(a.items().begin(), a.items().end(), [&](const auto& item) {
               const IValue* found = b.find(item.first);
               return found && found->equals(item.second);
             });
    }
    case Tag::Enum:
      return to_enum()->type == other.to_enum()->type && to_enum()->name == other.to_enum()->name;
    default: return is_same(other);
  }
}

size_t IValue::hash() const {
  switch (tag()) {
    case Tag::None: return 0x6e6f6e65;
    case Tag::Bool:
    case Tag::Int: return std::hash<double>()(static_cast<double>(to_int()));
    case Tag::Float: return std::hash<double>()(to_double());  // 1 and 1.0 and True are one key
    case Tag::Complex: {
      const std::complex<double> z = to_complex();
      return std::hash<double>()(z.real()) ^ (z.imag() == 0 ? 0 : std::hash<double>()(z.imag()) * 31);
    }
    case Tag::String: return std::hash<std::string>()(to_string());
    case Tag::Device: return std::hash<std::string>()(to_device().str());
    case Tag::Tensor: return std::hash<const void*>()(to_tensor().impl().get());
    case Tag::Enum: return std::hash<std::string>()(to_enum()->name);
    case Tag::Tuple: {
      size_t result = 7;
      for (const IValue& value : elements()) result = result * 1000003 ^ value.hash();
      return result;
    }
    default: throw_error(ErrorKind::Type, fmt::format("unhashable type: {}", type()->str()));
  }
}

// ---- containers ------------------------------------------------------------------------------------------
namespace jit {

const IValue* Dict::find(const IValue& wanted) const {
  const auto [first, last] = index_.equal_range(wanted.hash());
  for (auto it = first; it != last; ++it) {
    if (items_[it->second].first.equals(wanted)) return &items_[it->second].second;
  }
  return nullptr;
}

void Dict::set(IValue new_key, IValue new_value) {
  if (const IValue* found = find(new_key)) {
    const_cast<IValue&>(*found) = std::move(new_value);
    return;
  }
  index_.emplace(new_key.hash(), items_.size());
  items_.emplace_back(std::move(new_key), std::move(new_value));
}

bool Dict::erase(const IValue& wanted) {
  const auto [first, last] = index_.equal_range(wanted.hash());
  for (auto it = first; it != last; ++it) {
    const size_t position = it->second;
    if (!items_[position].first.equals(wanted)) continue;
    index_.erase(it);
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(position));
    for (auto& [hash, index] : index_) {
      if (index > position) --index;
    }
    return true;
  }
  return false;
}

void Dict::clear() {
  items_.clear();
  index_.clear();
}

const IValue& Object::attribute(std::string_view name) const {
  if (const auto slot = type->find_slot(name)) return slots.at(*slot);
  if (const IValue* constant = type->find_constant(name)) return *constant;
  throw_error(ErrorKind::Value, fmt::format("'{}' has no attribute '{}'", type->name(), name));
}

void Object::set_attribute(std::string_view name, IValue value) {
  const auto slot = type->find_slot(name);
  WEFT_CHECK(slot.has_value(), fmt::format("'{}' has no attribute '{}'", type->name(), name));
  if (slots.size() < type->attributes().size()) slots.resize(type->attributes().size());
  slots[*slot] = std::move(value);
}

bool Object::has_attribute(std::string_view name) const {
  return type->find_slot(name).has_value() || type->find_constant(name) != nullptr;
}

}  // namespace jit
}  // namespace weft
