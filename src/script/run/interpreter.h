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

}  // namespace weft::jit
