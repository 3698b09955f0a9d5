#include "models/text_steps.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <unordered_map>

#include "core/printable.h"
#include "models/regex.h"
#include "weft/error.h"

namespace weft::models {
namespace {

std::string type_of(const Json& description, const std::string& name) {
  WEFT_CHECK(description.is_object() && description.contains("type") && description["type"].is_string(),
             fmt::format("tokenizer '{}': a step without a type", name));
  return description["type"].get<std::string>();
}

std::string text_of(const Json& object, const char* key, const std::string& name) {
  WEFT_CHECK(object.contains(key) && object[key].is_string(),
             fmt::format("tokenizer '{}': '{}' is not a text", name, key));
  return object[key].get<std::string>();
}

bool flag(const Json& object, const char* key, bool fallback) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() ? found->get<bool>() : fallback;
}

const Json& steps_of(const Json& description, const char* key, const std::string& name) {
  WEFT_CHECK(description.contains(key) && description[key].is_array(),
             fmt::format("tokenizer '{}': a Sequence without '{}'", name, key));
  return description[key];
}

// {"String": …} or {"Regex": …} as an expression.
std::string pattern_of(const Json& description, const std::string& name) {
  WEFT_CHECK(description.contains("pattern") && description["pattern"].is_object(),
             fmt::format("tokenizer '{}': a step without a pattern", name));
  const Json& pattern = description["pattern"];
  if (pattern.contains("Regex")) return text_of(pattern, "Regex", name);
  return fmt::format("\\Q{}\\E", replace_all(text_of(pattern, "String", name), "\\E", "\\E\\\\E\\Q"));
}

Normalize unicode_form(int options) {
  return [options](std::string text) {
    utf8proc_uint8_t* result = nullptr;
    const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     static_cast<utf8proc_ssize_t>(text.size()), &result,
                                     static_cast<utf8proc_option_t>(UTF8PROC_STABLE | options));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(result, std::free);
    WEFT_CHECK(length >= 0, fmt::format("encode: {}", utf8proc_errmsg(length)));
    return std::string(reinterpret_cast<const char*>(result), static_cast<size_t>(length));
  };
}

// source: Unicode's lower case mapping, which gives one character a longer text: U+0130.
std::string lowercase(std::string text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    utf8proc_int32_t code = 0;
    const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + i),
                                         static_cast<utf8proc_ssize_t>(text.size() - i), &code);
    WEFT_CHECK(length > 0, "encode: the text is not valid UTF-8");
    i += static_cast<size_t>(length);
    if (code == 0x130) {
      result += "i\xCC\x87";
      continue;
    }
    std::array<utf8proc_uint8_t, 4> encoded{};
    const auto bytes = utf8proc_encode_char(utf8proc_tolower(code), encoded.data());
    result.append(reinterpret_cast<const char*>(encoded.data()), static_cast<size_t>(bytes));
  }
  return result;
}

Normalize make_replace(const Json& description, const std::string& name) {
  const std::string content = text_of(description, "content", name);
  const Json& pattern = description.contains("pattern") ? description["pattern"] : description;
  if (pattern.is_object() && pattern.contains("String"))
    return [from = text_of(pattern, "String", name), content](std::string text) {
      return replace_all(std::move(text), from, content);
    };
  const auto regex = std::make_shared<Regex>(pattern_of(description, name));
  return [regex, content](std::string text) {
    std::string result;
    size_t done = 0;
    regex->for_each_match(text, [&](size_t begin, size_t end) {
      result.append(text, done, begin - done).append(content);
      done = end;
    });
    return result.append(text, done);
  };
}

using Words = std::vector<std::string>;

void push(Words& words, std::string_view word) {
  if (!word.empty()) words.emplace_back(word);
}

// Every match is a word, and so is what lies between matches; `keep_matches` false: only the latter.
Words split_at(const Regex& regex, const std::string& text, bool keep_matches) {
  Words words;
  size_t done = 0;
  regex.for_each_match(text, [&](size_t begin, size_t end) {
    push(words, std::string_view(text).substr(done, begin - done));
    if (keep_matches) push(words, std::string_view(text).substr(begin, end - begin));
    done = end;
  });
  push(words, std::string_view(text).substr(done));
  return words;
}

