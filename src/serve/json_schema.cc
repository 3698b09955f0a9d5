#include "serve/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "core/printable.h"
#include "serve/json_pattern.h"
#include "serve/json_rules.h"
#include "serve/merged_schema.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

using Sequence = RuleBuilder::Sequence;
using Bound = JsonRules::Bound;

constexpr int64_t kMostCounted = 4096, kLargestBound = 1'000'000'000'000'000;
constexpr int kMostSchemaDepth = 64, kMostJoins = 1000;
constexpr size_t kMostSchemaBytes = 1 << 18;

// What strings of a format look like. source: RFC 3339 (dates, times), RFC 9562 (uuid), RFC 2673 (ipv4).
const std::map<std::string, std::string, std::less<>>& format_patterns() {
  static const auto& patterns = *[] {
    const std::string date = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])";
    const std::string time =
        "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])";
    const std::string byte = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    return new std::map<std::string, std::string, std::less<>>{
        {"date", "^" + date + "$"},
        {"time", "^" + time + "$"},
        {"date-time", "^" + date + "T" + time + "$"},
        {"duration",
         "^P([0-9]{1,9}W|[0-9]{1,9}D(T[0-9]{1,9}[HMS])?|T([0-9]{1,9}H)?([0-9]{1,9}M)?[0-9]{1,9}S)$"},
        {"uuid", "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"},
        {"ipv4", "^" + byte + "(\\." + byte + "){3}$"},
        {"hostname",
         "^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?){0,8}"
         "$"},
        {"email",
         "^[a-zA-Z0-9_+-]{1,32}(\\.[a-zA-Z0-9_+-]{1,32}){0,3}@[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
         "(\\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?){1,8}$"},
        {"uri", "^[a-zA-Z][a-zA-Z0-9+.-]{0,31}:[a-zA-Z0-9._~:/?#@!$&'()*+,;=-]+$"}};
  }();
  return patterns;
}

class SchemaCompiler {
 public:
  // The schema lives as long.
  Sequence whole(const OrderedJson& root) {
    const size_t bytes = root.dump(-1, ' ', false, OrderedJson::error_handler_t::replace).size();
    WEFT_CHECK(bytes <= kMostSchemaBytes,
               fmt::format("a JSON Schema has {} bytes at most", kMostSchemaBytes));
    root_ = &root;
    return schema(root, "", 0);
  }
  JsonRules& rules() { return rules_; }

 private:
  [[noreturn]] static void refuse(const std::string& where, std::string_view keyword,
                                  const std::string& why) {
    refuse_keyword(where, keyword, why);
  }

  const OrderedJson* referred(const OrderedJson& of, const std::string& where) const {
    const auto reference = of.find("$ref");
    if (reference == of.end()) return nullptr;
    if (!reference->is_string()) refuse(where, "$ref", "must be a string");
    const std::string& path = reference->get_ref<const std::string&>();
    if (path == "#") return root_;
    if (!path.starts_with("#/"))
      refuse(where, "$ref", fmt::format("'{}' is not within the schema", printable(path)));
    try {
      return &root_->at(OrderedJson::json_pointer(path.substr(1)));
    } catch (const OrderedJson::exception&) {
      refuse(where, "$ref", fmt::format("'{}' is not in the schema", printable(path)));
    }
  }

  // Without $ref and allOf: what they say is joined.
  OrderedJson flat(const OrderedJson& of, const std::string& where, int depth) {
    if (depth > kMostSchemaDepth || ++joins_ > kMostJoins) refuse(where, "$ref", "is nested too deep");
    if (of.is_boolean() && of.get<bool>()) return OrderedJson::object();
    if (!of.is_object()) refuse(where, "allOf", "has a part that is no object");
    OrderedJson joined = of;
    joined.erase("$ref"), joined.erase("allOf");
    if (const OrderedJson* target = referred(of, where))
      joined = merged_schema(joined, flat(*target, where, depth + 1), where);
    if (const auto parts = of.find("allOf"); parts != of.end()) {
      if (!parts->is_array() || parts->empty()) refuse(where, "allOf", "must be a list that is not empty");
      for (const OrderedJson& part : *parts)
        joined = merged_schema(joined, flat(part, where, depth + 1), where);
    }
    return joined;
  }

