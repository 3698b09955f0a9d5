// Index arithmetic of loop nests: affine combinations of loop variables with (possibly symbolic)
// coefficients.
//
// Views turn an index of their result into an index of their operand, so a chain of views between a loop and
// the memory it reads folds into one affine address. What is not affine (splitting a merged dimension) is
// kept as a quotient or remainder atom, and most of these cancel when the address is formed.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/sym.h"

namespace weft::nest {

// constant + sum of coefficient * atom; terms are sorted by atom and have no zero coefficient.
struct Index {
  Sym constant = 0;
  std::vector<std::pair<int, Sym>> terms;

  Index() = default;
  Index(Sym value) : constant(value) {}
  Index(int64_t value) : constant(value) {}
  bool is_constant() const { return terms.empty(); }
  bool is_zero() const { return terms.empty() && constant.is_constant() && constant.constant() == 0; }
};

// A loop variable, the quotient or remainder of an index that did not simplify, or a position on a ring: an
// index below twice the divisor, less the divisor where it is not below it.
struct Atom {
  enum class Kind : uint8_t { Loop, Quotient, Remainder, Ring };
  Kind kind;
  std::string name;  // Loop
  Sym extent;        // values are 0 … extent - 1
  int scope = -1;    // Loop: the scope that binds it
  Index inner;       // Quotient, Remainder, Ring
  Sym divisor;
};

class IndexSpace {
 public:
  int new_loop(std::string name, Sym extent);
  const Atom& atom(int id) const { return atoms_[static_cast<size_t>(id)]; }
  Atom& atom(int id) { return atoms_[static_cast<size_t>(id)]; }

  static Index of(int atom);
  Index add(const Index& a, const Index& b);
  Index scale(const Index& a, Sym factor);
  Index quotient(const Index& a, Sym divisor);
  Index remainder(const Index& a, Sym divisor);
  // Of 0 <= a < 2 * size: the position on a ring.
  Index on_ring(const Index& a, Sym size);

  // Row-major position of `indices` in `shape`, and back.
  Index flatten(const std::vector<Index>& indices, const SymShape& shape);
  std::vector<Index> unflatten(const Index& flat, const SymShape& shape);

  // Loop variables the index depends on, those inside quotients included.
  void collect_loops(const Index& a, std::set<int>& loops) const;
  bool depends_on(const Index& a, int loop) const;
  // Loop variables, and rings that one of them runs along: between two passes of a ring's end it is a sum
  // with numbers.
  bool is_affine(const Index& a) const;
  // The loop that runs along a ring step by step, beginning at the inner index' constant; -1 if it is another
  // index.
  int loop_of_ring(int atom) const;
  // Coefficient of a loop variable; 0 where it does not appear. Meaningful for affine occurrences only.
  Sym coefficient(const Index& a, int loop) const;
  // True where `loop` appears inside a quotient or remainder.
  bool is_nonlinear_in(const Index& a, int loop) const;
  std::string key(const Index& a) const;

 private:
  std::vector<Atom> atoms_;
  int find_or_add(Atom::Kind kind, const Index& inner, Sym divisor);
  bool split_by(const Index& a, Sym divisor, Index* multiple, Index* rest);
  Sym common_factor(const Index& a, Sym divisor, Index* multiple, Index* rest);
  bool within(const Index& a, Sym bound);
  bool join_ring(const Index& a, Index* joined);
};

bool known_zero(Sym a);
bool known_one(Sym a);

}  // namespace weft::nest
