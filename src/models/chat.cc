#include "weft/models/chat.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>

#include "core/printable.h"
#include "io/json.h"
#include "models/chat_built_in.h"
#include "models/gguf.h"
#include "models/gguf_model.h"
#include "models/hub_cache.h"
#include "models/jinja/template.h"
#include "models/special_tokens.h"
#include "runtime/files.h"
#include "weft/error.h"

namespace weft::models {
namespace {

namespace fs = std::filesystem;

// Around a special token that stands in a conversation's text: noncharacters, which no text has.
constexpr const char *kOpen = "\xEF\xB7\x90", *kClose = "\xEF\xB7\x91";
constexpr size_t kMarkBytes = 3;

std::string chat_file(const fs::path& path) {
  const std::optional<std::string> text = runtime::read_file(path);
  if (!text) throw_error(ErrorKind::Runtime, fmt::format("'{}': cannot be read", path.string()));
  runtime::check_no_lfs_pointer(*text, fmt::format("'{}'", path.string()));
  return *text;
}

// A token as tokenizer_config.json has it: a text, or an object with its text.
std::optional<std::string> token_text(const Json& token) {
  if (token.is_string()) return token.get<std::string>();
  if (token.is_object() && token.contains("content") && token["content"].is_string())
    return token["content"].get<std::string>();
  return std::nullopt;
}

}  // namespace

struct ChatTemplate::State {
  std::string name;
  bool is_built_in = false;
  std::map<std::string, std::unique_ptr<jinja::Template>> templates;
  std::shared_ptr<const Tokenizer> tokenizer;
  SpecialTokens special;
  OrderedJson tokens = OrderedJson::object();  // bos_token, …
  std::string sources;

  State(std::string of, std::shared_ptr<const Tokenizer> with)
      : name(std::move(of)), tokenizer(std::move(with)) {
    if (tokenizer == nullptr) return;
    const std::optional<int64_t> bos = tokenizer->bos_id();
    const std::vector<int64_t> ends = tokenizer->eos_ids();
    for (const std::string& text : tokenizer->special_texts()) {
      if (text.empty()) continue;
      const std::optional<int64_t> id = tokenizer->token_id(text);
      if (!id) continue;
      special.add(text, {.id = *id});
      if (bos == id) tokens["bos_token"] = text;
      if (!ends.empty() && ends[0] == *id) tokens["eos_token"] = text;
    }
  }

  void add(const std::string& which, std::string_view source) {
    templates[which] = std::make_unique<jinja::Template>(
        source, fmt::format("chat template {}{}", name, which == "default" ? "" : " (" + which + ")"));
    sources += source;
  }

  // `chat_template` of a file: a text, or a list of texts with names.
  void add_all(const Json& given, const std::string& where) {
    if (given.is_string()) return add("default", given.get_ref<const std::string&>());
    WEFT_CHECK(given.is_array() && !given.empty(),
               fmt::format("{}: 'chat_template' must be a text or a list of named ones", where));
    for (const Json& entry : given) {
      WEFT_CHECK(entry.is_object() && entry.contains("name") && entry["name"].is_string() &&
                     entry.contains("template") && entry["template"].is_string(),
                 fmt::format("{}: 'chat_template' has an entry without a name or a template", where));
      add(entry["name"].get<std::string>(), entry["template"].get_ref<const std::string&>());
    }
  }

  void read_tokens(const Json& config) {
    for (const auto& [key, value] : config.items())
      if (key.ends_with("_token"))
        if (const auto text = token_text(value)) tokens[key] = *text;
  }

  const jinja::Template& chosen(const OrderedJson& variables) const {
    const auto tools = variables.find("tools");
    const bool has_tools = tools != variables.end() && !tools->is_null();
    for (const char* which : {"tool_use", "default"}) {
      const auto found = templates.find(which);
      if (found != templates.end() && (has_tools || std::string_view(which) == "default"))
        return *found->second;
    }
    throw_error(ErrorKind::Value, fmt::format("chat template {}: there is none named 'default'; there are {}",
                                              name, fmt::join(keys(), ", ")));
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> all;
    for (const auto& [key, unused] : templates) all.push_back(key);
    return all;
  }

