// The functions and classes of one program: an archive's code/, or what weft.jit.script made. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "weft/jit/module.h"

namespace weft::jit {

// What a program may be asked for: by qualified name, null when there is none. Adds it to the program.
class Definitions {
 public:
  virtual ~Definitions() = default;
  virtual TypePtr load_type(const std::string& qualified_name) = 0;
  virtual std::shared_ptr<Function> load_function(const std::string& qualified_name) = 0;
};

class CompilationUnit : public std::enable_shared_from_this<CompilationUnit> {
 public:
  static std::shared_ptr<CompilationUnit> create();
  // Classes lose their methods, recursive functions their graphs, and attributes their types where these lead
  // back to their class: all refer to themselves. A function that runs keeps its program.
  ~CompilationUnit();
  // Types and functions that it does not have come from `make_definitions(unit)`, which the unit owns.
  using MakeDefinitions = std::function<std::unique_ptr<Definitions>(CompilationUnit& unit)>;
  static std::shared_ptr<CompilationUnit> create(const MakeDefinitions& make_definitions);

  // By qualified name; defined when it is first asked for; null when there is none.
  TypePtr find_type(const std::string& qualified_name);  // class, interface, enum or NamedTuple
  std::shared_ptr<Function> find_function(const std::string& qualified_name);

  void add_type(TypePtr type);
  void add_function(std::shared_ptr<Function> function);
  // `name`, or with "___torch_mangle_N" put in if it is taken.
  std::string unique_name(const std::string& name);
  // A program whose functions this one's call: it goes when this one does.
  void keep(std::shared_ptr<const CompilationUnit> other);
  std::vector<TypePtr> types() const;
  std::vector<std::shared_ptr<Function>> functions() const;

 private:
  CompilationUnit() = default;
  std::unique_ptr<Definitions> definitions_;
  mutable std::recursive_mutex mutex_;
  std::map<std::string, TypePtr> types_;
  std::map<std::string, std::shared_ptr<Function>> functions_;
  std::vector<std::shared_ptr<const CompilationUnit>> kept_;
};

}  // namespace weft::jit
