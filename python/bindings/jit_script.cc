// weft.jit.script: Python's source compiled, with names looked up by Python. The Python side describes what a
// name is by a tuple (kind, …); see describe() in weft/jit/_definitions.py.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <deque>

#include "jit.h"
#include "jit_type.h"
#include "once.h"
#include "script/builtins/builtin.h"
#include "script/builtins/prim.h"
#include "script/emit/emitter.h"
#include "script/program/compilation_unit.h"
#include "script/program/function.h"
#include "script/run/interpreter.h"
#include "script/syntax/parser.h"
#include "weft/error.h"

namespace weft::python {
namespace {

using jit::Emitter;
using jit::Range;
using jit::SugaredPtr;
using jit::TypePtr;

// Everything that weft.jit.script compiles is one program.
const std::shared_ptr<jit::CompilationUnit>& script_unit() {
  static constinit MadeOnce<std::shared_ptr<jit::CompilationUnit>> unit;
  return unit.get([] { return jit::CompilationUnit::create(); });
}

// A Python object that may be let go of on any thread.
std::shared_ptr<nb::object> shared_object(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) { with_gil([&] { delete held; }); }};
}

std::string place_of(const Range& range) {
  return range.source ? fmt::format("{}:{}", range.source->file, range.line()) : "";
}

// ---- calls of Python -------------------------------------------------------------------------------------
// What @weft.jit.ignore leaves to Python.
struct PythonFunction {
  nb::object callable;
  jit::Schema schema;
};
// They stay where they are: one that is running may define another.
std::deque<PythonFunction>& python_functions() {
  static auto& functions = *new std::deque<PythonFunction>;
  return functions;
}

void call_python(std::span<IValue> arguments, IValue* results) {
  const GilAcquire gil;
  const PythonFunction& function = python_functions().at(static_cast<size_t>(arguments[0].to_int()));
  const UnitScope scope(script_unit());
  nb::list values;
  for (const IValue& argument : arguments.subspan(1)) values.append(to_python(argument));
  const nb::tuple positional(values);
  const nb::object result = nb::steal(
      calling_python([&] { return PyObject_CallObject(function.callable.ptr(), positional.ptr()); }));
  if (!result) nb::raise_python_error();
  try {
    results[0] = to_ivalue(result, function.schema.returns[0].type);
  } catch (const Error& error) {
    throw_error(error.kind(), fmt::format("the result of the Python function '{}': {}", function.schema.name,
                                          error.what()));
  }
}
const jit::Builtin& kCallPython =
    jit::register_builtin("python::call(int function, ...) -> Any", &call_python, false);

class PythonSugar final : public jit::SugaredValue {
 public:
  PythonSugar(size_t index, ir::Value* self) : index_(index), self_(self) {}
  std::string kind() const override {
    return fmt::format("Python function '{}'", python_functions()[index_].schema.name);
  }
  SugaredPtr call(Emitter& emitter, const Range& range, const jit::CallArguments& arguments) override {
    const jit::Schema& schema = python_functions()[index_].schema;
    jit::CallArguments all;
    if (self_) all.push_back({"", self_, range});
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<ir::Value*> inputs = emitter.match_call(schema, all, range);
    inputs.insert(inputs.begin(), emitter.constant(static_cast<int64_t>(index_), range));
    ir::ScriptPayload payload;
    payload.text = schema.name;
    return jit::simple(
        emitter.value(kCallPython, std::move(inputs), schema.returns[0].type, range, std::move(payload)));
  }

 private:
  size_t index_;
  ir::Value* self_;
};

// @weft.jit.unused: a call raises.
class UnusedSugar final : public jit::SugaredValue {
 public:
  UnusedSugar(std::string name, TypePtr type) : name_(std::move(name)), type_(std::move(type)) {}
  std::string kind() const override { return fmt::format("unused function '{}'", name_); }
  SugaredPtr call(Emitter& emitter, const Range& range, const jit::CallArguments&) override {
    ir::ScriptPayload payload;
    payload.text = "builtins.NotImplementedError";
    const std::string message =
        fmt::format("'{}' is marked @weft.jit.unused and cannot be called in a script", name_);
    emitter.node(jit::prim::kRaise, {emitter.constant(message, range)}, {}, range, payload);
    return jit::simple(emitter.uninitialized(type_, range));
  }

