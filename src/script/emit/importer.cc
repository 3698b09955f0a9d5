#include "script/emit/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/printable.h"
#include "script/builtins/quantized/packed_classes.h"
#include "script/emit/class_definition.h"
#include "script/emit/emitter.h"
#include "script/syntax/parser.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

// CONSTANTS.c3
class ConstantsSugar final : public SugaredValue {
 public:
  using Find = std::function<const IValue*(size_t)>;
  explicit ConstantsSugar(Find find) : find_(std::move(find)) {}
  std::string kind() const override { return "CONSTANTS"; }
  SugaredPtr attribute(Emitter&, const Range& range, const std::string& name) override {
    return constant_attribute(range, name);
  }
  SugaredPtr constant_attribute(const Range& range, const std::string& name) override {
    size_t index = 0;
    const char* const end = name.data() + name.size();
    const bool is_index =
        name.size() > 1 && name[0] == 'c' && std::from_chars(name.data() + 1, end, index).ptr == end;
    const IValue* constant = is_index ? find_(index) : nullptr;
    if (!constant) syntax_error(range, fmt::format("the archive has no constant '{}'", name));
    return std::make_shared<ConstantSugar>(*constant);
  }

 private:
  Find find_;
};

// "__torch__.torch.nn.functional": the beginning of a name, or all of it.
class QualifiedSugar final : public SugaredValue {
 public:
  QualifiedSugar(CompilationUnit& unit, std::string path) : unit_(unit), path_(std::move(path)) {}
  std::string kind() const override { return fmt::format("module '{}'", path_); }
  SugaredPtr attribute(Emitter&, const Range&, const std::string& name) override {
    std::string path = path_ + "." + name;
    if (auto function = unit_.find_function(path))
      return std::make_shared<FunctionSugar>(std::vector{std::move(function)});
    if (TypePtr type = unit_.find_type(path)) return std::make_shared<ClassSugar>(std::move(type));
    return std::make_shared<QualifiedSugar>(unit_, std::move(path));
  }
  // In a default: __torch__.Color.RED.
  SugaredPtr constant_attribute(const Range&, const std::string& name) override {
    std::string path = path_ + "." + name;
    if (TypePtr type = unit_.find_type(path)) return std::make_shared<ClassSugar>(std::move(type));
    return std::make_shared<QualifiedSugar>(unit_, std::move(path));
  }

 private:
  CompilationUnit& unit_;
  std::string path_;
};

class ArchiveResolver final : public Resolver {
 public:
  ArchiveResolver(CompilationUnit& unit, int64_t version, ConstantsSugar::Find constants)
      : unit_(unit), version_(version), constants_(std::move(constants)) {}

  SugaredPtr resolve_value(const std::string& name, const Range&) override {
    if (name == "CONSTANTS") return std::make_shared<ConstantsSugar>(constants_);
    if (name == "__torch__") return std::make_shared<QualifiedSugar>(unit_, name);
    return nullptr;
  }
  TypePtr resolve_type(const std::string& name, const Range& range) override {
    if (!name.starts_with("__torch__.")) return nullptr;
    TypePtr type = unit_.find_type(name);
    if (!type) type_error(range, fmt::format("the archive has no class '{}'", name));
    return type;
  }
  bool defers_unknown_operators() const override { return true; }
  int64_t version() const override { return version_; }

 private:
  CompilationUnit& unit_;
  const int64_t version_;
  ConstantsSugar::Find constants_;
};

bool is_assignment_to(const Stmt& statement, std::string_view name) {
  const auto* assign = statement.as<Stmt::Assign>();
  const auto* target = assign ? assign->targets[0]->as<Expr::Name>() : nullptr;
  return target && target->id == name && assign->value;
}

