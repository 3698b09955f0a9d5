// What every JSON request begins with.
#pragma once

#include <string_view>

#include "io/json.h"

namespace weft::serve {

// ApiError 400 for a body that is no JSON, or no object.
Json parse_json_body(std::string_view body);
OrderedJson parse_ordered_body(std::string_view body);

}  // namespace weft::serve
