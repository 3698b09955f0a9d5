#include "script/builtins/builtin.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

#include "weft/error.h"

namespace weft::jit {
namespace {

// Schemas are parsed when their name is first looked up: there are many, and a program uses few.
struct Table {
  struct Overloads {
    std::vector<Builtin*> builtins;
    std::vector<const Builtin*> parsed;
  };
  std::deque<Builtin> all;
  std::map<std::string, Overloads, std::less<>> by_name;
  std::mutex mutex;  // programs add their own while others look for some
};

// Filled during static initialization, in whatever order.
Table& table() {
  static Table& instance = *new Table;
  return instance;
}

// A tensor may be converted to a number, so overloads on tensors are tried before those on numbers, and those
// that take anything come last, whichever file was first to register its own.
bool is_on_tensors(const Builtin* builtin) {
  const std::vector<SchemaArgument>& arguments = builtin->schema.arguments;
  return std::any_of(arguments.begin(), arguments.end(), [](const SchemaArgument& argument) {
    const Type& type = *argument.type;
    return type.is(TypeKind::Tensor) || (type.is(TypeKind::Optional) && type.element()->is(TypeKind::Tensor));
  });
}

bool takes_anything(const Builtin* builtin) {
  const std::vector<SchemaArgument>& arguments = builtin->schema.arguments;
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const SchemaArgument& argument) { return argument.type->is(TypeKind::Any); });
}

void parse(Table::Overloads& overloads) {
  if (overloads.parsed.size() == overloads.builtins.size()) return;
  overloads.parsed.clear();
  std::vector<const Builtin*> others, last;
  for (Builtin* builtin : overloads.builtins) {
    if (builtin->schema.name.empty()) builtin->schema = parse_schema(builtin->text);
    (is_on_tensors(builtin) ? overloads.parsed : takes_anything(builtin) ? last : others).push_back(builtin);
  }
  overloads.parsed.insert(overloads.parsed.end(), others.begin(), others.end());
  overloads.parsed.insert(overloads.parsed.end(), last.begin(), last.end());
}

}  // namespace

const Builtin& register_builtin(std::string_view text, BuiltinFn run, bool is_pure) {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  Builtin& added = t.all.emplace_back();
  added.text = text;
  const std::string_view full = text.substr(0, text.find('('));
  const size_t dot = full.find('.', full.find("::"));
  added.qualified = full.substr(0, dot);
  added.name = added.qualified;
  added.overload = dot == std::string_view::npos ? "" : full.substr(dot + 1);
  added.run = run;
  added.is_pure = is_pure && text.find("!)") == std::string_view::npos;
  std::vector<Builtin*>& overloads = t.by_name[added.qualified].builtins;
  for (const Builtin* other : overloads) {
    WEFT_ASSERT(other->overload != added.overload, fmt::format("builtin '{}' is registered twice", full));
  }
  overloads.push_back(&added);
  return added;
}

std::span<const Builtin* const> find_builtins(std::string_view name) {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  const auto found = t.by_name.find(name);
  if (found == t.by_name.end()) return {};
  parse(found->second);
  return found->second.parsed;
}

const Builtin* find_builtin(std::string_view full) {
  const size_t dot = full.find('.', full.find("::") + 2);
  const std::string_view overload = dot == std::string_view::npos ? "" : full.substr(dot + 1);
  for (const Builtin* builtin : find_builtins(full.substr(0, dot))) {
    if (builtin->overload == overload) return builtin;
  }
  return nullptr;
}

std::vector<std::string> all_builtin_names() {
  std::vector<std::string> names;
  const std::lock_guard lock(table().mutex);
  for (const auto& [name, overloads] : table().by_name) names.push_back(name);
  return names;
}

}  // namespace weft::jit