std::vector<std::string> string_list(const ClassDef& definition, std::string_view name) {
  std::vector<std::string> result;
  for (const StmtPtr& statement : definition.body) {
    if (!is_assignment_to(*statement, name)) continue;
    const auto* list = statement->as<Stmt::Assign>()->value->as<Expr::List>();
    if (!list) syntax_error(statement->range, fmt::format("{} must be a list of names", name));
    for (const ExprPtr& element : list->elements) {
      const auto* literal = element->as<Expr::Constant>();
      if (!literal || !std::holds_alternative<std::string>(literal->value))
        syntax_error(element->range, fmt::format("{} must be a list of names", name));
      result.push_back(std::get<std::string>(literal->value));
    }
  }
  return result;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_final(const Expr& annotation) {
  const auto* subscript = annotation.as<Expr::Subscript>();
  return subscript && last_name(*subscript->object) == "Final";
}

}  // namespace

Importer::Importer(CompilationUnit& unit, int64_t version, std::vector<IValue> constants, ReadEntry read)
    : unit_(unit),
      constants_(std::move(constants)),
      read_(std::move(read)),
      resolver_(std::make_shared<ArchiveResolver>(unit, version,
                                                  [this](size_t index) { return find_constant(index); })) {}

std::shared_ptr<const Importer::File> Importer::load_file(const std::string& package) {
  const auto found = files_.find(package);
  if (found != files_.end()) return found->second;
  std::string path = package;
  std::replace(path.begin(), path.end(), '.', '/');
  const std::string entry = "code/" + path + ".py";
  std::shared_ptr<File> file;
  if (auto text = read_(entry)) {
    WEFT_CHECK(
        is_utf8(*text),
        fmt::format("entry '{}': expected a program's text, got bytes that are not UTF-8", printable(entry)));
    auto source = std::make_shared<Source>();
    source->text = std::move(*text);
    source->file = entry;
    file = std::make_shared<File>();
    file->body = parse_source(std::move(source));
    for (const StmtPtr& statement : file->body) {
      if (const auto* def = statement->as<Stmt::Def>())
        file->definitions[def->function.name] = statement.get();
      if (const auto* cls = statement->as<Stmt::Class>())
        file->definitions[cls->definition.name] = statement.get();
    }
  }
  files_[package] = file;
  return file;
}

const Stmt* Importer::find_definition(const std::string& qualified_name, std::shared_ptr<const File>& file) {
  const size_t dot = qualified_name.rfind('.');
  if (dot == std::string::npos) return nullptr;
  file = load_file(qualified_name.substr(0, dot));
  if (!file) return nullptr;
  const auto found = file->definitions.find(qualified_name.substr(dot + 1));
  return found == file->definitions.end() ? nullptr : found->second;
}

std::shared_ptr<Function> Importer::load_function(const std::string& qualified_name) {
  std::shared_ptr<const File> file;
  const Stmt* statement = find_definition(qualified_name, file);
  const auto* def = statement ? statement->as<Stmt::Def>() : nullptr;
  if (!def) return nullptr;
  return define_function(unit_, qualified_name, std::shared_ptr<const FunctionDef>(file, &def->function),
                         resolver_);
}

TypePtr Importer::load_type(const std::string& qualified_name) {
  if (qualified_name.starts_with(packed::kPrefix)) return packed::find_class(qualified_name);
  std::shared_ptr<const File> file;
  const Stmt* statement = find_definition(qualified_name, file);
  const auto* cls = statement ? statement->as<Stmt::Class>() : nullptr;
  if (!cls) return nullptr;
  const std::shared_ptr<const ClassDef> definition(file, &cls->definition);
  if (depth_ >= kMaxDepth)
    syntax_error(definition->range, fmt::format("classes name one another more than {} deep", kMaxDepth));
  struct Deeper {
    int& depth;
    explicit Deeper(int& d) : depth(d) { ++depth; }
    ~Deeper() { --depth; }
  } const deeper(depth_);
  for (const char* base : {"NamedTuple", "Enum", "Interface", "ModuleInterface"}) {
    if (has_base(*definition, base)) return define_whole(qualified_name, definition);
  }
  define_module_or_class(qualified_name, definition);
  return unit_.find_type(qualified_name);
}

