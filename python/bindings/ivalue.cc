#include "ivalue.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "errors.h"
#include "jit.h"
#include "values/nesting.h"
#include "weft/error.h"

namespace weft::python {

namespace {

using jit::Type;
using jit::TypeKind;
using jit::TypePtr;

constexpr int kMaxDepth = 1000;

// The place of a value in the containers around it, from the inside out.
struct Place {
  const Place* outer = nullptr;
  PyObject* key = nullptr;  // of a dictionary; or
  Py_ssize_t index = 0;
  int depth = 0;

  Place at(Py_ssize_t position) const { return {this, nullptr, position, depth + 1}; }
  Place at_key(PyObject* item) const { return {this, item, 0, depth + 1}; }
  std::string str() const {
    if (!outer) return "";
    const std::string last = key ? repr_text(key) : fmt::format("{}", index);
    return fmt::format("{}[{}]", outer->str(), last);
  }
};

[[noreturn]] void mismatch(const std::string& expected, nb::handle object, const Place& place) {
  const std::string where = place.str();
  throw_error(ErrorKind::Type,
              fmt::format("expected {}, got {}{}{}", expected, Py_TYPE(object.ptr())->tp_name,
                          where.empty() ? "" : " at ", where));
}

std::string utf8(nb::handle text) {
  // Lone surrogates stand for bytes that are not UTF-8, as TorchScript's strings may hold.
  const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (!bytes.is_valid()) nb::raise_python_error();
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

bool is_array_like(nb::handle object) {
  PyObject* value = object.ptr();
  return (PyObject_CheckBuffer(value) && PyObject_HasAttrString(value, "dtype")) ||
         PyObject_HasAttrString(value, "__dlpack__");
}

std::optional<Tensor> tensor_of(nb::handle object) {
  if (const Tensor* tensor = tensor_of_python(object)) return *tensor;
  if (!PyFloat_Check(object.ptr()) && !PyComplex_Check(object.ptr()) && is_array_like(object) &&
      !scalar_of_python(object))
    return as_tensor(object, std::nullopt);
  return std::nullopt;
}

bool is_dtype(nb::handle object) {
  const nb::handle first = to_python(DType::F32);
  return Py_TYPE(object.ptr()) == Py_TYPE(first.ptr());
}

std::vector<std::string> field_names(nb::handle object) {
  std::vector<std::string> names;
  if (PyTuple_Check(object.ptr()) && PyObject_HasAttrString(object.ptr(), "_fields"))
    for (nb::handle name : nb::borrow<nb::object>(object.attr("_fields"))) names.push_back(utf8(name));
  return names;
}

// ---- by the object's own type ----------------------------------------------------------------------------
// A container that occurs twice becomes one value; one that contains itself is refused.
class Inference {
 public:
  IValue convert(nb::handle object, const Place& place) {
    PyObject* value = object.ptr();
    if (object.is_none()) return {};
    if (PyUnicode_Check(value)) return utf8(object);
    if (const std::optional<Tensor> tensor = tensor_of(object)) return *tensor;
    if (const std::optional<Scalar> scalar = scalar_of_python(object)) return *scalar;
    if (nb::isinstance<Device>(object)) return nb::cast<Device>(object);
    if (is_dtype(object)) return dtype_of_python(object);
    if (PyList_Check(value) || PyTuple_Check(value) || PyDict_Check(value)) return container(value, place);
    if (std::optional<IValue> script = script_value_of_python(object)) return *script;
    mismatch("None, a number, str, Tensor, NumPy array, dtype, device, list, tuple or dict", object, place);
  }

 private:
  IValue container(PyObject* object, const Place& place) {
    if (place.depth >= kMaxDepth)
      throw_error(ErrorKind::Value, fmt::format("containers are nested deeper than {}", kMaxDepth));
    const auto [found, is_new] = seen_.try_emplace(object);
    if (!is_new) {
      if (found->second.is_none())
        throw_error(ErrorKind::Value, fmt::format("a {} contains itself", Py_TYPE(object)->tp_name));
      return found->second;
    }
    const IValue result = PyDict_Check(object) ? dict(object, place) : sequence(object, place);
    return seen_[object] = result;
  }

  static TypePtr join(const TypePtr& a, const TypePtr& b) {
    const TypePtr both = a ? jit::unify(a, b) : b;
    return both ? both : Type::any();
  }

  static bool is_container(const IValue& value) {
    return value.is(IValue::Tag::Tuple) || value.is_list() || value.is(IValue::Tag::Dict);
  }

  // The type as a member of a container's: a larger one than people write is Any, for containers may hold one
  // another many times, and types their parts.
  TypePtr member_type(const IValue& value) {
    if (!is_container(value)) return value.type();
    TypePtr& known = types_[jit::container_address(value)];
    if (known) return known;
    TypePtr type;
    if (value.is(IValue::Tag::Tuple) && !value.to_tuple()->type) {
      std::vector<TypePtr> elements;
      for (const IValue& element : value.elements()) elements.push_back(member_type(element));
      type = Type::tuple(std::move(elements));
    } else {
      type = value.type();
    }
    constexpr int kMostParts = 64;
    int parts = 0;
    return known = has_more_parts(*type, kMostParts, parts) ? Type::any() : type;
  }
  static bool has_more_parts(const Type& type, int most, int& parts) {
    return ++parts > most ||
           std::any_of(type.elements().begin(), type.elements().end(),
                       [&](const TypePtr& element) { return has_more_parts(*element, most, parts); });
  }

  IValue sequence(PyObject* object, const Place& place) {
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(object);
    std::vector<IValue> values;
    TypePtr element;
    for (Py_ssize_t i = 0; i < size && i < PySequence_Fast_GET_SIZE(object); ++i) {
      const nb::object item = nb::borrow(PySequence_Fast_GET_ITEM(object, i));
      values.push_back(convert(item, place.at(i)));
      if (!element || !values.back().is_instance(*element))
        element = join(element, member_type(values.back()));
    }
    if (PyList_Check(object)) return IValue::list(element ? element : Type::any(), std::move(values));
    std::vector<std::string> fields = field_names(object);
    if (fields.empty()) return IValue::tuple(std::move(values));
    std::vector<TypePtr> types;
    for (const IValue& value : values) types.push_back(member_type(value));
    const TypePtr type = Type::named_tuple(Py_TYPE(object)->tp_name, std::move(fields), std::move(types));
    return IValue::named_tuple(type, std::move(values));
  }

  IValue dict(PyObject* object, const Place& place) {
    TypePtr key_type, value_type;
    std::vector<std::pair<IValue, IValue>> items;
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t position = 0; PyDict_Next(object, &position, &key, &value);) {
      const Place inner = place.at_key(key);
      IValue item_key = convert(key, inner);
      if (!item_key.is_string() && !item_key.is_number() && !item_key.is_none() && !item_key.is_tensor())
        mismatch("str, a number, None or Tensor as a dictionary's key", key, place);
      IValue item = convert(value, inner);
      key_type = join(key_type, item_key.type());
      value_type = join(value_type, member_type(item));
      items.emplace_back(std::move(item_key), std::move(item));
    }
    const bool is_typed = key_type && !key_type->is(TypeKind::Optional) && !key_type->is(TypeKind::None);
    IValue result = IValue::dict(is_typed ? key_type : Type::any(), value_type ? value_type : Type::any());
    for (auto& [item_key, item] : items) result.to_dict()->set(std::move(item_key), std::move(item));
    return result;
  }

  std::unordered_map<PyObject*, IValue> seen_;  // None while it is being converted
  std::unordered_map<const void*, TypePtr> types_;
};

// ---- by the type that is expected ------------------------------------------------------------------------
IValue convert(nb::handle object, const TypePtr& expected, const Place& place);

bool is_number_type(const Type& type) {
  return type.is(TypeKind::Bool) || type.is(TypeKind::Int) || type.is(TypeKind::Float) ||
         type.is(TypeKind::Complex) || type.is(TypeKind::Number);
}

// A tensor of one element stands for a number, as in int(x), float(x), bool(x) and complex(x).
IValue number_of_tensor(const Tensor& tensor, const Type& expected, const Place& place) {
  const std::string where = place.str();
  WEFT_CHECK(tensor.numel() == 1, fmt::format("expected {}, got a tensor of {} elements{}{}", expected.str(),
                                              tensor.numel(), where.empty() ? "" : " at ", where));
  const Scalar number = tensor.item();
  const bool is_real = expected.is(TypeKind::Int) || expected.is(TypeKind::Float);
  WEFT_CHECK_TYPE(!is_real || !number.is_complex(),
                  fmt::format("expected {}, got a complex tensor{}{}", expected.str(),
                              where.empty() ? "" : " at ", where));
  switch (expected.kind()) {
    case TypeKind::Bool: return number.to_bool();
    case TypeKind::Int: return number.to_int();
    case TypeKind::Float: return number.to_double();
    case TypeKind::Complex: return number.to_complex();
    default: return number;  // Number
  }
}

IValue convert_number(nb::handle object, const Type& expected, const Place& place) {
  if (expected.is(TypeKind::Int)) {
    if (is_dtype(object)) return dtype_of_python(object);  // dtypes are numbers in TorchScript
    if (!tensor_of_python(object) && !PyFloat_Check(object.ptr()) && PyIndex_Check(object.ptr()) &&
        !PyLong_Check(object.ptr())) {
      const nb::object index = nb::steal(PyNumber_Index(object.ptr()));
      if (!index.is_valid()) nb::raise_python_error();
      return scalar_of_python(index)->to_int();
    }
  }
  const std::optional<Scalar> scalar = scalar_of_python(object);
  if (!scalar) {
    if (const Tensor* tensor = tensor_of_python(object)) return number_of_tensor(*tensor, expected, place);
    mismatch(expected.str(), object, place);
  }
  switch (expected.kind()) {
    case TypeKind::Bool:
      if (scalar->is_bool()) return scalar->to_bool();
      break;
    case TypeKind::Int:
      if (scalar->is_int() || scalar->is_bool()) return scalar->to_int();
      break;
    case TypeKind::Float:
      if (!scalar->is_complex()) return scalar->to_double();
      break;
    case TypeKind::Complex: return scalar->to_complex();
    default: return *scalar;  // Number
  }
  mismatch(expected.str(), object, place);
}

IValue convert_list(nb::handle object, const Type& expected, const Place& place) {
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr())) mismatch(expected.str(), object, place);
  std::vector<IValue> values;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object.ptr()); ++i)
    values.push_back(convert(PySequence_Fast_GET_ITEM(object.ptr(), i), expected.element(), place.at(i)));
  return IValue::list(expected.element(), std::move(values));
}

