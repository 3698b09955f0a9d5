// Values as the text that scripts make of them.
#pragma once

#include <span>
#include <string>

#include "weft/ivalue.h"

namespace weft::jit {

// str(value) of a script, and what it prints: as Python's but for floats ("6.") and strings within
// containers.
std::string display(const IValue& value);
// str.format with the fields "{}", "{3}" and format specifications; ValueError as Python words it.
std::string format_values(const std::string& format, std::span<const IValue> values);

}  // namespace weft::jit
