#include "weft/models/tokenizer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/support.h"
#include "models/text_steps.h"
#include "models/tokenizers.h"
#include "support/sentencepiece_model.h"
#include "weft/models/chat.h"

namespace weft::models {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<int64_t>;

// Byte-level BPE with the letters of bytes and a few merges.
std::string byte_level_json(const std::string& changes = "{}") {
  nlohmann::json json = {
      {"model",
       {{"type", "BPE"},
        {"vocab", nlohmann::json::object()},
        {"merges", {"h e", "l l", "he ll", "hell o", "Ġ w", "o r"}}}},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"normalizer", nullptr},
      {"post_processor", nullptr}};
  int id = 0;
  for (int byte = 0; byte < 256; ++byte)
    json["model"]["vocab"][byte_to_letters(std::string(1, static_cast<char>(byte)))] = id++;
  for (const char* token : {"he", "ll", "hell", "hello", "Ġw", "or"}) json["model"]["vocab"][token] = id++;
  json["added_tokens"] = {{{"id", id}, {"content", "<|endoftext|>"}, {"special", true}},
                          {{"id", id + 1}, {"content", "<think>"}, {"special", false}}};
  json.merge_patch(nlohmann::json::parse(changes));
  return json.dump();
}

TEST(Utf8, WholeCharactersAndWhatIsInvalid) {
  EXPECT_EQ(whole_characters("a\xE2\x82"), 1u);
  EXPECT_EQ(whole_characters("a\xE2\x82\xAC"), 4u);
  EXPECT_EQ(whole_characters("\xFF"), 1u);
  EXPECT_TRUE(is_utf8("gr\xC3\xBC\xC3\x9F"));
  for (const char* bad : {"\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80", "\xE2\x82"})
    EXPECT_FALSE(is_utf8(bad));
  EXPECT_EQ(replace_invalid_utf8("a\xFFz\xE2\x82"), "a\xEF\xBF\xBDz\xEF\xBF\xBD");
}

TEST(TokenizerJson, ByteLevel) {
  const auto tokenizer = parse_tokenizer_json(byte_level_json(), "t");
  EXPECT_THAT(tokenizer->encode("hello world"), ElementsAre(259, 260, 261, 'l', 'd'));
  EXPECT_THAT(tokenizer->encode("\xE2\x82\xAC"), ElementsAre(0xE2, 0x82, 0xAC));
  EXPECT_EQ(tokenizer->decode({259, 260, 261, 'l', 'd'}), "hello world");
  EXPECT_EQ(tokenizer->decode({0xE2, 0x82, 'x'}), "\xEF\xBF\xBDx");
  EXPECT_EQ(tokenizer->vocab_size(), 264);
}

TEST(TokenizerJson, SpecialTokensInTheText) {
  const auto tokenizer = parse_tokenizer_json(byte_level_json(), "t");
  EXPECT_THAT(tokenizer->encode("or<|endoftext|>or", true, true), ElementsAre(261, 262, 261));
  EXPECT_GT(tokenizer->encode("or<|endoftext|>or").size(), 5u);  // only text
  EXPECT_THAT(tokenizer->encode("<think>or"), ElementsAre(263, 261));
  EXPECT_THAT(tokenizer->eos_ids(), ElementsAre(262));
  EXPECT_EQ(tokenizer->decode({261, 262, 263}), "or<think>");
}

