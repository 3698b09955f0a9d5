// JSON as files have it: keys once, errors with the name of what is read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace weft {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  // keys in the order in which they came

// ValueError with `what` for text that is not JSON, names a key twice, or nests deeper than 64.
Json parse_json(std::string_view text, const std::string& what);
// The same; ValueError also for an object of more than 1024 keys.
OrderedJson parse_ordered_json(std::string_view text, const std::string& what);
Json read_json(const std::string& path);  // RuntimeError where the file cannot be read, or is over 1 GB

}  // namespace weft
