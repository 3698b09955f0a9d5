#include "nest/index.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/error.h"

namespace weft::nest {

bool known_zero(Sym a) { return a.is_constant() && a.constant() == 0; }
bool known_one(Sym a) { return a.is_constant() && a.constant() == 1; }

int IndexSpace::new_loop(std::string name, Sym extent) {
  atoms_.push_back({Atom::Kind::Loop, std::move(name), extent, -1, {}, 1});
  return static_cast<int>(atoms_.size()) - 1;
}

Index IndexSpace::of(int atom) {
  Index result;
  result.terms.emplace_back(atom, Sym(1));
  return result;
}

Index IndexSpace::add(const Index& a, const Index& b) {
  Index result;
  result.constant = a.constant + b.constant;
  auto i = a.terms.begin();
  auto j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    if (j == b.terms.end() || (i != a.terms.end() && i->first < j->first)) {
      result.terms.push_back(*i++);
    } else if (i == a.terms.end() || j->first < i->first) {
      result.terms.push_back(*j++);
    } else {
      Sym sum = i->second + j->second;
      if (!known_zero(sum)) result.terms.emplace_back(i->first, sum);
      ++i, ++j;
    }
  }
  // c*m*(e / m) + c*(e % m) is c*e.
  for (const auto& [quotient_id, quotient_factor] : result.terms) {
    const Atom& quotient = atom(quotient_id);
    if (quotient.kind != Atom::Kind::Quotient) continue;
    for (const auto& [remainder_id, remainder_factor] : result.terms) {
      const Atom& remainder = atom(remainder_id);
      if (remainder.kind != Atom::Kind::Remainder || !sym_known_equal(remainder.divisor, quotient.divisor) ||
          key(remainder.inner) != key(quotient.inner) ||
          !sym_known_equal(quotient_factor, remainder_factor * quotient.divisor))
        continue;
      Index rest;
      rest.constant = result.constant;
      for (const auto& term : result.terms)
        if (term.first != quotient_id && term.first != remainder_id) rest.terms.push_back(term);
      return add(rest, scale(Index(quotient.inner), remainder_factor));
    }
  }
  Index joined;
  return join_ring(result, &joined) ? joined : result;
}

// c*m*ring(e / m + s, n) + c*(e % m) is c*ring(e + s*m, n*m).
bool IndexSpace::join_ring(const Index& a, Index* joined) {
  for (const auto& [ring_id, ring_factor] : a.terms) {
    if (atom(ring_id).kind != Atom::Kind::Ring) continue;
    const Index inner = atom(ring_id).inner;
    if (inner.terms.size() != 1 || !known_one(inner.terms[0].second)) continue;
    const Atom quotient = atom(inner.terms[0].first);
    if (quotient.kind != Atom::Kind::Quotient) continue;
    for (const auto& [remainder_id, remainder_factor] : a.terms) {
      const Atom& remainder = atom(remainder_id);
      if (remainder.kind != Atom::Kind::Remainder || !sym_known_equal(remainder.divisor, quotient.divisor) ||
          key(remainder.inner) != key(quotient.inner) ||
          !sym_known_equal(ring_factor, remainder_factor * quotient.divisor))
        continue;
      Index rest;
      rest.constant = a.constant;
      for (const auto& term : a.terms)
        if (term.first != ring_id && term.first != remainder_id) rest.terms.push_back(term);
      const Sym factor = remainder_factor, size = atom(ring_id).divisor * quotient.divisor;
      const Index whole = add(quotient.inner, Index(inner.constant * quotient.divisor));
      *joined = add(rest, scale(on_ring(whole, size), factor));
      return true;
    }
  }
  return false;
}

Index IndexSpace::scale(const Index& a, Sym factor) {
  Index result;
  if (known_zero(factor)) return result;
  result.constant = a.constant * factor;
  for (const auto& [id, coefficient] : a.terms) result.terms.emplace_back(id, coefficient * factor);
  return result;
}

namespace {
// a / b where b divides a for every assignment, as far as this can be seen.
bool divide_exactly(Sym a, Sym b, Sym* result) {
  if (known_one(b)) return *result = a, true;
  if (a.is_constant() && b.is_constant())
    return a.constant() % b.constant() == 0 && (*result = Sym(a.constant() / b.constant()), true);
  if (known_zero(a)) return *result = Sym(0), true;
  if (sym_known_equal(a, b)) return *result = Sym(1), true;
  if (!a.is_constant() && a.node()->op == SymOp::Mul) {
    Sym part;
    if (divide_exactly(a.node()->a, b, &part)) return *result = part * a.node()->b, true;
    if (divide_exactly(a.node()->b, b, &part)) return *result = part * a.node()->a, true;
  }
  if (!b.is_constant() && b.node()->op == SymOp::Mul) {
    Sym part;
    if (divide_exactly(a, b.node()->a, &part) && divide_exactly(part, b.node()->b, result)) return true;
    if (divide_exactly(a, b.node()->b, &part) && divide_exactly(part, b.node()->a, result)) return true;
  }
  return false;
}
}  // namespace