// Each match ends the word that leads to it, or begins the next one.
Words split_merged(const Regex& regex, const std::string& text, bool with_previous) {
  Words words;
  size_t done = 0;
  regex.for_each_match(text, [&](size_t begin, size_t end) {
    const size_t cut = with_previous ? end : begin;
    push(words, std::string_view(text).substr(done, cut - done));
    done = cut;
  });
  push(words, std::string_view(text).substr(done));
  return words;
}

PreTokenize make_split(const Json& description, const std::string& name) {
  const auto regex = std::make_shared<Regex>(pattern_of(description, name));
  const std::string behavior = text_of(description, "behavior", name);
  WEFT_CHECK(!flag(description, "invert", false) || behavior == "Removed" || behavior == "Isolated",
             fmt::format("tokenizer '{}': Split with invert and behavior '{}' is not supported", name,
                         printable(behavior)));
  if (behavior == "Isolated")
    return [regex](const std::string& text, bool) { return split_at(*regex, text, true); };
  if (behavior == "Removed" && flag(description, "invert", false))
    return [regex](const std::string& text, bool) {
      Words words;
      regex->for_each_match(text, [&](size_t begin, size_t end) {
        push(words, std::string_view(text).substr(begin, end - begin));
      });
      return words;
    };
  if (behavior == "Removed")
    return [regex](const std::string& text, bool) { return split_at(*regex, text, false); };
  WEFT_CHECK(
      behavior == "MergedWithPrevious" || behavior == "MergedWithNext",
      fmt::format("tokenizer '{}': Split with behavior '{}' is not supported", name, printable(behavior)));
  return [regex, previous = behavior == "MergedWithPrevious"](const std::string& text, bool) {
    return split_merged(*regex, text, previous);
  };
}

PreTokenize make_byte_level(const Json& description) {
  // source: GPT-2's pattern.
  static const Regex& words =
      *new Regex(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
  const bool prefix = flag(description, "add_prefix_space", true),
             use_regex = flag(description, "use_regex", true);
  return [prefix, use_regex](std::string text, bool) {
    if (prefix && !text.starts_with(' ')) text.insert(0, " ");
    Words parts = use_regex ? split_at(words, text, true) : Words{text};
    for (std::string& part : parts) part = byte_to_letters(part);
    return parts;
  };
}

PreTokenize make_metaspace(const Json& description, const std::string& name) {
  const std::string replacement =
      description.contains("replacement") ? text_of(description, "replacement", name) : kMetaspace;
  std::string scheme = description.contains("prepend_scheme") ? text_of(description, "prepend_scheme", name)
                       : flag(description, "add_prefix_space", true) ? "always"
                                                                     : "never";
  const bool split = flag(description, "split", true);
  return [=](std::string text, bool is_first) {
    text = replace_all(std::move(text), " ", replacement);
    if ((scheme == "always" || (scheme == "first" && is_first)) && !text.starts_with(replacement))
      text.insert(0, replacement);
    if (!split) return Words{text};
    Words words;
    size_t begin = 0;
    for (size_t at = text.find(replacement, 1); at != std::string::npos;
         at = text.find(replacement, at + 1)) {
      push(words, std::string_view(text).substr(begin, at - begin));
      begin = at;
    }
    push(words, std::string_view(text).substr(begin));
    return words;
  };
}

// Letters of bytes and back.
struct ByteLetters {
  std::array<std::string, 256> letters;
  std::unordered_map<std::string, uint8_t> bytes;
  ByteLetters() {
    int extra = 0;
    for (int byte = 0; byte < 256; ++byte) {
      const bool is_printable =
          (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      std::array<utf8proc_uint8_t, 4> encoded{};
      const auto length = utf8proc_encode_char(is_printable ? byte : 256 + extra++, encoded.data());
      letters[byte].assign(reinterpret_cast<const char*>(encoded.data()), static_cast<size_t>(length));
      bytes[letters[byte]] = static_cast<uint8_t>(byte);
    }
  }
};
const ByteLetters& byte_letters() {
  static const ByteLetters& table = *new ByteLetters;
  return table;
}

}  // namespace

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  if (from.empty() || text.find(from) == std::string::npos) return text;
  std::string result;
  size_t done = 0;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, done)) {
    result.append(text, done, at - done).append(to);
    done = at + from.size();
  }
  return result.append(text, done);
}

