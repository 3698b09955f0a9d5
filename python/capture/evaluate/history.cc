#include "capture/evaluate/history.h"

namespace weft::capture {

bool History::symbolic(const std::string& what, int64_t value, Settings::Dynamic dynamic) {
  if (constants_.contains(what)) return false;
  if (dynamic != Settings::Dynamic::Auto) return dynamic == Settings::Dynamic::Always;
  if (changing_.contains(what)) return true;
  auto [entry, is_new] = seen_.emplace(what, value);
  if (is_new || entry->second == value) return false;
  changing_.insert(what);
  return true;
}

}  // namespace weft::capture
