// A vocabulary for tests of grammars.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/tokenizer.h"

namespace weft::testing_support {

// Bytes, some longer tokens, and special ones.
class ByteTokenizer : public models::Tokenizer {
 public:
  explicit ByteTokenizer(std::vector<std::string> longer = {"{\"", "\": ", "true}", "abc", "ab\"", "\xC3\xA9",
                                                            "\xE6\xBC"})
      : longer_(std::move(longer)) {}
  int64_t vocab_size() const override { return 256 + static_cast<int64_t>(longer_.size()) + 2; }
  std::vector<int64_t> encode(std::string_view, bool, bool) const override { return {}; }
  std::string token_bytes(int64_t id) const override {
    if (id < 256) return std::string(1, static_cast<char>(id));
    return id - 256 < static_cast<int64_t>(longer_.size()) ? longer_[static_cast<size_t>(id) - 256] : "";
  }
  std::optional<int64_t> token_id(std::string_view) const override { return std::nullopt; }
  bool is_special(int64_t id) const override { return id >= vocab_size() - 2; }
  std::optional<int64_t> bos_id() const override { return std::nullopt; }
  std::vector<int64_t> eos_ids() const override { return {vocab_size() - 1}; }

 private:
  std::vector<std::string> longer_;
};

}  // namespace weft::testing_support
