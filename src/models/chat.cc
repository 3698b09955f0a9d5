#include <fmt/format.h>

#include "core/printable.h"
#include "weft/error.h"
#include "weft/models/tokenizer.h"

namespace weft::models {
namespace {

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n"), end = text.find_last_not_of(" \t\r\n");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

class Builder {
 public:
  explicit Builder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  void text(const std::string& text) { append(tokenizer_.encode(text, false, false)); }
  void token(const char* token) {
    const auto id = tokenizer_.token_id(token);
    WEFT_CHECK(id.has_value(), fmt::format("chat template: the tokenizer has no token '{}'", token));
    ids_.push_back(*id);
  }
  void bos() {
    if (const auto id = tokenizer_.bos_id()) ids_.push_back(*id);
  }
  void eos() {
    if (const auto ids = tokenizer_.eos_ids(); !ids.empty()) ids_.push_back(ids[0]);
  }
  std::vector<int64_t> take() { return std::move(ids_); }

 private:
  void append(const std::vector<int64_t>& ids) { ids_.insert(ids_.end(), ids.begin(), ids.end()); }
  const Tokenizer& tokenizer_;
  std::vector<int64_t> ids_;
};

// [INST] user [/INST] answer </s>, pairs of turns; the system message inside the first user's.
void bracketed(Builder& builder, const std::vector<ChatMessage>& messages, bool is_llama2) {
  std::string system;
  size_t first = 0;
  if (!messages.empty() && messages[0].role == "system") {
    system = is_llama2 ? fmt::format("<<SYS>>\n{}\n<</SYS>>\n\n", messages[0].content)
                       : messages[0].content + "\n\n";
    first = 1;
  }
  if (!is_llama2) builder.bos();
  std::string question;  // Llama 2: encoded as one text with its answer
  for (size_t i = first; i < messages.size(); ++i) {
    const bool is_user = (i - first) % 2 == 0;
    WEFT_CHECK(messages[i].role == (is_user ? "user" : "assistant"),
               fmt::format("chat: message {} must be of the {}, it is of '{}'", i,
                           is_user ? "user" : "assistant", printable(messages[i].role)));
    const std::string content = is_llama2 ? trimmed(messages[i].content) : messages[i].content;
    if (is_user) {
      question = fmt::format("[INST] {}{} [/INST]", i == first ? system : "", content);
      if (is_llama2) builder.bos();
      if (!is_llama2 || i + 1 == messages.size()) builder.text(question);
    } else {
      builder.text(is_llama2 ? fmt::format("{} {} ", question, content) : content);
      builder.eos();
    }
  }
}

void headed(Builder& builder, const std::vector<ChatMessage>& messages, bool is_llama3) {
  const auto header = [&](const std::string& role) {
    builder.token(is_llama3 ? "<|start_header_id|>" : "<|im_start|>");
    builder.text(role);
    if (is_llama3) builder.token("<|end_header_id|>");
    builder.text(is_llama3 ? "\n\n" : "\n");
  };
  if (is_llama3)
    builder.bos();
  else if (messages.empty() || messages[0].role != "system") {
    header("system");
    builder.text("You are a helpful assistant.");
    builder.token("<|im_end|>");
    builder.text("\n");
  }
  for (const ChatMessage& message : messages) {
    WEFT_CHECK(message.role == "system" || message.role == "user" || message.role == "assistant",
               fmt::format("chat: unknown role '{}'; the roles are system, user and assistant",
                           printable(message.role)));
    header(message.role);
    builder.text(is_llama3 ? trimmed(message.content) : message.content);
    builder.token(is_llama3 ? "<|eot_id|>" : "<|im_end|>");
    if (!is_llama3) builder.text("\n");
  }
  header("assistant");
}

}  // namespace

ChatTemplate chat_template_for(const Tokenizer& tokenizer, std::string_view model_type) {
  if (tokenizer.token_id("<|start_header_id|>")) return ChatTemplate::Llama3;
  if (tokenizer.token_id("<|im_start|>")) return ChatTemplate::ChatML;
  if (model_type == "mistral") return ChatTemplate::Mistral;
  return ChatTemplate::Llama2;
}

ChatTemplate chat_template_from_name(std::string_view name) {
  for (const ChatTemplate chat : {ChatTemplate::None, ChatTemplate::Llama2, ChatTemplate::Llama3,
                                  ChatTemplate::Mistral, ChatTemplate::ChatML})
    if (name == models::name(chat)) return chat;
  throw_error(
      ErrorKind::Value,
      fmt::format("unknown chat template '{}'; they are llama2, llama3, mistral, chatml and none", name));
}

const char* name(ChatTemplate chat) {
  switch (chat) {
    case ChatTemplate::None: return "none";
    case ChatTemplate::Llama2: return "llama2";
    case ChatTemplate::Llama3: return "llama3";
    case ChatTemplate::Mistral: return "mistral";
    case ChatTemplate::ChatML: return "chatml";
  }
  return "none";
}

std::vector<int64_t> encode_chat(const Tokenizer& tokenizer, ChatTemplate chat,
                                 const std::vector<ChatMessage>& messages) {
  Builder builder(tokenizer);
  switch (chat) {
    case ChatTemplate::None:
      builder.bos();
      for (const ChatMessage& message : messages) builder.text(message.content);
      break;
    case ChatTemplate::Llama2:
    case ChatTemplate::Mistral: bracketed(builder, messages, chat == ChatTemplate::Llama2); break;
    case ChatTemplate::Llama3:
    case ChatTemplate::ChatML: headed(builder, messages, chat == ChatTemplate::Llama3); break;
  }
  return builder.take();
}

}  // namespace weft::models
