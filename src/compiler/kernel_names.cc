#include "compiler/kernel_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "codegen/prelude.h"
#include "nest/views.h"
#include "nest/vocabulary.h"

namespace weft::compiler {
namespace {

bool is_loaded(const ir::Value* value, const Memory& memory, const std::vector<ir::Value*>& roots) {
  return memory.holds(value) && std::find(roots.begin(), roots.end(), value) == roots.end();
}

void collect_names(const ir::Value* value, const Memory& memory, const std::vector<ir::Value*>& roots,
                   std::vector<std::string>& names) {
  constexpr size_t kMaxNames = 5;
  if (names.size() >= kMaxNames || !value->def || is_loaded(value, memory, roots)) return;
  const ir::Node& node = *value->def;
  if (node.op && !is_index_view(node) && !node.is("cast") && (names.empty() || names.back() != node.op->name))
    names.push_back(node.op->name);
  // The operand with most to say.
  for (const ir::Value* input : node.inputs)
    if (input && !is_loaded(input, memory, roots)) return collect_names(input, memory, roots, names);
}

std::string operand_name(const ir::Value* value) {
  return value->name.empty() ? fmt::format("%{}", value->id) : value->name;
}

std::string expression(const ir::Value* value, const Memory& memory, const std::vector<ir::Value*>& roots,
                       const ir::Value* top, int depth) {
  constexpr int kMaxDepth = 8;
  if (!value->def || (value != top && memory.holds(value))) return operand_name(value);
  if (depth > kMaxDepth) return "...";
  const ir::Node& node = *value->def;
  if (node.kind == ir::NodeKind::Constant) return node.constant.item().str();
  std::vector<std::string> args;
  for (const ir::Value* input : node.inputs)
    if (input) args.push_back(expression(input, memory, roots, top, depth + 1));
  if (is_index_view(node) || node.is("cast")) return args[0];
  if (const ops::Attr* through = node.attrs.find("through"))
    args[0] = std::get<std::string>(*through) + "(" + args[0] + ")";
  static const auto& kInfix = *new std::map<std::string, const char*, std::less<>>{
      {"add", "+"}, {"sub", "-"}, {"mul", "*"}, {"div", "/"},
      {"lt", "<"},  {"le", "<="}, {"gt", ">"},  {"ge", ">="}};
  if (auto found = kInfix.find(node.op->name); found != kInfix.end() && args.size() == 2)
    return fmt::format("({} {} {})", args[0], found->second, args[1]);
  std::string result = node.op->name + "(";
  for (size_t i = 0; i < args.size(); ++i) result += (i ? ", " : "") + args[i];
  if (node.op->kind == ops::OpKind::Reduction) {
    result += ", dim=[";
    std::vector<size_t> dims = reduced_dims(node);
    for (size_t i = 0; i < dims.size(); ++i) result += fmt::format("{}{}", i ? ", " : "", dims[i]);
    result += "]";
  }
  return result + ")";
}

void collect_lines(const ir::Value* value, const Memory& memory, const std::vector<ir::Value*>& roots,
                   std::vector<std::string>& lines, std::set<const ir::Value*>& seen) {
  if (!value->def || is_loaded(value, memory, roots) || !seen.insert(value).second) return;
  for (const ir::Value* input : value->def->inputs)
    if (input) collect_lines(input, memory, roots, lines, seen);
  std::string line = value->def->location.str();
  if (!line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
}

}  // namespace

std::string kernel_name(const std::vector<ir::Value*>& roots, const Memory& memory) {
  std::vector<std::string> names;
  collect_names(roots.back(), memory, roots, names);
  std::string result;
  for (const std::string& name : names) result += (result.empty() ? "" : "_") + name;
  if (result.empty()) result = "copy";
  // One word may be a function of the prelude or of the C library.
  bool taken = names.size() < 2 || codegen::shared_prelude().find(" " + result + "(") != std::string::npos;
  return taken ? result + "_kernel" : result;
}

std::vector<std::string> kernel_comments(const std::vector<ir::Value*>& roots, const Memory& memory) {
  constexpr size_t kMaxLength = 100;
  std::vector<std::string> comments;
  for (const ir::Value* root : roots) {
    std::string text = expression(root, memory, roots, root, 0);
    if (text.size() > 2 && text.front() == '(' && text.back() == ')' && roots.size() == 1)
      text = text.substr(1, text.size() - 2);
    if (text.size() > kMaxLength) text = text.substr(0, kMaxLength) + " ...";
    comments.push_back(text);
  }
  std::vector<std::string> lines;
  std::set<const ir::Value*> seen;
  for (const ir::Value* root : roots) collect_lines(root, memory, roots, lines, seen);
  if (!lines.empty()) {
    std::string text = "from ";
    for (size_t i = 0; i < lines.size() && i < 4; ++i) text += (i ? ", " : "") + lines[i];
    comments.push_back(text);
  }
  return comments;
}

namespace {

// What a kernel calls a loop's variable, its bounds, and what is added to it: "i8", "r0_chunks", "j_begin",
// "turn_1".
bool is_of_loop(const std::string& name) {
  const std::string first = name.substr(0, name.find('_')), rest = name.substr(first.size());
  const bool is_number = first.size() > 1 && std::all_of(first.begin() + 1, first.end(),
                                                         [](unsigned char c) { return std::isdigit(c); });
  if (is_number && (first[0] == 'r' || first[0] == 'i')) return true;
  return first == "turn" ||
         (first.size() == 1 && (rest == "_begin" || rest == "_end" || rest == "_first" || rest == "_last"));
}

// C++'s words, and what a kernel calls its own.
bool is_reserved(const std::string& name) {
  static const auto& kReserved = *new std::set<std::string>{"alignas",
                                                            "alignof",
                                                            "and",
                                                            "and_eq",
                                                            "arrays",
                                                            "asm",
                                                            "assert",
                                                            "auto",
                                                            "begin",
                                                            "bitand",
                                                            "bitor",
                                                            "bool",
                                                            "break",
                                                            "c",
                                                            "case",
                                                            "catch",
                                                            "char",
                                                            "char16_t",
                                                            "char32_t",
                                                            "char8_t",
                                                            "chunk",
                                                            "chunks",
                                                            "class",
                                                            "co_await",
                                                            "co_return",
                                                            "co_yield",
                                                            "compl",
                                                            "concept",
                                                            "const",
                                                            "const_cast",
                                                            "consteval",
                                                            "constexpr",
                                                            "constinit",
                                                            "continue",
                                                            "decltype",
                                                            "default",
                                                            "delete",
                                                            "do",
                                                            "double",
                                                            "dynamic_cast",
                                                            "elementary",
                                                            "else",
                                                            "end",
                                                            "enum",
                                                            "every",
                                                            "explicit",
                                                            "export",
                                                            "extern",
                                                            "false",
                                                            "float",
                                                            "for",
                                                            "friend",
                                                            "full",
                                                            "functions",
                                                            "goto",
                                                            "i",
                                                            "if",
                                                            "inline",
                                                            "int",
                                                            "j",
                                                            "k",
                                                            "l",
                                                            "lanes",
                                                            "long",
                                                            "m",
                                                            "mutable",
                                                            "n",
                                                            "namespace",
                                                            "new",
                                                            "noexcept",
                                                            "not",
                                                            "not_eq",
                                                            "nullptr",
                                                            "o",
                                                            "operator",
                                                            "or",
                                                            "or_eq",
                                                            "p",
                                                            "parallel_for",
                                                            "partial",
                                                            "plain",
                                                            "private",
                                                            "protected",
                                                            "public",
                                                            "register",
                                                            "reinterpret_cast",
                                                            "requires",
                                                            "return",
                                                            "row",
                                                            "same",
                                                            "short",
                                                            "signed",
                                                            "sizeof",
                                                            "static",
                                                            "static_assert",
                                                            "static_cast",
                                                            "stored",
                                                            "struct",
                                                            "switch",
                                                            "symbols",
                                                            "template",
                                                            "this",
                                                            "thread_local",
                                                            "throw",
                                                            "true",
                                                            "try",
                                                            "typedef",
                                                            "typeid",
                                                            "typename",
                                                            "typeof",
                                                            "union",
                                                            "unsigned",
                                                            "using",
                                                            "vec",
                                                            "virtual",
                                                            "void",
                                                            "volatile",
                                                            "wchar_t",
                                                            "while",
                                                            "xor",
                                                            "xor_eq"};
  return kReserved.count(name) > 0 || is_of_loop(name);
}

// What a prelude defines: types, templates and functions, which a kernel may use.
std::set<std::string> names_in(std::string_view text) {
  std::set<std::string> found;
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::string before;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end == at) {
      ++at;
      continue;
    }
    std::string word(text.substr(at, end - at));
    const char next = end < text.size() ? text[end] : 0;
    const bool is_called = (next == '(' || next == '<') && word.size() > 1,
               is_type = before == "using" || before == "struct";
    if (is_called || is_type) found.insert(word);
    before = std::move(word);
    at = end;
  }
  return found;
}

bool is_in_prelude(const std::string& name, bool on_grid) {
  static const auto& names = *new std::set<std::string>(names_in(codegen::shared_prelude()));
  if (on_grid) {
    static const auto& of_grid = *new std::set<std::string>(names_in(codegen::grid_words()));
    if (of_grid.count(name)) return true;
  }
  static const auto& kTypes = *new std::set<std::string>{"i8",  "i16", "i32", "i64",  "u8",  "u16",
                                                         "u32", "u64", "f16", "bf16", "f32", "f64"};
  return kTypes.count(name) || names.count(name);
}

}  // namespace

std::string buffer_name(const ir::Value& value, const std::vector<Buffer>& taken, bool is_output) {
  std::string base;
  for (char c : value.name) base += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0]))) base = is_output ? "out" : "in";
  // May be a macro, or is with any number behind it one of the kernel's own.
  if (base.starts_with("WEFT_") || is_of_loop(base + "0")) base = "_" + base;
  const bool on_grid = nest::vocabulary_of(value.tensor().device).is_grid();
  auto free = [&](const std::string& name) {
    return !is_reserved(name) && !is_in_prelude(name, on_grid) &&
           std::none_of(taken.begin(), taken.end(), [&](const Buffer& b) { return b.name == name; });
  };
  if (!value.name.empty() && free(base)) return base;
  for (int number = value.name.empty() && !is_output ? 0 : 1;; ++number) {
    std::string name = fmt::format("{}{}", base, number);
    if (is_output && number == 1 && value.name.empty() && free("out")) return "out";
    if (free(name)) return name;
  }
}

}  // namespace weft::compiler