// The expected ids are those of Hugging Face's tokenizers 0.23.
TEST(TokenizerJson, WhatAddedTokensTake) {
  const auto with = [](const char* flags, const char* content, const char* normalizer = "null") {
    const std::string added = fmt::format(R"({{"id": 262, "content": "{}", {}}})", content, flags);
    return parse_tokenizer_json(
        byte_level_json(fmt::format(R"({{"added_tokens": [{}], "normalizer": {}}})", added, normalizer)),
        "t");
  };
  EXPECT_THAT(with(R"("lstrip": true)", "<m>")->encode("a \n\xC2\xA0<m> b"), ElementsAre('a', 262, ' ', 'b'));
  EXPECT_THAT(with(R"("rstrip": true)", "<m>")->encode("a <m> \n b"), ElementsAre('a', ' ', 262, 'b'));
  EXPECT_THAT(with(R"("lstrip": true, "rstrip": true)", "<m>")->encode(" <m>  <m> a"),
              ElementsAre(262, 262, 'a'));
  const auto word = with(R"("single_word": true)", "cat");
  EXPECT_THAT(word->encode("cat-cat"), ElementsAre(262, '-', 262));
  EXPECT_THAT(word->encode("cats"), ElementsAre('c', 'a', 't', 's'));
  EXPECT_THAT(word->encode("_cat"), ElementsAre('_', 'c', 'a', 't'));
  EXPECT_THAT(word->encode("\xC3\xA9"
                           "cat"),
              ElementsAre(0xC3, 0xA9, 'c', 'a', 't'));

  const char* lowercase = R"({"type": "Lowercase"})";
  const auto normalized = with(R"("normalized": true)", "<M>", lowercase),
             as_written = with(R"("normalized": false)", "<M>", lowercase);
  EXPECT_THAT(normalized->encode("<m>A<M>"), ElementsAre(262, 'a', 262));
  EXPECT_THAT(as_written->encode("<m>A<M>"), ElementsAre('<', 'm', '>', 'a', 262));
  EXPECT_EQ(normalized->decode({262, 'a'}), "<M>a");
  EXPECT_EQ(normalized->token_id("<M>"), 262);
  EXPECT_THAT(normalized->encode("\xC4\xB0\xC3\x9F"),
              ElementsAre('i', 0xCC, 0x87, 0xC3, 0x9F));  // lower case is not case folding
}

TEST(TokenizerJson, ByteFallbackAndPrefix) {
  nlohmann::json json = {
      {"model",
       {{"type", "BPE"},
        {"byte_fallback", true},
        {"vocab", nlohmann::json::object()},
        {"merges", nlohmann::json::array()}}},
      {"normalizer",
       {{"type", "Sequence"},
        {"normalizers",
         {{{"type", "Prepend"}, {"prepend", "▁"}},
          {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}}}}}},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders",
         {{{"type", "ByteFallback"}}, {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single",
         {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
          {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}}}}};
  json["model"]["vocab"]["<s>"] = 0;
  for (int byte = 0; byte < 256; ++byte) json["model"]["vocab"][fmt::format("<0x{:02X}>", byte)] = 1 + byte;
  for (const char* token : {"▁", "a", "b", "▁a", "ab", "▁ab"})
    json["model"]["vocab"][token] = static_cast<int>(json["model"]["vocab"].size());
  json["model"]["merges"] = nlohmann::json::parse(R"([["▁", "a"], ["▁a", "b"], ["a", "b"]])");
  json["added_tokens"] = {{{"id", 0}, {"content", "<s>"}, {"special", true}}};
  const auto tokenizer = parse_tokenizer_json(json.dump(), "t");
  EXPECT_THAT(tokenizer->encode("ab ab"), ElementsAre(0, 262, 262));
  EXPECT_THAT(tokenizer->encode("aé", false), ElementsAre(260, 1 + 0xC3, 1 + 0xA9));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("ab é")), "ab é");
  EXPECT_EQ(tokenizer->bos_id(), 0);
}

