// Conversations as a model reads them: the checkpoint's chat template.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/tokenizer.h"

namespace weft::models {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

// A Jinja template with the tokens that it writes.
class ChatTemplate {
 public:
  // The one that the folder has (chat_template.jinja, or `chat_template` of tokenizer_config.json, one or
  // several by name), or a GGUF file; the family's built-in one where it has none.
  static std::shared_ptr<const ChatTemplate> open(const std::string& folder,
                                                  std::shared_ptr<const Tokenizer> tokenizer,
                                                  std::string_view model_type);
  // By the tokens the tokenizer has; `model_type` decides between Llama 2 and Mistral.
  static std::shared_ptr<const ChatTemplate> built_in(std::shared_ptr<const Tokenizer> tokenizer,
                                                      std::string_view model_type);
  // "llama2", "llama3", "mistral", "chatml", "none", or a file with a template. ValueError for other names.
  // source: the chat templates published with Llama 2, Llama 3, Mistral 7B Instruct and Qwen2.
  static std::shared_ptr<const ChatTemplate> named(const std::string& name,
                                                   std::shared_ptr<const Tokenizer> tokenizer);
  // A template's text; `name` begins messages. ValueError for what is none.
  static std::shared_ptr<const ChatTemplate> parse(std::string_view source, const std::string& name,
                                                   std::shared_ptr<const Tokenizer> tokenizer);
  ~ChatTemplate();
  ChatTemplate(const ChatTemplate&) = delete;
  ChatTemplate& operator=(const ChatTemplate&) = delete;

  const std::string& name() const;  // "chat_template.jinja", "llama2", …
  // Is it the checkpoint's own, not one that weft has by name?
  bool is_built_in() const;
  // The text of a conversation. `variables`: a JSON object with `messages`, and what the template makes use
  // of: tools, documents, add_generation_prompt (true where it is not given), enable_thinking, …; the
  // tokenizer's tokens (bos_token, …) are there. ValueError with the class and text of Python's exception
  // where the template raises one.
  std::string render(std::string_view variables) const;
  // Its ids. Special tokens that the conversation has in its texts are text; the template's own are tokens.
  std::vector<int64_t> encode(std::string_view variables) const;
  std::vector<int64_t> encode(const std::vector<ChatMessage>& messages) const;
  // The sources by name, "default" and perhaps "tool_use", which is for conversations with tools.
  std::vector<std::string> names() const;
  const std::string& sources() const;  // all of them, one behind the other

 private:
  struct State;
  explicit ChatTemplate(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The variables of such a conversation, as JSON.
std::string chat_variables(const std::vector<ChatMessage>& messages);

}  // namespace weft::models
