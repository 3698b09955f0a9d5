#include "serve/json_body.h"

#include "serve/api_error.h"
#include "weft/error.h"

namespace weft::serve {

models::Json parse_json_body(std::string_view body) {
  models::Json json;
  try {
    json = models::parse_json(body, "the request's body");
  } catch (const Error& error) {
    throw ApiError(400, error.what());
  }
  if (!json.is_object()) throw ApiError(400, "the request's body must be a JSON object");
  return json;
}

}  // namespace weft::serve