TEST(TokenizerJson, WhatIsRefused) {
  const auto error = [](const std::string& changes) {
    return error_of([&] { parse_tokenizer_json(byte_level_json(changes), "t.json"); });
  };
  EXPECT_THAT(error(R"({"model": {"type": "Unigram"}})"),
              HasSubstr("tokenizer 't.json': the model 'Unigram' is not supported"));
  EXPECT_THAT(error(R"({"normalizer": {"type": "BertNormalizer"}})"),
              HasSubstr("the normalizer 'BertNormalizer' is not supported"));
  EXPECT_THAT(error(R"({"pre_tokenizer": {"type": "UnicodeScripts"}})"),
              HasSubstr("the pre-tokenizer 'UnicodeScripts' is not supported"));
  EXPECT_THAT(
      error(R"({"pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(a"}}})"),
      HasSubstr("missing closing parenthesis"));
  EXPECT_THAT(error(R"({"post_processor": {"type": "RobertaProcessing"}})"),
              HasSubstr("the post-processor 'RobertaProcessing' is not supported"));
  EXPECT_THAT(error(R"({"model": {"merges": ["h z9"]}})"),
              HasSubstr("merge 0 names 'z9', which the vocabulary does not have"));
  EXPECT_THAT(error(R"({"model": {"merges": ["hz"]}})"), HasSubstr("merge 0 is not a pair"));
  EXPECT_THAT(error(R"({"model": {"vocab": {"far": 900000000}}})"), HasSubstr("far outside the vocabulary"));
  EXPECT_THAT(error(R"({"model": {"vocab": {"bad": -1}}})"), HasSubstr("the id of 'bad' is -1"));
  EXPECT_THAT(error(R"({"model": {"byte_fallback": true}})"),
              HasSubstr("byte_fallback without the token <0x00>"));
  EXPECT_THAT(error_of([] { parse_tokenizer_json("{", "t.json"); }), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of([] { parse_tokenizer_json("[]", "t.json"); }), HasSubstr("it has no 'model'"));
  EXPECT_THAT(error_of([] { parse_tokenizer_json(byte_level_json(), "t")->encode("\xFF"); }),
              HasSubstr("not valid UTF-8"));
  EXPECT_THAT(error_of([] { parse_tokenizer_json(byte_level_json(), "t")->token_bytes(999); }),
              HasSubstr("token id 999 is outside the vocabulary of 264"));
}

// The ranks of single bytes, and some longer tokens.
std::string tiktoken_file() {
  const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (int byte = 0; byte < 256; ++byte)
    text += fmt::format("{}{}== {}\n", digits[byte >> 2], digits[byte << 4 & 63], byte);
  text += "aGU= 256\nbGw= 257\nIHc= 258\nb3I= 259\n";  // he, ll, " w", or
  return text;
}

TEST(Tiktoken, MergesByRank) {
  const auto tokenizer = parse_tiktoken(tiktoken_file(), "t");
  EXPECT_THAT(tokenizer->encode("hello world", false), ElementsAre(256, 257, 'o', 258, 259, 'l', 'd'));
  EXPECT_EQ(tokenizer->bos_id(), 260);
  EXPECT_THAT(tokenizer->encode("a<|eot_id|>", true, true), ElementsAre(260, 'a', 269));
  EXPECT_EQ(tokenizer->decode({260, 256, 257, 269}), "hell");
  EXPECT_EQ(tokenizer->vocab_size(), 260 + 256);
}

TEST(Tiktoken, WhatIsRefused) {
  const auto error = [](const std::string& text) { return error_of([&] { parse_tiktoken(text, "t"); }); };
  EXPECT_THAT(error(""), HasSubstr("it has no tokens"));
  EXPECT_THAT(error("AA== 0\nAQ== 2\n"), HasSubstr("line 2: rank 2 comes where 1 was expected"));
  EXPECT_THAT(error("AA== 0\nAA== 1\n"), HasSubstr("the same token twice"));
  EXPECT_THAT(error("A?== 0\n"), HasSubstr("line 1: not base64"));
  EXPECT_THAT(error("AA==\n"), HasSubstr("expected 'base64 rank'"));
  EXPECT_THAT(error("AA== 0\n"), HasSubstr("no token for the byte 1"));
}

TEST(SentencePiece, OfTheStories) {
  WEFT_NEEDS_STORIES();
  const auto tokenizer = Tokenizer::open(stories());
  EXPECT_EQ(tokenizer->vocab_size(), 512);
  const nlohmann::json expected = nlohmann::json::parse(read_file(stories() + "/expected.json"));
  const Ids ids = expected["greedy_ids"];
  EXPECT_EQ(tokenizer->decode(ids), expected["greedy_text"].get<std::string>());
  const std::string text = "Once upon a time, there was a little girl named Lily.";
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  EXPECT_EQ(tokenizer->encode(text)[0], 1);
  StreamDecoder stream(tokenizer, true);
  std::string streamed;
  for (const int64_t id : ids) streamed += stream.push(id);
  EXPECT_EQ(streamed + stream.finish(), expected["greedy_text"].get<std::string>());
}

TEST(SentencePiece, SmallModels) {
  using testing_support::sentencepiece_model;
  for (const uint64_t type : {1, 2}) {
    const auto tokenizer = parse_sentencepiece(sentencepiece_model(type), "t");
    EXPECT_EQ(tokenizer->decode(tokenizer->encode("A w\xC3\xA9<tool>")), "a w\xC3\xA9<tool>") << type;
  }
}

// Its library would read outside the table, or end the program.
TEST(SentencePiece, WhatIsRefused) {
  using namespace testing_support;
  const auto error = [](const std::string& bytes) {
    return error_of([&] { parse_sentencepiece(bytes, "t"); });
  };
  const std::string model = sentencepiece_model(2);
  EXPECT_THAT(error(""), HasSubstr("tokenizer 't': not a SentencePiece model: it has no pieces"));
  EXPECT_THAT(error(model.substr(0, model.size() - 1)), HasSubstr("it ends within a field"));
  EXPECT_THAT(error(model + "\x0B"), HasSubstr("a field of an unknown kind"));
  EXPECT_THAT(error(model + std::string(11, '\xFF')), HasSubstr("a number of more than 64 bits"));
  EXPECT_THAT(error(model + piece_field("w", Piece::Normal)), HasSubstr("the piece 'w' is there twice"));
  EXPECT_THAT(error(model + piece_field("", Piece::Normal)),
              HasSubstr("a piece is empty or has a zero byte"));
  EXPECT_THAT(error(model + piece_field(std::string("a\0b", 3), Piece::UserDefined)),
              HasSubstr("a piece is empty or has a zero byte"));
  std::string alike = model;
  for (size_t length = 2; length < 80; ++length)
    alike += piece_field(std::string(length, 'x'), Piece::UserDefined);
  EXPECT_THAT(error(alike), HasSubstr("too many user-defined pieces begin alike"));

  const auto with_table = [&](const std::string& table) { return error(sentencepiece_model(2, table)); };
  const auto with_unit = [&](size_t index, uint32_t unit) {
    std::string table = rule_table();
    for (int i = 0; i < 4; ++i)
      table[4 + 4 * index + static_cast<size_t>(i)] = static_cast<char>(unit >> (8 * i));
    return with_table(table);
  };
  EXPECT_EQ(with_unit(0, 256u << 10), "no error");
  EXPECT_THAT(with_table("abc"), HasSubstr("normalization rules without a table"));
  EXPECT_THAT(with_table(std::string("\xFF\xFF\0\0abc", 7)), HasSubstr("larger than what holds it"));
  EXPECT_THAT(with_table(rule_table() + "a"), HasSubstr("the results of normalization rules do not end"));
  EXPECT_THAT(with_unit(0, 512u << 10), HasSubstr("normalization rules lead outside their table"));
  EXPECT_THAT(with_unit(511, 1u << 31 | 2),
              HasSubstr("a normalization rule's result is outside their table"));
  EXPECT_THAT(with_unit(256 ^ 'A', ((256u ^ 'A') ^ 256u) << 10 | 'A'),
              HasSubstr("normalization rules that go round in a circle"));
}

TEST(SentencePiece, DamagedFiles) {
  EXPECT_THAT(error_of([] { parse_sentencepiece("not a model", "t"); }),
              HasSubstr("tokenizer 't': not a SentencePiece model"));
  WEFT_NEEDS_STORIES();
  const std::string bytes = read_file(stories() + "/tokenizer.model");
  for (size_t length = 0; length < bytes.size(); length += 97) {
    try {
      parse_sentencepiece(bytes.substr(0, length), "t");
    } catch (const Error&) {
    }
  }
}

TEST(Tokenizer, FoldersWithoutOne) {
  const Folder folder;
  EXPECT_THAT(error_of([&] { Tokenizer::open(folder.path()); }),
              HasSubstr("looked for tokenizer.json and tokenizer.model"));
  folder.write("tokenizer.model", tiktoken_file());
  EXPECT_EQ(Tokenizer::open(folder.path())->vocab_size(), 516);
}

TEST(Chat, Templates) {
  WEFT_NEEDS_STORIES();
  const std::shared_ptr<const Tokenizer> tokenizer = Tokenizer::open(stories());
  EXPECT_EQ(ChatTemplate::built_in(tokenizer, "mistral")->name(), "mistral");
  const auto chat = ChatTemplate::open(stories(), tokenizer, "llama");
  EXPECT_EQ(chat->name(), "llama2");
  EXPECT_TRUE(chat->is_built_in());
  const std::vector<ChatMessage> messages = {
      {"system", "Be kind."}, {"user", " Hi "}, {"assistant", "Hello"}, {"user", "Bye"}};
  const Ids ids = chat->encode(messages);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 1), 2);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 2), 1);
  EXPECT_EQ(tokenizer->decode(ids),
            "[INST] <<SYS>>\nBe kind.\n<</SYS>>\n\nHi [/INST] Hello  [INST] Bye [/INST]");
  EXPECT_EQ(ChatTemplate::named("mistral", tokenizer)->render(chat_variables(messages)),
            "<s>[INST] Be kind.\n\n Hi  [/INST] Hello</s>[INST] Bye [/INST]");
  EXPECT_EQ(ChatTemplate::named("none", tokenizer)->render(chat_variables({{"user", "a"}, {"user", "b"}})),
            "<s>ab");
  EXPECT_THAT(error_of([&] {
                chat->encode({{"assistant", "a"}});
              }),
              HasSubstr("message 0 must be of the user, it is of 'assistant'"));
  EXPECT_THAT(error_of([&] { ChatTemplate::named("llama3", tokenizer); }),
              HasSubstr("no token '<|start_header_id|>'"));
  EXPECT_THAT(error_of([&] { ChatTemplate::named("llama4", tokenizer); }),
              HasSubstr("unknown chat template"));
}

