// Symbolic integers: sizes and strides that are either known or an expression over a graph's size symbols.
//
// A Sym is 16 bytes; a constant costs no allocation. Shape rules are written once over Sym and serve the
// eager path (all constants) and captures (symbols). A comparison that a shape rule branches on is decided
// with the hints (the sizes seen at capture) and recorded as a guard in the symbols' environment.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace weft {

class SymEnv;

enum class SymOp : uint8_t { Symbol, Add, Mul, FloorDiv, Mod, Min, Max };

struct SymNode;

class Sym {
 public:
  Sym() = default;
  Sym(int64_t value) : value_(value) {}
  Sym(int value) : value_(value) {}
  explicit Sym(const SymNode* node) : node_(node) {}

  bool is_constant() const { return node_ == nullptr; }
  // The value of a constant; an internal error for an expression.
  int64_t constant() const;
  // The value at capture.
  int64_t hint() const;
  const SymNode* node() const { return node_; }
  SymEnv* env() const;

  // Value under an assignment of the symbols (indexed by symbol number).
  int64_t evaluate(const std::vector<int64_t>& symbols) const;
  // As printed in graphs: "4", "s0", "s0*2 + 1".
  std::string str() const;
  // The same expression. Expressions are interned in a canonical form, so that equal sums and products are
  // one.
  bool same(const Sym& other) const { return node_ == other.node_ && value_ == other.value_; }

 private:
  const SymNode* node_ = nullptr;
  int64_t value_ = 0;
};

struct SymNode {
  SymOp op;
  SymEnv* env;
  int symbol = -1;  // for SymOp::Symbol
  int id = 0;       // order of creation in the environment
  Sym a, b;         // operands, in canonical order for Add, Mul, Min, Max
  int64_t hint;
};

Sym operator+(Sym a, Sym b);
Sym operator-(Sym a, Sym b);
Sym operator*(Sym a, Sym b);
Sym operator-(Sym a);
Sym floor_div(Sym a, Sym b);
Sym floor_mod(Sym a, Sym b);
Sym sym_min(Sym a, Sym b);
Sym sym_max(Sym a, Sym b);

// Decide a relation; for expressions that cannot be decided without the hints, records a guard.
bool sym_eq(Sym a, Sym b);
bool sym_lt(Sym a, Sym b);
inline bool sym_ne(Sym a, Sym b) { return !sym_eq(a, b); }
inline bool sym_le(Sym a, Sym b) { return !sym_lt(b, a); }
inline bool sym_gt(Sym a, Sym b) { return sym_lt(b, a); }
inline bool sym_ge(Sym a, Sym b) { return !sym_lt(a, b); }
// The value at capture, pinned by a guard.
int64_t sym_specialize(Sym a);
// True only if equal for every assignment; records nothing.
bool sym_known_equal(Sym a, Sym b);

enum class SymRelation : uint8_t { Eq, Ne, Lt, Ge };
struct SymGuard {
  SymRelation relation;
  Sym a, b;
  bool holds(const std::vector<int64_t>& symbols) const;
  std::string str() const;
};

// Owns the symbols and interned expressions of one graph. Symbols stand for sizes of at least 2
// (sizes 0 and 1 are always specialized, because broadcasting depends on them).
class SymEnv {
 public:
  SymEnv();
  ~SymEnv();
  SymEnv(const SymEnv&) = delete;
  SymEnv& operator=(const SymEnv&) = delete;

  Sym new_symbol(int64_t hint);
  // "Any" symbols may take every value, not only sizes >= 2 (loop counters, integer arguments).
  Sym new_any_symbol(int64_t hint);
  int num_symbols() const { return static_cast<int>(hints_.size()); }
  Sym symbol(int index) const;
  const std::vector<int64_t>& hints() const { return hints_; }
  bool is_size(int symbol) const { return is_size_[static_cast<size_t>(symbol)]; }
  const std::vector<SymGuard>& guards() const { return guards_; }
  void add_guard(SymGuard guard);
  Sym make(SymOp op, Sym a, Sym b);
  // sym_lt of expressions that are not both constant: records no guard that those so far imply.
  bool less(Sym a, Sym b);
  // A lower bound valid for every assignment allowed (INT64_MIN if none is known).
  int64_t lower_bound(Sym a) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::vector<int64_t> hints_;
  std::vector<bool> is_size_;
  std::vector<SymGuard> guards_;
};

using SymShape = std::vector<Sym>;
std::string str(const SymShape& shape);
Sym product(const SymShape& shape);

}  // namespace weft
