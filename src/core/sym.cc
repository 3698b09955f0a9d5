// Symbolic integers in canonical form: a sum of integer multiples of products of atoms, where an atom is a
// symbol or a FloorDiv, Mod, Min or Max of canonical expressions. Equal sums are therefore the same node.
#include "weft/sym.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "weft/error.h"

namespace weft {

namespace {

constexpr int64_t kMinusInfinity = INT64_MIN;
constexpr int64_t kPlusInfinity = INT64_MAX;

int64_t checked_add(int64_t a, int64_t b) {
  int64_t result;
  WEFT_CHECK(!__builtin_add_overflow(a, b, &result), fmt::format("size: {} + {} does not fit 64 bits", a, b));
  return result;
}
int64_t checked_mul(int64_t a, int64_t b) {
  int64_t result;
  WEFT_CHECK(!__builtin_mul_overflow(a, b, &result), fmt::format("size: {} * {} does not fit 64 bits", a, b));
  return result;
}
int64_t floor_div_int(int64_t a, int64_t b) {
  WEFT_CHECK(b != 0, fmt::format("size: {} // 0", a));
  if (b == -1) return checked_mul(a, -1);
  const int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}
int64_t floor_mod_int(int64_t a, int64_t b) {
  WEFT_CHECK(b != 0, fmt::format("size: {} % 0", a));
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder + (remainder != 0 && (remainder < 0) != (b < 0) ? b : 0);
}
int64_t apply(SymOp op, int64_t a, int64_t b) {
  switch (op) {
    case SymOp::Add: return checked_add(a, b);
    case SymOp::Mul: return checked_mul(a, b);
    case SymOp::FloorDiv: return floor_div_int(a, b);
    case SymOp::Mod: return floor_mod_int(a, b);
    case SymOp::Min: return std::min(a, b);
    case SymOp::Max: return std::max(a, b);
    case SymOp::Symbol: break;
  }
  WEFT_ASSERT(false, "not a binary operation");
}

struct ById {
  bool operator()(const SymNode* a, const SymNode* b) const { return a->id < b->id; }
};
using Monomial = std::vector<const SymNode*>;  // atoms, sorted by id; empty for the constant term

// Higher degree first, then older atoms first; the constant comes last.
struct MonomialOrder {
  bool operator()(const Monomial& a, const Monomial& b) const {
    if (a.size() != b.size()) return a.size() > b.size();
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), ById());
  }
};
using Polynomial = std::map<Monomial, int64_t, MonomialOrder>;

struct Node : SymNode {
  Polynomial terms;
};

Polynomial terms_of(Sym a) {
  if (!a.is_constant()) return static_cast<const Node*>(a.node())->terms;
  Polynomial result;
  if (a.constant() != 0) result[{}] = a.constant();
  return result;
}

void add_term(Polynomial& sum, const Monomial& monomial, int64_t factor) {
  const auto [position, inserted] = sum.try_emplace(monomial, factor);
  if (!inserted) position->second = checked_add(position->second, factor);
  if (position->second == 0) sum.erase(position);
}

Polynomial add(Polynomial a, const Polynomial& b, int64_t factor = 1) {
  for (const auto& [monomial, coefficient] : b) add_term(a, monomial, checked_mul(coefficient, factor));
  return a;
}

Polynomial multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (const auto& [x, m] : a) {
    for (const auto& [y, n] : b) {
      Monomial monomial;
      std::merge(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(monomial), ById());
      add_term(result, monomial, checked_mul(m, n));
    }
  }
  return result;
}

int64_t constant_term(const Polynomial& p) {
  const auto found = p.find({});
  return found == p.end() ? 0 : found->second;
}

// a / b where b is one term that divides every term of a.
std::optional<Polynomial> divide_exactly(const Polynomial& a, const Polynomial& b) {
  if (b.size() != 1) return std::nullopt;
  const auto& [divisor, factor] = *b.begin();
  Polynomial result;
  for (const auto& [monomial, coefficient] : a) {
    if (coefficient % factor != 0) return std::nullopt;
    if (!std::includes(monomial.begin(), monomial.end(), divisor.begin(), divisor.end(), ById()))
      return std::nullopt;
    Monomial quotient;
    std::set_difference(monomial.begin(), monomial.end(), divisor.begin(), divisor.end(),
                        std::back_inserter(quotient), ById());
    add_term(result, quotient, coefficient / factor);
  }
  return result;
}

