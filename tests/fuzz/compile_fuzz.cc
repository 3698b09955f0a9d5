// Any text given to TorchScript's compiler is refused with a place in it, or gives graphs that verify and
// print as text, and as source that the parser takes.
#include <memory>

#include "fuzz/support.h"
#include "ir/graph.h"
#include "script/archive/python_print.h"
#include "script/emit/emit.h"
#include "script/program/compilation_unit.h"
#include "script/syntax/parser.h"

namespace weft::fuzz {
namespace {

// Names of the input's own classes.
class InputResolver final : public jit::Resolver {
 public:
  explicit InputResolver(jit::CompilationUnit& unit) : unit_(unit) {}
  jit::SugaredPtr resolve_value(const std::string& name, const jit::Range& range) override {
    if (auto function = unit_.find_function(name))
      return std::make_shared<jit::FunctionSugar>(std::vector{std::move(function)});
    if (jit::TypePtr type = unit_.find_type(name)) return std::make_shared<jit::ClassSugar>(std::move(type));
    return jit::builtin_resolver()->resolve_value(name, range);
  }
  jit::TypePtr resolve_type(const std::string& name, const jit::Range&) override {
    return unit_.find_type(name);
  }

 private:
  jit::CompilationUnit& unit_;
};

void check_function(const jit::Function& function) {
  ir::verify(function.graph());
  function.graph().str();
  jit::SourceReferences references;
  const std::string text = jit::print_function(function, references);
  jit::parse_source(std::make_shared<const jit::Source>(jit::Source{text, "printed.py", 1, 0}));
}

void compile(std::string text) {
  const auto body = std::make_shared<jit::Body>(
      jit::parse_source(std::make_shared<const jit::Source>(jit::Source{std::move(text), "fuzz.py", 1, 0})));
  const auto unit = jit::CompilationUnit::create();
  const auto resolver = std::make_shared<InputResolver>(*unit);
  for (const jit::StmtPtr& statement : *body) {
    if (const auto* cls = statement->as<jit::Stmt::Class>())
      accepts([&] { jit::define_class(*unit, cls->definition.name, {body, &cls->definition}, resolver); });
    if (const auto* def = statement->as<jit::Stmt::Def>())
      accepts([&] { jit::define_function(*unit, def->function.name, {body, &def->function}, resolver); });
  }
  for (const auto& function : unit->functions()) accepts([&] { check_function(*function); });
  for (const jit::TypePtr& type : unit->types()) {
    if (!type->is(jit::TypeKind::Class)) continue;
    for (const auto& method : static_cast<const jit::ClassType&>(*type).methods())
      accepts([&] { check_function(*method); });
  }
}

}  // namespace
}  // namespace weft::fuzz

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (seed % 3 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string text(weft::fuzz::text_of(data, size));
  return weft::fuzz::give_back(weft::fuzz::mutated_source(text, seed, max_size), data, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weft::fuzz::accepts([&] { weft::fuzz::compile(std::string(weft::fuzz::text_of(data, size))); });
  return 0;
}
