#include "serve/grammar.h"

#include <gmock/gmock.h>

#include "models/support.h"
#include "serve/call_grammar.h"
#include "serve/gbnf.h"
#include "serve/json_schema.h"
#include "support/byte_tokenizer.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

using models::error_of;
using ::testing::HasSubstr;

using testing_support::ByteTokenizer;

std::shared_ptr<Grammar> grammar_of(GrammarRules rules, const ByteTokenizer& tokenizer = ByteTokenizer(),
                                    const std::vector<int64_t>& marks = {}) {
  return std::make_shared<Grammar>(
      std::move(rules),
      std::make_shared<TokenTrie>(tokenizer, std::vector<models::IdRange>{{0, tokenizer.vocab_size()}},
                                  tokenizer.eos_ids(), marks));
}
std::shared_ptr<Grammar> schema_grammar(const std::string& schema) {
  return grammar_of(json_schema_rules(parse_ordered_json(schema, "schema")));
}
std::shared_ptr<Grammar> gbnf(const std::string& text) { return grammar_of(parse_gbnf(text)); }

enum class Fit { Whole, Beginning, No };
Fit fit(Grammar& grammar, const std::string& text) {
  const int32_t state = grammar.after_bytes(grammar.start(), text);
  return state < 0 ? Fit::No : grammar.is_accepting(state) ? Fit::Whole : Fit::Beginning;
}
void expect(const std::shared_ptr<Grammar>& grammar, Fit expected, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) EXPECT_EQ(fit(*grammar, text), expected) << text;
}

TEST(Grammars, AnyObject) {
  const auto grammar = grammar_of(json_schema_rules({{"type", "object"}}));
  expect(
      grammar, Fit::Whole,
      {"{}", R"({"a": 1})", R"({"a":[1, -2.5e+3, "x\n\u00e9", {"b": null}], "c": true})", "{\n  \"a\": {}\n}",
       "{\"\xE6\xBC\xA2\": \"\xF0\x9F\x99\x82\"}", R"({"a": [], "b": [ ], "c": "\ud7ff"})"});
  expect(grammar, Fit::Beginning, {"", "{", "{\"a", "{\"a\": -", "{\"a\": 1", "{\"a\": [", "{\"a\": 1, "});
  expect(grammar, Fit::No,
         {"[", "1", "{}}", "{} ", "{a", "{\"a\": 01", "{\"a\": +", "{\"a\": tru ", "{\"a\": 1,}", "{\"\x01",
          "{\"\xFF", "{\"\\x", "{\"\\ud8", "   {", "{  ", "{\"a\": 12345678901234567", "{\"a\": 1e100",
          "{\"\xED\xA0", "{\"\xC0\x80"});
}

