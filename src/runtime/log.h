// Log channels, switched on by WEFT_LOGS or set_logs(). Lines go to stderr as "[weft channel] …".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::log {

enum class Channel : uint8_t {
  OutputCode,
  GraphBreaks,
  Recompiles,
  Guards,
  Fusion,
  Schedule,
  Cache,
  Passes,
  Executor,
  Autotune,
  Syncs,
  NativeLoops,
  kCount
};

bool enabled(Channel channel);
void write(Channel channel, std::string_view message);
// As WEFT_LOGS: "output_code,guards", "all" or ""; ValueError for an unknown channel.
void set_logs(std::string_view channels);
// Why set_logs would refuse them, or "".
std::string channels_problem(std::string_view channels);
void warning(std::string_view message);
bool dumping();
// Writes `text` to $WEFT_DUMP/NNNN_<name> if dumping is on.
void dump(std::string_view name, std::string_view text);

}  // namespace weft::log
