// Files of language models: tensors and tokenizers.
#include <fmt/format.h>

#include <cstdint>

#include "fuzz/seeds.h"
#include "io/npy.h"
#include "support/sentencepiece_model.h"

namespace weft::fuzz {
namespace {

std::string safetensors_of(const std::string& header, size_t data_bytes) {
  std::string file;
  for (size_t i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i));
  return file + header + std::string(data_bytes, '\1');
}

constexpr const char* kByteLevelJson = R"json({"version": "1.0",
 "added_tokens": [{"id": 7, "content": "<s>", "special": true}, {"id": 8, "content": "<t>", "special": false}],
 "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"},
  {"type": "Replace", "pattern": {"Regex": "l+"}, "content": "l"}, {"type": "Prepend", "prepend": " "}]},
 "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
  {"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}| ?\\p{L}+|\\s+(?!\\S)"}, "behavior": "Isolated", "invert": false},
  {"type": "Digits", "individual_digits": true}, {"type": "Punctuation"},
  {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}]},
 "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A"}}]},
 "decoder": {"type": "ByteLevel"},
 "model": {"type": "BPE", "ignore_merges": true, "unk_token": "u", "vocab": {"h": 0, "e": 1, "l": 2, "o": 3, "he": 4, "u": 5, "Ġ": 6},
  "merges": ["h e"]}})json";

constexpr const char* kMetaspaceJson = R"({"added_tokens": [],
 "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
  {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
 "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true},
 "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
 "model": {"type": "BPE", "unk_token": "u", "byte_fallback": false, "vocab": {"u": 0, "▁": 1, "h": 2, "▁h": 3}, "merges": [["▁", "h"]]}})";

// A GGUF file piece by piece.
class GgufSeed {
 public:
  template <class T>
  GgufSeed& number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  GgufSeed& text(const std::string& text) {
    number(uint64_t{text.size()});
    bytes_ += text;
    return *this;
  }
  void value(const std::string& key, const std::string& value) {
    text(key).number(uint32_t{8}).text(value), ++values_;
  }
  void value(const std::string& key, uint32_t value) {
    text(key).number(uint32_t{4}).number(value), ++values_;
  }
  void value(const std::string& key, float value) { text(key).number(uint32_t{6}).number(value), ++values_; }
  void texts(const std::string& key, const std::vector<std::string>& list) {
    text(key).number(uint32_t{9}).number(uint32_t{8}).number(uint64_t{list.size()}), ++values_;
    for (const std::string& item : list) text(item);
  }
  template <class T>
  void numbers(const std::string& key, uint32_t kind, const std::vector<T>& list) {
    text(key).number(uint32_t{9}).number(kind).number(uint64_t{list.size()}), ++values_;
    for (const T item : list) number(item);
  }
  void tensor(const std::string& name, const std::vector<uint64_t>& dims, uint32_t type, uint64_t bytes) {
    text(name).number(static_cast<uint32_t>(dims.size()));
    for (const uint64_t size : dims) number(size);
    number(type).number(uint64_t{data_});
    data_ += (bytes + 31) / 32 * 32, ++tensors_;
  }
  std::string file() const {
    GgufSeed head;
    head.bytes_ = "GGUF";
    head.number(uint32_t{3}).number(uint64_t{tensors_}).number(uint64_t{values_});
    std::string all = head.bytes_ + bytes_;
    all.resize((all.size() + 31) / 32 * 32);
    return all + std::string(data_, '\1');
  }

 private:
  std::string bytes_;
  uint64_t values_ = 0, tensors_ = 0, data_ = 0;
};