TEST(Grammars, Objects) {
  const auto grammar = schema_grammar(R"({"type": "object", "title": "T", "properties": {
      "name": {"type": "string", "minLength": 1, "maxLength": 3}, "age": {"type": "integer"},
      "kind": {"enum": ["a", "b\"", 5]}, "list": {"type": "array", "items": {"$ref": "#/$defs/p"}, "minItems": 1, "maxItems": 2},
      "maybe": {"anyOf": [{"type": "number"}, {"type": "null"}]}},
      "required": ["name", "kind"], "$defs": {"p": {"type": "object", "properties": {"x": {"type": ["boolean", "null"]}}}}})");
  expect(grammar, Fit::Whole,
         {R"({"name": "ab", "kind": "a"})",
          R"({"name": "\u00e9bc", "age": -12, "kind": "b\"", "list": [{}, {"x": null}], "maybe": 1.5})",
          R"({"name":"a","kind":5,"maybe":null})"});
  expect(grammar, Fit::No,
         {R"({"kind")", R"({"name": "")", R"({"name": "abcd)", R"({"name": "a"})",
          R"({"name": "a", "age": 1.)", R"({"name": "a", "kind": "c)",
          R"({"name": "a", "kind": 5, "list": [])", R"({"name": "a", "kind": 5, "list": [{},{},)",
          R"({"name": "a", "kind": 5, "other)", R"({"name": "a", "kind": 5, "maybe": t)"});
  expect(schema_grammar(
             R"({"additionalProperties": {"type": "integer"}, "minProperties": 1, "maxProperties": 2})"),
         Fit::Whole, {R"({"a": 1})", R"({"a": 1, "b": 2})"});
  expect(schema_grammar(
             R"({"additionalProperties": {"type": "integer"}, "minProperties": 1, "maxProperties": 2})"),
         Fit::No, {"{}", R"({"a": 1, "b": 2, )"});
  expect(schema_grammar(R"({"type": "object", "additionalProperties": false})"), Fit::No, {R"({"a)"});
  const auto others = schema_grammar(
      R"({"properties": {"ab": {"type": "null"}, "abc": {"type": "null"}, "é": {"type": "null"}}, "required": ["ab"], "additionalProperties": {"type": "integer"}})");
  expect(others, Fit::Whole,
         {R"({"ab": null})", R"({"ab": null, "abc": null, "é": null, "a": 1, "abcd": 2, "x": 3, "": 4})",
          R"({"ab": null, "ac": 1, "abx": 2})"});
  expect(others, Fit::No,
         {R"({"ab": 1)", R"({"ab": null, "ab")", R"({"ab": null, "abc": 1)", R"({"a": 1, "ab")",
          R"({"ab": null, "é": 1)", R"({"ab": null, "\)"});
  // Schemas that refer to themselves.
  const auto tree = schema_grammar(
      R"({"type": "object", "properties": {"v": {"type": "null"}, "c": {"type": "array", "items": {"$ref": "#"}}}, "required": ["v"]})");
  expect(tree, Fit::Whole, {R"({"v": null, "c": [{"v": null}, {"v": null, "c": []}]})"});
  expect(tree, Fit::No, {R"({"v": null, "c": [{"c)"});
}

TEST(Grammars, ListsAndValues) {
  expect(schema_grammar(R"({"const": {"a": [1]}})"), Fit::Whole, {R"({"a":[1]})"});
  expect(schema_grammar(R"({"type": "string", "enum": ["a", 1, null]})"), Fit::No, {"1", "n", "\"b"});
  const auto pair = schema_grammar(R"({"prefixItems": [{"type": "null"}, {"type": "boolean"}]})");
  expect(pair, Fit::Whole, {"[null, true]"});
  expect(pair, Fit::No, {"[null]", "[null, true,", "[]"});
  const auto longer = schema_grammar(
      R"({"prefixItems": [{"type": "null"}, {"type": "boolean"}], "items": {"type": "integer"}, "minItems": 1, "maxItems": 3})");
  expect(longer, Fit::Whole, {"[null]", "[null, true]", "[null, false, 5]"});
  expect(longer, Fit::No, {"[]", "[null, 5", "[null, true, 5, "});
  expect(schema_grammar(R"({"type": "array", "maxItems": 0})"), Fit::No, {"[1", "[null"});
  expect(schema_grammar(R"({"type": "array", "items": false})"), Fit::Whole, {"[]", "[ ]"});
  expect(schema_grammar("true"), Fit::Whole, {"1", "[{}]", "\"a\""});
  expect(schema_grammar(R"({"type": "string", "nullable": true})"), Fit::Whole, {"null", "\"\""});
}

TEST(Grammars, BoundsOfNumbers) {
  const auto check = [](const std::string& keywords, bool is_integer, double least, double most) {
    const auto grammar = schema_grammar(std::string("{\"type\": \"") + (is_integer ? "integer" : "number") +
                                        "\", " + keywords + "}");
    for (int tenth = -13000; tenth <= 13000; tenth += is_integer ? 10 : 5) {
      const double value = tenth / 10.0;
      const std::string text = is_integer || tenth % 10 == 0
                                   ? std::to_string(tenth / 10)
                                   : (tenth < 0 ? "-" : "") + std::to_string(std::abs(tenth) / 10) + "." +
                                         std::to_string(std::abs(tenth) % 10);
      EXPECT_EQ(fit(*grammar, text) == Fit::Whole, value >= least && value <= most)
          << keywords << " " << text;
    }
  };
  constexpr double kNone = 1e9;
  check(R"("minimum": 0)", true, 0, kNone);
  check(R"("minimum": 37)", true, 37, kNone);
  check(R"("minimum": -215, "maximum": 1045)", true, -215, 1045);
  check(R"("minimum": 100, "maximum": 199)", true, 100, 199);
  check(R"("exclusiveMinimum": 99, "exclusiveMaximum": 1000)", true, 100, 999);
  check(R"("maximum": -7)", true, -kNone, -7);
  check(R"("minimum": 5, "maximum": 5)", true, 5, 5);
  check(R"("minimum": 0, "maximum": 1)", false, 0, 1);
  check(R"("exclusiveMinimum": 0)", false, 0.1, kNone);
  check(R"("exclusiveMinimum": -12, "exclusiveMaximum": 12)", false, -11.9, 11.9);
  check(R"("minimum": -3, "maximum": 0)", false, -3, 0);
  check(R"("maximum": -10)", false, -kNone, -10);
  expect(schema_grammar(R"({"type": "number", "exclusiveMinimum": 0})"), Fit::Whole, {"0.001", "1", "0.5"});
  expect(schema_grammar(R"({"type": "number", "exclusiveMinimum": 0})"), Fit::Beginning, {"0", "0.0"});
}

TEST(Grammars, Patterns) {
  const auto pattern = [](const std::string& text) {
    return schema_grammar(OrderedJson{{"type", "string"}, {"pattern", text}}.dump());
  };
  expect(pattern("^[A-Z]{2,3}-\\d+$"), Fit::Whole, {"\"AB-1\"", "\"ABC-123\""});
  expect(pattern("^[A-Z]{2,3}-\\d+$"), Fit::No, {"\"A-", "\"ABCD", "\"AB-\"", "\"ab"});
  expect(pattern("^(a|bc)*?(?:x|\\.)$"), Fit::Whole, {"\"x\"", "\"abca.\""});
  expect(pattern("b"), Fit::Whole, {"\"abc\"", "\"b\""});
  expect(pattern("b"), Fit::No, {"\"ac\"", "\"\""});
  expect(pattern("^a|b$"), Fit::Whole, {"\"axx\"", "\"xxb\""});
  expect(pattern("^[^a]$"), Fit::Whole, {"\"\\n\"", "\"\\\"\"", "\"\\\\\"", "\"\xE6\xBC\xA2\""});
  expect(pattern("^[^a]$"), Fit::No, {"\"a", "\"\n", "\"\"\"", "\"\\a"});
  expect(pattern("^\\x41[\\w-]\\u00e9$"), Fit::Whole, {"\"A-é\"", "\"A_é\""});
  expect(schema_grammar(R"({"type": "string", "format": "date-time"})"), Fit::Whole,
         {"\"2026-12-01T00:00:00.5+01:30\"", "\"2026-02-28T23:59:59Z\""});
  expect(schema_grammar(R"({"type": "string", "format": "date"})"), Fit::No,
         {"\"2026-13", "\"26-", "\"2026-00"});
  expect(schema_grammar(R"({"type": "string", "format": "ipv4"})"), Fit::Whole, {"\"255.0.10.1\""});
  expect(schema_grammar(R"({"type": "string", "format": "ipv4"})"), Fit::No, {"\"256", "\"01"});
  expect(schema_grammar(R"({"type": "string", "format": "uuid"})"), Fit::Whole,
         {"\"123e4567-e89b-12d3-a456-426614174000\""});
  expect(schema_grammar(R"({"type": "string", "format": "email"})"), Fit::Whole, {"\"a.b@c.de\""});
}

TEST(Grammars, JoinedSchemas) {
  const auto both = schema_grammar(
      R"({"allOf": [{"$ref": "#/$defs/a"}, {"properties": {"y": {"type": "null"}}, "required": ["y"]}],
      "$defs": {"a": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}}})");
  expect(both, Fit::Whole, {R"({"x": 1.5, "y": null})"});
  expect(both, Fit::No, {R"({"y)", R"({"x": 1})"});
  const auto bounds = schema_grammar(
      R"({"type": "integer", "minimum": 3, "allOf": [{"type": "number", "minimum": 5}, {"maximum": 9}]})");
  expect(bounds, Fit::Whole, {"5", "9"});
  expect(bounds, Fit::No, {"3", "1", "5."});
  const auto choice = schema_grammar(R"({"properties": {"k": {"type": "string"}}, "required": ["k"],
      "anyOf": [{"properties": {"a": {"type": "null"}}, "required": ["a"]}, {"properties": {"k": {"const": "b"}}}]})");
  expect(choice, Fit::Whole, {R"({"k": "z", "a": null})", R"({"k": "b"})"});
  expect(choice, Fit::No, {R"({"k": "z"})"});
  expect(schema_grammar(R"({"$ref": "#/$defs/s", "maxLength": 2, "$defs": {"s": {"type": "string"}}})"),
         Fit::No, {"\"abc"});
  expect(schema_grammar(R"({"enum": ["a", "b", "c"], "allOf": [{"enum": ["b", "d"]}]})"), Fit::Whole,
         {"\"b\""});
}

TEST(Grammars, WhatCannotBeIsNamed) {
  const auto error = [](const std::string& schema) {
    return error_of([&] { fit(*schema_grammar(schema), "1"); });
  };
  EXPECT_THAT(error(R"({"type": "object", "properties": {"a": {"type": "integer", "multipleOf": 3}}})"),
              HasSubstr("'multipleOf' at /properties/a is not supported"));
  EXPECT_THAT(error(R"x({"type": "string", "pattern": "(?=a)"})x"), HasSubstr("look-around"));
  EXPECT_THAT(error(R"({"type": "string", "pattern": "\\bword"})"), HasSubstr("'\\b'"));
  EXPECT_THAT(error(R"({"type": "string", "pattern": "a{5000}"})"), HasSubstr("4096"));
  EXPECT_THAT(error(R"({"type": "string", "pattern": "[b-a]"})"), HasSubstr("a range that is none"));
  EXPECT_THAT(error(R"({"type": "string", "pattern": "(a"})"), HasSubstr("does not end"));
  EXPECT_THAT(error(R"({"type": "string", "pattern": "a", "minLength": 3})"), HasSubstr("'pattern'"));
  EXPECT_THAT(error(R"({"type": "string", "format": "color"})"), HasSubstr("'color' is not supported"));
  EXPECT_THAT(error(R"({"type": "date"})"), HasSubstr("'type'"));
  EXPECT_THAT(error(R"({"type": "integer", "minimum": 0.5})"), HasSubstr("'minimum' must be a whole number"));
  EXPECT_THAT(error(R"({"type": "integer", "minimum": 1e300})"),
              HasSubstr("'minimum' must be a whole number"));
  EXPECT_THAT(error(R"({"type": "integer", "minimum": 5, "maximum": 4})"), HasSubstr("no number"));
  EXPECT_THAT(error(R"({"$ref": "#/$defs/a"})"), HasSubstr("is not in the schema"));
  EXPECT_THAT(error(R"({"$ref": "http://x"})"), HasSubstr("is not within the schema"));
  EXPECT_THAT(error(R"({"$ref": "#"})"), HasSubstr("allows no text"));
  EXPECT_THAT(error(R"({"allOf": [{"$ref": "#"}, {"$ref": "#"}]})"), HasSubstr("nested too deep"));
  EXPECT_THAT(error(R"({"type": "object", "required": ["a"]})"), HasSubstr("'required'"));
  EXPECT_THAT(error(R"({"allOf": [{"type": "string"}, {"type": "null"}]})"), HasSubstr("exclude each other"));
  EXPECT_THAT(error(R"({"allOf": [{"pattern": "a"}, {"pattern": "b"}]})"),
              HasSubstr("'pattern' says two things"));
  EXPECT_THAT(error(R"({"allOf": [{"additionalProperties": false}, {"properties": {"a": true}}]})"),
              HasSubstr("leaves out"));
  EXPECT_THAT(error(R"({"type": "string", "maxLength": 5000})"), HasSubstr("'maxLength'"));
  EXPECT_THAT(error(R"({"minLength": 5, "maxLength": 3})"), HasSubstr("'maxLength' is less than minLength"));
  EXPECT_THAT(error(R"({"enum": []})"), HasSubstr("'enum'"));
  EXPECT_THAT(error(R"({"type": "string", "const": 5})"), HasSubstr("'const' has no value of the type"));
  EXPECT_THAT(error(R"({"type": "array", "uniqueItems": true})"), HasSubstr("'uniqueItems'"));
  EXPECT_THAT(error(R"({"not": {}})"), HasSubstr("'not' is not supported"));
  EXPECT_THAT(error(R"({"properties": {"a": false}})"), HasSubstr("must be an object, or true"));
}

TEST(Grammars, Gbnf) {
  const auto list = gbnf(
      "# a list\nroot ::= item (\",\" ws item)* # items\nitem ::= [a-z]+ | \"\\x41\\n\" |\n  number\n"
      "number ::= [0-9]{1,3} (\".\" [^a-z\\]])?\nws ::= \" \"?\n");
  expect(list, Fit::Whole, {"ab", "ab,c", "ab, 123.é,A\n"});
  expect(list, Fit::No, {"ab,  ", "1234", "1.a", "1.]", "B"});
  expect(gbnf("root ::= \"a\"{2} \"b\"{0,1} \"c\"{1,}"), Fit::Whole, {"aac", "aabccc"});
  expect(gbnf("root ::= ( \"a\"* )* \"b\""), Fit::Whole, {"b", "aaab"});
  expect(gbnf("root ::= . [\\u00e9-\\u00ef-]"), Fit::Whole, {"xé", "漢-"});
  expect(gbnf("root ::= \"(\" root \")\" | \"\""), Fit::Whole, {"", "()", "((()))"});
  expect(gbnf("root ::= \"a\" root | \"a\""), Fit::Whole, {std::string(5000, 'a')});
  expect(gbnf("root ::= a b\na ::= \"x\"?\nb ::= \"y\"?"), Fit::Whole, {"", "x", "y", "xy"});
  const auto error = [](const std::string& text) { return error_of([&] { gbnf(text)->start(); }); };
  EXPECT_THAT(error("root ::= a"), HasSubstr("no rule 'a'"));
  EXPECT_THAT(error("a ::= \"b\""), HasSubstr("no rule 'root'"));
  EXPECT_THAT(error(""), HasSubstr("no rule 'root'"));
  EXPECT_THAT(error("root ::= root \"a\" | \"b\""), HasSubstr("left recursive"));
  EXPECT_THAT(error("root ::= a root \"a\" | \"b\"\na ::= \"\""), HasSubstr("left recursive"));
  EXPECT_THAT(error("root ::= root"), HasSubstr("allows no text"));
  EXPECT_THAT(error("root ::= \"a\nx ::= \"b\""), HasSubstr("line"));
  EXPECT_THAT(error("root ::= [b-a]"), HasSubstr("line 1 has a range that is none"));
  EXPECT_THAT(error("root ::= \"a\"\n\nroot ::= \"b\""), HasSubstr("line 3 defines 'root' twice"));
  EXPECT_THAT(error("root ::= \"\\q\""), HasSubstr("an escape that is not known"));
  EXPECT_THAT(error("root ::= \"\\ud800\""), HasSubstr("no character"));
  EXPECT_THAT(error("root ::= \"a\"{3,2}"), HasSubstr("a repetition that is none"));
  EXPECT_THAT(error("root ::= \"a\"{2001}"), HasSubstr("more than 2000 times"));
  EXPECT_THAT(error("root ::= <think>"), HasSubstr("not supported"));
  EXPECT_THAT(error("root \"a\""), HasSubstr("needs ::="));
  EXPECT_THAT(error("root ::= (\"a\""), HasSubstr("needs )"));
  EXPECT_THAT(error("root ::= \"\xFF\""), HasSubstr("no UTF-8"));
}

// The mask of each state on the way is what reading each token by its bytes says.
void expect_masks(Grammar& grammar, const ByteTokenizer& tokenizer, const std::string& text) {
  for (size_t size = 0; size <= text.size(); ++size) {
    const int32_t state = grammar.after_bytes(grammar.start(), text.substr(0, size));
    ASSERT_GE(state, 0) << text.substr(0, size);
    const auto mask = grammar.mask(state);
    EXPECT_EQ(mask, grammar.mask(state));  // kept
    for (int64_t token = 0; token < tokenizer.vocab_size(); ++token) {
      const std::string bytes = tokenizer.is_special(token) ? "" : tokenizer.token_bytes(token);
      const bool may_come = !bytes.empty() && grammar.after_bytes(state, bytes) >= 0;
      EXPECT_EQ(has_token(*mask, token), may_come) << text.substr(0, size) << " token " << token;
      EXPECT_EQ(grammar.after(state, token), may_come        ? grammar.after_bytes(state, bytes)
                                             : bytes.empty() ? state
                                                             : Grammar::kNone);
    }
  }
}

TEST(Grammars, Masks) {
  const ByteTokenizer tokenizer({"{\"", "\": ", "true}", "abc", "ab\"", "\xC3\xA9", "\xE6\xBC", "abcdefgh",
                                 "\xA9\"}", "漢字", "a\\", "\"a", std::string(200, 'a'),
                                 std::string(130, ' '), "\n\n"});
  const auto masks = [&](GrammarRules rules, const std::string& text) {
    expect_masks(*grammar_of(std::move(rules), tokenizer), tokenizer, text);
  };
  masks(json_schema_rules({{"type", "object"}}),
        "{\"a\xC3\xA9\\n\": [1.5e2, {\"b\": \"\"}, true],\n \"\": null}");
  masks(json_schema_rules(OrderedJson::parse(R"({"type": "string", "minLength": 3, "maxLength": 9})")),
        "\"ab\\u00e9 \xE6\xBC\xA2zzz\"");
  masks(json_schema_rules(OrderedJson::parse(R"({"type": "string", "maxLength": 200})")), "\"ab");
  masks(json_schema_rules(OrderedJson::parse(R"({"type": "string", "pattern": "^a[^b]*c$"})")), "\"axxc\"");
  masks(parse_gbnf("root ::= .*"), "a\"\n\xC3\xA9");
  masks(parse_gbnf("root ::= [^\"]* \"\\\"\" [a-z é]+"), "x\n\"ab \xC3\xA9");
  masks(parse_gbnf("root ::= [a-b]{3} | [^a]+"), "bb");
}

TEST(Grammars, Marks) {
  const ByteTokenizer tokenizer;
  const int64_t special = tokenizer.vocab_size() - 2;
  JsonCalls calls{.first = {{"f", OrderedJson::parse("{\"type\": \"null\"}")}},
                  .more = {{"g", OrderedJson::parse("{\"type\": \"null\"}")}},
                  .end = "}"};
  calls.between = {std::string(1, static_cast<char>(mark_byte(0)))};
  calls.close = {"]"};
  const auto grammar = grammar_of(json_call_rules(calls), tokenizer, {special});
  expect(grammar, Fit::Whole, {"fnull}", "fnull}]"});
  const int32_t state = grammar->after_bytes(grammar->start(), "fnull}");
  EXPECT_TRUE(has_token(*grammar->mask(state), special));
  EXPECT_FALSE(grammar->is_complete(state));
  const int32_t next = grammar->after(state, special);
  EXPECT_TRUE(grammar->is_accepting(grammar->after_bytes(next, "gnull}")));
  EXPECT_TRUE(grammar->is_complete(grammar->after_bytes(next, "gnull}]")));
  // In strings special tokens may not come.
  const auto any = grammar_of(json_schema_rules(true), tokenizer, {special});
  EXPECT_FALSE(has_token(*any->mask(any->after_bytes(any->start(), "\"")), special));
}

JsonCalls calls_in(JsonCalls::FreeText text) {
  JsonCalls calls{.first = {{"f", OrderedJson::parse("{\"type\": \"null\"}")}}, .more = {}, .end = "}"};
  calls.close = {"]"};
  calls.free_text = std::move(text);
  return calls;
}

TEST(Grammars, CallsInFreeText) {
  const ByteTokenizer tokenizer({"<<", "<c>", "c>f", "n<", "\xC3", "a<c"});
  const auto grammar = grammar_of(json_call_rules(calls_in({.begin = "<<c>", .may_go_on = true})), tokenizer);
  expect(grammar, Fit::Whole,
         {"", "a", "<", "<<", "<<c", "<c>f", "<<<<", "<<d", "a\n<<<c>fnull}", "<<c>fnull}] and <",
          "<<c>fnull}]<<<c>fnull}]", std::string("\0\xFF", 1), "\xC3\xA9\"\\"});
  expect(grammar, Fit::Beginning, {"<<c>", "<<<c>", "<<<<c>f", "<<c>fnull", "<<c>fnull}]<<c>fnul"});
  expect(grammar, Fit::No, {"<<c>g", "<<c> ", "<<c>fnull} ", "<<c>fnull}]<<c>x", "\xF8"});
  for (const char* text : {"a<", "<<", "<<c", "<<c>fnull}]", ""}) expect_masks(*grammar, tokenizer, text);
  // Without more calls, the text ends with the first.
  const auto one = grammar_of(json_call_rules(calls_in({.begin = "<<c>"})));
  expect(one, Fit::Whole, {"a<<c>fnull}", "<<c>fnull}]", "a"});
  expect(one, Fit::No, {"<<c>fnull}]a", "<<c>fnull}<<c>"});
  EXPECT_TRUE(one->is_complete(one->after_bytes(one->start(), "<<c>fnull}]")));
}

TEST(Grammars, CallsThatAreTheWholeText) {
  const auto grammar = grammar_of(json_call_rules(calls_in({.begin = "{", .is_at_start = true})));
  expect(grammar, Fit::Whole, {"", " \n", "a {", "\t{fnull}", "{fnull}]", " a{x", "<{"});
  expect(grammar, Fit::Beginning, {"{", " {f", "{fnull"});
  expect(grammar, Fit::No, {"{x", " { f", "{fnull}a"});
}

// Beside a schema of answers a call may be made, and is held to its function's schema, strict or not.
TEST(Grammars, CallsBesideASchema) {
  ApiRequest request;
  request.schema = OrderedJson::parse("{\"type\": \"boolean\"}");
  const OrderedJson none = OrderedJson::parse("{\"type\": \"object\", \"additionalProperties\": false}");
  request.tools.tools = {{"f", none, true}, {"g", none, false}};
  request.tools.choice = ToolOptions::Choice::Auto;
  request.tools.format = CallFormat::PlainJson;
  const auto grammar = grammar_of(*answer_rules(request, {}));
  for (const char* name : {"f", "g"}) {
    const std::string call = call_opening(CallFormat::PlainJson, name);
    expect(grammar, Fit::Whole, {"true", call + "{}}"});
    expect(grammar, Fit::No, {call + "{\"a", "any text"});
  }
}

TEST(Grammars, CallsBehindAMark) {
  const ByteTokenizer tokenizer;
  const int64_t special = tokenizer.vocab_size() - 2;
  const std::string mark(1, static_cast<char>(mark_byte(0)));
  const auto grammar =
      grammar_of(json_call_rules(calls_in({.begin = mark, .may_go_on = true})), tokenizer, {special});
  const int32_t free = grammar->after_bytes(grammar->start(), "any {text");
  EXPECT_TRUE(has_token(*grammar->mask(free), special));
  const int32_t call = grammar->after(free, special);
  EXPECT_FALSE(grammar->is_accepting(call));
  EXPECT_FALSE(has_token(*grammar->mask(call), special));
  EXPECT_EQ(grammar->after_bytes(call, "fnull}]any {text"), free);
}

TEST(Grammars, Sizes) {
  // Many states: each is found again, and the automaton says when it is large.
  const auto grammar = schema_grammar(
      R"({"type": "array", "items": {"type": "array", "items": {"type": "string", "maxLength": 4000}}})");
  std::string text = "[[\"";
  EXPECT_FALSE(grammar->is_large());
  for (int i = 0; i < 3000; ++i) text += 'a';
  expect(grammar, Fit::Whole, {text + "\"]]"});
  EXPECT_EQ(fit(*grammar, text + std::string(1001, 'a')), Fit::No);
  std::string deep;
  for (int i = 0; i < 60'000; ++i) deep += '[';
  const auto any = gbnf("root ::= \"[\" root \"]\" | \"\"");
  EXPECT_THAT(error_of([&] { fit(*any, deep); }), HasSubstr("too large"));
  EXPECT_TRUE(any->is_large());
}

}  // namespace
}  // namespace weft::serve
