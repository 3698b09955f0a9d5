// What /v1/responses answers: a text and calls as items, whole or as events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/json.h"
#include "serve/api_error.h"
#include "serve/tool_calls.h"

namespace weft::serve {

class ResponseReply {
 public:
  // `told`: what the answer repeats of the request.
  ResponseReply(std::string id, const std::string& model, int64_t created, const OrderedJson& told);

  // Each gives the server-sent events to write, of a stream.
  std::string begin();
  std::string add(const CallPieces& pieces);
  // `is_cut`: there was no room, or max_output_tokens was reached.
  std::string finish(bool is_cut, int64_t input_tokens, int64_t output_tokens);
  std::string error(const ApiError& failure);
  std::string whole() const;

 private:
  std::string event(const char* type, OrderedJson fields);
  std::string open(OrderedJson item);
  std::string close();
  std::string add_text(const std::string& text);
  std::string add_call(const CallPart& part);
  OrderedJson& last() { return json_["output"].back(); }
  std::string item_id(const char* kind) const;

  OrderedJson json_;
  bool is_open_ = false;
  int64_t events_ = 0;
};

}  // namespace weft::serve
