// Functions and futures of TorchScript, and calls of them.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "graph_nodes.h"
#include "io/arguments.h"
#include "jit.h"
#include "op_arguments.h"
#include "runtime/interop.h"
#include "script/archive/python_print.h"
#include "script/optimize/graph_passes.h"
#include "script/program/function.h"
#include "script/run/interpreter.h"
#include "weft/error.h"
#include "weft/npz.h"

namespace weft::python {
namespace {

std::shared_ptr<jit::CompilationUnit>& current_unit() {
  thread_local std::shared_ptr<jit::CompilationUnit> unit;
  return unit;
}

nb::object wrap(const char* wrapper, nb::object value) {
  return nb::module_::import_("weft.jit._module").attr(wrapper)(std::move(value));
}

nb::object enum_member(const jit::EnumValue& value) {
  const auto& type = static_cast<const jit::EnumType&>(*value.type);
  nb::list names, values;
  for (const auto& [name, member] : type.members()) {
    names.append(nb::str(name.c_str()));
    values.append(to_python(member));
  }
  return nb::module_::import_("weft.jit._values")
      .attr("enum_class")(type.name().c_str(), names, values)
      .attr(value.name.c_str());
}

// `position` of the call's arguments, or a keyword's.
IValue argument_value(const jit::Schema& schema, const jit::SchemaArgument* argument, nb::handle object) {
  if (!argument) return to_ivalue(object, nullptr);
  try {
    if (argument->list_length > 0 && PyLong_Check(object.ptr()))
      return to_ivalue(object, jit::Type::integer());
    return to_ivalue(object, argument->type);
  } catch (const Error& error) {
    throw_error(error.kind(),
                fmt::format("{}(): argument '{}': {}", schema.name, argument->name, error.what()));
  }
}

nb::object call_function(const ScriptFunction& self, const nb::args& args, const nb::kwargs& kwargs) {
  ScriptArguments arguments = script_arguments(self.function->schema(), 0, args, kwargs);
  return run_script(self.unit,
                    [&] { return (*self.function)(std::move(arguments.positional), arguments.keywords); });
}

std::string inlined_graph(const jit::Function& function) {
  const std::unique_ptr<ir::Graph> graph = function.graph().clone();
  jit::inline_calls(*graph);
  return graph->str();
}

std::string code_of(const jit::Function& function) {
  jit::SourceReferences references;
  return jit::print_function(function, references);
}

// Errors of the compiler are a script's.
void compile(const ScriptFunction& self) {
  try {
    self.function->graph();
  } catch (const jit::ScriptError&) {
    throw;
  } catch (const Error& error) {
    throw jit::ScriptError(error.kind(), error.what());
  }
}

// ---- fork ------------------------------------------------------------------------------------------------
ScriptFuture launch(std::shared_ptr<jit::CompilationUnit> unit, const jit::TypePtr& type,
                    std::function<IValue()> task) {
  auto future = std::make_shared<jit::Future>(type);
  runtime::interop_launch([future, task = std::move(task)] {
    try {
      future->set_value(task());
    } catch (...) {
      future->set_error(std::current_exception());
    }
  });
  return {std::move(future), std::move(unit)};
}

ScriptFuture fork_function(const ScriptFunction& self, const nb::args& args, const nb::kwargs& kwargs) {
  ScriptArguments arguments = script_arguments(self.function->schema(), 0, args, kwargs);
  const GilRelease no_gil;
  const jit::TypePtr type = self.function->schema().return_type();
  return launch(self.unit, type, [function = self.function, arguments = std::move(arguments)] {
    return (*function)(arguments.positional, arguments.keywords);
  });
}

ScriptFuture fork_method(const jit::Module& self, const std::string& method, const nb::args& args,
                         const nb::kwargs& kwargs) {
  const std::shared_ptr<jit::Function> function = self.method(method);
  ScriptArguments arguments = script_arguments(function->schema(), 1, args, kwargs);
  const GilRelease no_gil;
  return launch(
      self.unit(), function->schema().return_type(), [self, method, arguments = std::move(arguments)] {
        return method == "forward" ? self.forward(arguments.positional, arguments.keywords)
                                   : self.run_method(method, arguments.positional, arguments.keywords);
      });
}

// ---- futures ---------------------------------------------------------------------------------------------
// Python's callbacks are called on the thread that finishes the future.
void add_callback(const ScriptFuture& self, nb::object callback) {
  const auto shared = std::shared_ptr<nb::object>(new nb::object(std::move(callback)),
                                                  [](nb::object* held) { with_gil([&] { delete held; }); });
  const GilRelease no_gil;
  self.future->then([shared](jit::Future&) {
    with_gil([&] {
      const nb::object result = nb::steal(calling_python([&] { return PyObject_CallNoArgs(shared->ptr()); }));
      if (!result) PyErr_WriteUnraisable(shared->ptr());
    });
  });
}

void bind_functions(nb::module_& m) {
  nb::class_<ScriptFunction>(m, "Function")
      .def("__call__", &call_function)
      .def("fork", &fork_function)
      .def_prop_ro("name", [](const ScriptFunction& self) { return self.function->name(); })
      .def_prop_ro("qualified_name",
                   [](const ScriptFunction& self) { return self.function->qualified_name(); })
      .def_prop_ro("schema", [](const ScriptFunction& self) { return self.function->schema().str(); })
      .def_prop_ro("code", [](const ScriptFunction& self) { return code_of(*self.function); })
      .def_prop_ro("graph", [](const ScriptFunction& self) { return self.function->graph().str(); })
      .def("arguments_of_npz",
           [](const ScriptFunction& self, const std::string& path) {
             nb::dict result;
             for (const auto& [name, value] : io::arguments_of_arrays(self.function->schema(), load_npz(path)))
               result[nb::str(name.c_str())] = to_python(value);
             return result;
           })
      .def("inlined_nodes", [](const ScriptFunction& self) { return inlined_to_python(*self.function); })
      .def_prop_ro("inlined_graph", [](const ScriptFunction& self) { return inlined_graph(*self.function); })
      .def("check_arguments",
           [](const ScriptFunction& self, const nb::args& args, const nb::kwargs& kwargs) {
             ScriptArguments arguments = script_arguments(self.function->schema(), 0, args, kwargs);
             jit::bind_arguments(self.function->schema(), std::move(arguments.positional),
                                 std::move(arguments.keywords));
           })
      .def("compile", &compile);
}

void bind_futures(nb::module_& m) {
  nb::class_<ScriptFuture>(m, "Future")
      .def("__init__",
           [](ScriptFuture* self) {
             new (self) ScriptFuture{std::make_shared<jit::Future>(jit::Type::any()), nullptr};
           })
      .def("done", [](const ScriptFuture& self) { return self.future->done(); })
      .def(
          "wait",
          [](const ScriptFuture& self) { return run_script(self.unit, [&] { return self.future->wait(); }); })
      .def("set_none",
           [](const ScriptFuture& self) {
             const GilRelease no_gil;
             self.future->set_value(IValue());
           })
      .def("add_callback", &add_callback);
}

}  // namespace

UnitScope::UnitScope(std::shared_ptr<jit::CompilationUnit> unit) : outer_(std::move(current_unit())) {
  current_unit() = std::move(unit);
}
UnitScope::~UnitScope() { current_unit() = std::move(outer_); }
std::shared_ptr<jit::CompilationUnit> UnitScope::current() { return current_unit(); }

nb::object script_to_python(const IValue& value) {
  const std::shared_ptr<jit::CompilationUnit> unit = UnitScope::current();
  switch (value.tag()) {
    case IValue::Tag::Object: return wrap("wrap_object", nb::cast(jit::Module(value.to_object(), unit)));
    case IValue::Tag::Enum: return enum_member(*value.to_enum());
    case IValue::Tag::Future: return wrap("wrap_future", nb::cast(ScriptFuture{value.to_future(), unit}));
    case IValue::Tag::Function:
      return wrap("wrap_function", nb::cast(ScriptFunction{value.to_function()->function, unit}));
    default: throw_error(ErrorKind::Internal, "script_to_python: a value of another kind");
  }
}

std::optional<IValue> script_value_of_python(nb::handle object) {
  if (!PyObject_HasAttrString(object.ptr(), "_c")) return std::nullopt;
  const nb::object held = nb::borrow<nb::object>(object.attr("_c"));
  if (nb::isinstance<jit::Module>(held)) return IValue(nb::cast<jit::Module&>(held).object());
  if (nb::isinstance<ScriptFuture>(held)) return IValue(nb::cast<ScriptFuture&>(held).future);
  if (nb::isinstance<ScriptFunction>(held)) {
    return IValue(
        std::make_shared<jit::FunctionValue>(jit::FunctionValue{nb::cast<ScriptFunction&>(held).function}));
  }
  return std::nullopt;
}

std::optional<IValue> script_object_of_python(nb::handle object, const jit::TypePtr& type) {
  if (!type->is(jit::TypeKind::Class)) return std::nullopt;
  const nb::object classes = nb::module_::import_("weft.jit._values").attr("python_classes");
  if (!classes.attr("get")(type->name()).is(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())))))
    return std::nullopt;
  const auto class_type = std::static_pointer_cast<jit::ClassType>(std::const_pointer_cast<jit::Type>(type));
  auto result = std::make_shared<jit::Object>(jit::Object{class_type, {}});
  for (const jit::Attribute& attribute : class_type->attributes()) {
    result->slots.push_back(to_ivalue(nb::object(object.attr(attribute.name.c_str())), attribute.type));
  }
  return IValue(std::move(result));
}

