// Builtins that are not tensor operators, called by their schemas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "script/builtin.h"
#include "weft/error.h"
#include "weft/jit.h"

namespace weft::jit {
namespace {

TEST(Builtins, EverySchemaParsesAndPrintsAsItParses) {
  for (const std::string& name : all_builtin_names()) {
    for (const Builtin* builtin : find_builtins(name)) {
      EXPECT_EQ(builtin->schema.name, name);
      EXPECT_NO_THROW(parse_schema(builtin->schema.str())) << builtin->schema.str();
    }
  }
}

}  // namespace
}  // namespace weft::jit
