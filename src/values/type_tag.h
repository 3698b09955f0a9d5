// Types as pickles write them, "Dict[str, List[int]]", and values made to be of them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "weft/ivalue.h"

namespace weft::jit {

using FindType = std::function<TypePtr(const std::string& qualified_name)>;

// ValueError for text that is no type, or names a class that `find_type` (may be unset) does not have.
TypePtr parse_type_tag(std::string_view text, const FindType& find_type);

// Makes lists and dictionaries that have no element types yet (Any), and plain tuples where a NamedTuple is
// wanted, values of `type`, with what they hold. False where the value is of another type. Recurses no deeper
// than the type.
bool conform(IValue& value, const TypePtr& type);

}  // namespace weft::jit
