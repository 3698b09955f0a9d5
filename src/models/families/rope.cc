// rope_scaling and rope_parameters. source: transformers' modeling_rope_utils.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/printable.h"
#include "models/families/family.h"
#include "weft/error.h"

namespace weft::models {

double yarn_scale(double factor, double by) { return factor <= 1 ? 1.0 : 0.1 * by * std::log(factor) + 1.0; }

namespace {

void read_yarn(const JsonFields& rope, Rope& result) {
  result.scaling = RopeScaling::Yarn;
  result.beta_fast = rope.real("beta_fast", 32.0);
  result.beta_slow = rope.real("beta_slow", 1.0);
  result.truncates = rope.boolean("truncate", true);
  const double scale = rope.real("mscale", 0.0), of_all = rope.real("mscale_all_dim", 0.0);
  const double own = scale != 0 && of_all != 0
                         ? yarn_scale(result.factor, scale) / yarn_scale(result.factor, of_all)
                         : yarn_scale(result.factor, 1.0);
  result.attention_factor = rope.real("attention_factor", own);
}

void read_long_rope(const JsonFields& rope, Rope& result) {
  result.scaling = RopeScaling::LongRope;
  result.short_factors = rope.reals("short_factor");
  result.long_factors = rope.reals("long_factor");
  const double own =
      result.factor <= 1
          ? 1.0
          : std::sqrt(1 + std::log(result.factor) / std::log(static_cast<double>(result.original_positions)));
  result.attention_factor = rope.real("attention_factor", own);
  for (const auto* factors : {&result.short_factors, &result.long_factors})
    WEFT_CHECK(static_cast<int64_t>(factors->size()) == result.dim / 2,
               fmt::format("{}: {} factors for {} pairs of a head's elements", rope.where(), factors->size(),
                           result.dim / 2));
}

}  // namespace

void read_rope_dictionary(const JsonFields& rope, DecoderConfig& config, Rope& result,
                          std::optional<double> share, std::span<const char* const> own) {
  for (const char* key : own) rope.pass_over(key);
  std::string type = rope.text("rope_type", rope.text("type", "default"));
  // Of a text, the positions in a picture's three dimensions are the same number.
  const bool has_places = rope.has("mrope_section");
  if (has_places && type == "mrope") type = "default";
  if (rope.has("type"))
    WEFT_CHECK(rope.text("type", type) == type || (has_places && rope.text("type", type) == "mrope"),
               fmt::format("{} has the rope_type '{}' and the type '{}'", rope.where(), printable(type),
                           printable(rope.text("type", type))));
  const char* const known[] = {"default", "linear", "dynamic", "llama3", "yarn", "longrope"};
  WEFT_CHECK(
      std::find(std::begin(known), std::end(known), type) != std::end(known),
      fmt::format("{} of type '{}' is not supported; weft has default, linear, dynamic, llama3, yarn and "
                  "longrope",
                  rope.where(), printable(type)));
  if (rope.has("rope_theta")) result.theta = rope.real("rope_theta");
  if (share && rope.has("partial_rotary_factor")) share = rope.real("partial_rotary_factor");
  if (share) {
    WEFT_CHECK(
        *share > 0 && *share <= 1,
        fmt::format("{}: partial_rotary_factor must be above 0 and at most 1, got {}", rope.where(), *share));
    result.dim = static_cast<int64_t>(static_cast<double>(config.head_dim) * *share);
  } else if (result.dim == 0) {
    result.dim = config.head_dim;
  }
  const bool has_original = type == "yarn" || type == "longrope";
  if (has_original) {
    result.original_positions = rope.integer("original_max_position_embeddings", result.original_positions);
    const double ratio = static_cast<double>(config.max_position_embeddings) /
                         static_cast<double>(std::max<int64_t>(1, result.original_positions));
    result.factor = rope.real("factor", ratio);
  } else if (type != "default") {
    result.factor = rope.real("factor");
  }
  // Dynamic frequencies are others from max_position_embeddings on alone, and weft has no more positions.
  if (type == "dynamic") {
    WEFT_CHECK(result.factor >= 1,
               fmt::format("{}: the factor of dynamic frequencies must be at least 1, got {}", rope.where(),
                           result.factor));
    rope.pass_over("original_max_position_embeddings");
    result.factor = 1;
  }
  if (type == "linear") result.scaling = RopeScaling::Linear;
  if (type == "llama3") {
    result.scaling = RopeScaling::Llama3;
    result.low_freq_factor = rope.real("low_freq_factor", 1.0);
    result.high_freq_factor = rope.real("high_freq_factor", 4.0);
    result.original_positions = rope.integer("original_max_position_embeddings", 8192);
  }
  if (type == "yarn") read_yarn(rope, result);
  if (type == "longrope") read_long_rope(rope, result);
  static constexpr IrrelevantKey kIrrelevant[] = {
      {"partial_rotary_factor", "weft rotates whole heads of this family", "1 1.0"}};
  rope.check_all_understood(kIrrelevant);
}

void read_rope(const JsonFields& fields, DecoderConfig& config, double theta, std::optional<double> share,
               std::span<const char* const> own) {
  Rope& rope = config.ropes[0];
  rope.theta = fields.real("rope_theta", theta);
  for (const char* key : {"partial_rotary_factor", "rotary_pct"})
    if (share && fields.has(key)) share = fields.real(key);
  rope.original_positions =
      fields.integer("original_max_position_embeddings", config.max_position_embeddings);
  const bool has_both = fields.has("rope_scaling") && fields.has("rope_parameters");
  WEFT_CHECK(!has_both || fields.get("rope_scaling") == fields.get("rope_parameters"),
             fmt::format("{}: rope_scaling and rope_parameters say different things", fields.where()));
  const Json none = Json::object();
  bool is_read = false;
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!fields.has(key)) continue;
    const JsonFields dictionary(fields.get(key), fmt::format("{}: {}", fields.where(), key));
    WEFT_CHECK(!dictionary.has("rope_theta") || !fields.has("rope_theta") ||
                   fields.real("rope_theta") == dictionary.real("rope_theta"),
               fmt::format("{}: rope_theta is {}, and {} says {}", fields.where(), rope.theta, key,
                           dictionary.real("rope_theta", theta)));
    read_rope_dictionary(dictionary, config, rope, share, own);
    is_read = true;
  }
  if (!is_read) read_rope_dictionary(JsonFields(none, fields.where()), config, rope, share);
}

void read_ropes_by_type(const JsonFields& fields, DecoderConfig& config, double theta, double local_theta) {
  config.ropes.resize(2);
  const bool is_by_type = fields.has("rope_parameters") && fields.get("rope_parameters").is_object() &&
                          fields.get("rope_parameters").contains("full_attention");
  if (!is_by_type) {
    read_rope(fields, config, theta);
    config.ropes[1] = {.theta = local_theta, .dim = config.head_dim};
  } else {
    const JsonFields types(fields.get("rope_parameters"), fields.where() + ": rope_parameters");
    const char* const names[] = {"full_attention", "sliding_attention"};
    for (size_t i = 0; i < 2; ++i) {
      config.ropes[i].theta = i == 0 ? theta : local_theta;
      read_rope_dictionary(JsonFields(types.get(names[i]), types.where() + "." + names[i]), config,
                           config.ropes[i], std::nullopt);
    }
    types.check_all_understood({});
    fields.pass_over("rope_theta");
  }
  for (LayerKind& layer : config.layers)
    if (layer.window) layer.rope = 1;
}

}  // namespace weft::models
