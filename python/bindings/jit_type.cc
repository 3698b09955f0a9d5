#include "jit_type.h"

#include <fmt/format.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "jit.h"
#include "script/program/compilation_unit.h"
#include "weft/error.h"

namespace weft::python {
namespace {

using jit::Type;
using jit::TypeKind;

std::vector<jit::TypePtr> types_of(const std::vector<ScriptType>& types) {
  std::vector<jit::TypePtr> result;
  for (const ScriptType& type : types) result.push_back(type.type);
  return result;
}

// The least type that every element of a list has; Any if there is none.
ScriptType common_type(const std::vector<ScriptType>& types) {
  jit::TypePtr result = types.at(0).type;
  for (const ScriptType& type : types) {
    result = jit::unify(result, type.type);
    if (!result) return {Type::any()};
  }
  return {result};
}

ScriptType named_tuple(const std::string& name, const std::vector<std::string>& fields,
                       const std::vector<ScriptType>& types, const nb::list& defaults) {
  std::vector<IValue> values;
  const size_t first = fields.size() - defaults.size();
  for (size_t i = 0; i < defaults.size(); ++i)
    values.push_back(to_ivalue(defaults[i], types.at(first + i).type));
  return {Type::named_tuple(name, fields, types_of(types), std::move(values))};
}

ScriptType enumeration(const std::string& name, const ScriptType& value_type,
                       const std::vector<std::string>& names, const nb::list& values) {
  std::vector<std::pair<std::string, IValue>> members;
  for (size_t i = 0; i < names.size(); ++i)
    members.emplace_back(names[i], to_ivalue(values[i], value_type.type));
  return {jit::EnumType::create(name, value_type.type, std::move(members))};
}

void bind_constructors(nb::class_<ScriptType>& c) {
  constexpr std::pair<const char*, jit::TypePtr (*)()> kPlain[] = {
      {"any", &Type::any},        {"tensor", &Type::tensor},   {"int", &Type::integer},
      {"float", &Type::floating}, {"complex", &Type::complex}, {"bool", &Type::boolean},
      {"number", &Type::number},  {"str", &Type::string},      {"none", &Type::none},
      {"device", &Type::device}};
  for (const auto& [name, make] : kPlain) {
    c.def_static(name, [make = make] { return ScriptType{make()}; });
  }
  c.def_static("list", [](const ScriptType& element) { return ScriptType{Type::list(element.type)}; });
  c.def_static("dict", [](const ScriptType& key, const ScriptType& value) {
    return ScriptType{Type::dict(key.type, value.type)};
  });
  c.def_static("tuple", [](const std::vector<ScriptType>& elements) {
    return ScriptType{Type::tuple(types_of(elements))};
  });
  c.def_static("union", [](const std::vector<ScriptType>& members) {
    return ScriptType{Type::union_of(types_of(members))};
  });
  c.def_static("future", [](const ScriptType& element) { return ScriptType{Type::future(element.type)}; });
  c.def_static("common", &common_type);
  c.def_static("named_tuple", &named_tuple);
  c.def_static("enumeration", &enumeration);
}

// ---- classes of modules ----------------------------------------------------------------------------------
void add_attribute(const ScriptType& self, const std::string& name, const ScriptType& type,
                   const std::string& kind, bool is_persistent) {
  class_of(self)->add_attribute({.name = name,
                                 .type = type.type,
                                 .is_parameter = kind == "parameter",
                                 .is_buffer = kind == "buffer",
                                 .is_persistent = is_persistent});
}

void set_container(const ScriptType& self, const std::string& kind) {
  class_of(self)->container =
      kind == "dict" ? jit::ClassType::Container::Dict : jit::ClassType::Container::List;
}

void add_hook(const ScriptType& self, const ScriptFunction& hook, bool is_pre_hook) {
  auto& hooks = is_pre_hook ? class_of(self)->forward_pre_hooks : class_of(self)->forward_hooks;
  hooks.push_back(hook.function);
}

void add_property(const ScriptType& self, const std::string& name, const ScriptFunction& getter,
                  nb::handle setter) {
  std::shared_ptr<jit::Function> set;
  if (!setter.is_none()) set = nb::cast<ScriptFunction&>(setter).function;
  class_of(self)->properties.push_back({name, getter.function, std::move(set)});
}

void bind_classes(nb::class_<ScriptType>& c) {
  c.def("add_attribute", &add_attribute)
      .def(
          "add_constant",
          [](const ScriptType& self, const std::string& name, nb::handle value) {
            class_of(self)->add_constant(name, to_ivalue(value, nullptr));
          },
          nb::arg("name"), nb::arg("value").none())
      .def("set_container", &set_container)
      .def("add_hook", &add_hook)
      .def("add_property", &add_property, nb::arg("name"), nb::arg("getter"), nb::arg("setter").none())
      .def("has_method", [](const ScriptType& self,
                            const std::string& name) { return class_of(self)->find_method(name) != nullptr; })
      .def("remove_method",
           [](const ScriptType& self, const std::string& name) { class_of(self)->remove_method(name); })
      .def("has_attribute",
           [](const ScriptType& self, const std::string& name) {
             const jit::ClassTypePtr type = class_of(self);
             return type->find_slot(name).has_value() || type->find_constant(name) != nullptr;
           })
      .def("method_names", [](const ScriptType& self) {
        nb::list names;
        if (self.type->is(TypeKind::Interface)) {
          for (const auto& schema : static_cast<const jit::InterfaceType&>(*self.type).methods())
            names.append(nb::str(schema->name.c_str()));
        } else {
          for (const auto& method : class_of(self)->methods()) names.append(nb::str(method->name().c_str()));
        }
        return names;
      });
}

}  // namespace

jit::ClassTypePtr class_of(const ScriptType& type) {
  WEFT_CHECK_TYPE(type.type->is(TypeKind::Class), fmt::format("expected a class, got {}", type.type->str()));
  return std::static_pointer_cast<jit::ClassType>(std::const_pointer_cast<Type>(type.type));
}

void bind_jit_types(nb::module_& m) {
  nb::class_<ScriptType> c(m, "Type");
  bind_constructors(c);
  bind_classes(c);
  c.def("__str__", [](const ScriptType& self) { return self.type->str(); })
      .def("__repr__", [](const ScriptType& self) { return self.type->str(); })
      .def("equals",
           [](const ScriptType& self, const ScriptType& other) { return self.type->equals(*other.type); })
      .def("is_subtype_of", [](const ScriptType& self,
                               const ScriptType& other) { return self.type->is_subtype_of(*other.type); })
      .def_prop_ro("name", [](const ScriptType& self) { return self.type->name(); })
      .def_prop_ro("is_class", [](const ScriptType& self) { return self.type->is(TypeKind::Class); })
      .def_prop_ro("is_interface", [](const ScriptType& self) { return self.type->is(TypeKind::Interface); });
}

}  // namespace weft::python