  OrderedJson completed(std::string_view text) const {
    OrderedJson variables = parse_ordered_json(text, "chat");
    WEFT_CHECK(variables.is_object(), "chat: the variables must be an object");
    const auto messages = variables.find("messages");
    WEFT_CHECK(messages != variables.end() && messages->is_array(), "chat: 'messages' must be a list");
    for (const OrderedJson& message : *messages)
      WEFT_CHECK(message.is_object(), "chat: each of 'messages' must be an object with a role and a content");
    for (const char* key : {"tools", "documents"})
      if (!variables.contains(key)) variables[key] = nullptr;
    if (!variables.contains("add_generation_prompt")) variables["add_generation_prompt"] = true;
    for (const auto& [key, value] : tokens.items())
      if (!variables.contains(key)) variables[key] = value;
    return variables;
  }

  // Special tokens in all texts of it are put between marks.
  void mark(OrderedJson& json) const {
    if (json.is_structured()) {
      for (OrderedJson& part : json) mark(part);
      return;
    }
    if (!json.is_string()) return;
    std::string marked;
    bool is_any = false;
    for (const auto& [part, id] : special.split(json.get_ref<const std::string&>(), true)) {
      is_any = is_any || id;
      marked += id ? fmt::format("{}{}{}", kOpen, part, kClose) : std::string(part);
    }
    if (is_any) json = marked;
  }

