#include "ops/effects.h"

#include <map>

namespace weft::ops {
namespace {

std::map<const OpDef*, std::vector<size_t>>& table() {
  static std::map<const OpDef*, std::vector<size_t>> writes;
  return writes;
}

}  // namespace

void declare_writes(const OpDef& op, std::vector<size_t> operands) { table()[&op] = std::move(operands); }

std::span<const size_t> written_operands(const OpDef& op) {
  const auto found = table().find(&op);
  return found == table().end() ? std::span<const size_t>() : std::span<const size_t>(found->second);
}

}  // namespace weft::ops