 private:
  std::string name_;
  TypePtr type_;
};

// self.method where the method has overloads.
class BoundOverloads final : public jit::SugaredValue {
 public:
  BoundOverloads(std::vector<std::shared_ptr<jit::Function>> overloads, ir::Value* self)
      : overloads_(std::move(overloads)), self_(self) {}
  std::string kind() const override { return fmt::format("method '{}'", overloads_[0]->name()); }
  SugaredPtr call(Emitter& emitter, const Range& range, const jit::CallArguments& arguments) override {
    jit::CallArguments all = {{"", self_, range}};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return emitter.call_function(overloads_, all, range);
  }

 private:
  std::vector<std::shared_ptr<jit::Function>> overloads_;
  ir::Value* self_;
};

// ---- names -----------------------------------------------------------------------------------------------
std::vector<std::shared_ptr<jit::Function>> functions_of(nb::handle list) {
  std::vector<std::shared_ptr<jit::Function>> functions;
  for (nb::handle item : list) functions.push_back(nb::cast<ScriptFunction&>(item).function);
  return functions;
}

SugaredPtr sugar_of(const std::shared_ptr<nb::object>& scope, const nb::object& description, ir::Value* self,
                    const Range& range);

// A module of Python, such as `weft.nn`: its members are looked up by Python.
class ModuleSugar final : public jit::SugaredValue {
 public:
  ModuleSugar(std::shared_ptr<nb::object> scope, nb::object module)
      : scope_(std::move(scope)), module_(shared_object(std::move(module))) {}
  std::string kind() const override {
    const GilAcquire gil;
    return fmt::format("module '{}'", nb::cast<std::string>(module_->attr("__name__")));
  }
  SugaredPtr attribute(Emitter&, const Range& range, const std::string& name) override {
    const GilAcquire gil;
    return sugar_of(scope_, scope_->attr("member_of_module")(*module_, name, place_of(range)), nullptr,
                    range);
  }

 private:
  std::shared_ptr<nb::object> scope_, module_;
};

SugaredPtr sugar_of(const std::shared_ptr<nb::object>& scope, const nb::object& description, ir::Value* self,
                    const Range& range) {
  if (description.is_none()) return nullptr;
  const auto kind = nb::cast<std::string>(description[0]);
  if (kind == "constant")
    return std::make_shared<jit::ConstantSugar>(to_ivalue(nb::object(description[1]), nullptr));
  if (kind == "enum") {
    const TypePtr type = nb::cast<ScriptType&>(nb::object(description[1])).type;
    return jit::ClassSugar(type).constant_member(nb::cast<std::string>(description[2]));
  }
  if (kind == "functions")
    return std::make_shared<jit::FunctionSugar>(functions_of(nb::object(description[1])));
  if (kind == "class")
    return std::make_shared<jit::ClassSugar>(nb::cast<ScriptType&>(nb::object(description[1])).type);
  if (kind == "builtin") return std::make_shared<jit::BuiltinSugar>(nb::cast<std::string>(description[1]));
  if (kind == "name") return jit::resolve_builtin_name(nb::cast<std::string>(description[1]));
  if (kind == "member")
    return jit::resolve_namespace_member(nb::cast<std::string>(description[1]),
                                         nb::cast<std::string>(description[2]));
  if (kind == "module") return std::make_shared<ModuleSugar>(scope, nb::object(description[1]));
  if (kind == "python") return std::make_shared<PythonSugar>(nb::cast<size_t>(description[1]), self);
  if (kind == "unused")
    return std::make_shared<UnusedSugar>(nb::cast<std::string>(description[1]),
                                         nb::cast<ScriptType&>(nb::object(description[2])).type);
  if (kind == "method" && self)
    return std::make_shared<jit::MethodSugar>(self, nb::cast<std::string>(description[1]));
  if (kind == "overloads" && self)
    return std::make_shared<BoundOverloads>(functions_of(nb::object(description[1])), self);
  if (kind == "error") type_error(range, nb::cast<std::string>(description[1]));
  throw_error(ErrorKind::Internal, fmt::format("a name described as '{}'", kind));
}