TEST(Chat, Llama3) {
  const std::shared_ptr<const Tokenizer> tokenizer = parse_tiktoken(tiktoken_file(), "t");
  const auto chat = ChatTemplate::built_in(tokenizer, "llama");
  EXPECT_EQ(chat->name(), "llama3");
  const auto id = [&](const char* token) { return *tokenizer->token_id(token); };
  Ids expected = {id("<|begin_of_text|>"),
                  id("<|start_header_id|>"),
                  'u',
                  's',
                  'e',
                  'r',
                  id("<|end_header_id|>"),
                  '\n',
                  '\n',
                  'H',
                  'i',
                  id("<|eot_id|>"),
                  id("<|start_header_id|>")};
  for (const char c : std::string("assistant")) expected.push_back(c);
  expected.insert(expected.end(), {id("<|end_header_id|>"), '\n', '\n'});
  EXPECT_EQ(chat->encode({{"user", "Hi "}}), expected);
  EXPECT_THAT(error_of([&] { chat->encode({{"tool", "a"}}); }), HasSubstr("unknown role 'tool'"));
  // Special tokens in what is said are text.
  const Ids said = chat->encode({{"user", "a<|eot_id|>b"}});
  EXPECT_EQ(std::count(said.begin(), said.end(), id("<|eot_id|>")), 1);
  EXPECT_THAT(tokenizer->decode(said), HasSubstr("a<|eot_id|>b"));
}

}  // namespace
}  // namespace weft::models
