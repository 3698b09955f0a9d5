#include "io/json.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

#include "core/printable.h"
#include "runtime/files.h"
#include "weft/error.h"

namespace weft {

Json parse_json(std::string_view text, const std::string& what) {
  constexpr int kMaxDepth = 64;
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        WEFT_CHECK(depth < kMaxDepth, fmt::format("{}: JSON nested deeper than {}", what, kMaxDepth));
        keys.emplace_back();
        break;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end: keys.pop_back(); break;
      case Json::parse_event_t::key: {
        const std::string key = parsed.get<std::string>();
        WEFT_CHECK(keys.back().insert(key).second,
                   fmt::format("{}: the key '{}' is there twice", what, printable(key)));
        break;
      }
      default: break;
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::exception& error) {
    throw_error(ErrorKind::Value, fmt::format("{}: not valid JSON: {}", what, printable(error.what())));
  }
}

Json read_json(const std::string& path) {
  constexpr off_t kMaxBytes = off_t{1} << 30;
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    throw_error(ErrorKind::Runtime, fmt::format("'{}': {}", path, std::strerror(errno)));
  if (!S_ISREG(status.st_mode) || status.st_size > kMaxBytes)
    throw_error(ErrorKind::Runtime, fmt::format("'{}': not a JSON file of less than 1 GB", path));
  const std::optional<std::string> text = runtime::read_file(path);
  if (!text)
    throw_error(ErrorKind::Runtime, fmt::format("'{}': cannot be read: {}", path, std::strerror(errno)));
  runtime::check_no_lfs_pointer(*text, fmt::format("'{}'", path));
  return parse_json(*text, fmt::format("'{}'", path));
}

}  // namespace weft