bool IndexSpace::split_by(const Index& a, Sym divisor, Index* multiple, Index* rest) {
  Sym part;
  if (divide_exactly(a.constant, divisor, &part)) {
    multiple->constant = part;
  } else if (a.constant.is_constant() && divisor.is_constant() && a.constant.constant() >= 0) {
    multiple->constant = Sym(a.constant.constant() / divisor.constant());
    rest->constant = Sym(a.constant.constant() % divisor.constant());
  } else {
    rest->constant = a.constant;
  }
  for (const auto& [id, coefficient] : a.terms) {
    if (divide_exactly(coefficient, divisor, &part))
      multiple->terms.emplace_back(id, part);
    else
      rest->terms.emplace_back(id, coefficient);
  }
  // Of a reversed index the rest may be negative, which C++ divides towards zero: then nothing is split off.
  Sym smallest = rest->constant;
  bool decreasing = false;
  for (const auto& [id, coefficient] : rest->terms) {
    if (!coefficient.is_constant() || coefficient.constant() >= 0) continue;
    decreasing = true;
    smallest = smallest + coefficient * (atom(id).extent - Sym(1));
  }
  if (decreasing && !(smallest.is_constant() && smallest.constant() >= 0)) {
    *multiple = Index();
    *rest = a;
  }
  return true;
}

// True if 0 <= a < bound for all values of the loops.
bool IndexSpace::within(const Index& a, Sym bound) {
  if (!a.constant.is_constant() || a.constant.constant() < 0) return false;
  Sym largest = a.constant;
  for (const auto& [id, coefficient] : a.terms) {
    if (coefficient.is_constant() && coefficient.constant() < 0) return false;
    largest = largest + coefficient * (atom(id).extent - Sym(1));
  }
  if (largest.is_constant() && bound.is_constant()) return largest.constant() < bound.constant();
  return sym_known_equal(largest + Sym(1), bound);
}

int IndexSpace::find_or_add(Atom::Kind kind, const Index& inner, Sym divisor) {
  std::string wanted = key(inner);
  for (size_t i = 0; i < atoms_.size(); ++i)
    if (atoms_[i].kind == kind && sym_known_equal(atoms_[i].divisor, divisor) &&
        key(atoms_[i].inner) == wanted)
      return static_cast<int>(i);
  Sym extent = divisor;
  if (kind == Atom::Kind::Quotient) {
    Sym largest = inner.constant;
    for (const auto& [id, coefficient] : inner.terms)
      if (!coefficient.is_constant() || coefficient.constant() > 0)
        largest = largest + coefficient * (atom(id).extent - Sym(1));
    // A size that may be 0 has no loop that divides by it, but an extent.
    const bool may_be_zero = !divisor.is_constant() && divisor.hint() == 0;
    extent = floor_div(largest, may_be_zero ? sym_max(divisor, Sym(1)) : divisor) + Sym(1);
  }
  atoms_.push_back({kind, "", extent, -1, inner, divisor});
  return static_cast<int>(atoms_.size()) - 1;
}

// a = g * multiple + rest with 0 <= rest < g, for the largest g that divides the divisor: 1 if there is none.
Sym IndexSpace::common_factor(const Index& a, Sym divisor, Index* multiple, Index* rest) {
  if (!divisor.is_constant()) return 1;
  std::vector<int64_t> factors;
  for (const auto& [id, coefficient] : a.terms)
    if (coefficient.is_constant() && coefficient.constant() > 1 &&
        divisor.constant() % coefficient.constant() == 0)
      factors.push_back(coefficient.constant());
  std::sort(factors.rbegin(), factors.rend());
  for (int64_t factor : factors) {
    *multiple = *rest = Index();
    split_by(a, factor, multiple, rest);
    if (within(*rest, factor)) return factor;
  }
  return 1;
}

