#include "models/chat_built_in.h"

namespace weft::models {
namespace {

// [INST] user [/INST] answer </s>, pairs of turns; the system message inside the first user's.
constexpr const char* kLlama2 = R"jinja(
{%- set system = '' %}
{%- if messages and messages[0].role == 'system' %}
  {%- set system = '<<SYS>>\n' ~ messages[0].content ~ '\n<</SYS>>\n\n' %}
{%- endif %}
{%- set turns = messages[1:] if system else messages %}
{%- for message in turns %}
  {%- set expected = 'user' if loop.index0 % 2 == 0 else 'assistant' %}
  {%- if message.role != expected %}
    {{- raise_exception('message ' ~ (loop.index0 + (1 if system else 0)) ~ ' must be of the ' ~ expected ~ ", it is of '" ~ message.role ~ "'") }}
  {%- endif %}
  {%- if expected == 'user' %}
    {{- bos_token ~ '[INST] ' ~ (system if loop.first else '') ~ message.content.strip() ~ ' [/INST]' }}
  {%- else %}
    {{- ' ' ~ message.content.strip() ~ ' ' ~ eos_token }}
  {%- endif %}
{%- endfor %}
)jinja";

constexpr const char* kMistral = R"jinja(
{%- set system = messages[0].content ~ '\n\n' if messages and messages[0].role == 'system' else '' %}
{%- set turns = messages[1:] if system else messages %}
{{- bos_token }}
{%- for message in turns %}
  {%- set expected = 'user' if loop.index0 % 2 == 0 else 'assistant' %}
  {%- if message.role != expected %}
    {{- raise_exception('message ' ~ (loop.index0 + (1 if system else 0)) ~ ' must be of the ' ~ expected ~ ", it is of '" ~ message.role ~ "'") }}
  {%- endif %}
  {%- if expected == 'user' %}
    {{- '[INST] ' ~ (system if loop.first else '') ~ message.content ~ ' [/INST]' }}
  {%- else %}
    {{- ' ' ~ message.content ~ eos_token }}
  {%- endif %}
{%- endfor %}
)jinja";

constexpr const char* kLlama3 = R"jinja(
{{- bos_token }}
{%- for message in messages %}
  {%- if message.role not in ['system', 'user', 'assistant'] %}
    {{- raise_exception("unknown role '" ~ message.role ~ "'; the roles are system, user and assistant") }}
  {%- endif %}
  {{- '<|start_header_id|>' ~ message.role ~ '<|end_header_id|>\n\n' ~ message.content.strip() ~ '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
  {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
)jinja";

constexpr const char* kChatML = R"jinja(
{%- if not messages or messages[0].role != 'system' %}
  {{- '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
  {%- if message.role not in ['system', 'user', 'assistant'] %}
    {{- raise_exception("unknown role '" ~ message.role ~ "'; the roles are system, user and assistant") }}
  {%- endif %}
  {{- '<|im_start|>' ~ message.role ~ '\n' ~ message.content ~ '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
  {{- '<|im_start|>assistant\n' }}
{%- endif %}
)jinja";

constexpr const char* kNone = "{{ bos_token }}{% for message in messages %}{{ message.content }}{% endfor %}";

constexpr BuiltInTemplate kTemplates[] = {{"llama2", kLlama2, ""},
                                          {"llama3", kLlama3, "<|start_header_id|>"},
                                          {"mistral", kMistral, ""},
                                          {"chatml", kChatML, "<|im_start|>"},
                                          {"none", kNone, ""}};

}  // namespace

const BuiltInTemplate* find_built_in_template(std::string_view name) {
  for (const BuiltInTemplate& built_in : kTemplates)
    if (name == built_in.name) return &built_in;
  return nullptr;
}

std::vector<std::string> built_in_template_names() {
  std::vector<std::string> names;
  for (const BuiltInTemplate& built_in : kTemplates) names.emplace_back(built_in.name);
  return names;
}

const BuiltInTemplate& built_in_template_for(const Tokenizer& tokenizer, std::string_view model_type) {
  for (const char* name : {"llama3", "chatml"}) {
    const BuiltInTemplate* const built_in = find_built_in_template(name);
    if (tokenizer.token_id(built_in->token)) return *built_in;
  }
  return *find_built_in_template(model_type == "mistral" ? "mistral" : "llama2");
}

}  // namespace weft::models