class PythonResolver final : public jit::Resolver {
 public:
  explicit PythonResolver(nb::object scope) : scope_(shared_object(std::move(scope))) {}

  SugaredPtr resolve_value(const std::string& name, const Range& range) override {
    const GilAcquire gil;
    return sugar_of(scope_, scope_->attr("value")(name, place_of(range)), nullptr, range);
  }
  TypePtr resolve_type(const std::string& name, const Range& range) override {
    const GilAcquire gil;
    const nb::object type = scope_->attr("type")(name, place_of(range));
    return type.is_none() ? nullptr : nb::cast<ScriptType&>(type).type;
  }
  SugaredPtr resolve_member(Emitter&, ir::Value* object, const std::string& name,
                            const Range& range) override {
    const GilAcquire gil;
    const std::string& type = object->type.script->name();
    return sugar_of(scope_, scope_->attr("member_of_class")(type, name, place_of(range)), object, range);
  }
  bool has_member(const jit::ClassType& type, const std::string& name) override {
    const GilAcquire gil;
    return nb::cast<bool>(scope_->attr("has_member")(type.name(), name));
  }
  std::optional<bool> is_instance(const jit::ClassType& type, const std::string& name) override {
    const GilAcquire gil;
    return nb::cast<std::optional<bool>>(scope_->attr("is_instance")(type.name(), name));
  }

 private:
  std::shared_ptr<nb::object> scope_;
};

// ---- definitions -----------------------------------------------------------------------------------------
// An error of the compiler is a script's error to who called weft.jit.script.
template <class F>
auto compiling(F&& f) {
  try {
    return f();
  } catch (const jit::ScriptError&) {
    throw;
  } catch (const Error& error) {
    throw jit::ScriptError(error.kind(), error.what());
  }
}

struct SourceText {
  std::string text, file;
  int first_line = 1, indent = 0;

  jit::SourcePtr source() const {
    auto result = std::make_shared<jit::Source>();
    result->text = text;
    result->file = file;
    result->first_line = first_line;
    result->indent = indent;
    return result;
  }
};

// The defaults are Python's values: their expressions may mean anything.
void set_defaults(jit::Schema& schema, const nb::dict& defaults) {
  for (jit::SchemaArgument& argument : schema.arguments) {
    const nb::str name(argument.name.c_str());
    if (!defaults.contains(name)) continue;
    const nb::object value = defaults[name];
    try {
      const bool repeats = argument.list_length > 0 && PyLong_Check(value.ptr());
      argument.default_value = repeats
                                   ? IValue(std::vector<int64_t>(static_cast<size_t>(argument.list_length),
                                                                 nb::cast<int64_t>(value)))
                               : value.is_none() && argument.type->is(jit::TypeKind::Tensor)
                                   ? IValue()  // as if it were Optional[Tensor]
                                   : to_ivalue(value, argument.type);
    } catch (const Error& error) {
      throw_error(error.kind(),
                  fmt::format("{}(): the default of '{}': {}", schema.name, argument.name, error.what()));
    }
  }
}

// `overload`: a declaration whose signature the function gets instead of its own.
ScriptFunction define_function(const std::string& qualified_name, const SourceText& source, nb::object scope,
                               const nb::dict& defaults, std::optional<ScriptType> self,
                               std::optional<SourceText> overload, bool is_method) {
  return compiling([&] {
    auto definition = std::make_shared<jit::FunctionDef>(jit::parse_function(source.source()));
    if (overload) {
      jit::FunctionDef declaration = jit::parse_function(overload->source());
      definition->parameters = std::move(declaration.parameters);
      definition->returns = std::move(declaration.returns);
    }
    for (jit::Parameter& parameter : definition->parameters) {
      if (defaults.contains(nb::str(parameter.name.c_str()))) parameter.default_value = nullptr;
    }
    const auto resolver = std::make_shared<PythonResolver>(std::move(scope));
    const jit::ClassTypePtr type = self ? class_of(*self) : nullptr;
    auto function = jit::make_function(*script_unit(), qualified_name, definition, resolver, type);
    set_defaults(function->impl().schema, defaults);
    if (!type)
      script_unit()->add_function(function);
    else if (is_method)
      type->add_method(function);
    return ScriptFunction{std::move(function), script_unit()};
  });
}

