#include "serve/json_body.h"

#include "serve/api_error.h"
#include "weft/error.h"

namespace weft::serve {

Json parse_json_body(std::string_view body) {
  Json json;
  try {
    json = parse_json(body, "the request's body");
  } catch (const Error& error) {
    throw ApiError(400, error.what());
  }
  if (!json.is_object()) throw ApiError(400, "the request's body must be a JSON object");
  return json;
}

}  // namespace weft::serve