  Sequence schema(const OrderedJson& of, const std::string& where, int depth) {
    WEFT_CHECK(depth < kMostSchemaDepth, "the JSON Schema is nested too deep");
    if (of.is_boolean() && of.get<bool>()) return rules_.any_value();
    WEFT_CHECK(of.is_object(), fmt::format("the JSON Schema{} must be an object, or true",
                                           where.empty() ? "" : " at " + printable(where)));
    if (const auto known = made_.find(&of); known != made_.end()) return RuleBuilder::call(known->second);
    const int made = rules_.declare();  // before its parts, which may refer to it
    made_[&of] = made;
    rules_.set(made, alternatives_of(of, where, depth));
    return RuleBuilder::call(made);
  }

  std::vector<Sequence> alternatives_of(const OrderedJson& of, const std::string& where, int depth) {
    check_schema_keywords(of, where);
    if (of.contains("allOf") || (of.contains("$ref") && says_more_than(of, {"$ref"}))) {
      kept_.push_back(flat(of, where, depth));
      return alternatives_of(kept_.back(), where, depth + 1);
    }
    if (const OrderedJson* target = referred(of, where))
      return {schema(*target, of["$ref"].get<std::string>().substr(1), depth + 1)};
    std::vector<Sequence> all = plain_alternatives(of, where, depth);
    if (of.value("nullable", OrderedJson(false)) == true) all.push_back(RuleBuilder::literal("null"));
    return all;
  }

  std::vector<Sequence> plain_alternatives(const OrderedJson& of, const std::string& where, int depth) {
    for (const char* keyword : {"anyOf", "oneOf"}) {
      const auto parts = of.find(keyword);
      if (parts == of.end()) continue;
      if (!parts->is_array() || parts->empty()) refuse(where, keyword, "must be a list that is not empty");
      OrderedJson rest = of;
      rest.erase(keyword);
      const bool says_more = says_more_than(rest, {"nullable"});
      std::vector<Sequence> all;
      for (const OrderedJson& part : *parts) {
        const std::string at = fmt::format("{}/{}/{}", where, keyword, all.size());
        if (!says_more) {
          all.push_back(schema(part, at, depth + 1));
          continue;
        }
        kept_.push_back(merged_schema(rest, flat(part, at, depth + 1), at));
        all.push_back(schema(kept_.back(), at, depth + 1));
      }
      return all;
    }
    if (of.contains("const") || of.contains("enum")) return values_of(of, where);
    std::vector<Sequence> all;
    for (const std::string& type : types_of(of, where)) {
      if (type == "boolean")
        all.push_back(RuleBuilder::literal("true")), all.push_back(RuleBuilder::literal("false"));
      else
        all.push_back(value_of(type, of, where, depth));
    }
    return all;
  }

  Sequence value_of(const std::string& type, const OrderedJson& of, const std::string& where, int depth) {
    if (type == "object") return object(of, where, depth);
    if (type == "array") return array(of, where, depth);
    if (type == "string") return string(of, where);
    if (type == "null") return RuleBuilder::literal("null");
    if (type == "any") return rules_.any_value();
    const auto least = bound(of, "minimum", "exclusiveMinimum", where);
    const auto most = bound(of, "maximum", "exclusiveMaximum", where);
    const bool is_integer = type == "integer";
    try {
      return rules_.rule({is_integer ? rules_.integer(least, most) : rules_.number(least, most)});
    } catch (const Error& error) {
      refuse(where, "maximum", error.what());
    }
  }