ScriptType define_class(const std::string& qualified_name, const SourceText& source, nb::object scope) {
  return compiling([&] {
    auto definition = std::make_shared<const jit::ClassDef>(jit::parse_class(source.source()));
    return ScriptType{jit::define_class(*script_unit(), qualified_name, definition,
                                        std::make_shared<PythonResolver>(std::move(scope)))};
  });
}

ScriptType define_module(const std::string& qualified_name) {
  auto type = jit::ClassType::create(qualified_name, true);
  script_unit()->add_type(type);
  return {std::move(type)};
}

jit::Module create_module(const ScriptType& type, const nb::dict& values) {
  const jit::ClassTypePtr class_type = class_of(type);
  auto object = std::make_shared<jit::Object>(jit::Object{class_type, {}});
  for (const jit::Attribute& attribute : class_type->attributes()) {
    try {
      object->slots.push_back(to_ivalue(nb::object(values[attribute.name.c_str()]), attribute.type));
    } catch (const Error& error) {
      throw jit::ScriptError(error.kind(), fmt::format("attribute '{}' of {}: {}", attribute.name,
                                                       class_type->name(), error.what()));
    }
  }
  return {std::move(object), script_unit()};
}

// parameters: (name, type), or (name, type, default).
size_t add_python_function(const std::string& name, nb::object callable, const nb::list& parameters,
                           const ScriptType& returned) {
  jit::Schema schema;
  schema.name = name;
  for (nb::handle parameter : parameters) {
    jit::SchemaArgument argument;
    argument.name = nb::cast<std::string>(nb::object(parameter[0]));
    argument.type = nb::cast<ScriptType&>(nb::object(parameter[1])).type;
    if (nb::len(parameter) > 2) argument.default_value = to_ivalue(nb::object(parameter[2]), argument.type);
    schema.arguments.push_back(std::move(argument));
  }
  schema.returns.push_back({"", returned.type});
  python_functions().push_back({std::move(callable), std::move(schema)});
  return python_functions().size() - 1;
}

}  // namespace

void bind_jit_script(nb::module_& m) {
  nb::class_<SourceText>(m, "Source")
      .def("__init__", [](SourceText* self, std::string text, std::string file, int first_line, int indent) {
        new (self) SourceText{std::move(text), std::move(file), first_line, indent};
      });
  m.def("unique_name", [](const std::string& name) { return script_unit()->unique_name(name); });
  m.def("find_type", [](const std::string& name) -> std::optional<ScriptType> {
    TypePtr type = script_unit()->find_type(name);
    if (!type) return std::nullopt;
    return ScriptType{std::move(type)};
  });
  m.def("add_type", [](const ScriptType& type) { script_unit()->add_type(type.type); });
  m.def("define_function", &define_function, nb::arg("qualified_name"), nb::arg("source"), nb::arg("scope"),
        nb::arg("defaults"), nb::arg("self").none(), nb::arg("overload").none(), nb::arg("is_method"));
  m.def("define_class", &define_class);
  m.def("define_module", &define_module);
  m.def("create_module", &create_module);
  m.def("add_python_function", &add_python_function);
  m.def("parse_type", [](const std::string& annotation, nb::object scope) {
    return compiling([&] {
      PythonResolver resolver(std::move(scope));
      return ScriptType{jit::parse_type(annotation, resolver)};
    });
  });
  m.def("has_builtin", [](const std::string& name) { return !jit::find_builtins(name).empty(); });
}

}  // namespace weft::python