  std::vector<int64_t> encode(std::string_view text) const {
    std::vector<int64_t> ids;
    const auto add_part = [&](std::string_view part, bool with_special) {
      if (part.empty()) return;
      const std::vector<int64_t> more = tokenizer->encode(part, false, with_special);
      ids.insert(ids.end(), more.begin(), more.end());
    };
    for (size_t from = 0; from < text.size();) {
      const size_t open = text.find(kOpen, from);
      const size_t close = open == std::string_view::npos ? open : text.find(kClose, open);
      if (close == std::string_view::npos) {
        add_part(text.substr(from), true);
        break;
      }
      add_part(text.substr(from, open - from), true);
      add_part(text.substr(open + kMarkBytes, close - open - kMarkBytes), false);
      from = close + kMarkBytes;
    }
    return ids;
  }
};

ChatTemplate::ChatTemplate(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChatTemplate::~ChatTemplate() = default;

std::shared_ptr<const ChatTemplate> ChatTemplate::open(const std::string& folder_or_name,
                                                       std::shared_ptr<const Tokenizer> tokenizer,
                                                       std::string_view model_type) {
  const std::string folder = model_path(folder_or_name);
  const fs::path path = folder;
  std::error_code ignored;
  auto state = std::make_unique<State>("", tokenizer);
  if (is_gguf(folder)) {
    if (const auto source = gguf_chat_template(GgufFile(folder)))
      return parse(*source, fmt::format("of '{}'", folder), tokenizer);
    return built_in(std::move(tokenizer), model_type);
  }
  Json config = Json::object();
  if (fs::exists(path / "tokenizer_config.json", ignored)) {
    config = read_json(path / "tokenizer_config.json");
    WEFT_CHECK(config.is_object(),
               fmt::format("'{}': not a JSON object", (path / "tokenizer_config.json").string()));
    state->read_tokens(config);
  }
  // The order in which transformers looks for them.
  if (const fs::path file = path / "chat_template.jinja"; fs::exists(file, ignored)) {
    state->name = "'chat_template.jinja'";
    state->add("default", chat_file(file));
    for (const auto& entry : fs::directory_iterator(path / "additional_chat_templates", ignored))
      if (entry.path().extension() == ".jinja") state->add(entry.path().stem(), chat_file(entry.path()));
  } else if (const fs::path legacy = path / "chat_template.json"; fs::exists(legacy, ignored)) {
    state->name = "'chat_template.json'";
    const Json json = read_json(legacy);
    WEFT_CHECK(json.is_object() && json.contains("chat_template"),
               fmt::format("'{}': no 'chat_template'", legacy.string()));
    state->add_all(json["chat_template"], state->name);
  } else if (config.contains("chat_template") && !config["chat_template"].is_null()) {
    state->name = "of 'tokenizer_config.json'";
    state->add_all(config["chat_template"], "'tokenizer_config.json'");
  }
  if (!state->templates.empty()) return std::shared_ptr<ChatTemplate>(new ChatTemplate(std::move(state)));
  return built_in(std::move(tokenizer), model_type);
}

std::shared_ptr<const ChatTemplate> ChatTemplate::built_in(std::shared_ptr<const Tokenizer> tokenizer,
                                                           std::string_view model_type) {
  const char* const name = built_in_template_for(*tokenizer, model_type).name;
  return named(name, std::move(tokenizer));
}

std::shared_ptr<const ChatTemplate> ChatTemplate::named(const std::string& name,
                                                        std::shared_ptr<const Tokenizer> tokenizer) {
  const BuiltInTemplate* const built_in = find_built_in_template(name);
  if (built_in == nullptr) {
    std::error_code ignored;
    WEFT_CHECK(
        fs::is_regular_file(name, ignored),
        fmt::format("unknown chat template '{}'; they are llama2, llama3, mistral, chatml and none, or a "
                    "file with a template",
                    printable(name)));
    return parse(chat_file(name), fmt::format("'{}'", printable(name)), std::move(tokenizer));
  }
  WEFT_CHECK(*built_in->token == '\0' || tokenizer->token_id(built_in->token).has_value(),
             fmt::format("chat template {}: the tokenizer has no token '{}'", name, built_in->token));
  auto state = std::make_unique<State>(name, std::move(tokenizer));
  state->is_built_in = true;
  state->add("default", built_in->source);
  return std::shared_ptr<ChatTemplate>(new ChatTemplate(std::move(state)));
}

std::shared_ptr<const ChatTemplate> ChatTemplate::parse(std::string_view source, const std::string& name,
                                                        std::shared_ptr<const Tokenizer> tokenizer) {
  auto state = std::make_unique<State>(name, std::move(tokenizer));
  state->add("default", source);
  return std::shared_ptr<ChatTemplate>(new ChatTemplate(std::move(state)));
}

const std::string& ChatTemplate::name() const { return state_->name; }
bool ChatTemplate::is_built_in() const { return state_->is_built_in; }
const std::string& ChatTemplate::sources() const { return state_->sources; }
std::vector<std::string> ChatTemplate::names() const { return state_->keys(); }

std::string ChatTemplate::render(std::string_view variables) const {
  const OrderedJson completed = state_->completed(variables);
  return state_->chosen(completed).render(completed);
}

std::vector<int64_t> ChatTemplate::encode(std::string_view variables) const {
  WEFT_CHECK(state_->tokenizer != nullptr, "chat: the template was made without a tokenizer");
  OrderedJson completed = state_->completed(variables);
  for (const char* key : {"messages", "tools", "documents"}) state_->mark(completed[key]);
  return state_->encode(state_->chosen(completed).render(completed));
}

std::vector<int64_t> ChatTemplate::encode(const std::vector<ChatMessage>& messages) const {
  return encode(chat_variables(messages));
}

std::string chat_variables(const std::vector<ChatMessage>& messages) {
  OrderedJson list = OrderedJson::array();
  for (const ChatMessage& message : messages)
    list.push_back({{"role", message.role}, {"content", message.content}});
  return OrderedJson{{"messages", std::move(list)}}.dump(-1, ' ', false,
                                                         OrderedJson::error_handler_t::replace);
}

}  // namespace weft::models
