#include "loopir/unroll_and_jam.h"

#include <fmt/format.h>

#include <algorithm>

#include "loopir/operations.h"
#include "loopir/print.h"

namespace weft::loopir {

const char* const kKept = "kept";

namespace {

const char* const kSuffix = "_side[side]";
constexpr size_t kMostInstructions = 72;  // of a round

// May it stand in the body, whatever is around it?
bool is_plain(const Instruction& in, const Barred& barred) {
  switch (in.opcode) {
    case Opcode::Define:
    case Opcode::Binary:
    case Opcode::Load:
    case Opcode::Declare:
    case Opcode::Store:
    case Opcode::Assign:
      return std::none_of(in.operands.begin(), in.operands.end(), [&](const Expr& operand) {
        return operand.calls_any(barred.functions) || operand.uses_any(barred.lists);
      });
    default: return false;
  }
}

// Prints the rounds of a jam, `sides` at a time.
class JamPrinter {
 public:
  JamPrinter(const Jam& jam, int sides) : jam_(jam), sides_(sides) {
    for (const auto& [variable, type] : jam.own) own_.insert(variable);
  }

  std::string print() const {
    const std::string &inner = jam_.inner_counter, &inner_stop = jam_.inner_stop;
    std::string text =
        fmt::format("    while ({}{} + {}L < {}) {{\n", jam_.condition, jam_.counter, sides_ - 1, jam_.stop);
    const std::string each = fmt::format("WEFT_UNROLLED for (int side = 0; side < {}; ++side) {{\n", sides_);
    for (const auto& [variable, type] : jam_.own)
      text += fmt::format("      {} {}_side[{}];\n", type, variable, sides_);
    text += fmt::format("      {0}    {1}_side[side] = {1} + side;\n{2}      }}\n", each, jam_.counter,
                        moved(jam_.begin));
    if (jam_.first)
      text += fmt::format("      {}{}      }}\n      ++{};\n", each, moved(*jam_.first, inner), inner);
    std::string element;
    if (jam_.kept) {
      element = fmt::format("{}[{}]", own(jam_.kept->array).text(), own(jam_.kept->index).text());
      text += fmt::format("      bool const sums = {} < {};\n", inner, inner_stop);
      text += fmt::format("      {}    if (sums) kept_side[side] = {};\n      }}\n", each, element);
    }
    text += fmt::format("      for (; {0} < {1}; ++{0}) {2}{3}", inner, inner_stop, each,
                        moved(jam_.round, inner));
    for (const auto& [variable, type] : jam_.own)
      if (!jam_.is_beside && is_summed(variable))
        text += fmt::format("    alone({}{});\n", variable, kSuffix);
    text += fmt::format("      }}\n      {}", each);
    if (jam_.kept) text += fmt::format("    if (sums) {} = kept_side[side];\n", element);
    text += moved(jam_.end) + "      }\n";
    for (const auto& [variable, type] : jam_.own)
      if (variable != kKept) text += fmt::format("      {0} = {0}_side[{1}];\n", variable, sides_ - 1);
    return text + "    }\n";
  }

 private:
  Expr own(const Expr& expr) const { return expr.renamed(own_, kSuffix); }

  // The block of one round. `shared`: a variable of all rounds.
  std::string moved(const StraightBlock& block, const std::string& shared = "") const {
    const auto to = [](const Jump&) { return std::string(); };
    std::string text;
    for (const Instruction& in : block.body) text += loopir::print(renamed(in, own_, kSuffix), to);
    if (block.poll)
      text += fmt::format("    if (side == {})\n  {}", sides_ - 1,
                          loopir::print(renamed(*block.poll, own_, kSuffix), to));
    for (Assignment one : block.assignments) {
      if (!shared.empty() && one.type.empty() && one.name == shared) continue;
      if (own_.count(one.name)) one.name += kSuffix;
      one.value = own(one.value);
      text += "    " + loopir::print(one) + ";\n";
    }
    return text;
  }

  bool is_summed(const std::string& variable) const {
    const std::vector<Assignment>& all = jam_.round.assignments;
    return variable == kKept || std::any_of(all.begin(), all.end(), [&](const Assignment& one) {
             return one.type.empty() && one.name == variable;
           });
  }

  const Jam& jam_;
  const int sides_;
  std::set<std::string> own_;
};

}  // namespace

std::optional<StraightBlock> take_apart(const Instructions& code, bool has_test, int version, int target,
                                        bool may_leave, const Barred& barred) {
  StraightBlock parts;
  auto begin = code.begin();
  if (has_test) {
    if (begin == code.end() || begin->opcode != Opcode::Test) return {};
    parts.test = *begin++;
  }
  if (begin == code.end() || code.back().opcode != Opcode::Go) return {};
  const Jump* jump = jump_of(code.back());
  if (!jump || jump->version != version || jump->target != target) return {};
  parts.assignments = in_turn(jump->moves);
  for (auto in = begin; in + 1 != code.end(); ++in) {
    if (in->opcode == Opcode::Poll) {
      if (parts.poll) return {};
      parts.poll = *in;
    } else if (in->opcode == Opcode::Require && !may_leave) {
      parts.conditions.push_back(in->operands[0]);
    } else if (is_plain(*in, barred) ||
               (may_leave && (in->opcode == Opcode::Require || in->opcode == Opcode::Overflow))) {
      parts.body.push_back(*in);
    } else {
      return {};
    }
  }
  return parts;
}

std::set<std::string> results(const Instructions& code) {
  std::set<std::string> names;
  for (const Instruction& in : code)
    if (!in.result.empty()) names.insert(in.result);
  return names;
}

std::optional<KeptElement> only_stored(const Instructions& code) {
  std::optional<KeptElement> found;
  for (const Instruction& in : code) {
    if (in.opcode != Opcode::Store) continue;
    if (found || !in.result.empty()) return {};
    found = KeptElement{in.operands[0], in.operands[1], ""};
  }
  return found;
}

void keep(const KeptElement& element, Instructions& code) {
  for (Instruction& in : code) {
    const bool is_access = in.opcode == Opcode::Load || in.opcode == Opcode::Store;
    if (!is_access || !(in.operands[0] == element.array) || !(in.operands[1] == element.index)) continue;
    const Expr kept = Expr::name(kKept);
    const Expr part = in.symbol.empty() ? kept : Expr::apply(op::part(in.symbol), {kept});
    in = in.opcode == Opcode::Load ? define(in.type, in.result, part) : assign(kKept, in.operands[2]);
  }
}

bool is_small(const Jam& jam) {
  const auto size_of = [](const StraightBlock& block) {
    return block.body.size() + block.assignments.size();
  };
  const size_t first = jam.first ? size_of(*jam.first) : 0;
  return size_of(jam.begin) + first + size_of(jam.round) + size_of(jam.end) <= kMostInstructions;
}

std::string print(const Jam& jam) {
  std::string text;
  for (int sides : jam.rounds) text += JamPrinter(jam, sides).print();
  return text;
}

}  // namespace weft::loopir
