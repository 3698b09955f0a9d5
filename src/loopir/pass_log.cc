#include "loopir/pass_log.h"

#include <fmt/format.h>

#include "loopir/text.h"
#include "loopir/verify.h"
#include "runtime/log.h"
#include "weft/env.h"
#include "weft/error.h"

namespace weft::loopir {

PassLog::PassLog()
    : is_verifying_(env::flag("WEFT_VERIFY")), is_logging_(log::enabled(log::Channel::NativeLoops)) {}

void PassLog::finish(const char* pass, const std::function<Function()>& function) {
  if (!is_verifying_ && !is_logging_) return;
  const Function now = function();
  if (is_logging_) {
    std::string text = str(now);
    const bool changed = text != before_;
    log::write(log::Channel::NativeLoops, fmt::format("{} {}{}{}", now.name, pass,
                                                      changed ? "\n" : " (unchanged)", changed ? text : ""));
    before_ = std::move(text);
  }
  if (!is_verifying_) return;
  try {
    verify(now);
  } catch (const Error& error) {
    throw error.with_note(fmt::format("after the pass '{}'", pass));
  }
}

}  // namespace weft::loopir
