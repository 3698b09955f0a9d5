// Modules and objects of TorchScript; loading, saving and freezing.
#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>

#include "bindings.h"
#include "jit.h"
#include "jit_type.h"
#include "script/archive/python_print.h"
#include "script/builtins/quantized/packed_classes.h"
#include "script/optimize/graph_passes.h"
#include "weft/error.h"

namespace weft::python {
namespace {

using jit::Module;

const jit::Attribute* find_attribute(const Module& module, std::string_view name) {
  const auto slot = module.object()->type->find_slot(name);
  return slot ? &module.object()->type->attributes()[*slot] : nullptr;
}

bool is_submodule(const IValue& value) {
  return value.is(IValue::Tag::Object) && value.to_object()->type->is_module();
}

// What the three dictionaries of weft.nn.Module hold: "parameter", "buffer", "module"; "attribute" for the
// rest.
const char* kind_of(const Module& module, size_t slot) {
  const jit::Attribute& attribute = module.object()->type->attributes()[slot];
  const IValue& value = module.object()->slots[slot];
  if (is_submodule(value)) return "module";
  const bool is_tensor = value.is_tensor() || value.is_none();
  if (attribute.is_parameter && is_tensor) return "parameter";
  if (attribute.is_buffer && is_tensor) return "buffer";
  return "attribute";
}

nb::list names_of_kind(const Module& module, const std::string& kind) {
  nb::list names;
  const auto& attributes = module.object()->type->attributes();
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (kind == kind_of(module, i)) names.append(nb::str(attributes[i].name.c_str()));
  }
  return names;
}

bool has_kind(const Module& module, const std::string& name, const std::string& kind) {
  const auto slot = module.object()->type->find_slot(name);
  return slot && kind == kind_of(module, *slot);
}

nb::object get_attribute(const Module& module, const std::string& name) {
  const UnitScope scope(module.unit());
  return to_python(module.object()->attribute(name));
}

void set_attribute(const Module& module, const std::string& name, nb::handle object) {
  const jit::Attribute* attribute = find_attribute(module, name);
  if (!attribute) {
    const bool is_constant = module.object()->type->find_constant(name) != nullptr;
    throw_error(ErrorKind::Value, fmt::format("{} has no attribute '{}' to set{}", module.type_name(), name,
                                              is_constant ? ": it is a constant" : ""));
  }
  try {
    module.set_attribute(name, to_ivalue(object, attribute->type));
  } catch (const Error& error) {
    throw error.with_note(fmt::format("attribute '{}' of {}", name, module.type_name()));
  }
}

// Tells whether two tensors of Python are one.
uintptr_t tensor_key(const Module& module, const std::string& name) {
  const IValue& value = module.object()->attribute(name);
  return value.is_tensor() ? reinterpret_cast<uintptr_t>(value.to_tensor().impl().get()) : 0;
}

nb::object call_method(const Module& self, const std::string& name, const nb::args& args,
                       const nb::kwargs& kwargs) {
  const std::shared_ptr<jit::Function> function = self.method(name);
  ScriptArguments arguments = script_arguments(function->schema(), 1, args, kwargs);
  return run_script(self.unit(), [&] {
    return self.run_method(name, std::move(arguments.positional), arguments.keywords);
  });
}

nb::object call_forward(const Module& self, const nb::args& args, const nb::kwargs& kwargs) {
  const std::shared_ptr<jit::Function> function = self.method("forward");
  ScriptArguments arguments = script_arguments(function->schema(), 1, args, kwargs);
  return run_script(self.unit(),
                    [&] { return self.forward(std::move(arguments.positional), arguments.keywords); });
}

// ---- files -----------------------------------------------------------------------------------------------
jit::ExtraFiles extra_files_of(const nb::handle& names) {
  jit::ExtraFiles files;
  if (!names.is_none()) {
    for (nb::handle name : names) files[nb::cast<std::string>(name)];
  }
  return files;
}

nb::object with_extra_files(Module module, const jit::ExtraFiles& files) {
  nb::dict contents;
  for (const auto& [name, text] : files)
    contents[nb::str(name.c_str())] = nb::bytes(text.data(), text.size());
  return nb::make_tuple(std::move(module), contents);
}

nb::object load_file(const std::string& path, nb::handle extra, bool verify) {
  jit::ExtraFiles files = extra_files_of(extra);
  Module module;
  {
    const GilRelease no_gil;
    module = jit::load(path, &files, verify);
  }
  return with_extra_files(std::move(module), files);
}

nb::object load_bytes(const nb::bytes& contents, nb::handle extra, bool verify) {
  jit::ExtraFiles files = extra_files_of(extra);
  std::string bytes(contents.c_str(), contents.size());
  Module module;
  {
    const GilRelease no_gil;
    module = jit::load_bytes(std::move(bytes), &files, verify);
  }
  return with_extra_files(std::move(module), files);
}

jit::ExtraFiles contents_of(const nb::dict& contents) {
  jit::ExtraFiles files;
  for (const auto& [name, bytes] : contents) {
    const auto text = nb::cast<nb::bytes>(bytes);
    files[nb::cast<std::string>(name)] = std::string(text.c_str(), text.size());
  }
  return files;
}

void save_file(const Module& module, const std::string& path, const nb::dict& extra) {
  const jit::ExtraFiles files = contents_of(extra);
  const GilRelease no_gil;
  module.save(path, files);
}

nb::bytes save_bytes(const Module& module, const nb::dict& extra) {
  const jit::ExtraFiles files = contents_of(extra);
  std::string bytes;
  {
    const GilRelease no_gil;
    bytes = module.save_to_bytes(files);
  }
  return nb::bytes(bytes.data(), bytes.size());
}

// ---- whole modules ---------------------------------------------------------------------------------------
Module freeze(const Module& module, const std::vector<std::string>& preserved, bool optimize_numerics) {
  const GilRelease no_gil;
  Module frozen = jit::freeze(module, preserved);
  if (!optimize_numerics) return frozen;
  const jit::ClassTypePtr& type = frozen.object()->type;
  for (const auto& method : std::vector(type->methods())) {
    std::shared_ptr<ir::Graph> graph = method->graph().clone();
    jit::fold_batch_norm(*graph);
    jit::remove_dead_nodes(*graph);
    type->remove_method(method->name());
    type->add_method(std::make_shared<jit::Function>(method->qualified_name(), method->schema(),
                                                     [graph] { return graph->clone(); }));
  }
  return frozen;
}

// A function as the forward() of a module, which is how archives hold one.
Module module_of_function(const ScriptFunction& function) {
  const jit::ClassTypePtr type = jit::ClassType::create("__torch__.PlaceholderModule", true);
  type->add_attribute({.name = "training", .type = jit::Type::boolean()});
  jit::Schema schema = function.function->schema();
  schema.returns = {{"", schema.return_type()}};
  auto graph = std::make_shared<ir::Graph>("forward");
  const auto script_type = [](const jit::TypePtr& t) { return ir::Type{ir::Type::Kind::Script, {}, t}; };
  graph->add_param(graph->body(), script_type(type), "self");
  std::vector<ir::Value*> inputs;
  for (const jit::SchemaArgument& argument : schema.arguments) {
    inputs.push_back(graph->add_param(graph->body(), script_type(argument.type), argument.name));
  }
  jit::ValueMap values;
  const std::unique_ptr<ir::Graph> body = function.function->graph().clone();
  for (size_t i = 0; i < inputs.size(); ++i) values[body->inputs()[i]] = inputs[i];
  jit::copy_nodes(body->body(), graph->body(), nullptr, values);
  for (const ir::Value* result : body->outputs()) graph->add_return(graph->body(), values.at(result));
  schema.arguments.insert(schema.arguments.begin(),
                          jit::SchemaArgument{.name = "self", .type = type, .default_value = {}});
  type->add_method(std::make_shared<jit::Function>(type->name() + ".forward", std::move(schema),
                                                   [graph] { return graph->clone(); }));
  auto object = std::make_shared<jit::Object>(jit::Object{type, {IValue(true)}});
  return {std::move(object), function.unit};
}

void bind_module_class(nb::module_& m) {
  nb::class_<Module>(m, "Module")
      .def("__call__", &call_forward)
      .def("call_method", &call_method)
      .def_prop_ro("is_module", [](const Module& self) { return self.object()->type->is_module(); })
      .def_prop_ro("type_name", &Module::type_name)
      .def_prop_ro("type", [](const Module& self) { return ScriptType{self.object()->type}; })
      .def_prop_ro("address",
                   [](const Module& self) { return reinterpret_cast<uintptr_t>(self.object().get()); })
      .def("method_names", &Module::method_names)
      .def("has_method", [](const Module& self, const std::string& name) { return self.has_method(name); })
      .def("method",
           [](const Module& self, const std::string& name) {
             return ScriptFunction{self.method(name), self.unit()};
           })
      .def("names", &names_of_kind)
      .def("has_kind", &has_kind)
      .def("has_attribute",
           [](const Module& self, const std::string& name) { return self.has_attribute(name); })
      .def("attribute", &get_attribute)
      .def("set_attribute", &set_attribute, nb::arg("name"), nb::arg("value").none())
      .def("tensor_key", &tensor_key)
      .def("is_persistent",
           [](const Module& self, const std::string& name) {
             const jit::Attribute* attribute = find_attribute(self, name);
             return !attribute || attribute->is_persistent;
           })
      .def("packed_state",
           [](const Module& self) { return to_python(jit::packed::get_state(*self.object())); })
      .def("clone",
           [](const Module& self) {
             const GilRelease no_gil;
             return self.clone();
           })
      .def("save", &save_file)
      .def("save_to_bytes", &save_bytes);
}

}  // namespace

