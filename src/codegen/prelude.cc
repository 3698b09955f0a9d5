#include "codegen/prelude.h"

#include <fmt/format.h>

#include "scalar/elementary.h"
#include "scalar/special_text.h"

namespace weft::codegen {
namespace {

// Defined before the text of shared_prelude().
constexpr std::string_view kIsRead = "WEFT_PRELUDE_IS_READ";

std::string_view loop_prelude() {
  static constexpr char kText[] =
#include "codegen/loop_prelude.inc"
      ;
  return kText;
}

}  // namespace

std::string_view prelude() {
  static constexpr char kText[] =
  // clang-format off: vectors first
#include "embedded/vectors.inc"
#include "codegen/prelude.inc"
      // clang-format on
      ;
  return kText;
}

const std::string& shared_prelude() {
  static const std::string& text = *new std::string(fmt::format(
      "#define {}\n{}\n{}{}\n", kIsRead, prelude(), scalar::all_elementary_sources(), loop_prelude()));
  return text;
}

std::string with_prelude(PreludeKind kind, const std::set<scalar::Prim>& elementary, std::string_view body) {
  return fmt::format("#ifndef {}\n{}\n{}{}\n#endif\n{}", kIsRead, prelude(),
                     scalar::elementary_source(elementary), kind == PreludeKind::Loop ? loop_prelude() : "",
                     body);
}

std::string_view grid_words() {
  static constexpr char kText[] =
#include "codegen/grid_words.inc"
      ;
  return kText;
}

std::string with_grid_prelude(const std::set<scalar::Prim>& elementary, std::string_view body) {
  // What raises the processor's flags does so through variables that are volatile: GPUs have no flags.
  constexpr std::string_view kNoFlags = "#ifdef __NVPTX__\n#define volatile\n#endif\n",
                             kFlags = "#ifdef __NVPTX__\n#undef volatile\n#endif\n";
  return fmt::format("{}#ifndef {}\n{}\n{}\n#endif\n{}{}{}", kNoFlags, kIsRead, prelude(),
                     scalar::special_source(elementary), kFlags, grid_words(), body);
}

runtime::CompileRequest compile_request(std::string name, std::string source) {
  return {std::move(name), std::move(source), shared_prelude()};
}

}  // namespace weft::codegen
