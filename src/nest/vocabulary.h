// What a device's generated code calls things, and which scalar primitives it has: fusion and printing ask
// here.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/backend.h"
#include "scalar/expr.h"
#include "scalar/math_calls.h"

namespace weft::nest {

// "+", "&", … where the primitive is an infix operator on numbers; null otherwise.
const char* infix(scalar::Prim prim, DType operand);
// Function of the prelude; null where there is none.
const char* prelude_function(scalar::Prim prim, DType operand);
// Logic on masks; null where the primitive has no meaning on Bool here.
const char* mask_function(scalar::Prim prim);
// True if the code generator can print the primitive on operands of this dtype.
bool is_printable(scalar::Prim prim, DType operand);

// How the outer loops of a kernel are shared out.
enum class OuterLoop : uint8_t {
  Plain,
  Aligned,    // shares begin at whole vectors
  Streaming,  // shares begin at cache lines of what is streamed
};

// Kernels are C++ on every device, between a declaration and loops that each device's prelude defines:
// `vectorized`, `for_rows`, `reduce_lanes`, …
class Vocabulary {
 public:
  virtual ~Vocabulary() = default;
  virtual bool has(scalar::Prim prim, DType operand) const { return is_printable(prim, operand); }
  // The process's function of a primitive that the prelude lacks (has() says no where there is none).
  virtual std::optional<scalar::MathFunction> math_function(scalar::Prim prim, DType dtype) const {
    return scalar::math_function(prim, dtype);
  }
  // The kernel of this name up to its "{": arrays, symbols and functions are what its parameters are called.
  virtual std::string declaration(std::string_view name) const = 0;
  // A call up to its function of a share's `begin` and `end`. `lead`: text for a streaming loop's argument.
  virtual std::string outer_loop(OuterLoop kind, std::string_view extent, std::string_view grain,
                                 std::string_view lead) const = 0;
  // All that a compiler needs: the prelude, the elementary functions that are called, and the kernel.
  virtual std::string source(const std::set<scalar::Prim>& elementary, std::string_view kernel) const = 0;
  // Kernels are printed for a grid of blocks of threads (codegen/print_grid.h), not as loops: of the above,
  // has() and source() are asked for.
  virtual bool is_grid() const { return false; }
};

inline const Vocabulary& vocabulary_of(Device device) { return backend_of(device).vocabulary(); }

}  // namespace weft::nest
