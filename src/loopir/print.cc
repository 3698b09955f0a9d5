#include "loopir/print.h"

#include <fmt/format.h>

namespace weft::loopir {

namespace {

std::string print(const Way& way, const Goto& to) {
  const Jump* jump = std::get_if<Jump>(&way);
  if (!jump) return print(std::get<Exit>(way));
  if (jump->target == Jump::kDone) return "goto done;";
  std::string text = "{ ";
  for (const Assignment& one : in_turn(jump->moves)) text += print(one) + "; ";
  return text + to(*jump) + " }";
}

std::string print_test(const Instruction& in, const Goto& to) {
  const std::string &counter = in.operands[0].text(), &end = in.operands[1].text();
  const std::string way = print(*in.way, to);
  if (in.operands.size() > 2)
    return fmt::format("if (!({0} > 0 ? {1} < {2} : {1} > {2})) {3}", in.operands[2].text(), counter, end,
                       way);
  const std::string more = fmt::format("{} {} {}", counter, in.symbol, end);
  if (!in.flag) return fmt::format("if (!({})) {}", more, way);
  return fmt::format("if (!({} {} piece_end)) {{ if (({}) && !poll()) goto block{}; if ({}) {} {} }}",
                     counter, in.symbol, more, in.number, more, print(*in.exit), way);
}

// Without the blanks before the first line, and the end of the last one.
std::string lines(const Instruction& in, const Goto& to) {
  const auto operand = [&](size_t k) -> const std::string& { return in.operands[k].text(); };
  const auto required = [&](const std::string& condition) {
    return fmt::format("if (__builtin_expect(!({}), 0)) {}", condition, print(*in.exit));
  };
  switch (in.opcode) {
    case Opcode::Define:
    case Opcode::Binary:
    case Opcode::Load: return fmt::format("{} const {} = {};", in.type, in.result, expression(in).text());
    case Opcode::Declare: return fmt::format("{} {};", in.type, in.result);
    case Opcode::Overflow:
      return fmt::format("{} {};\n    {}", in.type, in.result,
                         required(fmt::format("{}{}({}, {}, &{})", in.flag ? "" : "!", in.symbol, operand(0),
                                              operand(1), in.result)));
    case Opcode::Settle: {
      const std::string outside =
          fmt::format("if (__builtin_expect((u64){} >= (u64){}, 0))", in.result, operand(1));
      return fmt::format("i64 {0} = {1};\n    {2} {{ {0} += {3}; {2} {4} }}", in.result, operand(0), outside,
                         operand(1), print(*in.exit));
    }
    case Opcode::Store:
      return fmt::format("{}[{}]{}{} = {};", operand(0), operand(1), in.result.empty() ? "" : " = ",
                         in.result, operand(2));
    case Opcode::Assign: return fmt::format("{} = {};", in.result, operand(0));
    case Opcode::Require: return required(operand(0));
    case Opcode::Poll:
      return fmt::format("if ((fuel -= {}) < 0) {{ fuel = kFuel; if (poll()) {} }}", in.number,
                         print(*in.exit));
    case Opcode::Test: return print_test(in, to);
    case Opcode::Branch: return fmt::format("if ({}) {}", operand(0), print(*in.way, to));
    case Opcode::Go: return print(*in.way, to);
    case Opcode::Statement: return operand(0);
  }
  return "";
}

}  // namespace

std::string print(const Exit& exit) {
  std::string text = "{ ";
  for (size_t k = 0; k < exit.words.size(); ++k)
    text += fmt::format("io[{}] = {}; ", k, exit.words[k].text());
  return text + fmt::format("return {}; }}", exit.number);
}

std::string print(const Assignment& one) {
  const std::string text = fmt::format("{} = {}", one.name, one.value.text());
  return one.type.empty() ? text : one.type + " const " + text;
}

std::string print(const Instruction& in, const Goto& to) { return "    " + lines(in, to) + "\n"; }

std::string print(const Instructions& code, const Goto& to) {
  std::string text;
  for (const Instruction& in : code) text += print(in, to);
  return text;
}

std::string print(const Version& version) {
  const int head = version.head;
  // Where several branches lead back to the head, they may meet before it: what differs between them is then
  // computed without jumps.
  const bool meets = version.meets && jumps_to(version, head) > 1;
  const auto leading_back = [&](const std::string& back) {
    return [&version, head, back](const Jump& jump) {
      if (jump.version != head) return fmt::format("goto block{};", jump.target);
      return jump.target == head ? back : fmt::format("goto checked{}_{};", head, jump.target);
    };
  };
  std::string text;
  if (version.rounds > 1) {
    const Instructions& code = version.blocks.front().code;
    const Instruction& first = code.front();
    text += fmt::format("checked{0}_{0}:\n  while ({1} + {2} * {3} {4} {5}) {{\n", head,
                        first.operands[0].text(), version.rounds - 1, version.step, first.symbol,
                        first.flag ? "piece_end" : first.operands[1].text());
    const std::string round = print({code.begin() + 1, code.end()}, leading_back(""));
    for (int i = 0; i < version.rounds; ++i) text += "  {\n" + round + "  }\n";
    // The last ones, and the end.
    return text + fmt::format("  }}\nsingle{0}:  {{\n{1}  }}\n", head,
                              print(code, leading_back(fmt::format("goto single{};", head))));
  }
  const std::string back = fmt::format("goto checked{0}_{0};", head);
  const Goto to = leading_back(meets ? fmt::format("goto next{};", head) : back);
  for (const BasicBlock& block : version.blocks)
    text += fmt::format("checked{}_{}:  {{\n{}{}  }}\n", head, block.id, block.jam ? print(*block.jam) : "",
                        print(block.code, to));
  return meets ? text + fmt::format("next{}:  {{ {} }}\n", head, back) : text;
}

}  // namespace weft::loopir
