// The form as C++.
#pragma once

#include <functional>

#include "loopir/function.h"

namespace weft::loopir {

// The statement that leads to a jump's target; empty: it stands next.
using Goto = std::function<std::string(const Jump&)>;

std::string print(const Exit& exit);
std::string print(const Assignment& assignment);  // without the semicolon
// Lines, four blanks in.
std::string print(const Instruction& in, const Goto& to);
std::string print(const Instructions& code, const Goto& to);
// With its labels.
std::string print(const Version& version);
// The function's definition.
std::string print(const Function& function);

}  // namespace weft::loopir