Index IndexSpace::quotient(const Index& a, Sym divisor) {
  if (known_one(divisor)) return a;
  Index multiple, rest;
  split_by(a, divisor, &multiple, &rest);
  if (within(rest, divisor)) return multiple;
  Index part, below;
  if (const Sym factor = common_factor(rest, divisor, &part, &below); !known_one(factor))
    return add(multiple, quotient(part, divisor.constant() / factor.constant()));
  return add(multiple, of(find_or_add(Atom::Kind::Quotient, rest, divisor)));
}

Index IndexSpace::remainder(const Index& a, Sym divisor) {
  if (known_one(divisor)) return Index();
  Index multiple, rest;
  split_by(a, divisor, &multiple, &rest);
  if (within(rest, divisor)) return rest;
  Index part, below;
  if (const Sym factor = common_factor(rest, divisor, &part, &below); !known_one(factor))
    return add(scale(remainder(part, divisor.constant() / factor.constant()), factor), below);
  return of(find_or_add(Atom::Kind::Remainder, rest, divisor));
}

Index IndexSpace::on_ring(const Index& a, Sym size) {
  if (a.is_constant() && a.constant.is_constant() && size.is_constant())
    return Index(a.constant.constant() % size.constant());
  // A ring along the same ring.
  if (a.terms.size() == 1 && known_one(a.terms[0].second) && a.constant.is_constant() && size.is_constant()) {
    const Atom& inner = atom(a.terms[0].first);
    if (inner.kind == Atom::Kind::Ring && sym_known_equal(inner.divisor, size) &&
        inner.inner.constant.is_constant()) {
      Index turned = inner.inner;
      turned.constant = Sym((turned.constant.constant() + a.constant.constant()) % size.constant());
      return on_ring(turned, size);
    }
  }
  if (within(a, size)) return a;
  const Index after = add(a, scale(Index(size), Sym(-1)));
  if (within(after, size)) return after;
  return of(find_or_add(Atom::Kind::Ring, a, size));
}

Index IndexSpace::flatten(const std::vector<Index>& indices, const SymShape& shape) {
  Index flat;
  for (size_t d = 0; d < indices.size(); ++d) flat = add(scale(flat, shape[d]), indices[d]);
  return flat;
}

std::vector<Index> IndexSpace::unflatten(const Index& flat, const SymShape& shape) {
  std::vector<Index> indices(shape.size());
  Index rest = flat;
  for (size_t d = shape.size(); d-- > 0;) {
    if (known_one(shape[d])) continue;
    bool outermost = true;
    for (size_t e = 0; e < d; ++e) outermost = outermost && known_one(shape[e]);
    if (outermost) {
      indices[d] = rest;
      break;
    }
    indices[d] = remainder(rest, shape[d]);
    rest = quotient(rest, shape[d]);
  }
  return indices;
}

void IndexSpace::collect_loops(const Index& a, std::set<int>& loops) const {
  for (const auto& [id, coefficient] : a.terms) {
    if (atom(id).kind == Atom::Kind::Loop)
      loops.insert(id);
    else
      collect_loops(atom(id).inner, loops);
  }
}

bool IndexSpace::depends_on(const Index& a, int loop) const {
  for (const auto& [id, coefficient] : a.terms)
    if (id == loop || (atom(id).kind != Atom::Kind::Loop && depends_on(atom(id).inner, loop))) return true;
  return false;
}

bool IndexSpace::is_affine(const Index& a) const {
  for (const auto& [id, coefficient] : a.terms)
    if (atom(id).kind != Atom::Kind::Loop && loop_of_ring(id) < 0) return false;
  return true;
}

int IndexSpace::loop_of_ring(int id) const {
  if (atom(id).kind != Atom::Kind::Ring) return -1;
  const std::vector<std::pair<int, Sym>>& terms = atom(id).inner.terms;
  const bool runs =
      terms.size() == 1 && known_one(terms[0].second) && atom(terms[0].first).kind == Atom::Kind::Loop;
  return runs ? terms[0].first : -1;
}

Sym IndexSpace::coefficient(const Index& a, int loop) const {
  for (const auto& [id, coefficient] : a.terms)
    if (id == loop) return coefficient;
  return Sym(0);
}

bool IndexSpace::is_nonlinear_in(const Index& a, int loop) const {
  for (const auto& [id, coefficient] : a.terms)
    if (atom(id).kind != Atom::Kind::Loop && depends_on(atom(id).inner, loop)) return true;
  return false;
}

std::string IndexSpace::key(const Index& a) const {
  std::string text = a.constant.str();
  for (const auto& [id, coefficient] : a.terms) text += fmt::format("+{}*{}", coefficient.str(), id);
  return text;
}

}  // namespace weft::nest
