#include <fmt/format.h>

#include "script/builtins/builtin.h"
#include "weft/error.h"
#include "weft/jit/operator.h"

namespace weft::jit {

void define_operator(const std::string& schema, OperatorFn function) {
  const Schema parsed = parse_schema(schema);
  const std::string full = parsed.name + (parsed.overload.empty() ? "" : "." + parsed.overload);
  const size_t space = parsed.name.find("::");
  WEFT_CHECK(space != std::string::npos && space > 0,
             fmt::format("define_operator: expected a name with a namespace, as \"mine::f\", got '{}'", parsed.name));
  WEFT_CHECK(!parsed.is_vararg, fmt::format("define_operator: {} takes any arguments", full));
  WEFT_CHECK(!find_builtin(full), fmt::format("define_operator: the operator {} is there already", full));
  // The table keeps the text.
  register_builtin(*new std::string(schema), function, false);
  find_builtin(full);  // has its schema from now on
}

}  // namespace weft::jit