IValue convert_dict(nb::handle object, const Type& expected, const Place& place) {
  if (!PyDict_Check(object.ptr())) mismatch(expected.str(), object, place);
  const TypePtr &key_type = expected.elements()[0], &value_type = expected.elements()[1];
  IValue result = IValue::dict(key_type, value_type);
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t position = 0; PyDict_Next(object.ptr(), &position, &key, &value);) {
    const Place inner = place.at_key(key);
    result.to_dict()->set(convert(key, key_type, inner), convert(value, value_type, inner));
  }
  return result;
}

IValue convert_tuple(nb::handle object, const TypePtr& expected, const Place& place) {
  const size_t size = expected->elements().size();
  if (!PyTuple_Check(object.ptr()) || static_cast<size_t>(PyTuple_GET_SIZE(object.ptr())) != size)
    mismatch(fmt::format("{} (a tuple of {})", expected->str(), size), object, place);
  std::vector<IValue> values;
  for (size_t i = 0; i < size; ++i) {
    const auto index = static_cast<Py_ssize_t>(i);
    values.push_back(
        convert(PyTuple_GET_ITEM(object.ptr(), index), expected->elements()[i], place.at(index)));
  }
  return expected->name().empty() ? IValue::tuple(std::move(values))
                                  : IValue::named_tuple(expected, std::move(values));
}