std::string gguf_model(const char* tokenizer) {
  GgufSeed seed;
  seed.value("general.architecture", std::string("llama"));
  for (const auto& [key, number] : {std::pair{"llama.context_length", 64u},
                                    {"llama.embedding_length", 32u},
                                    {"llama.block_count", 1u},
                                    {"llama.feed_forward_length", 32u},
                                    {"llama.attention.head_count", 2u},
                                    {"llama.rope.dimension_count", 16u}})
    seed.value(key, number);
  seed.value("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  seed.value("tokenizer.ggml.model", std::string(tokenizer));
  seed.texts("tokenizer.ggml.tokens", {"<unk>", "<s>", "h", "e", "he"});
  seed.numbers<float>("tokenizer.ggml.scores", 6, {0, 0, -1, -2, -3});
  seed.numbers<int32_t>("tokenizer.ggml.token_type", 5, {2, 3, 1, 1, 1});
  seed.texts("tokenizer.ggml.merges", {"h e"});
  seed.value("tokenizer.ggml.bos_token_id", 1u);
  seed.tensor("token_embd.weight", {32, 5}, 8, 5 * 34);
  seed.tensor("blk.0.attn_q.weight", {256, 2}, 12, 2 * 144);
  seed.tensor("output_norm.weight", {32}, 0, 128);
  return seed.file();
}

std::string tiktoken() {
  const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (int byte = 0; byte < 256; ++byte)
    text += fmt::format("{}{}== {}\n", digits[byte >> 2], digits[byte << 4 & 63], byte);
  return text + "aGU= 256\nbGw= 257\nIHc= 258\nb3I= 259\n";
}

}  // namespace

std::vector<std::string> chat_templates() {
  return {
      R"({%- for m in messages if m.role != 'x' %}{{ loop.index ~ loop.last }}{{- m['content'] | trim | upper -}}{% else %}none{% endfor %})",
      R"({% macro show(v, d=0) %}{% if v is mapping %}{% for k, w in v.items() %}{{ k }}{{ show(w, d + 1) }}{% endfor %}{% endif %}{% endmacro %}{{ show(tools[0]) }})",
      R"({% set ns = namespace(a=1, b=[1, 2.5, none]) %}{% set ns.a = ns.a // 2 ** 3 % 5 %}{{ ns.b[::-1] | tojson(indent=2) }})",
      R"({% for i in range(5) recursive %}{% if i == 3 %}{% break %}{% endif %}{{ loop.cycle('a', 'b') }}{% continue %}{% endfor %})",
      R"({% call(x) show([1]) %}{{ x }}{% endcall %}{% filter replace('a', 'b') %}banana{% endfilter %}{% raw %}{{ x }}{% endraw %}{# c #})",
      R"({{ '%s-%05.2f' % ('a', 1.5) }}{{ '{:>5}{a!r}'.format(1, a='x') }}{{ 'a b'.split()[0].title() }}{{ x if y else z is defined }})",
      R"({{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | join(', ') | truncate(5, true) }}{{ [3, 1] | sort | sum }})",
      R"({% with a = 1 %}{% set b %}{{ a }}{% endset %}{{ b | int + 1 }}{% endwith %}{% generation %}{{ raise_exception('no') }}{% endgeneration %})"};
}

std::vector<std::string> grammars() {
  return {
      R"({"type": "object", "properties": {"a": {"type": "string", "minLength": 1, "maxLength": 5}, "b": {"$ref": "#/$defs/c"}},
          "required": ["a"], "additionalProperties": {"type": "number", "minimum": 0, "exclusiveMaximum": 12},
          "$defs": {"c": {"type": "array", "items": {"type": "integer", "maximum": -3}, "minItems": 1, "maxItems": 3}}})",
      R"({"anyOf": [{"type": ["string", "null"], "pattern": "^[a-z]{2,3}(b|\\d+)?[^x]$"}, {"enum": ["a", 5, {"b": [true]}]},
          {"allOf": [{"type": "string"}, {"format": "date-time"}]}, {"prefixItems": [true, {"const": null}], "items": false}]})",
      R"({"properties": {"left": {"$ref": "#"}, "k": {}}, "oneOf": [{"required": ["k"]}, {"minProperties": 0}]})",
      "root ::= item (\",\" ws item)* # items\nitem ::= [a-z]+ | \"\\x41\\n\" | number\nnumber ::= "
      "[0-9]{1,3} (\".\" [^a-z\\]])?\nws ::= \" \"?\n",
      "root ::= \"(\" root \")\" | . [\\u00e9-\\U00010000] | \"\"",
  };
}

