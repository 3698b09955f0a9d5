#include "models/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <array>

#include "core/printable.h"
#include "weft/error.h"

namespace weft::models {
namespace {

constexpr size_t kMaxPattern = 1 << 16;
constexpr uint32_t kMatchLimit = 10'000'000, kHeapLimitKilobytes = 64 << 10;

std::string error_text(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

}  // namespace

struct Regex::Impl {
  pcre2_code* code = nullptr;
  pcre2_match_context* context = nullptr;
  std::string pattern;
  ~Impl() {
    pcre2_code_free(code);
    pcre2_match_context_free(context);
  }
};

Regex::Regex(const std::string& pattern) : impl_(std::make_unique<Impl>()) {
  WEFT_CHECK(pattern.size() <= kMaxPattern,
             fmt::format("regular expression of {} bytes is too long", pattern.size()));
  int error = 0;
  PCRE2_SIZE position = 0;
  impl_->pattern = pattern;
  impl_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &position, nullptr);
  WEFT_CHECK(impl_->code != nullptr, fmt::format("regular expression '{}': {} at {}", printable(pattern),
                                                 error_text(error), position));
  pcre2_jit_compile(impl_->code, PCRE2_JIT_COMPLETE);  // where the machine allows it
  impl_->context = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(impl_->context, kMatchLimit);
  pcre2_set_heap_limit(impl_->context, kHeapLimitKilobytes);
}
Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

void Regex::for_each_match(std::string_view text, const std::function<void(size_t, size_t)>& visit) const {
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
      pcre2_match_data_create_from_pattern(impl_->code, nullptr), pcre2_match_data_free);
  uint32_t checked = 0;  // the text is known to be UTF-8 after the first match
  for (size_t position = 0; position < text.size();) {
    const int count = pcre2_match(impl_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                  position, checked | PCRE2_NOTEMPTY, data.get(), impl_->context);
    if (count == PCRE2_ERROR_NOMATCH) return;
    WEFT_CHECK(count >= 0,
               fmt::format("regular expression '{}': {}", printable(impl_->pattern), error_text(count)));
    checked = PCRE2_NO_UTF_CHECK;
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data.get());
    WEFT_CHECK(range[1] > position && range[0] >= position && range[0] < range[1],
               fmt::format("regular expression '{}': a match that goes back", printable(impl_->pattern)));
    visit(range[0], range[1]);
    position = range[1];
  }
}

}  // namespace weft::models
