// Rules of JSON: strings, numbers, lists, objects.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "serve/grammar_rules.h"

namespace weft::serve {

class JsonRules : public RuleBuilder {
 public:
  // Nothing, a space, or a new line with its indentation: a model could write more for ever.
  Sequence space();
  // The text with space before it.
  Sequence token(std::string_view text) { return joined({space(), literal(text)}); }
  // A character of a string as it may be written there; of a set, or any.
  Sequence character(const CharacterSet& set);
  Sequence character();
  // A string of `least` to `most` characters, most < 0: any number.
  Sequence string(int64_t least, int64_t most);
  // A string that is none of these, without escapes.
  Sequence other_string(const std::vector<std::string>& names);
  Sequence quoted(const Sequence& content) { return joined({literal("\""), content, literal("\"")}); }

  struct Bound {
    int64_t value = 0;
    bool is_exclusive = false;
  };
  Sequence integer(std::optional<Bound> least = {}, std::optional<Bound> most = {});
  Sequence number();
  // Without exponent where there is a bound.
  Sequence number(std::optional<Bound> least, std::optional<Bound> most);

  Sequence any_value();
  Sequence any_object();
  // Names and values, `least` to `most` of them.
  Sequence map_of(const Sequence& name, const Sequence& value, int64_t least, int64_t most);
  Sequence pair(const Sequence& name, const Sequence& value) {
    return joined({space(), name, token(":"), space(), value});
  }

 private:
  Sequence digits(int64_t least, int64_t most) { return repeated(byte_range('0', '9'), least, most); }
  Sequence fraction();
  Sequence magnitudes(int64_t least, std::optional<int64_t> most);
  Sequence magnitudes_of_length(const std::string& least, const std::string& most);
  std::vector<Sequence> bounded_numbers(Bound least, std::optional<Bound> most, bool has_fraction);
  Sequence bounded(std::optional<Bound> least, std::optional<Bound> most, bool has_fraction);

  Sequence space_, character_, string_, fraction_, number_, any_, object_;
};

}  // namespace weft::serve
