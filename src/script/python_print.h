// Graphs and classes as TorchScript source: what archives carry in code/, and what `.code` shows.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "weft/jit/module.h"

namespace weft::jit {

// Collects what printed source refers to.
struct SourceReferences {
  std::vector<Tensor> constants;                        // CONSTANTS.c0, …; a tensor occurs once
  std::vector<TypePtr> types;                           // classes, interfaces, enums, NamedTuples; each once
  std::vector<std::shared_ptr<Function>> functions;     // called by name; each once
  std::string constant_name(const Tensor& tensor);
  void note(const TypePtr& type);
  void note(const std::shared_ptr<Function>& function);
};

// "def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  …".
std::string print_function(const Function& function, SourceReferences& references, int indent = 0);
// "class M(Module): …" with its methods.
std::string print_type(const TypePtr& type, SourceReferences& references);
// A literal that gives the value: numbers, strings, None, devices, enums, lists and tuples of these.
std::string print_literal(const IValue& value, SourceReferences& references);

// Every file of code/ that `root` and what it refers to needs: "code/__torch__/a/b.py" to its text.
std::map<std::string, std::string> print_program(const TypePtr& root, SourceReferences& references);

}  // namespace weft::jit