  static std::vector<Sequence> values_of(const OrderedJson& of, const std::string& where) {
    for (const auto& [keyword, value] : of.items())
      if (!is_annotation(keyword) && keyword != "const" && keyword != "enum" && keyword != "type" &&
          keyword != "nullable")
        refuse(where, keyword, "is not supported beside const and enum");
    OrderedJson values = OrderedJson::array();
    if (const auto list = of.find("enum"); list != of.end()) {
      if (!list->is_array() || list->empty()) refuse(where, "enum", "must be a list that is not empty");
      values = *list;
    } else {
      values.push_back(of["const"]);
    }
    std::vector<Sequence> all;
    const std::vector<std::string> types = types_of(of, where);
    for (const OrderedJson& value : values) {
      if (of.contains("const") && value != of["const"]) continue;
      if (std::any_of(types.begin(), types.end(),
                      [&](const std::string& type) { return has_type(value, type); }))
        all.push_back(
            RuleBuilder::literal(value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace)));
    }
    if (all.empty()) refuse(where, of.contains("enum") ? "enum" : "const", "has no value of the type");
    return all;
  }

  static std::optional<int64_t> count(const OrderedJson& of, const char* keyword, const std::string& where) {
    const auto found = of.find(keyword);
    if (found == of.end()) return std::nullopt;
    if (!found->is_number_integer() || *found < 0 || *found > kMostCounted)
      refuse(where, keyword, fmt::format("must be an integer between 0 and {}", kMostCounted));
    return found->get<int64_t>();
  }
  // At least and at most so many; -1: any number.
  static std::pair<int64_t, int64_t> counts(const OrderedJson& of, const char* least, const char* most,
                                            const std::string& where) {
    const std::pair result = {count(of, least, where).value_or(0), count(of, most, where).value_or(-1)};
    if (result.second >= 0 && result.second < result.first)
      refuse(where, most, fmt::format("is less than {}", least));
    return result;
  }

  static std::optional<Bound> bound(const OrderedJson& of, const char* inclusive, const char* exclusive,
                                    const std::string& where) {
    std::optional<Bound> result;
    for (const char* keyword : {inclusive, exclusive}) {
      const auto found = of.find(keyword);
      if (found == of.end()) continue;
      const double value = found->is_number() ? found->get<double>() : 0.5;
      if (value != std::floor(value) || !(std::abs(value) <= static_cast<double>(kLargestBound)))
        refuse(where, keyword, fmt::format("must be a whole number, {} at most", kLargestBound));
      const Bound made{static_cast<int64_t>(value), keyword == exclusive};
      const bool is_lower = std::string_view(inclusive) == "minimum";
      if (!result || (is_lower ? made.value >= result->value : made.value <= result->value)) result = made;
    }
    return result;
  }

  Sequence string(const OrderedJson& of, const std::string& where) {
    const auto pattern = of.find("pattern"), format = of.find("format");
    const bool has_length = of.contains("minLength") || of.contains("maxLength");
    if (pattern == of.end() && format == of.end()) {
      const auto [least, most] = counts(of, "minLength", "maxLength", where);
      return rules_.string(least, most);
    }
    const char* keyword = pattern != of.end() ? "pattern" : "format";
    if (has_length || (pattern != of.end() && format != of.end()))
      refuse(where, keyword,
             "is not supported beside minLength, maxLength, or another of pattern and format");
    const OrderedJson& given = of[keyword];
    if (!given.is_string()) refuse(where, keyword, "must be a string");
    std::string expression = given.get<std::string>();
    if (format != of.end()) {
      const auto known = format_patterns().find(expression);
      if (known == format_patterns().end())
        refuse(where, keyword, fmt::format("'{}' is not supported", printable(expression)));
      expression = known->second;
    }
    try {
      return rules_.rule({rules_.quoted(pattern_rule(rules_, expression))});
    } catch (const Error& error) {
      refuse(where, keyword, fmt::format("cannot be followed: {}", error.what()));
    }
  }

  Sequence array(const OrderedJson& of, const std::string& where, int depth) {
    auto [least, most] = counts(of, "minItems", "maxItems", where);
    const OrderedJson prefix = of.value("prefixItems", OrderedJson::array());
    if (!prefix.is_array()) refuse(where, "prefixItems", "must be a list");
    const auto known = static_cast<int64_t>(prefix.size());
    if (known > 0 && !of.contains("minItems")) least = most < 0 ? known : std::min(known, most);
    const auto items = of.find("items");
    const bool is_closed = items == of.end() ? known > 0 : *items == false;
    if (is_closed && least > known) refuse(where, "minItems", "is more than there are items");
    const auto item = [&](const Sequence& value) { return RuleBuilder::joined({rules_.space(), value}); };
    // Behind the items that are described one by one.
    const int64_t more = is_closed ? 0 : most < 0 ? -1 : std::max<int64_t>(0, most - known);
    const Sequence comma = rules_.token(",");
    Sequence rest;
    if (more != 0) {
      const Sequence value =
          items == of.end() ? rules_.any_value() : schema(*items, where + "/items", depth + 1);
      const Sequence one = rules_.rule({item(value)});
      rest = known == 0 ? rules_.repeated(one, least, more, comma)
                        : rules_.repeated(RuleBuilder::joined({comma, one}),
                                          std::max<int64_t>(0, least - known), more);
    }
    for (int64_t i = std::min(known, most < 0 ? known : most) - 1; i >= 0; --i) {
      // Not through `prefix`, which is a copy: rules are found by the schema's address.
      const Sequence value = schema(of["prefixItems"][static_cast<size_t>(i)],
                                    fmt::format("{}/prefixItems/{}", where, i), depth + 1);
      const Sequence one = RuleBuilder::joined({i > 0 ? comma : Sequence(), item(value), rest});
      rest = i < least ? rules_.rule({one}) : rules_.optional(one);
    }
    return rules_.rule({RuleBuilder::joined({RuleBuilder::literal("["), rest, rules_.token("]")})});
  }

  Sequence object(const OrderedJson& of, const std::string& where, int depth) {
    const auto properties = of.find("properties"), others = of.find("additionalProperties");
    if (properties != of.end() && !properties->is_object()) refuse(where, "properties", "must be an object");
    const OrderedJson required = of.value("required", OrderedJson::array());
    if (!required.is_array()) refuse(where, "required", "must be a list");
    const bool has_properties = properties != of.end() && !properties->empty();
    std::vector<std::string> names;
    if (has_properties)
      for (const auto& [name, value] : properties->items()) names.push_back(name);
    for (const OrderedJson& name : required)
      if (!name.is_string() || std::find(names.begin(), names.end(), name.get<std::string>()) == names.end())
        refuse(where, "required", fmt::format("names {}, which is no property", printable(name.dump())));
    const auto [least, most] = counts(of, "minProperties", "maxProperties", where);
    const bool has_others = others == of.end() ? !has_properties : *others != false;
    if (!has_properties) {
      if (!has_others) {
        if (least > 0) refuse(where, "minProperties", "is more than there are properties");
        return RuleBuilder::joined({RuleBuilder::literal("{"), rules_.token("}")});
      }
      if ((others == of.end() || *others == true) && least == 0 && most < 0) return rules_.any_object();
      return rules_.map_of(rules_.string(0, -1), value_of_others(of, where, depth), least, most);
    }
    if (least > static_cast<int64_t>(required.size()))
      refuse(where, "minProperties", "is not supported beside properties that may be left out");
    if (most >= 0 && (has_others || most < static_cast<int64_t>(names.size())))
      refuse(where, "maxProperties", "is not supported beside more properties");
    // From the last property to the first: what may follow where none stands before, and where one does.
    const Sequence comma = rules_.token(",");
    Sequence first, rest;
    if (has_others) {
      const Sequence pair =
          rules_.rule({rules_.pair(rules_.other_string(names), value_of_others(of, where, depth))});
      first = rules_.repeated(pair, 0, -1, comma);
      rest = rules_.repeated(RuleBuilder::joined({comma, pair}), 0, -1);
    }
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
      const bool is_required = std::find(required.begin(), required.end(), *name) != required.end();
      const Sequence value = schema((*properties)[*name], where + "/properties/" + *name, depth + 1);
      const std::string quoted =
          OrderedJson(*name).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
      const Sequence pair = rules_.pair(RuleBuilder::literal(quoted), value);
      std::vector<Sequence> begins = {RuleBuilder::joined({pair, rest})},
                            follows = {RuleBuilder::joined({comma, pair, rest})};
      if (!is_required) begins.push_back(first), follows.push_back(rest);
      first = rules_.rule(std::move(begins)), rest = rules_.rule(std::move(follows));
    }
    return rules_.rule({RuleBuilder::joined({RuleBuilder::literal("{"), first, rules_.token("}")})});
  }

  Sequence value_of_others(const OrderedJson& of, const std::string& where, int depth) {
    const auto others = of.find("additionalProperties");
    return others == of.end() ? rules_.any_value()
                              : schema(*others, where + "/additionalProperties", depth + 1);
  }

  JsonRules rules_;
  const OrderedJson* root_ = nullptr;
  std::unordered_map<const OrderedJson*, int> made_;
  std::deque<OrderedJson> kept_;  // schemas that were joined
  int joins_ = 0;
};

