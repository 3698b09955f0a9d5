// TorchScript's builtins by name, from Python: weft._C._call_builtin("aten::add", x, y, alpha=2).
#include <fmt/format.h>

#include "bindings.h"
#include "errors.h"
#include "ivalue.h"
#include "jit.h"
#include "script/builtins/builtin.h"
#include "weft/error.h"

namespace weft::python {
namespace {

using jit::Builtin;
using jit::Type;
using jit::TypeKind;

std::optional<IValue> try_to_ivalue(nb::handle object, const Type& type);

std::optional<IValue> to_list_value(nb::handle object, const jit::TypePtr& element) {
  if (!nb::isinstance<nb::list>(object) && !nb::isinstance<nb::tuple>(object)) return std::nullopt;
  std::vector<IValue> values;
  for (const nb::handle item : object) {
    std::optional<IValue> value = try_to_ivalue(item, *element);
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
  }
  // A type variable stands for what the list holds.
  if (element->is(TypeKind::Var)) {
    const jit::TypePtr type = values.empty() ? Type::floating() : values[0].type();
    return IValue::list(type, std::move(values));
  }
  return IValue::list(element, std::move(values));
}

std::optional<IValue> to_number(nb::handle object) {
  const std::optional<Scalar> number = scalar_of_python(object);
  return number ? std::optional<IValue>(IValue(*number)) : std::nullopt;
}

// As TorchScript sees a Python object where a value of `type` is expected; nullopt for one that is no such
// value.
std::optional<IValue> try_to_ivalue(nb::handle object, const Type& type) {
  switch (type.kind()) {
    case TypeKind::Optional:
      return object.is_none() ? std::optional<IValue>(IValue()) : try_to_ivalue(object, *type.element());
    case TypeKind::Tensor: {
      const Tensor* tensor = tensor_of_python(object);
      return tensor ? std::optional<IValue>(IValue(*tensor)) : std::nullopt;
    }
    case TypeKind::List: return to_list_value(object, type.element());
    case TypeKind::Bool: return PyBool_Check(object.ptr()) ? to_number(object) : std::nullopt;
    case TypeKind::Int:
      if (PyLong_Check(object.ptr())) return to_number(object);
      try {
        return IValue(dtype_of_python(object));
      } catch (const std::exception&) {
        return std::nullopt;
      }
    case TypeKind::Float: {
      if (!PyFloat_Check(object.ptr()) && !PyLong_Check(object.ptr())) return std::nullopt;
      return IValue(nb::cast<double>(object));
    }
    case TypeKind::Number:
    case TypeKind::Complex: return to_number(object);
    case TypeKind::String:
      if (!PyUnicode_Check(object.ptr())) return std::nullopt;
      return IValue(std::string(text_view(object)));
    case TypeKind::Device: return IValue(device_of_python(object));
    case TypeKind::Class: {
      std::optional<IValue> value = script_value_of_python(object);
      return value && value->is_instance(type) ? value : std::nullopt;
    }
    default: break;
  }
  if (object.is_none()) return IValue();
  if (nb::isinstance<nb::list>(object)) return to_list_value(object, Type::variable("t"));
  if (const Tensor* tensor = tensor_of_python(object)) return IValue(*tensor);
  return to_number(object);
}

nb::object from_ivalue(const IValue& value);

nb::object from_elements(const IValue& value) {
  nb::list list;
  for (const IValue& element : value.elements()) list.append(from_ivalue(element));
  return list;
}

nb::object from_ivalue(const IValue& value) {
  switch (value.tag()) {
    case IValue::Tag::None: return nb::none();
    case IValue::Tag::Tensor: return value.to_tensor().defined() ? to_python(value.to_tensor()) : nb::none();
    case IValue::Tag::Int: return nb::int_(value.to_int());
    case IValue::Tag::Float: return nb::float_(value.to_double());
    case IValue::Tag::Bool: return nb::bool_(value.to_bool());
    case IValue::Tag::String: return nb::str(value.to_string().c_str());
    case IValue::Tag::List: return from_elements(value);
    case IValue::Tag::Tuple: return nb::tuple(from_elements(value));
    case IValue::Tag::Object: return script_to_python(value);
    default: return nb::str(value.repr().c_str());
  }
}

// The values of a call, or nothing where the arguments do not fit this overload.
std::optional<std::vector<IValue>> bind(const Builtin& builtin, const nb::tuple& args,
                                        const nb::dict& kwargs) {
  const auto& parameters = builtin.schema.arguments;
  if (args.size() > parameters.size()) return std::nullopt;
  std::vector<IValue> positional;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool repeats = parameters[i].list_length > 0 && PyLong_Check(args[i].ptr());
    const Type& type = repeats ? *Type::integer() : *parameters[i].type;
    std::optional<IValue> value = try_to_ivalue(args[i], type);
    if (!value) return std::nullopt;
    positional.push_back(std::move(*value));
  }
  std::vector<std::pair<std::string, IValue>> keywords;
  for (const auto& [key, object] : kwargs) {
    const std::string name(text_view(key));
    const jit::SchemaArgument* parameter = builtin.schema.find(name);
    if (!parameter) return std::nullopt;
    const bool repeats = parameter->list_length > 0 && PyLong_Check(object.ptr());
    std::optional<IValue> value = try_to_ivalue(object, repeats ? *Type::integer() : *parameter->type);
    if (!value) return std::nullopt;
    keywords.emplace_back(name, std::move(*value));
  }
  try {
    return jit::bind_arguments(builtin.schema, std::move(positional), std::move(keywords));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Type) return std::nullopt;
    throw;
  }
}

nb::object call_builtin(const std::string& name, const nb::tuple& args, const nb::dict& kwargs) {
  std::vector<const Builtin*> overloads;
  if (const Builtin* one = jit::find_builtin(name); one && name.find('.') != std::string::npos)
    overloads = {one};
  else
    overloads.assign(jit::find_builtins(name).begin(), jit::find_builtins(name).end());
  if (overloads.empty()) throw_error(ErrorKind::NotImplemented, fmt::format("no builtin '{}'", name));
  for (const Builtin* builtin : overloads) {
    std::optional<std::vector<IValue>> values = bind(*builtin, args, kwargs);
    if (!values) continue;
    std::vector<IValue> results(std::max<size_t>(builtin->schema.returns.size(), 1));
    builtin->run(*values, results.data());
    if (builtin->schema.returns.empty()) return nb::none();
    if (results.size() == 1) return from_ivalue(results[0]);
    nb::list list;
    for (const IValue& result : results) list.append(from_ivalue(result));
    return nb::tuple(list);
  }
  std::string message = fmt::format("no overload of {} takes these arguments; there are", name);
  for (const Builtin* builtin : overloads) message += "\n  " + builtin->schema.str();
  throw_error(ErrorKind::Type, message);
}

}  // namespace

void bind_builtins(nb::module_& m) {
  m.def("_call_builtin", [](nb::args args, nb::kwargs kwargs) {
    const std::string name(text_view(nb::object(args[0])));
    return call_builtin(
        name, nb::steal<nb::tuple>(PyTuple_GetSlice(args.ptr(), 1, PyTuple_GET_SIZE(args.ptr()))), kwargs);
  });
  m.def("_builtin_schemas", [] {
    nb::list list;
    for (const std::string& name : jit::all_builtin_names()) {
      for (const Builtin* builtin : jit::find_builtins(name))
        list.append(nb::str(builtin->schema.str().c_str()));
    }
    return list;
  });
}

}  // namespace weft::python
