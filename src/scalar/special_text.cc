#include "scalar/special_text.h"

#include <array>
#include <string_view>

#include "scalar/elementary.h"
#include "scalar/special_functions.h"

namespace weft::scalar {
namespace {

struct Source {
  std::string_view text;
  std::set<Prim> prims, needs;  // of elementary functions
};

std::set<Prim> specials(std::initializer_list<std::string_view> names) {
  std::set<Prim> prims;
  for (int number = 0; number < kNumSpecial; ++number)
    for (const std::string_view name : names)
      if (prim_name(special_prim(number)) == name) prims.insert(special_prim(number));
  return prims;
}

std::set<Prim> all_polynomials() {
  std::set<Prim> prims;
  for (int number = 0; number < kNumSpecial; ++number)
    if (prim_name(special_prim(number)).find("polynomial") != std::string_view::npos)
      prims.insert(special_prim(number));
  return prims;
}

std::set<Prim> joined(std::set<Prim> a, const std::set<Prim>& b) {
  a.insert(b.begin(), b.end());
  return a;
}

const auto& sources() {
  static const auto& table = *new std::array{
      Source{
#include "embedded/special/quotients.inc"
          , {Prim::FloorDiv, Prim::Mod, Prim::NextAfter, Prim::Gcd}, {Prim::Rem}},
      Source{
#include "embedded/special/bessel.inc"
          ,
          joined({Prim::I0}, specials({"i0e", "i1", "i1e", "modified_bessel_k0", "modified_bessel_k1",
                                       "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
                                       "spherical_bessel_j0", "airy_ai"})),
          {Prim::Exp, Prim::Log, Prim::Sin, Prim::Rem}},
      Source{
#include "embedded/special/airy.inc"
          , specials({"airy_ai"}), {Prim::Cos}},
      Source{
#include "embedded/special/normal.inc"
          ,
          joined({Prim::ErfInv}, specials({"erfcx", "ndtri", "log_ndtr"})),
          {Prim::Exp, Prim::Log, Prim::Log1p, Prim::Erf, Prim::Erfc, Prim::Rem}},
      Source{
#include "embedded/special/gamma.inc"
          ,
          specials({"zeta", "polygamma", "igamma", "igammac"}),
          {Prim::Exp, Prim::Expm1, Prim::Log, Prim::Log1p, Prim::Pow, Prim::Erfc, Prim::Sin, Prim::Lgamma,
           Prim::Digamma, Prim::Rem}},
      Source{
#include "embedded/special/polynomials.inc"
          , all_polynomials(), {Prim::Sin, Prim::Cos, Prim::Acos, Prim::Rem}},
  };
  return table;
}

constexpr std::string_view kCommon =
#include "embedded/special/common.inc"
    ;

}  // namespace

bool has_special_text(Prim prim) {
  for (const Source& source : sources())
    if (source.prims.contains(prim)) return true;
  return false;
}

std::string special_source(const std::set<Prim>& prims) {
  std::set<Prim> elementary = prims;
  std::string text;
  for (const Source& source : sources()) {
    bool is_used = false;
    for (const Prim prim : prims) is_used |= source.prims.contains(prim);
    if (!is_used) continue;
    if (text.empty()) text += kCommon;
    text += source.text;
    elementary.insert(source.needs.begin(), source.needs.end());
  }
  return elementary_source(elementary) + text;
}

}  // namespace weft::scalar
