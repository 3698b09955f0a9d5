#include "serve/tool_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

namespace weft::serve {
namespace {

constexpr std::string_view kTag = "<tool_call>", kEndTag = "</tool_call>", kMark = "[TOOL_CALLS]",
                           kPythonTag = "<|python_tag|>", kId = "[CALL_ID]", kArguments = "[ARGS]";

bool is_json_space(char byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }

std::string json_quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A string's meaning, from its JSON.
std::string unquoted(const std::string& json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  return parsed.is_string() ? parsed.get<std::string>() : json;
}

}  // namespace

std::optional<CallFormat> call_format_of(std::string_view source) {
  const auto has = [&](std::string_view text) { return source.find(text) != std::string_view::npos; };
  // Within the same tags some write no JSON: Qwen3-Coder, GLM.
  if (has(kTag) && !has("<function=") && !has("<arg_key>")) return CallFormat::Tags;
  if (has(kMark)) return CallFormat::Brackets;
  if (has("<|start_header_id|>") && has("tools")) return CallFormat::PlainJson;
  return std::nullopt;
}

std::string_view call_begin(CallFormat format) {
  switch (format) {
    case CallFormat::Tags: return kTag;
    case CallFormat::Brackets: return kMark;
    case CallFormat::PlainJson: return "{";
  }
  return "";
}

std::string call_opening(CallFormat format, const std::string& function) {
  const std::string name = function.empty() ? "{\"name\": \"" : "{\"name\": " + json_quoted(function) + ", ";
  switch (format) {
    case CallFormat::Tags:
      return std::string(kTag) + "\n" + name + (function.empty() ? "" : "\"arguments\": ");
    case CallFormat::Brackets:
      return std::string(kMark) + "[" + name + (function.empty() ? "" : "\"arguments\": ");
    case CallFormat::PlainJson: return name + (function.empty() ? "" : "\"parameters\": ");
  }
  return "";
}

std::string call_id(const std::string& answer, int64_t choice, size_t call) {
  const uint64_t hash = std::hash<std::string>()(fmt::format("{}-{}-{}", answer, choice, call));
  return fmt::format("{:09x}", hash & 0xFFFFFFFFFU);
}

std::vector<std::string> call_marks(CallFormat format) {
  switch (format) {
    case CallFormat::Tags: return {std::string(kTag), std::string(kEndTag)};
    case CallFormat::Brackets: return {std::string(kMark), std::string(kId), std::string(kArguments)};
    case CallFormat::PlainJson: return {std::string(kPythonTag)};
  }
  return {};
}

std::string CallScanner::take_arguments() { return has_name_ ? std::exchange(arguments_, "") : ""; }

bool CallScanner::feed(char byte) {
  if (state_ == State::InValue) return in_value(byte);
  if (state_ == State::Key) {
    key_ += byte;
    if (std::exchange(is_escaped_, false)) return true;
    is_escaped_ = byte == '\\';
    if (byte == '"') state_ = State::Colon, key_ = unquoted(key_);
    return true;
  }
  if (is_json_space(byte)) return true;
  switch (state_) {
    case State::Open: state_ = State::KeyOrEnd; return byte == '{';
    case State::KeyOrEnd: state_ = State::Key, key_ = "\""; return byte == '"';
    case State::Colon: state_ = State::Value; return byte == ':';
    case State::Value: return begin_value(byte);
    case State::CommaOrEnd:
      state_ = byte == ',' ? State::KeyOrEnd : State::Done;
      return byte == ',' || (byte == '}' && has_name_);
    default: return false;
  }
}

bool CallScanner::begin_value(char byte) {
  state_ = State::InValue;
  value_.clear();
  depth_ = 0;
  in_string_ = is_escaped_ = false;
  return byte != '}' && byte != ']' && byte != ',' && byte != ':' && in_value(byte);
}

bool CallScanner::in_value(char byte) {
  const bool is_arguments = key_ == "arguments" || key_ == "parameters";
  // A number or a word ends where something else begins.
  if (!in_string_ && depth_ == 0 && (byte == ',' || byte == '}' || is_json_space(byte))) {
    end_value();
    return feed(byte);
  }
  value_ += byte;
  // An object is given on as it comes; what is written as a string, when it is whole.
  if (is_arguments && value_[0] == '{') arguments_ += byte;
  if (in_string_) {
    if (std::exchange(is_escaped_, false)) return true;
    is_escaped_ = byte == '\\';
    if (byte != '"') return true;
    in_string_ = false;
  } else if (byte == '"') {
    in_string_ = true;
    return true;
  } else if (byte == '{' || byte == '[') {
    ++depth_;
    return true;
  } else if (byte == '}' || byte == ']') {
    if (--depth_ < 0) return false;
  } else {
    return true;
  }
  if (depth_ == 0) end_value();
  return true;
}

void CallScanner::end_value() {
  state_ = State::CommaOrEnd;
  if (key_ == "name") {
    name_ = unquoted(value_);
    has_name_ = value_.starts_with('"') && !name_.empty();
  } else if ((key_ == "arguments" || key_ == "parameters") && value_[0] != '{') {
    arguments_ += value_ == "null" ? "{}" : unquoted(value_);
  }
}

void CallParser::begin_call() {
  scanner_ = CallScanner();
  is_told_ = false;
  plain_name_.clear();
  state_ = State::InCall;
}

void CallParser::end_call() {
  ++calls_;
  state_ = State::AfterCall;
}

void CallParser::add(CallPieces& pieces, std::string name, std::string arguments) {
  if (!pieces.calls.empty() && pieces.calls.back().index == calls_ && name.empty()) {
    pieces.calls.back().arguments += arguments;
    return;
  }
  pieces.calls.push_back({calls_, std::move(name), std::move(arguments)});
}

// What was held is text after all.
void CallParser::give_up(CallPieces& pieces) {
  pieces.content += std::exchange(held_, "");
  has_content_ = true;
  state_ = State::Content;
}

void CallParser::step_content(char byte, CallPieces& pieces) {
  if (is_behind_tag_ && is_json_space(byte)) return;
  is_behind_tag_ = false;
  held_ += byte;
  if (format_ == CallFormat::PlainJson) {
    const size_t begin = held_.find_first_not_of(" \n\t\r");
    if (has_content_ || begin == std::string::npos) return has_content_ ? give_up(pieces) : void();
    const std::string_view text = std::string_view(held_).substr(begin);
    if (text == kPythonTag) return held_.clear();
    if (text == "{") {
      begin_call();
      scanner_.feed(byte);
    } else if (!kPythonTag.starts_with(text)) {
      give_up(pieces);
    }
    return;
  }
  const std::string_view mark = format_ == CallFormat::Tags ? kTag : kMark;
  while (!held_.empty() && !mark.starts_with(held_)) {
    has_content_ = has_content_ || !is_json_space(held_[0]);
    pieces.content += held_[0];
    held_.erase(0, 1);
  }
  if (held_ == mark) {
    state_ = State::BeforeCall;
    in_list_ = false;
  }
}

void CallParser::step_call(char byte, CallPieces& pieces) {
  held_ += byte;
  if (!scanner_.feed(byte)) {
    if (!is_told_) return give_up(pieces);
    held_.clear();  // a call that breaks off: what follows is text, or its end tag
    return end_call(), step(byte, pieces);
  }
  if (!plain_name_.empty() && scanner_.awaits_end()) scanner_.feed('}');
  if (!is_told_ && scanner_.has_name()) {
    const bool is_known = std::find(names_.begin(), names_.end(), scanner_.name()) != names_.end();
    if (format_ == CallFormat::PlainJson && !is_known) return give_up(pieces);
    add(pieces, scanner_.name(), "");
    is_told_ = true;
  }
  if (is_told_)
    if (std::string arguments = scanner_.take_arguments(); !arguments.empty())
      add(pieces, "", std::move(arguments));
  if (!scanner_.is_complete()) return;
  held_.clear();
  end_call();
}

// [TOOL_CALLS]name{…}, [TOOL_CALLS]name[ARGS]{…} and [TOOL_CALLS]name[CALL_ID]id[ARGS]{…}
void CallParser::step_name(char byte, CallPieces& pieces) {
  if (byte != '{') {
    held_ += byte;
    if (is_json_space(byte)) return give_up(pieces);
    plain_name_ += byte;
    return;
  }
  const std::string name =
      plain_name_.substr(0, std::min(plain_name_.find(kId), plain_name_.find(kArguments)));
  begin_call();
  for (const char before : "{\"name\":" + json_quoted(name) + ",\"arguments\":") scanner_.feed(before);
  plain_name_ = name;
  step_call(byte, pieces);
}

void CallParser::step(char byte, CallPieces& pieces) {
  switch (state_) {
    case State::Content: return step_content(byte, pieces);
    case State::InCall: return step_call(byte, pieces);
    case State::BeforeCall:
      held_ += byte;
      if (is_json_space(byte)) return;
      if (byte == '[' && format_ == CallFormat::Brackets && !in_list_) {
        in_list_ = true;
        return;
      }
      if (byte == '{') {
        begin_call();
        scanner_.feed(byte);
        return;
      }
      if (format_ != CallFormat::Brackets || in_list_) return give_up(pieces);
      plain_name_ = byte;
      state_ = State::InName;
      return;
    case State::InName: return step_name(byte, pieces);
    case State::AfterCall:
      if (is_json_space(byte)) return;
      held_ += byte;
      if (format_ == CallFormat::Tags) {
        if (held_ == kEndTag) return held_.clear(), state_ = State::Content, is_behind_tag_ = true, void();
        if (!kEndTag.starts_with(held_)) state_ = State::Content;
        return;
      }
      held_.clear();
      if (byte == ',' || byte == ';') {
        held_ = byte;
        state_ = State::BeforeCall;
      } else if (byte == ']' && in_list_) {
        in_list_ = false;
      } else {
        has_content_ = format_ == CallFormat::PlainJson;
        state_ = State::Content;
        step_content(byte, pieces);
      }
      return;
  }
}

CallPieces CallParser::push(std::string_view text, bool is_end) {
  CallPieces pieces;
  for (const char byte : text) step(byte, pieces);
  if (!is_end) return pieces;
  if (state_ == State::InCall && is_told_)
    ++calls_;  // the text ends within it
  else if (state_ != State::AfterCall)
    pieces.content += held_;
  held_.clear();
  return pieces;
}

}  // namespace weft::serve