std::vector<std::string> completions() {
  return {
      R"({"prompt": "Once", "max_tokens": 5, "temperature": 0.5, "top_p": 0.9, "min_p": 0.1, "top_k": 40, "seed": 3})",
      R"({"prompt": ["a", [4, 5], ""], "n": 2, "stop": ["a", "b"], "logprobs": 2, "echo": false, "best_of": 2})",
      R"({"prompt": [1, 2, 3], "stream": true, "stream_options": {"include_usage": true}, "logit_bias": {}})",
      R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "a"}]}]})",
      R"({"prompt": "a", "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "integer"}}}})",
      R"({"prompt": "a", "grammar": "root ::= [a-z]+"})",
      R"({"messages": [{"role": "user", "content": "a"}], "logprobs": true, "top_logprobs": 3, "max_completion_tokens": 7,
          "response_format": {"type": "text"}, "tools": [], "presence_penalty": 0, "repetition_penalty": 1.1})",
  };
}

std::vector<std::string> array_bodies() {
  const std::string pixels = R"({"dtype": "uint8", "shape": [1, 2, 3], "base64": "AAECAwQF"})";
  const IValue request = R"({"prompts": [{"points": [[1, 2, 0]]}]})";
  return {
      R"({"inputs": {"x": [[1, 2.5], ["NaN", 3]], "y": [true], "z": "a", "states": {"0": null, "left": ["b"]}}, "model": "m"})",
      R"({"inputs": [5, [], {"dtype": "float16", "shape": [2, 1], "data": [1, 2]}, )" + pixels + "]}",
      R"({"prompts": [{"points": [[1, 2], [3, 4, 0]], "box": [1, 2.5, 3, 4]}], "multimask": true, "image": )" +
          pixels + "}",
      R"({"prompts": [{"box": [1, 2, 3, 4]}], "segmentation": "polygons", "image": "iVBORw0KGgo="})",
      io::npz_bytes({{"x", Tensor::full({2, 3}, 1, DType::F32)}, {"t", "text"}, {"n", 5}}, "seed"),
      io::npz_bytes({{"image", Tensor::full({1, 2, 3}, 1, DType::U8)}, {"request", request}}, "seed"),
      std::string("\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00"
                  "\x00\x00\x90wS\xde\x00\x00\x00\x0cIDATx\x9c"
                  "c\xf8\x7f\x80\x01\x00\x04\x81\x01\xc0w\xd9\x03\x1d\x00\x00\x00\x00IEND\xae"
                  "B`\x82",
                  69),
  };
}

std::vector<std::string> safetensors() {
  return {
      safetensors_of("{}", 0),
      safetensors_of(
          R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
          R"("b":{"dtype":"BF16","shape":[],"data_offsets":[24,26]},"c":{"dtype":"BOOL","shape":[0,7],"data_offsets":[26,26]}})",
          26),
      safetensors_of(
          R"({"x":{"dtype":"I64","shape":[1],"data_offsets":[1,9]},"y":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
          9)};
}

std::vector<std::string> gguf_files() { return {GgufSeed().file(), gguf_model("llama"), gguf_model("gpt2")}; }

std::vector<std::string> tokenizers() {
  std::vector<std::string> result;
  for (const char* json : {kByteLevelJson, kMetaspaceJson}) result.push_back('\0' + std::string(json));
  for (const uint64_t model_type : {1, 2, 3, 4})
    result.push_back('\1' + testing_support::sentencepiece_model(model_type));
  result.push_back('\1' + testing_support::sentencepiece_model(2, ""));
  result.push_back('\2' + tiktoken());
  return result;
}

}  // namespace weft::fuzz
