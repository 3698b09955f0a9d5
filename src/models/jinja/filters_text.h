// Filters of two files in one table.
#pragma once

#include <string_view>
#include <unordered_map>

#include "models/jinja/functions.h"

namespace weft::models::jinja {

using FilterTable = std::unordered_map<std::string_view, NativeFunction>;
void add_text_filters(FilterTable& table);

}  // namespace weft::models::jinja
