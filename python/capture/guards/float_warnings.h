// RuntimeWarnings of floating-point errors. Compiled code only notices that something may have happened: a
// flag of the processor, which an operation raised whose result NumPy would not look at, either. NumPy then
// runs the segment too, from the state that it began with, and gives its own warnings, or none; the results
// are those of compiled code all the same.
#pragma once

#include <vector>

#include "capture/guards/variant.h"
#include "capture/perform/state.h"

namespace weft::capture {

// The flags at which NumPy is to run the variant. Where the filters of warnings show one only once per line,
// and NumPy had none to show, twice as many runs with raised flags pass as before, until it is asked again.
unsigned flags_to_watch(const Variant& variant);

// A warning became an exception, for which the program has a handler.
struct WarningRaised {};
// The state asks for more than warnings: NumPy is to run what compiled code gave up, and all that follows.
struct ErrorHandled {};

// Performs the variant's segment for real, its first instructions if there are many, and gives the arrays
// among the graph's inputs, and the lists that it appends to, back what they held. Where a warning is raised,
// arrays and state stay as they are at the handler, and WarningRaised is thrown; PythonError where there is
// none. ErrorHandled, with nothing performed, where the state asks for more than warnings.
void perform_for_warnings(State& state, const Variant& variant, const std::vector<Tensor>& inputs,
                          const Registers& registers);

}  // namespace weft::capture