void bind_jit_module(nb::module_& m) {
  bind_module_class(m);
  m.def("load", &load_file, nb::arg("path"), nb::arg("extra_files").none(), nb::arg("verify"));
  m.def("load_bytes", &load_bytes, nb::arg("contents"), nb::arg("extra_files").none(), nb::arg("verify"));
  m.def("freeze", &freeze, nb::arg("module"), nb::arg("preserved"), nb::arg("optimize_numerics"));
  m.def(
      "optimize_for_inference",
      [](const Module& module, const std::vector<std::string>& preserved, nb::handle dtype,
         const std::string& mode) {
        const std::optional<DType> wanted = optional_dtype(dtype);
        const GilRelease no_gil;
        return jit::optimize_for_inference(module, preserved, wanted, mode);
      },
      nb::arg("module"), nb::arg("preserved"), nb::arg("dtype").none(), nb::arg("mode"));
  m.def("packed_object", [](const std::string& name, nb::handle state) {
    const IValue value = to_ivalue(state, jit::packed::state_type(name));
    return script_to_python(IValue(jit::packed::object_of_state(name, value)));
  });
  m.def("module_of_function", &module_of_function);
  m.def("set_profiling_executor", &jit::set_profiling_executor);
  m.def("profiling_executor", &jit::profiling_executor);
}

void bind_jit(nb::module_& m) {
  nb::module_ jit = m.def_submodule("_jit", "TorchScript: what the package weft.jit is made of.");
  bind_jit_values(jit);
  bind_jit_module(jit);
  bind_jit_types(jit);
  bind_jit_script(jit);
  bind_custom_operators(jit);
}

}  // namespace weft::python
