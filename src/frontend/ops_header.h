// The text of weft/ops.h, from the operator table.
#pragma once

#include <string>

namespace weft::frontend {

std::string ops_header();

}  // namespace weft::frontend
