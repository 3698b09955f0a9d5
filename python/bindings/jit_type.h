// TorchScript's types in Python.
#pragma once

#include "bindings.h"
#include "weft/jit/type.h"

namespace weft::python {

// weft._C._jit.Type
struct ScriptType {
  jit::TypePtr type;
};

// The class behind a ScriptType; TypeError for any other type.
jit::ClassTypePtr class_of(const ScriptType& type);

void bind_jit_types(nb::module_& m);
void bind_jit_script(nb::module_& m);

}  // namespace weft::python
