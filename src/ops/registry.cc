#include "ops/registry.h"

#include <fmt/format.h>

#include <deque>

#include "ops/schema.h"

namespace weft::ops {
namespace {

struct Table {
  std::deque<OpDef> definitions;  // stable addresses
  std::map<std::string, const OpDef*, std::less<>> by_name;
  std::map<std::string, const OpDef*, std::less<>> canonical;
};

// Made on first use: family files register during static initialization, in any order. Never destroyed:
// traces are written with the operators' names as the process ends.
Table& table() {
  static Table& instance = *new Table;
  return instance;
}

}  // namespace

const Param* OpDef::find_param(std::string_view param) const {
  for (const Param& candidate : params) {
    if (candidate.name == param) return &candidate;
  }
  return nullptr;
}

const OpDef& register_op(OpDef def) {
  Schema schema = parse_schema(def.schema);
  def.params = std::move(schema.params);
  def.num_outputs = schema.num_outputs;
  OpDef& stored = table().definitions.emplace_back(std::move(def));
  table().canonical.emplace(stored.name, &stored);
  const auto add = [&](const std::string& name) {
    const bool added = table().by_name.emplace(name, &stored).second;
    WEFT_ASSERT(added, fmt::format("operator '{}' is defined twice", name));
  };
  add(stored.name);
  for (const std::string& alias : stored.aliases) add(alias);
  return stored;
}

const OpDef* find_op(std::string_view name) {
  const auto found = table().by_name.find(name);
  return found == table().by_name.end() ? nullptr : found->second;
}

const OpDef& get_op(std::string_view name) {
  const OpDef* op = find_op(name);
  WEFT_ASSERT(op != nullptr, fmt::format("no operator '{}'", name));
  return *op;
}

const std::map<std::string, const OpDef*, std::less<>>& all_ops() { return table().canonical; }

std::string str(DTypeSet set) {
  constexpr std::pair<DTypeSet, std::string_view> kGroups[] = {
      {kBool, "bool"}, {kIntegers, "integer"}, {kFloats, "floating"}, {kComplex, "complex"}};
  std::string result;
  for (const auto& [group, label] : kGroups) {
    if ((set & group) == 0) continue;
    if (!result.empty()) result += ", ";
    result += label;
  }
  return result;
}

}  // namespace weft::ops