ScriptArguments script_arguments(const jit::Schema& schema, size_t skipped, const nb::args& args,
                                 const nb::kwargs& kwargs) {
  ScriptArguments result;
  result.positional.reserve(args.size() + skipped);
  for (size_t i = 0; i < args.size(); ++i) {
    const size_t at = i + skipped;
    result.positional.push_back(
        argument_value(schema, at < schema.arguments.size() ? &schema.arguments[at] : nullptr, args[i]));
  }
  for (const auto& [key, object] : kwargs) {
    std::string name(text_view(key));
    IValue value = argument_value(schema, schema.find(name), object);
    result.keywords.emplace_back(std::move(name), std::move(value));
  }
  return result;
}

void raise_script_error(const Error& error) {
  nb::object type;
  try {
    type = nb::module_::import_("weft.jit._values")
               .attr("error_class")(nb::handle(exception_type(error.kind())));
  } catch (nb::python_error& failure) {
    failure.discard_as_unraisable("weft.jit.Error");
    type = nb::borrow<nb::object>(exception_type(error.kind()));
  }
  set_error(type.ptr(), error.what());
}

void bind_jit_values(nb::module_& m) {
  bind_functions(m);
  bind_futures(m);
  m.def("fork_method", &fork_method);
}

}  // namespace weft::python
