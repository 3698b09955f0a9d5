#include "serve/json_body.h"

#include "serve/api_error.h"
#include "weft/error.h"

namespace weft::serve {

namespace {

template <class Document>
Document object_of_body(std::string_view body, Document (*parse)(std::string_view, const std::string&)) {
  Document json;
  try {
    json = parse(body, "the request's body");
  } catch (const Error& error) {
    throw ApiError(400, error.what());
  }
  if (!json.is_object()) throw ApiError(400, "the request's body must be a JSON object");
  return json;
}

}  // namespace

Json parse_json_body(std::string_view body) { return object_of_body(body, parse_json); }
OrderedJson parse_ordered_body(std::string_view body) { return object_of_body(body, parse_ordered_json); }

}  // namespace weft::serve
