// A whole function as C++.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loopir/print.h"

namespace weft::loopir {

namespace {

std::string print_prologue(const Function& function) {
  std::string text;
  for (const Callee& callee : function.callees)
    text += fmt::format("  const {0} c_{1} = ({0})functions[{2}];\n", callee.type, callee.name, callee.place);
  size_t k = 0;
  for (const Array& array : function.arrays) {
    if (array.is_made) {
      text += fmt::format("  {}* {}_data = nullptr;\n", array.type, array.name);
      for (int d = 0; d < array.dims; ++d) text += fmt::format("  i64 {}_n{} = 0;\n", array.name, d);
      for (int d = 0; d + 1 < array.dims; ++d) text += fmt::format("  i64 {}_s{} = 0;\n", array.name, d);
      k += static_cast<size_t>(1 + 2 * array.dims);
      continue;
    }
    text += fmt::format("  {0}* const {1}_data = ({0}*)arrays[{2}];\n", array.type, array.name, k++);
    for (int d = 0; d < array.dims; ++d) {
      text += fmt::format("  const i64 {}_n{} = arrays[{}];\n", array.name, d, k++);
      text += fmt::format("  __builtin_assume({0}_n{1} >= 0 && {0}_n{1} < (1L << 56));\n", array.name, d);
    }
    for (int d = 0; d < array.dims; ++d) {
      if (array.unit >> d & 1)
        ++k;
      else
        text += fmt::format("  const i64 {}_s{} = arrays[{}];\n", array.name, d, k++);
    }
  }
  for (size_t i = 0; i < function.num_lists; ++i)
    text += fmt::format("  ResizedList* const list{} = (ResizedList*)arrays[{}];\n", i, k++);
  for (const auto& [variable, type] : function.variables) text += fmt::format("  {} {};\n", type, variable);
  return text + "  i64 fuel = kFuel, piece_end = 0;\n";
}

std::string print_parameters(const Function& function) {
  std::string text;
  for (size_t k = 0; k < function.parameters.size(); ++k) {
    const Parameter& one = function.parameters[k];
    const bool is_float = one.type == "f64" || one.type == "f32";
    const std::string word = is_float ? fmt::format("float_of(io[{}])", k) : fmt::format("io[{}]", k);
    text += fmt::format("  {} = ({}){};\n", one.variable, one.type, word);
    if (one.is_nonnegative) text += fmt::format("  __builtin_assume({} >= 0);\n", one.variable);
  }
  return text;
}

// What numbers fit in, and what else is checked.
std::string print_checks(const Checks& checks, const std::string& counters) {
  std::string text = fmt::format("fit<{}>({}", checks.bits, counters);
  for (const Expr& atom : checks.atoms) text += ", " + atom;
  text += ")";
  for (const Expr& check : checks.all) text += "\n        && " + check;
  return text;
}

std::string print_preheader(const Preheader& preheader, int head) {
  std::string text = "  {\n", conditions, counters;
  for (const Preheader::Counter& one : preheader.counters) {
    const std::string first = first_of(one.head), last = last_of(one.head);
    text += fmt::format("    const i64 {} = {}, {} = {};\n", first, one.first, last, one.last);
    counters += fmt::format("{}{}, {}", counters.empty() ? "" : ", ", first, last);
  }
  for (const Expr& condition : preheader.conditions) conditions += condition + " && ";
  text += fmt::format("    if ({}{}) {{\n", conditions, print_checks(preheader.checks, counters));
  for (const Assignment& one : preheader.entering) text += "      " + print(one) + ";\n";
  return text + fmt::format("      goto checked{0}_{0};\n    }}\n  }}\nunchecked{0}:", head);
}

std::string print_shared(const SharedRounds& shared, int head) {
  std::string text = fmt::format("  if (!in_turn{}) {{  // rounds are independent\n", head);
  text += fmt::format("    constexpr i64 step = {};\n", integer_literal(shared.step));
  text += fmt::format("    i64 rounds = ({} - {} + step - {}) / step;\n", shared.stop, shared.counter,
                      shared.step > 0 ? 1 : -1);
  text += fmt::format("    const i64 first = {}, last = first + (rounds - 1) * step;\n", shared.counter);
  text += fmt::format("    if (rounds >= *(const volatile i64*)functions[{}] && {}) {{\n", shared.site,
                      print_checks(shared.checks, "first, last"));
  for (const Expr& conflict : shared.conflicts) text += fmt::format("      rounds = {};\n", conflict);
  text += "      if (rounds > 0) {\n";
  std::string slabs;
  for (const Expr& slab : shared.slabs) slabs += ", " + slab;
  text += fmt::format("        i64 job[] = {{first, step, rounds{}}}, state[] = {{{}}};\n", slabs,
                      fmt::join(shared.state, ", "));
  text += fmt::format(
      "        const i64 ending = ((RunRounds)functions[{}])(functions[{}], {}, job, state, arrays, "
      "functions, poll);\n",
      shared.site + 1, shared.site, shared.function);
  text += fmt::format("        {} += job[2] * step;\n", shared.counter);
  for (const Assignment& one : shared.results) text += "        " + print(one) + ";\n";
  text += fmt::format("        in_turn{} = ending == 2;\n", head);
  text += fmt::format("        if (ending == 3) {}\n", print(shared.interrupted));
  return text + "      }\n    }\n  }\n";
}

// Blocks of the function's own that its jumps lead to.
std::set<int> targets_of(const Function& function, bool with_skips) {
  std::set<int> targets;
  const auto add = [&](const Instructions& code, int id) {
    for (const Instruction& in : code)
      if (const Jump* jump = jump_of(in))
        if (jump->version < 0 && jump->target >= 0 &&
            (with_skips || id < 0 || !skips_preheader(function, *jump, id)))
          targets.insert(jump->target);
  };
  for (const Block& block : function.blocks) {
    add(block.code, block.id);
    if (!block.version) continue;
    for (const BasicBlock& one : block.version->blocks) add(one.code, -1);
  }
  return targets;
}

std::string print_block(const Function& function, const Block& block) {
  const auto to = [&](const Jump& jump) {
    return fmt::format("goto {}{};", skips_preheader(function, jump, block.id) ? "unchecked" : "block",
                       jump.target);
  };
  std::string text;
  if (block.preheader) text += print_preheader(*block.preheader, block.id);
  text += fmt::format("  {{  // line {}\n{}  }}\n", block.line, print(block.code, to));
  if (block.version) text += print(*block.version);
  return text;
}

std::string print_rounds(const Function& function) {
  const RoundsEnd& rounds = *function.rounds;
  const std::set<int> targets = targets_of(function, false);
  std::string text =
      fmt::format("static i64 {}(i64* io, const i64* arrays, const void* const* functions, Poll poll) {{\n",
                  function.name);
  text += print_prologue(function) + print_parameters(function);
  text += fmt::format("  goto block{};\n", rounds.head);
  for (const Block& block : function.blocks) {
    if (block.id == rounds.head || targets.count(block.id)) text += fmt::format("block{}:\n", block.id);
    text += print_block(function, block);
  }
  // What lies outside leads away.
  for (int target : targets)
    if (!find_block(function, target)) text += fmt::format("block{}: return 0;\n", target);
  text += "done:\n";
  for (const auto& [place, value] : rounds.results) text += fmt::format("  io[{}] = {};\n", place, value);
  return text + "  return -1;\n}\n";
}

}  // namespace

std::string print(const Function& function) {
  if (function.rounds) return print_rounds(function);
  std::string text = fmt::format(
      "extern \"C\" i64 {}(i64* io, const i64* arrays, const void* const* functions, Poll poll) {{\n",
      function.name);
  text += print_prologue(function);
  for (const Block& block : function.blocks)
    if (block.shared) text += fmt::format("  bool in_turn{} = false;\n", block.id);
  text += print_parameters(function);
  const std::set<int> targets = targets_of(function, true);
  for (const Block& block : function.blocks) {
    if (targets.count(block.id)) text += fmt::format("block{}:", block.id);
    if (block.shared) text += print_shared(*block.shared, block.id);
    if (!block.in_turn.empty()) text += fmt::format("  // rounds in turn: {}\n", block.in_turn);
    text += print_block(function, block);
  }
  return text + "}\n";
}

}  // namespace weft::loopir