// One of some texts.
Sequence one_of_texts(RuleBuilder& rules, const std::vector<std::string>& texts) {
  std::vector<Sequence> all;
  for (const std::string& text : texts) all.push_back(RuleBuilder::literal(text));
  return rules.rule(std::move(all));
}

// How much of the beginning of `text` stands at the end of its first `matched` bytes with one more.
size_t matched_after(std::string_view text, size_t matched, char byte) {
  const std::string seen = std::string(text.substr(0, matched)) + byte;
  size_t length = std::min(seen.size(), text.size());
  while (length > 0 && !seen.ends_with(text.substr(0, length))) --length;
  return length;
}

// Text that may end everywhere, up to `begin`, behind which `follow` stands: a rule for each length of what
// it ends with of `begin`. The first of them may be called by `follow`.
class FreeTextRules {
 public:
  FreeTextRules(RuleBuilder& rules, std::string begin) : rules_(rules), begin_(std::move(begin)) {
    for (size_t i = 0; i < begin_.size(); ++i) states_.push_back(rules.declare());
  }
  Sequence text() const { return RuleBuilder::call(states_[0]); }
  void set(const Sequence& follow) {
    for (size_t matched = 0; matched < begin_.size(); ++matched) {
      std::map<size_t, ByteSet> next;
      for (int byte = 0; byte < 256; ++byte) {
        const char one = static_cast<char>(byte);
        if (byte < mark_byte(0) || one == begin_[matched])
          next[matched_after(begin_, matched, one)].set(static_cast<size_t>(byte));
      }
      std::vector<Sequence> all = {{}};
      for (const auto& [length, bytes] : next)
        all.push_back(
            RuleBuilder::joined({{{.rule = -1, .bytes = bytes}},
                                 length == begin_.size() ? follow : RuleBuilder::call(states_[length])}));
      rules_.set(states_[matched], std::move(all));
    }
  }