std::string byte_to_letters(std::string_view bytes) {
  std::string result;
  for (const char c : bytes) result += byte_letters().letters[static_cast<uint8_t>(c)];
  return result;
}

std::string letters_to_bytes(std::string_view letters) {
  std::string result;
  for (size_t i = 0; i < letters.size();) {
    const size_t length = static_cast<uint8_t>(letters[i]) < 0x80 ? 1 : 2;  // the letters end at U+0143
    const std::string letter(letters.substr(i, length));
    const auto found = byte_letters().bytes.find(letter);
    if (found == byte_letters().bytes.end())
      result += letter;
    else
      result += static_cast<char>(found->second);
    i += length;
  }
  return result;
}

bool has_step(const Json& description, std::string_view type) {
  if (!description.is_object()) return false;
  const auto found = description.find("type");
  if (found != description.end() && found->is_string() && found->get_ref<const std::string&>() == type)
    return true;
  for (const char* key : {"normalizers", "pretokenizers", "decoders", "processors"})
    if (description.contains(key) && description[key].is_array())
      for (const Json& step : description[key])
        if (has_step(step, type)) return true;
  return false;
}

Normalize make_normalizer(const Json& description, const std::string& name) {
  if (description.is_null()) return [](std::string text) { return text; };
  const std::string type = type_of(description, name);
  if (type == "Sequence") {
    std::vector<Normalize> steps;
    for (const Json& step : steps_of(description, "normalizers", name))
      steps.push_back(make_normalizer(step, name));
    return [steps](std::string text) {
      for (const Normalize& step : steps) text = step(std::move(text));
      return text;
    };
  }
  if (type == "Prepend")
    return [prefix = text_of(description, "prepend", name)](std::string text) {
      return text.empty() ? text : text.insert(0, prefix);
    };
  if (type == "Replace") return make_replace(description, name);
  if (type == "NFC") return unicode_form(UTF8PROC_COMPOSE);
  if (type == "NFD") return unicode_form(UTF8PROC_DECOMPOSE);
  if (type == "NFKC") return unicode_form(UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
  if (type == "NFKD") return unicode_form(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  if (type == "Lowercase") return lowercase;
  throw_error(ErrorKind::Value,
              fmt::format("tokenizer '{}': the normalizer '{}' is not supported", name, printable(type)));
}

PreTokenize make_pre_tokenizer(const Json& description, const std::string& name) {
  if (description.is_null()) return [](std::string text, bool) { return Words{std::move(text)}; };
  const std::string type = type_of(description, name);
  if (type == "Sequence") {
    std::vector<PreTokenize> steps;
    for (const Json& step : steps_of(description, "pretokenizers", name))
      steps.push_back(make_pre_tokenizer(step, name));
    return [steps](std::string text, bool is_first) {
      Words words = {std::move(text)};
      for (const PreTokenize& step : steps) {
        Words next;
        for (std::string& word : words)
          for (std::string& part : step(std::move(word), is_first)) next.push_back(std::move(part));
        words = std::move(next);
      }
      return words;
    };
  }
  if (type == "Split") return make_split(description, name);
  if (type == "ByteLevel") return make_byte_level(description);
  if (type == "Metaspace") return make_metaspace(description, name);
  const auto isolated = [](const char* pattern) -> PreTokenize {
    const auto regex = std::make_shared<Regex>(pattern);
    return [regex](const std::string& text, bool) { return split_at(*regex, text, true); };
  };
  if (type == "Digits") return isolated(flag(description, "individual_digits", false) ? "\\p{N}" : "\\p{N}+");
  if (type == "Punctuation") return isolated("[\\p{P}$+<=>^`|~]");
  if (type == "WhitespaceSplit") {
    const auto regex = std::make_shared<Regex>("\\s+");
    return [regex](const std::string& text, bool) { return split_at(*regex, text, false); };
  }
  throw_error(ErrorKind::Value,
              fmt::format("tokenizer '{}': the pre-tokenizer '{}' is not supported", name, printable(type)));
}

}  // namespace weft::models
