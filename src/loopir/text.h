// The form as text, which reads back to the same:
//
//   block 3 line 9 {
//     test i < n else b4
//     t1: i64 = i + 1L
//     t2: f64 = load a_data[i]
//     t3: i64 = __builtin_add_overflow(k, 1L) else exit 0(i, k)
//     go b3(i: i64 = t1, k: i64 = t3)
//   }
//
// Operations are called by their names (operations.h), `cast:f64(k)`; functions are `@pow(x, y)`; C++ of any
// other kind is in quotes, and constants that are no single number are behind a "#".
#pragma once

#include <string_view>

#include "loopir/function.h"

namespace weft::loopir {

std::string str(const Expr& expr);
std::string str(const Exit& exit);
std::string str(const Instruction& in);
std::string str(const Function& function);

// Errors name the line.
Expr parse_expression(std::string_view text);
Instructions parse_instructions(std::string_view text);
Function parse(std::string_view text);

}  // namespace weft::loopir