TypePtr Importer::define_whole(const std::string& qualified_name,
                               std::shared_ptr<const ClassDef> definition) {
  if (!loading_.insert(qualified_name).second)
    syntax_error(definition->range, fmt::format("'{}' contains itself", qualified_name));
  struct Loaded {
    std::set<std::string>& names;
    const std::string& name;
    ~Loaded() { names.erase(name); }
  } const loaded{loading_, qualified_name};
  return define_class(unit_, qualified_name, std::move(definition), resolver_);
}

// ---- classes of objects ----------------------------------------------------------------------------------
void Importer::define_module_or_class(const std::string& qualified_name,
                                      std::shared_ptr<const ClassDef> definition) {
  const ClassTypePtr type = ClassType::create(qualified_name, has_base(*definition, "Module"));
  unit_.add_type(type);  // before its members: they may name it
  const std::vector<std::string> parameters = string_list(*definition, "__parameters__"),
                                 buffers = string_list(*definition, "__buffers__");
  for (const StmtPtr& statement : definition->body) {
    if (statement->as<Stmt::Assign>()) add_class_statement(type, *statement, parameters, buffers);
  }
  for (const StmtPtr& statement : definition->body) {
    const auto* method = statement->as<Stmt::Def>();
    if (!method) continue;
    define_function(unit_, qualified_name + "." + method->function.name,
                    std::shared_ptr<const FunctionDef>(definition, &method->function), resolver_, type);
  }
  const auto add_hooks = [&](std::string_view list, std::vector<std::shared_ptr<Function>>& hooks) {
    for (const std::string& name : string_list(*definition, list)) {
      if (auto hook = type->find_method(name)) hooks.push_back(std::move(hook));
    }
  };
  add_hooks("__forward_hooks__", type->forward_hooks);
  add_hooks("__forward_pre_hooks__", type->forward_pre_hooks);
}

// "x : T", "x : Final[T] = value" and "__annotations__["0"] = T".
void Importer::add_class_statement(const ClassTypePtr& type, const Stmt& statement, const Names& parameters,
                                   const Names& buffers) {
  const auto add_attribute = [&](const std::string& name, TypePtr attribute_type) {
    type->add_attribute({.name = name,
                         .type = std::move(attribute_type),
                         .is_parameter = contains(parameters, name),
                         .is_buffer = contains(buffers, name)});
  };
  const auto& assign = *statement.as<Stmt::Assign>();
  const Expr& target = *assign.targets[0];
  if (const auto* subscript = target.as<Expr::Subscript>()) {
    const auto* key = subscript->indices.size() == 1 ? subscript->indices[0]->as<Expr::Constant>() : nullptr;
    if (last_name(*subscript->object) != "__annotations__" || !assign.value || !key ||
        !std::holds_alternative<std::string>(key->value)) {
      syntax_error(statement.range, "unknown statement in a class");
    }
    const std::string& name = std::get<std::string>(key->value);
    const auto* constant = assign.value->as<Expr::Subscript>();
    add_attribute(
        name,
        parse_type(constant && is_final(*assign.value) ? *constant->indices[0] : *assign.value, *resolver_));
    return;
  }
  const auto* name = target.as<Expr::Name>();
  if (!name || !assign.annotation) return;  // __parameters__ and the like
  const TypePtr annotated = parse_type(*assign.annotation, *resolver_);
  if (is_final(*assign.annotation) && assign.value)
    type->add_constant(name->id, evaluate_constant(*assign.value, annotated, *resolver_));
  else
    add_attribute(name->id, annotated);
}

std::shared_ptr<CompilationUnit> import_archive(std::shared_ptr<const ArchiveReader> archive,
                                                std::vector<IValue> constants) {
  const auto read = [archive](const std::string& entry) -> std::optional<std::string> {
    if (!archive->has(entry)) return std::nullopt;
    return archive->read(entry);
  };
  return CompilationUnit::create([&](CompilationUnit& unit) {
    return std::make_unique<Importer>(unit, archive->version(), std::move(constants), read);
  });
}

}  // namespace weft::jit