// The member whose type the object has as it is; else the first that it can be converted to.
IValue convert_union(nb::handle object, const Type& expected, const Place& place) {
  std::optional<IValue> converted;
  const bool is_tensor = tensor_of_python(object) != nullptr;
  for (const TypePtr& member : expected.elements()) {
    if (is_tensor && is_number_type(*member)) continue;  // it is none among several types
    IValue value;
    try {
      value = convert(object, member, place);
    } catch (const Error&) {
      continue;
    }
    const bool is_exact = !value.is_number() || scalar_of_python(object)->kind() == value.to_scalar().kind();
    if (is_exact) return value;
    if (!converted) converted = value;
  }
  if (!converted) mismatch(expected.str(), object, place);
  return *converted;
}

// An object, future or function of TorchScript, or an object of a class that weft.jit.script has compiled.
IValue convert_script_value(nb::handle object, const TypePtr& expected, const Place& place) {
  const std::optional<IValue> value = script_value_of_python(object);
  if (value && value->is_instance(*expected)) return *value;
  if (std::optional<IValue> converted = script_object_of_python(object, expected)) return *converted;
  mismatch(expected->str(), object, place);
}

// An object of Python's enum class: the member of the same name.
IValue convert_enum(nb::handle object, const TypePtr& expected, const Place& place) {
  if (PyObject_HasAttrString(object.ptr(), "name") && PyObject_HasAttrString(object.ptr(), "value")) {
    const nb::object name = nb::borrow<nb::object>(object.attr("name"));
    for (const auto& [member, value] : static_cast<const jit::EnumType&>(*expected).members()) {
      if (PyUnicode_Check(name.ptr()) && utf8(name) == member)
        return std::make_shared<jit::EnumValue>(jit::EnumValue{expected, member, value});
    }
  }
  mismatch(expected->str(), object, place);
}

