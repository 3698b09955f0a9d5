// The C++ text that stands before every kernel and native loop.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "runtime/toolchain.h"
#include "scalar/expr.h"

namespace weft::codegen {

std::string_view prelude();
// All that any generated code has before its own text, and a macro that makes it leave out what it has: a
// compiler that has read this need not read it again.
const std::string& shared_prelude();

// What generated code is preceded by: the prelude, the elementary functions that it calls and, before native
// loops, Python's arithmetic.
enum class PreludeKind : uint8_t { Kernel, Loop };
std::string with_prelude(PreludeKind kind, const std::set<scalar::Prim>& elementary, std::string_view body);
// The same for a kernel of a grid (grid_words.inc), whose body is on GPUs what it is on the emulated device.
std::string with_grid_prelude(const std::set<scalar::Prim>& elementary, std::string_view body);
std::string_view grid_words();
// A request for what with_prelude() gave.
runtime::CompileRequest compile_request(std::string name, std::string source);

}  // namespace weft::codegen
