// JSON Schemas: which keywords there are, and two that hold at once as one.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/json.h"

namespace weft::serve {

// ValueError: "the JSON Schema's 'keyword' at /where why".
[[noreturn]] void refuse_keyword(const std::string& where, std::string_view keyword, const std::string& why);
// title, description, …, which say nothing of what is valid.
bool is_annotation(std::string_view keyword);
// ValueError for a keyword that is not followed.
void check_schema_keywords(const OrderedJson& schema, const std::string& where);
// Has it keywords beside annotations and these?
bool says_more_than(const OrderedJson& schema, const std::set<std::string_view>& keywords);
// The types that it names, or those that its keywords are of; "any" without either.
std::vector<std::string> types_of(const OrderedJson& schema, const std::string& where);
bool has_type(const OrderedJson& value, std::string_view type);
// What both describe; ValueError where that is not found out.
OrderedJson merged_schema(const OrderedJson& left, const OrderedJson& right, const std::string& where);

}  // namespace weft::serve