IValue convert(nb::handle object, const TypePtr& expected, const Place& place) {
  if (place.depth >= kMaxDepth)
    throw_error(ErrorKind::Value, fmt::format("containers are nested deeper than {}", kMaxDepth));
  switch (expected->kind()) {
    case TypeKind::Any: return Inference().convert(object, place);
    case TypeKind::None:
      if (object.is_none()) return {};
      break;
    case TypeKind::Tensor:
      if (const std::optional<Tensor> tensor = tensor_of(object)) return *tensor;
      break;
    case TypeKind::Bool:
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Complex:
    case TypeKind::Number: return convert_number(object, *expected, place);
    case TypeKind::String:
      if (PyUnicode_Check(object.ptr())) return utf8(object);
      break;
    case TypeKind::Device:
      if (nb::isinstance<Device>(object) || PyUnicode_Check(object.ptr())) return device_of_python(object);
      break;
    case TypeKind::List: return convert_list(object, *expected, place);
    case TypeKind::Dict: return convert_dict(object, *expected, place);
    case TypeKind::Tuple: return convert_tuple(object, expected, place);
    case TypeKind::Optional: return object.is_none() ? IValue() : convert(object, expected->element(), place);
    case TypeKind::Union: return convert_union(object, *expected, place);
    case TypeKind::Enum: return convert_enum(object, expected, place);
    case TypeKind::Future:
    case TypeKind::Class:
    case TypeKind::Interface:
    case TypeKind::Function: return convert_script_value(object, expected, place);
    case TypeKind::Generator:
    case TypeKind::Var: break;
  }
  mismatch(expected->str(), object, place);
}

// ---- to Python -------------------------------------------------------------------------------------------
nb::object named_tuple_class(const Type& type) {
  nb::list fields;
  for (const std::string& field : type.fields()) fields.append(nb::str(field.c_str()));
  return nb::module_::import_("weft.jit._values").attr("named_tuple_class")(type.name().c_str(), fields);
}

class ToPython {
 public:
  nb::object convert(const IValue& value) {
    switch (value.tag()) {
      case IValue::Tag::None: return nb::none();
      case IValue::Tag::Tensor: return to_python(value.to_tensor());
      case IValue::Tag::Int: return nb::int_(value.to_int());
      case IValue::Tag::Float: return nb::float_(value.to_double());
      case IValue::Tag::Bool: return nb::bool_(value.to_bool());
      case IValue::Tag::Complex: {
        const std::complex<double> number = value.to_complex();
        return nb::steal(PyComplex_FromDoubles(number.real(), number.imag()));
      }
      case IValue::Tag::String: return text(value.to_string());
      case IValue::Tag::Device: return nb::cast(value.to_device());
      case IValue::Tag::List:
      case IValue::Tag::Dict:
      case IValue::Tag::Tuple: return container(value);
      case IValue::Tag::Enum:
      case IValue::Tag::Object:
      case IValue::Tag::Future:
      case IValue::Tag::Function: return script_to_python(value);
    }
    throw_error(ErrorKind::Internal, "a value of an unknown kind");
  }

 private:
  static nb::object text(const std::string& bytes) {
    PyObject* result =
        PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
    if (!result) nb::raise_python_error();
    return nb::steal(result);
  }

  nb::object container(const IValue& value) {
    nb::object& known = seen_[jit::container_address(value)];
    if (known.is_valid()) return known;
    WEFT_CHECK(++depth_ <= kMaxDepth, fmt::format("containers are nested deeper than {}", kMaxDepth));
    nb::object result;
    if (value.is(IValue::Tag::Dict)) {
      nb::dict dict;
      for (const auto& [key, item] : value.to_dict()->items()) dict[convert(key)] = convert(item);
      result = dict;
    } else {
      nb::list list;
      for (const IValue& element : value.elements()) list.append(convert(element));
      result = value.is_list() ? nb::object(list) : tuple(*value.to_tuple(), list);
    }
    --depth_;
    return seen_[jit::container_address(value)] = result;
  }

  static nb::object tuple(const jit::Tuple& value, const nb::list& elements) {
    if (!value.type) return nb::tuple(elements);
    return named_tuple_class(*value.type)(*elements);
  }

  std::unordered_map<const void*, nb::object> seen_;
  int depth_ = 0;
};

}  // namespace

IValue to_ivalue(nb::handle object, const TypePtr& expected) {
  return expected ? convert(object, expected, Place{}) : Inference().convert(object, Place{});
}

nb::object to_python(const IValue& value) { return ToPython().convert(value); }

}  // namespace weft::python
