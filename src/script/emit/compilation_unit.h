// The functions and classes of one program: an archive's code/, or what weft.jit.script made. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "io/archive.h"
#include "script/syntax/tree.h"
#include "weft/jit/module.h"

namespace weft::jit {

class CompilationUnit : public std::enable_shared_from_this<CompilationUnit> {
 public:
  static std::shared_ptr<CompilationUnit> create();
  // Classes lose their methods, recursive functions their graphs, and attributes their types where these lead
  // back to their class: all refer to themselves. A function that runs keeps its program.
  ~CompilationUnit();
  // Definitions come from code/ of the archive, on demand.
  static std::shared_ptr<CompilationUnit> from_archive(std::shared_ptr<const ArchiveReader> archive,
                                                       std::vector<IValue> constants);

  // By qualified name; reads the archive's source when it is first asked for; null when there is none.
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
  struct Importer;
  std::shared_ptr<Importer> importer_;
  mutable std::recursive_mutex mutex_;
  std::map<std::string, TypePtr> types_;
  std::map<std::string, std::shared_ptr<Function>> functions_;
  std::vector<std::shared_ptr<const CompilationUnit>> kept_;
};

}  // namespace weft::jit
