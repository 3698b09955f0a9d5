#include "ops/effects.h"

#include <map>
#include <set>

namespace weft::ops {
namespace {

std::map<const OpDef*, std::vector<size_t>>& table() {
  static auto& writes = *new std::map<const OpDef*, std::vector<size_t>>;
  return writes;
}

std::set<const OpDef*>& drawing() {
  static auto& operators = *new std::set<const OpDef*>;
  return operators;
}

}  // namespace

void declare_writes(const OpDef& op, std::vector<size_t> operands) { table()[&op] = std::move(operands); }

void declare_draws(const OpDef& op) { drawing().insert(&op); }
bool draws(const OpDef& op) { return drawing().count(&op) > 0; }

std::span<const size_t> written_operands(const OpDef& op) {
  const auto found = table().find(&op);
  return found == table().end() ? std::span<const size_t>() : std::span<const size_t>(found->second);
}

}  // namespace weft::ops
