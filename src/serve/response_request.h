// Requests of OpenAI's /v1/responses, in the words of its chat completions.
#pragma once

#include <string_view>

#include "serve/api_request.h"

namespace weft::serve {

// ApiError 400 that names the parameter, as for chats.
ApiRequest parse_response(std::string_view body);

}  // namespace weft::serve
