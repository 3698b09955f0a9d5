// The order in which overloads are tried is no matter of which file was linked first.
#include <gtest/gtest.h>

#include <algorithm>

#include "script/builtins/builtin.h"

namespace weft::jit {
namespace {

bool takes_tensor(const Builtin& builtin) {
  const auto& arguments = builtin.schema.arguments;
  return std::any_of(arguments.begin(), arguments.end(), [](const SchemaArgument& argument) {
    return argument.type->str() == "Tensor" || argument.type->str() == "Optional[Tensor]";
  });
}

TEST(Overloads, OnTensorsAreTriedFirst) {
  size_t mixed = 0;
  for (const std::string& name : all_builtin_names()) {
    const auto overloads = find_builtins(name);
    const auto first_other =
        std::find_if(overloads.begin(), overloads.end(), [](const Builtin* b) { return !takes_tensor(*b); });
    for (auto later = first_other; later != overloads.end(); ++later)
      EXPECT_FALSE(takes_tensor(**later)) << name << "." << (*later)->overload;
    mixed += first_other != overloads.begin() && first_other != overloads.end();
  }
  EXPECT_GT(mixed, 20u);  // eq, add, …
}

}  // namespace
}  // namespace weft::jit
