// Fusion plans as text, and their rules.
#include <fmt/format.h>

#include <set>

#include "compiler/fuse.h"
#include "ir/symbols.h"
#include "weft/error.h"

namespace weft::compiler {
namespace {

std::string name_of(const ir::Value* value) {
  return value->name.empty() ? fmt::format("%{}", value->id) : "%" + value->name;
}

template <class Values>
std::string names_of(const Values& values) {
  std::string text;
  for (const ir::Value* value : values) text += (text.empty() ? "" : ", ") + name_of(value);
  return text;
}

}  // namespace

std::string str(const FusionPlan& plan) {
  std::string text;
  for (const FusionStep& step : plan.steps)
    text += step.node ? fmt::format("call {} -> {}\n", step.node->kind_name(), names_of(step.node->outputs))
                      : fmt::format("kernel {}\n", names_of(step.group.roots));
  for (const std::string& note : plan.notes) text += "  # " + note + "\n";
  return text;
}

void verify(const FusionPlan& plan) {
  std::set<const ir::Value*> computed;
  const auto compute = [&](const ir::Value* value) {
    WEFT_ASSERT(computed.insert(value).second, name_of(value) + " is computed by two steps");
  };
  for (const FusionStep& step : plan.steps) {
    if (step.node) {
      for (const ir::Value* value : step.node->outputs) compute(value);
      continue;
    }
    WEFT_ASSERT(!step.group.roots.empty(), "a kernel writes nothing");
    const SymShape& shape = step.group.roots[0]->tensor().shape;
    for (const ir::Value* value : step.group.roots) {
      compute(value);
      WEFT_ASSERT(ir::same_shape(value->tensor().shape, shape),
                  fmt::format("a kernel writes values of two shapes: {}", names_of(step.group.roots)));
    }
  }
}

}  // namespace weft::compiler
