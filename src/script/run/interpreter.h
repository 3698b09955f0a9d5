// Runs a function's instructions.
#pragma once

#include <span>

#include "script/run/code.h"
#include "weft/error.h"

namespace weft::jit {

// Calls may be nested so deep.
inline constexpr size_t kMaxCallDepth = 1000;

// An error with the script's stack in its message.
class ScriptError : public Error {
 public:
  using Error::Error;
};

// The arguments are moved from: all of the function's, of the types its schema says.
IValue run_code(const Code& code, std::span<IValue> arguments);

// str(value) of a script, and what it prints: as Python's but for floats ("6.") and strings within
// containers.
std::string display(const IValue& value);
// str.format with the fields "{}", "{3}" and format specifications; ValueError as Python words it.
std::string format_values(const std::string& format, std::span<const IValue> values);

}  // namespace weft::jit