struct Interval {
  int64_t low = kMinusInfinity, high = kPlusInfinity;
};

int64_t saturating_add(int64_t a, int64_t b, int64_t infinity) {
  int64_t result;
  if (a == infinity || b == infinity || __builtin_add_overflow(a, b, &result)) return infinity;
  return result;
}
int64_t saturating_mul(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  const bool infinite =
      a == kMinusInfinity || a == kPlusInfinity || b == kMinusInfinity || b == kPlusInfinity;
  int64_t result;
  if (infinite || __builtin_mul_overflow(a, b, &result))
    return (a < 0) == (b < 0) ? kPlusInfinity : kMinusInfinity;
  return result;
}
Interval operator*(Interval a, Interval b) {
  const auto products = {saturating_mul(a.low, b.low), saturating_mul(a.low, b.high),
                         saturating_mul(a.high, b.low), saturating_mul(a.high, b.high)};
  return {std::min(products), std::max(products)};
}

Interval bounds(Sym a);

Interval atom_bounds(const SymNode* node) {
  if (node->op == SymOp::Symbol)
    return node->env->is_size(node->symbol) ? Interval{2, kPlusInfinity} : Interval{};
  const Interval a = bounds(node->a), b = bounds(node->b);
  switch (node->op) {
    case SymOp::Min: return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case SymOp::Max: return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case SymOp::Mod:
      if (b.low < 1) return {};
      return {0,
              std::min(a.low >= 0 ? a.high : kPlusInfinity, b.high == kPlusInfinity ? b.high : b.high - 1)};
    case SymOp::FloorDiv:
      if (b.low < 1 || a.low < 0) return {};
      return {b.high == kPlusInfinity ? 0 : a.low / b.high,
              a.high == kPlusInfinity ? a.high : a.high / b.low};
    default: return {};
  }
}

Interval bounds(const Polynomial& terms) {
  Interval sum{0, 0};
  for (const auto& [monomial, coefficient] : terms) {
    Interval term{coefficient, coefficient};
    for (const SymNode* atom : monomial) term = term * atom_bounds(atom);
    sum.low = saturating_add(sum.low, term.low, kMinusInfinity);
    sum.high = saturating_add(sum.high, term.high, kPlusInfinity);
  }
  return sum;
}
Interval bounds(Sym a) {
  return a.is_constant() ? Interval{a.constant(), a.constant()} : bounds(terms_of(a));
}

}  // namespace

struct SymEnv::Impl {
  template <class Relation>
  using Key = std::tuple<Relation, const SymNode*, int64_t, const SymNode*, int64_t>;
  std::deque<Node> nodes;
  std::map<Key<SymOp>, const SymNode*> interned;
  std::vector<const SymNode*> symbols;
  std::set<Key<SymRelation>> guarded;
  std::map<const SymNode*, int64_t> guarded_lows;  // of expressions without a constant term
  SymEnv* env;

  template <class Relation>
  static Key<Relation> key(Relation relation, Sym a, Sym b) {
    const auto value = [](Sym s) { return s.is_constant() ? s.constant() : 0; };
    return {relation, a.node(), value(a), b.node(), value(b)};
  }

  // An expression that is not constant, as the sum of one without a constant term and a number.
  std::pair<const SymNode*, int64_t> without_constant(Sym a) {
    Polynomial terms = terms_of(a);
    const int64_t constant = constant_term(terms);
    terms.erase(Monomial{});
    return {build(terms).node(), constant};
  }

  // The least value that the guards so far allow.
  int64_t guarded_low(Sym a) {
    const auto [node, constant] = without_constant(a);
    const auto found = guarded_lows.find(node);
    return found == guarded_lows.end() ? kMinusInfinity
                                       : saturating_add(found->second, constant, kMinusInfinity);
  }

  void guard_at_least(Sym a, int64_t low) {
    if (a.is_constant()) return;
    const auto [node, constant] = without_constant(a);
    low = saturating_add(low, checked_mul(constant, -1), kMinusInfinity);
    const auto [position, inserted] = guarded_lows.try_emplace(node, low);
    position->second = std::max(position->second, low);
  }

  Node& new_node(SymOp op, int64_t hint) {
    Node& node = nodes.emplace_back();
    node.op = op;
    node.env = env;
    node.id = static_cast<int>(nodes.size());
    node.hint = hint;
    return node;
  }

