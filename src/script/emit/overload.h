// Which overload of an operator or function a call means, and the operands it is called with.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "script/emit/emitter.h"
#include "weft/jit/schema.h"

namespace weft::jit {

// Type variables of a schema: "t" to what it stands for in a call.
using Bindings = std::map<std::string, TypePtr>;
// Binds the variables of `formal` so that it fits `actual`; false with a reason if it cannot.
bool bind_variables(const TypePtr& formal, const TypePtr& actual, Bindings& bindings, std::string* reason);
// `type` with its variables replaced; unbound ones stay.
TypePtr substitute(const TypePtr& type, const Bindings& bindings);
bool has_variables(const TypePtr& type);

// A call that fits: one operand for each argument of the schema (and the further ones of a vararg schema).
struct SchemaMatch {
  std::vector<ir::Value*> inputs;
  std::vector<TypePtr> returns;
};

// The first of `schemas` that fits: without implicit conversions if there is one, with them otherwise.
// Nothing is added to the graph but for the one taken. TypeError listing each candidate and why it does not
// fit.
struct Overload {
  size_t index;
  SchemaMatch match;
};
Overload select_overload(Emitter& emitter, const std::string& name, const std::vector<const Schema*>& schemas,
                         const CallArguments& arguments, const Range& range);
// Is there one?
bool fits_any(Emitter& emitter, const std::vector<const Schema*>& schemas, const CallArguments& arguments);

}  // namespace weft::jit
