#include "serve/embeddings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>

#include "core/printable.h"
#include "serve/base64.h"
#include "serve/json_body.h"

namespace weft::serve {
namespace {

constexpr size_t kMostInputs = 2048;  // OpenAI's

// source: OpenAI's embeddings are of length 1.
void normalize(std::vector<float>& numbers) {
  double squares = 0;
  for (const float number : numbers) squares += static_cast<double>(number) * number;
  const double length = std::sqrt(squares);
  if (length > 0)
    for (float& number : numbers) number = static_cast<float>(number / length);
}

std::string expected_names(const EmbeddingDefaults& defaults) {
  if (defaults.prompts.empty()) return "names a prompt, and this model has none";
  std::vector<std::string> names;
  for (const auto& [name, prompt] : defaults.prompts) names.push_back(printable(name));
  return fmt::format("must be one of the model's prompts: {}", fmt::join(names, ", "));
}

// What stands before the texts: by the request's prompt_name, or of every request.
void add_prompts(const Fields& fields, const EmbeddingDefaults& defaults, std::vector<Prompt>& inputs) {
  std::string prompt = defaults.prompt;
  const bool is_named = fields.find("prompt_name") != nullptr;
  if (is_named) {
    const auto found = defaults.prompts.find(fields.text("prompt_name"));
    if (found == defaults.prompts.end()) fields.refuse("prompt_name", expected_names(defaults));
    prompt = found->second;
  }
  for (Prompt& input : inputs) {
    if (is_named && !input.tokens.empty()) fields.refuse("prompt_name", "is for texts, not for tokens");
    if (input.tokens.empty()) input.text.insert(0, prompt);
  }
}

std::string bytes_of(const std::vector<float>& numbers) {
  std::string bytes(numbers.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

}  // namespace

EmbeddingRequest parse_embeddings(std::string_view body, int64_t size, const EmbeddingDefaults& defaults) {
  if (!defaults.refusal.empty())
    throw ApiError(400, "embeddings of this model are not supported: " + defaults.refusal);
  const OrderedJson json = parse_ordered_body(body);
  const Fields fields(json);
  EmbeddingRequest request;
  request.model = fields.text("model");
  request.inputs = parse_prompts(fields, "input", kMostInputs);
  add_prompts(fields, defaults, request.inputs);
  request.add_special_tokens = fields.flag("add_special_tokens", true);
  const std::string format = fields.text("encoding_format");
  if (!format.empty() && format != "float" && format != "base64")
    fields.refuse("encoding_format", "must be float or base64");
  request.is_base64 = format == "base64";
  const std::string pooling = fields.text("pooling");
  request.pooling = defaults.pooling;
  if (pooling == "mean")
    request.pooling = Pooling::Mean;
  else if (pooling == "last")
    request.pooling = Pooling::Last;
  else if (pooling == "cls")
    request.pooling = Pooling::First;
  else if (!pooling.empty())
    fields.refuse("pooling", "must be mean, last or cls");
  request.is_normalized = fields.flag("normalize", defaults.is_normalized);
  request.dimensions = fields.integer("dimensions", 1, size).value_or(0);
  fields.refuse_others({"user"});
  return request;
}

std::string embeddings_json(const EmbeddingRequest& request, const std::string& model,
                            std::vector<std::vector<float>> embeddings, int64_t prompt_tokens) {
  OrderedJson data = OrderedJson::array();
  for (std::vector<float>& numbers : embeddings) {
    if (request.dimensions > 0) numbers.resize(static_cast<size_t>(request.dimensions));
    if (request.is_normalized) normalize(numbers);
    OrderedJson entry = {{"object", "embedding"}, {"index", data.size()}};
    if (request.is_base64)
      entry["embedding"] = to_base64(bytes_of(numbers));
    else
      entry["embedding"] = numbers;
    data.push_back(std::move(entry));
  }
  return OrderedJson{{"object", "list"},
                     {"data", std::move(data)},
                     {"model", model},
                     {"usage", {{"prompt_tokens", prompt_tokens}, {"total_tokens", prompt_tokens}}}}
      .dump();
}

}  // namespace weft::serve