  Sym intern(SymOp op, Sym a, Sym b, const Polynomial* terms) {
    const auto [position, inserted] = interned.try_emplace(key(op, a, b), nullptr);
    if (inserted) {
      Node& node = new_node(op, apply(op, a.hint(), b.hint()));
      node.a = a;
      node.b = b;
      if (terms)
        node.terms = *terms;
      else
        node.terms[{&node}] = 1;
      position->second = &node;
    }
    return Sym(position->second);
  }

  Sym build_term(const Monomial& monomial, int64_t coefficient) {
    if (monomial.empty()) return coefficient;
    Sym result(monomial[0]);
    Polynomial terms{{{monomial[0]}, 1}};
    for (size_t i = 1; i < monomial.size(); ++i) {
      terms = multiply(terms, {{{monomial[i]}, 1}});
      result = intern(SymOp::Mul, result, Sym(monomial[i]), &terms);
    }
    if (coefficient == 1) return result;
    terms = multiply(terms, {{{}, coefficient}});
    return intern(SymOp::Mul, result, coefficient, &terms);
  }

  // The one expression for a polynomial: terms in canonical order, added from the left.
  Sym build(const Polynomial& terms) {
    Sym result = 0;
    Polynomial sum;
    for (const auto& [monomial, coefficient] : terms) {
      const Sym term = build_term(monomial, coefficient);
      add_term(sum, monomial, coefficient);
      result = sum.size() == 1 ? term : intern(SymOp::Add, result, term, &sum);
    }
    return result;
  }

  Sym build_div(Sym a, Sym b) {
    const Polynomial numerator = terms_of(a), divisor = terms_of(b);
    const bool nonzero = b.is_constant() ? b.constant() != 0 : bounds(b).low > 0 || bounds(b).high < 0;
    if (nonzero) {
      if (a.same(b)) return 1;
      if (const auto quotient = divide_exactly(numerator, divisor)) return build(*quotient);
    }
    if (!b.is_constant()) return intern(SymOp::FloorDiv, a, b, nullptr);
    // floor((b*q + r) / b) is q + floor(r / b).
    Polynomial whole, rest;
    for (const auto& [monomial, coefficient] : numerator) {
      add_term(whole, monomial, floor_div_int(coefficient, b.constant()));
      add_term(rest, monomial, floor_mod_int(coefficient, b.constant()));
    }
    const Sym remainder = build(rest);
    const Interval range = bounds(remainder);
    if (b.constant() > 0 && range.low >= 0 && range.high < b.constant()) return build(whole);
    if (remainder.is_constant())
      return build(add(whole, terms_of(floor_div_int(remainder.constant(), b.constant()))));
    return build(add(whole, {{{intern(SymOp::FloorDiv, remainder, b, nullptr).node()}, 1}}));
  }

  Sym build_mod(Sym a, Sym b) {
    const bool nonzero = b.is_constant() ? b.constant() != 0 : bounds(b).low > 0 || bounds(b).high < 0;
    if (nonzero && (a.same(b) || divide_exactly(terms_of(a), terms_of(b)))) return 0;
    if (bounds(a).low >= 0 && bounds(build(add(terms_of(b), terms_of(a), -1))).low >= 1) return a;
    if (!b.is_constant()) return intern(SymOp::Mod, a, b, nullptr);
    Polynomial rest;
    for (const auto& [monomial, coefficient] : terms_of(a)) {
      add_term(rest, monomial, floor_mod_int(coefficient, b.constant()));
    }
    const Sym remainder = build(rest);
    if (remainder.is_constant()) return floor_mod_int(remainder.constant(), b.constant());
    const Interval range = bounds(remainder);
    if (b.constant() > 0 && range.low >= 0 && range.high < b.constant()) return remainder;
    return intern(SymOp::Mod, remainder, b, nullptr);
  }

  Sym build_extreme(SymOp op, Sym a, Sym b) {
    if (a.same(b)) return a;
    const Interval difference = bounds(add(terms_of(a), terms_of(b), -1));
    if (difference.low >= 0) return op == SymOp::Max ? a : b;
    if (difference.high <= 0) return op == SymOp::Max ? b : a;
    const auto before = [](Sym x, Sym y) {  // constants last
      if (x.is_constant() || y.is_constant()) return !x.is_constant();
      return x.node()->id < y.node()->id;
    };
    if (before(b, a)) std::swap(a, b);
    return intern(op, a, b, nullptr);
  }
};

