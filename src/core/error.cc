#include "weft/error.h"

#include <fmt/format.h>

namespace weft {

void throw_error(ErrorKind kind, std::string message) { throw Error(kind, std::move(message)); }

void throw_internal(const char* file, int line, const char* condition, std::string message) {
  throw Error(ErrorKind::Internal,
              fmt::format("internal error: {} (failed: {} at {}:{}); this is a bug in weft", message,
                          condition, file, line));
}

}  // namespace weft