 private:
  RuleBuilder& rules_;
  std::string begin_;
  std::vector<int> states_;
};

// A text of any bytes but marks that is, behind spaces, `call` where it begins with its beginning.
Sequence call_or_text(RuleBuilder& rules, const std::string& begin, const Sequence& call) {
  const int start = rules.declare(), rest = rules.declare();
  ByteSet spaces, others, all;
  for (int byte = 0; byte < mark_byte(0); ++byte) {
    const char one = static_cast<char>(byte);
    const bool is_space = one == ' ' || one == '\n' || one == '\t' || one == '\r';
    all.set(static_cast<size_t>(byte));
    if (is_space) spaces.set(static_cast<size_t>(byte));
    if (!is_space && one != begin[0]) others.set(static_cast<size_t>(byte));
  }
  const auto then = [](const ByteSet& bytes, const Sequence& follow) {
    return RuleBuilder::joined({{{.rule = -1, .bytes = bytes}}, follow});
  };
  rules.set(rest, {{}, then(all, RuleBuilder::call(rest))});
  rules.set(start, {{},
                    then(spaces, RuleBuilder::call(start)),
                    then(others, RuleBuilder::call(rest)),
                    RuleBuilder::joined({RuleBuilder::literal(begin), call})});
  return RuleBuilder::call(start);
}

}  // namespace

GrammarRules json_schema_rules(const OrderedJson& schema) {
  SchemaCompiler compiler;
  const Sequence whole = compiler.whole(schema);
  return compiler.rules().finish({whole});
}

GrammarRules json_call_rules(const JsonCalls& calls) {
  SchemaCompiler compiler;
  JsonRules& rules = compiler.rules();
  const auto one_of_calls = [&](const std::vector<JsonCall>& list) {
    std::vector<Sequence> all;
    for (const JsonCall& call : list)
      all.push_back(RuleBuilder::joined(
          {RuleBuilder::literal(call.before), compiler.whole(call.schema), RuleBuilder::literal(calls.end)}));
    return rules.rule(std::move(all));
  };
  std::vector<Sequence> all;
  if (calls.otherwise) all.push_back(compiler.whole(*calls.otherwise));
  const Sequence close = calls.close.empty() ? Sequence() : rules.optional(one_of_texts(rules, calls.close));
  Sequence rest;
  if (!calls.more.empty())
    rest = rules.repeated(RuleBuilder::joined({one_of_texts(rules, calls.between), one_of_calls(calls.more)}),
                          0, -1);
  const Sequence made = RuleBuilder::joined({one_of_calls(calls.first), rest});
  if (!calls.free_text) {
    all.push_back(RuleBuilder::joined({made, close}));
    return rules.finish(std::move(all));
  }
  const JsonCalls::FreeText& around = *calls.free_text;
  if (around.is_at_start)
    return rules.finish({call_or_text(rules, around.begin, RuleBuilder::joined({made, close}))});
  FreeTextRules free(rules, around.begin);
  const Sequence behind =
      around.may_go_on
          ? rules.optional(RuleBuilder::joined({RuleBuilder::literal(calls.close[0]), free.text()}))
          : close;
  free.set(RuleBuilder::joined({made, behind}));
  return rules.finish({free.text()});
}

}  // namespace weft::serve
