// Names and comments of generated kernels: the same for the same computation, whatever else the graph holds.
#pragma once

#include <string>
#include <vector>

#include "compiler/lower.h"

namespace weft::compiler {

// After what is computed: "argmin_sqrt_sum_mul_sub".
std::string kernel_name(const std::vector<ir::Value*>& roots, const Memory& memory);
// One line per root, as an expression over what is read, then the user's source lines.
std::vector<std::string> kernel_comments(const std::vector<ir::Value*>& roots, const Memory& memory);
std::string buffer_name(const ir::Value& value, const std::vector<Buffer>& taken, bool is_output);

}  // namespace weft::compiler
