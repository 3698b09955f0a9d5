// Regular expressions of tokenizers: Unicode, with look-ahead (PCRE2).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace weft::models {

class Regex {
 public:
  // ValueError with the position for a pattern that does not compile.
  explicit Regex(const std::string& pattern);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  // Each match, left to right. `text` is UTF-8. ValueError where the pattern takes too many steps.
  void for_each_match(std::string_view text,
                      const std::function<void(size_t begin, size_t end)>& visit) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::models
