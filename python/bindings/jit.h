// TorchScript's modules, functions, objects and futures in Python: weft._C._jit, which the package weft.jit
// wraps.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/profiling.h"
#include "ivalue.h"
#include "weft/error.h"
#include "weft/jit/module.h"

namespace weft::python {

// A function with what it needs to be compiled.
struct ScriptFunction {
  std::shared_ptr<jit::Function> function;
  std::shared_ptr<jit::CompilationUnit> unit;
};

struct ScriptFuture {
  std::shared_ptr<jit::Future> future;
  std::shared_ptr<jit::CompilationUnit> unit;
};

// While it lives, objects and functions that this thread hands to Python keep `unit`, the program they belong
// to.
class UnitScope {
 public:
  explicit UnitScope(std::shared_ptr<jit::CompilationUnit> unit);
  ~UnitScope();
  UnitScope(const UnitScope&) = delete;
  UnitScope& operator=(const UnitScope&) = delete;
  static std::shared_ptr<jit::CompilationUnit> current();

 private:
  std::shared_ptr<jit::CompilationUnit> outer_;
};

// An object, an enumeration's member, a future or a function of TorchScript as weft.jit shows it.
nb::object script_to_python(const IValue& value);
// The value behind an object of weft.jit; nullopt for any other object.
std::optional<IValue> script_value_of_python(nb::handle object);
// An object of a Python class that weft.jit.script has compiled to `type`, as one of TorchScript: its
// attributes are converted. nullopt for any other object.
std::optional<IValue> script_object_of_python(nb::handle object, const jit::TypePtr& type);

// The arguments of a call, after the first `skipped` of the schema, by the schema's types; those that it does
// not know by their own. TypeError naming function and argument.
struct ScriptArguments {
  std::vector<IValue> positional;
  jit::Keywords keywords;
};
ScriptArguments script_arguments(const jit::Schema& schema, size_t skipped, const nb::args& args,
                                 const nb::kwargs& kwargs);

// Runs `f` without the interpreter's lock; its value as a Python object.
template <class F>
nb::object run_script(std::shared_ptr<jit::CompilationUnit> unit, F&& f) {
  IValue result;
  {
    if (profiling::is_on(profiling::kStacks))
      profiling::remember_stack();  // it cannot be read without the lock
    const ComputeRelease no_gil;
    result = f();
  }
  const UnitScope scope(std::move(unit));
  return to_python(result);
}

// Sets Python's error: weft.jit.Error, which is also of the Python type that the error's kind stands for.
void raise_script_error(const Error& error);

void bind_jit(nb::module_& m);
void bind_jit_values(nb::module_& m);
void bind_jit_module(nb::module_& m);
void bind_custom_operators(nb::module_& m);
void bind_exported(nb::module_& m);

}  // namespace weft::python
