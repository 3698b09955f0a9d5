// Graphs and classes as TorchScript source: what archives carry in code/, and what `.code` shows.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "weft/jit/module.h"

namespace weft::jit {

// The operator by which a script calls Python (weft.jit.ignore): (int function, arguments…) [text: its name]
// -> T.
inline constexpr const char* kPythonCall = "python::call";

// Collects what printed source refers to. Different types, or functions, of one name get different names.
struct SourceReferences {
  std::vector<Tensor> constants;                     // CONSTANTS.c0, …; a tensor occurs once
  std::vector<TypePtr> types;                        // classes, interfaces, enums, NamedTuples; each once
  std::vector<std::shared_ptr<Function>> functions;  // called by name; each once
  std::vector<std::string> python_functions;         // what only Python can run: shown as ^name(…)
  std::string constant_name(const Tensor& tensor);
  void note(const TypePtr& type);
  void note(const std::shared_ptr<Function>& function);
  // The names under which they are printed; they are noted.
  std::string name(const Type& type);
  std::string name(const std::shared_ptr<Function>& function);
  std::string text(const TypePtr& type);  // "List[__torch__.M]"

 private:
  std::optional<size_t> find(const Type& type) const;
  std::string unused_name(const std::string& name);
  std::vector<std::string> type_names_, function_names_;  // of `types` and `functions`
  std::unordered_map<const Type*, size_t> positions_;
  std::set<std::string> taken_;
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
