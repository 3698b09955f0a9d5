// The code of a loop whose rounds threads share, as the function that runs some of them has it.
#pragma once

#include "loopir/function.h"

namespace weft::loopir {

// Where the rounds of the loop with this head end, so does the function.
void end_at_test(Instructions& head);

// Sums must stay so small that no order of the rounds meets the limit of 64 bits.
void limit_sums(Instructions& code, const std::set<std::string>& sums);
void limit_sums(Jam& jam, const std::set<std::string>& sums);

}  // namespace weft::loopir