SymEnv::SymEnv() : impl_(std::make_unique<Impl>()) { impl_->env = this; }
SymEnv::~SymEnv() = default;

Sym SymEnv::new_any_symbol(int64_t hint) {
  Node& node = impl_->new_node(SymOp::Symbol, hint);
  node.symbol = num_symbols();
  node.terms[{&node}] = 1;
  impl_->symbols.push_back(&node);
  hints_.push_back(hint);
  is_size_.push_back(false);
  return Sym(&node);
}

Sym SymEnv::new_symbol(int64_t hint) {
  WEFT_ASSERT(hint >= 2, fmt::format("a size symbol stands for sizes of at least 2, got {}", hint));
  const Sym result = new_any_symbol(hint);
  is_size_.back() = true;
  return result;
}

Sym SymEnv::symbol(int index) const { return Sym(impl_->symbols.at(static_cast<size_t>(index))); }

void SymEnv::add_guard(SymGuard guard) {
  if (!impl_->guarded.insert(Impl::key(guard.relation, guard.a, guard.b)).second) return;
  guards_.push_back(guard);
  if (guard.relation == SymRelation::Lt) impl_->guard_at_least(guard.b - guard.a, 1);
  if (guard.relation == SymRelation::Ge) impl_->guard_at_least(guard.a - guard.b, 0);
}

bool SymEnv::less(Sym a, Sym b) {
  const Sym difference = b - a;
  if (difference.is_constant()) return difference.constant() > 0;
  const auto is_at_least = [&](Sym value, int64_t low) {
    return bounds(value).low >= low || impl_->guarded_low(value) >= low;
  };
  if (is_at_least(difference, 1)) return true;
  if (is_at_least(-difference, 0)) return false;
  const bool result = a.hint() < b.hint();
  add_guard({result ? SymRelation::Lt : SymRelation::Ge, a, b});
  return result;
}

Sym SymEnv::make(SymOp op, Sym a, Sym b) {
  for (const Sym& operand : {a, b}) {
    WEFT_ASSERT(operand.is_constant() || operand.env() == this,
                "symbols of two environments in one expression");
  }
  if (a.is_constant() && b.is_constant()) return apply(op, a.constant(), b.constant());
  switch (op) {
    case SymOp::Add: return impl_->build(add(terms_of(a), terms_of(b)));
    case SymOp::Mul: return impl_->build(multiply(terms_of(a), terms_of(b)));
    case SymOp::FloorDiv: return impl_->build_div(a, b);
    case SymOp::Mod: return impl_->build_mod(a, b);
    case SymOp::Min:
    case SymOp::Max: return impl_->build_extreme(op, a, b);
    case SymOp::Symbol: break;
  }
  WEFT_ASSERT(false, "symbols are made by new_symbol");
}

int64_t SymEnv::lower_bound(Sym a) const { return bounds(a).low; }

// ---- Sym -------------------------------------------------------------------------------------------------

int64_t Sym::constant() const {
  WEFT_ASSERT(is_constant(), "the symbolic size " + str() + " is used as a known one");
  return value_;
}
int64_t Sym::hint() const { return node_ ? node_->hint : value_; }
SymEnv* Sym::env() const { return node_ ? node_->env : nullptr; }

int64_t Sym::evaluate(const std::vector<int64_t>& symbols) const {
  if (!node_) return value_;
  if (node_->op == SymOp::Symbol) return symbols.at(static_cast<size_t>(node_->symbol));
  return apply(node_->op, node_->a.evaluate(symbols), node_->b.evaluate(symbols));
}

