// An archive's code/: definitions are read when they are first asked for.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/archive.h"
#include "script/emit/emit.h"
#include "script/program/compilation_unit.h"

namespace weft::jit {

class Importer final : public Definitions {
 public:
  // `read`: an entry's text ("code/__torch__.py"), nothing where there is no such entry.
  using ReadEntry = std::function<std::optional<std::string>(const std::string& entry)>;
  Importer(CompilationUnit& unit, int64_t version, std::vector<IValue> constants, ReadEntry read);

  TypePtr load_type(const std::string& qualified_name) override;
  std::shared_ptr<Function> load_function(const std::string& qualified_name) override;
  const IValue* find_constant(size_t index) const {
    return index < constants_.size() ? &constants_[index] : nullptr;
  }

 private:
  struct File {
    Body body;
    std::map<std::string, const Stmt*> definitions;
  };
  std::shared_ptr<const File> load_file(const std::string& package);
  const Stmt* find_definition(const std::string& qualified_name, std::shared_ptr<const File>& file);
  TypePtr define_whole(const std::string& qualified_name, std::shared_ptr<const ClassDef> definition);
  void define_module_or_class(const std::string& qualified_name, std::shared_ptr<const ClassDef> definition);
  using Names = std::vector<std::string>;
  void add_class_statement(const ClassTypePtr& type, const Stmt& statement, const Names& parameters,
                           const Names& buffers);

  CompilationUnit& unit_;  // owns this
  std::vector<IValue> constants_;
  ReadEntry read_;
  std::shared_ptr<Resolver> resolver_;
  std::map<std::string, std::shared_ptr<const File>> files_;
  static constexpr int kMaxDepth = 300;  // of classes whose definitions are being read
  int depth_ = 0;
  std::set<std::string>
      loading_;  // NamedTuples and enumerations, which are there only when they are complete
};

// A program whose definitions come from code/ of the archive.
std::shared_ptr<CompilationUnit> import_archive(std::shared_ptr<const ArchiveReader> archive,
                                                std::vector<IValue> constants);

}  // namespace weft::jit
