#include "scalar/elementary.h"

#include <array>
#include <string_view>

#include "scalar/math_functions.h"

namespace {

// clang-format off: each uses what stands above it
#include "scalar/vectors.inc"
#include "scalar/elementary/common.inc"
#include "scalar/elementary/exp.inc"
#include "scalar/elementary/erf.inc"
#include "scalar/elementary/hyperbolic.inc"
#include "scalar/elementary/log.inc"
#include "scalar/elementary/inverse_hyperbolic.inc"
#include "scalar/elementary/roots.inc"
#include "scalar/elementary/pow.inc"
#include "scalar/elementary/angle.inc"
#include "scalar/elementary/remainder.inc"
#include "scalar/elementary/trigonometric.inc"
#include "scalar/elementary/gamma.inc"
// clang-format on

}  // namespace

extern "C" {
#define WEFT_DEFINE(PRIM, NAME)                                 \
  float weft_##NAME##f(float x) { return elementary::NAME(x); } \
  double weft_##NAME(double x) { return elementary::NAME(x); }
WEFT_FOR_EACH_ELEMENTARY_UNARY(WEFT_DEFINE)
#undef WEFT_DEFINE
#define WEFT_DEFINE(PRIM, NAME)                                             \
  float weft_##NAME##f(float x, float y) { return elementary::NAME(x, y); } \
  double weft_##NAME(double x, double y) { return elementary::NAME(x, y); }
WEFT_FOR_EACH_ELEMENTARY_BINARY(WEFT_DEFINE)
#undef WEFT_DEFINE
}

namespace weft::scalar {
namespace {

// A text, the functions that are in it, and whether another one needs it.
struct Source {
  std::string_view text;
  std::set<Prim> prims;
};

const auto& sources() {
  static const auto& table = *new std::array{
      Source{
#include "embedded/elementary/exp.inc"
          ,
          {Prim::Exp, Prim::Exp2, Prim::Expm1, Prim::Sinh, Prim::Cosh, Prim::Tanh, Prim::Pow, Prim::Erf,
           Prim::Erfc}},
      Source{
#include "embedded/elementary/erf.inc"
          , {Prim::Erf, Prim::Erfc}},
      Source{
#include "embedded/elementary/hyperbolic.inc"
          , {Prim::Sinh, Prim::Cosh, Prim::Tanh}},
      Source{
#include "embedded/elementary/log.inc"
          ,
          {Prim::Log, Prim::Log2, Prim::Log10, Prim::Log1p, Prim::Asinh, Prim::Acosh, Prim::Atanh, Prim::Cbrt,
           Prim::Hypot, Prim::Lgamma, Prim::Digamma, Prim::Pow}},
      Source{
#include "embedded/elementary/inverse_hyperbolic.inc"
          , {Prim::Asinh, Prim::Acosh, Prim::Atanh}},
      Source{
#include "embedded/elementary/roots.inc"
          , {Prim::Cbrt, Prim::Hypot}},
      Source{
#include "embedded/elementary/pow.inc"
          , {Prim::Pow}},
      Source{
#include "embedded/elementary/angle.inc"
          , {Prim::Atan, Prim::Atan2}},
      Source{
#include "embedded/elementary/remainder.inc"
          , {Prim::Rem}},
      Source{
#include "embedded/elementary/trigonometric.inc"
          , {Prim::Sin, Prim::Cos, Prim::Tan, Prim::Asin, Prim::Acos, Prim::Lgamma, Prim::Digamma}},
      Source{
#include "embedded/elementary/gamma.inc"
          , {Prim::Lgamma, Prim::Digamma}},
  };
  return table;
}

constexpr std::string_view kCommon =
#include "embedded/elementary/common.inc"
    ;

}  // namespace

bool is_elementary(Prim prim) {
  switch (prim) {
#define WEFT_CASE(PRIM, NAME) \
  case Prim::PRIM: return true;
    WEFT_FOR_EACH_ELEMENTARY_UNARY(WEFT_CASE)
    WEFT_FOR_EACH_ELEMENTARY_BINARY(WEFT_CASE)
    case Prim::Rem: return true;
#undef WEFT_CASE
    default: return false;
  }
}

std::string elementary_source(const std::set<Prim>& prims) {
  std::string text;
  for (const Source& source : sources()) {
    bool used = false;
    for (Prim prim : prims) used |= source.prims.count(prim) != 0;
    if (used) text += source.text;
  }
  return text.empty() ? text : std::string(kCommon) + text;
}

std::string all_elementary_sources() {
  std::set<Prim> all;
  for (const Source& source : sources()) all.insert(source.prims.begin(), source.prims.end());
  return elementary_source(all);
}

}  // namespace weft::scalar