namespace {

std::string atom_str(const SymNode* node) {
  const auto operand = [](Sym s) {
    const bool simple = s.is_constant() ? s.constant() >= 0
                                        : s.node()->op == SymOp::Symbol || s.node()->op == SymOp::Min ||
                                              s.node()->op == SymOp::Max;
    return simple ? s.str() : "(" + s.str() + ")";
  };
  switch (node->op) {
    case SymOp::Symbol: return fmt::format("s{}", node->symbol);
    case SymOp::Min: return fmt::format("min({}, {})", node->a.str(), node->b.str());
    case SymOp::Max: return fmt::format("max({}, {})", node->a.str(), node->b.str());
    case SymOp::FloorDiv: return fmt::format("{}//{}", operand(node->a), operand(node->b));
    case SymOp::Mod: return fmt::format("{}%{}", operand(node->a), operand(node->b));
    default: break;
  }
  WEFT_ASSERT(false, "a sum or product is not an atom");
}

std::string term_str(const Monomial& monomial, uint64_t magnitude) {
  std::string text;
  for (const SymNode* atom : monomial) {
    const bool infix = atom->op == SymOp::FloorDiv || atom->op == SymOp::Mod;
    const bool alone = monomial.size() == 1 && magnitude == 1;
    if (!text.empty()) text += "*";
    text += infix && !alone ? "(" + atom_str(atom) + ")" : atom_str(atom);
  }
  if (monomial.empty()) return fmt::format("{}", magnitude);
  return magnitude == 1 ? text : fmt::format("{}*{}", text, magnitude);
}

}  // namespace

std::string Sym::str() const {
  if (!node_) return fmt::format("{}", value_);
  std::string text;
  for (const auto& [monomial, coefficient] : static_cast<const Node*>(node_)->terms) {
    const bool negative = coefficient < 0;
    const uint64_t magnitude =
        negative ? 0 - static_cast<uint64_t>(coefficient) : static_cast<uint64_t>(coefficient);
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    text += term_str(monomial, magnitude);
  }
  return text;
}

namespace {

Sym combine(SymOp op, Sym a, Sym b) {
  if (a.is_constant() && b.is_constant()) return apply(op, a.constant(), b.constant());
  return (a.env() ? a.env() : b.env())->make(op, a, b);
}

}  // namespace

Sym operator+(Sym a, Sym b) { return combine(SymOp::Add, a, b); }
Sym operator-(Sym a, Sym b) { return a + -b; }
Sym operator*(Sym a, Sym b) { return combine(SymOp::Mul, a, b); }
Sym operator-(Sym a) { return a * Sym(-1); }
Sym floor_div(Sym a, Sym b) { return combine(SymOp::FloorDiv, a, b); }
Sym floor_mod(Sym a, Sym b) { return combine(SymOp::Mod, a, b); }
Sym sym_min(Sym a, Sym b) { return combine(SymOp::Min, a, b); }
Sym sym_max(Sym a, Sym b) { return combine(SymOp::Max, a, b); }

bool sym_known_equal(Sym a, Sym b) { return a.same(b); }

bool sym_eq(Sym a, Sym b) {
  if (a.same(b)) return true;
  const Sym difference = a - b;
  if (difference.is_constant()) return false;
  const Interval range = bounds(difference);
  if (range.low > 0 || range.high < 0) return false;
  // A sum of multiples of g is not zero when g does not divide the constant.
  int64_t divisor = 0;
  const Polynomial terms = terms_of(difference);
  for (const auto& [monomial, coefficient] : terms) {
    if (!monomial.empty()) divisor = std::gcd(divisor, coefficient);
  }
  if (constant_term(terms) % divisor != 0) return false;
  const bool equal = a.hint() == b.hint();
  difference.env()->add_guard({equal ? SymRelation::Eq : SymRelation::Ne, a, b});
  return equal;
}

bool sym_lt(Sym a, Sym b) {
  if (a.is_constant() && b.is_constant()) return a.constant() < b.constant();
  return (a.env() ? a.env() : b.env())->less(a, b);
}

int64_t sym_specialize(Sym a) {
  if (!a.is_constant()) a.env()->add_guard({SymRelation::Eq, a, a.hint()});
  return a.hint();
}

// ---- guards and shapes -----------------------------------------------------------------------------------

bool SymGuard::holds(const std::vector<int64_t>& symbols) const {
  const int64_t left = a.evaluate(symbols), right = b.evaluate(symbols);
  switch (relation) {
    case SymRelation::Eq: return left == right;
    case SymRelation::Ne: return left != right;
    case SymRelation::Lt: return left < right;
    case SymRelation::Ge: return left >= right;
  }
  return false;
}

std::string SymGuard::str() const {
  constexpr const char* kNames[] = {"==", "!=", "<", ">="};
  return fmt::format("{} {} {}", a.str(), kNames[static_cast<size_t>(relation)], b.str());
}

std::string str(const SymShape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + shape[i].str();
  return text + "]";
}

Sym product(const SymShape& shape) {
  Sym result = 1;
  for (const Sym& size : shape) result = result * size;
  return result;
}

}  // namespace weft
