// Values that can be called, and those that change while a template runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/jinja/tree.h"
#include "models/jinja/value.h"

namespace weft::models::jinja {

class Evaluator;

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// `self` is what it is a method of.
using NativeFunction = Value (*)(Evaluator&, const Value& self, Arguments&);

struct Function : Object {
  Function(const char* of_name, Value of, NativeFunction function)
      : name(of_name), self(of), call(function) {}
  const char* name;
  Value self;
  NativeFunction call;
};

struct Scope : Object {
  explicit Scope(Scope* outside) : outer(outside) {}
  Scope* outer;
  std::vector<std::pair<int, Value>> variables;
  const Value* find(int name) const {
    for (const auto& [other, value] : variables)
      if (other == name) return &value;
    return nullptr;
  }
  void set(int name, const Value& value) {
    for (auto& [other, old] : variables)
      if (other == name) {
        old = value;
        return;
      }
    variables.emplace_back(name, value);
  }
};

struct Macro : Object {
  Macro(const MacroTree* of, Scope* in) : tree(of), scope(in) {}
  const MacroTree* tree;
  Scope* scope;  // where it was defined
  const std::string& name() const { return tree->name; }
};

struct Loop : Object {
  std::vector<Value> items;
  int64_t index0 = 0, depth0 = 0;
  const Statement* statement = nullptr;
  Scope* scope = nullptr;  // around the loop
  std::vector<Value> last_changed;
  bool has_changed = false;
};

struct Cycler : Object {
  std::vector<Value> items;
  size_t position = 0;
};

struct Joiner : Object {
  Value separator;
  bool is_used = false;
};

}  // namespace weft::models::jinja
