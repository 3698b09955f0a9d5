// What the compiler does by itself, by name: annotate, isinstance, range, fork, int, …
#pragma once

#include <string>

#include "script/emit/sugared.h"

namespace weft::jit {

// Null where there is none.
SugaredPtr find_special_form(const std::string& name);

}  // namespace weft::jit
