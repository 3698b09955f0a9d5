// Syntax trees as source text.
#include <fmt/format.h>

#include "script/syntax/parser.h"
#include "weft/ivalue.h"

namespace weft::jit {
namespace {

constexpr const char* kBinaryText[] = {"+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"};
constexpr const char* kUnaryText[] = {"-", "+", "not ", "~"};
constexpr const char* kCompareText[] = {"==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"};

std::string text(const Expr& expr);
std::string text(const ExprPtr& expr) { return expr ? text(*expr) : ""; }

std::string joined(const std::vector<ExprPtr>& list) {
  std::string out;
  for (const ExprPtr& item : list) out += (out.empty() ? "" : ", ") + text(item);
  return out;
}

// An operand: in parentheses unless it binds tightest anyway.
std::string operand(const ExprPtr& expr) {
  const bool simple = expr->as<Expr::Name>() || expr->as<Expr::Attribute>() || expr->as<Expr::Subscript>() ||
                      expr->as<Expr::Call>() || expr->as<Expr::List>() || expr->as<Expr::Dict>() ||
                      expr->as<Expr::ListComp>() || expr->as<Expr::DictComp>();
  return simple ? text(expr) : "(" + text(expr) + ")";
}

std::string loop_text(const Comprehension& loop) {
  std::string out = fmt::format(" for {} in {}", text(loop.target), operand(loop.iterable));
  for (const ExprPtr& condition : loop.conditions) out += " if " + operand(condition);
  return out;
}

std::string constant_text(const Expr::Constant& constant) {
  return std::visit(
      []<class T>(const T& value) -> std::string {
        if constexpr (std::is_same_v<T, std::monostate>)
          return "None";
        else if constexpr (std::is_same_v<T, double>) {
          // Python has no literal for infinity but a number too large.
          return value > 1.7976931348623157e308 ? "1e999" : IValue(value).repr();
        } else if constexpr (std::is_same_v<T, std::complex<double>>) {
          return value.imag() > 1.7976931348623157e308 ? "1e999j" : fmt::format("{}j", value.imag());
        } else {
          return IValue(value).repr();
        }
      },
      constant.value);
}

std::string fstring_text(const Expr::FString& node) {
  const auto literal = [](const std::string& raw) {
    std::string out;
    for (const char c : raw) {
      if (c == '{' || c == '}') out += c;
      if (c == '"' || c == '\\') out += '\\';
      if (c == '\n')
        out += "\\n";
      else if (c == '\r')
        out += "\\r";
      else
        out += c;
    }
    return out;
  };
  std::string out = "f\"";
  for (const auto& part : node.parts) {
    out += literal(part.text);
    if (!part.value) continue;
    out += "{" + text(part.value) + (part.conversion ? std::string("!") + part.conversion : "");
    out += (part.spec.empty() ? "" : ":" + part.spec) + "}";
  }
  return out + "\"";
}

struct ExprText {
  std::string operator()(const Expr::Name& n) const { return n.id; }
  std::string operator()(const Expr::Constant& n) const { return constant_text(n); }
  std::string operator()(const Expr::Ellipsis&) const { return "..."; }
  std::string operator()(const Expr::Attribute& n) const { return operand(n.object) + "." + n.name; }
  std::string operator()(const Expr::Subscript& n) const {
    return operand(n.object) + "[" + joined(n.indices) + "]";
  }
  std::string operator()(const Expr::Slice& n) const {
    return text(n.start) + ":" + text(n.stop) + (n.step ? ":" + text(n.step) : "");
  }
  std::string operator()(const Expr::Call& n) const {
    std::string out = joined(n.arguments);
    for (const Keyword& keyword : n.keywords) {
      out += out.empty() ? "" : ", ";
      out += keyword.name.empty() ? "**" + operand(keyword.value) : keyword.name + "=" + text(keyword.value);
    }
    return operand(n.function) + "(" + out + ")";
  }
  std::string operator()(const Expr::Starred& n) const { return "*" + operand(n.value); }
  std::string operator()(const Expr::Unary& n) const {
    return kUnaryText[static_cast<int>(n.op)] + operand(n.operand);
  }
  std::string operator()(const Expr::Binary& n) const {
    return fmt::format("{} {} {}", operand(n.left), kBinaryText[static_cast<int>(n.op)], operand(n.right));
  }
  std::string operator()(const Expr::BoolOp& n) const {
    return fmt::format("{} {} {}", operand(n.left), n.is_and ? "and" : "or", operand(n.right));
  }
  std::string operator()(const Expr::Compare& n) const {
    std::string out = operand(n.left);
    for (const auto& [op, right] : n.rest)
      out += fmt::format(" {} {}", kCompareText[static_cast<int>(op)], operand(right));
    return out;
  }
  std::string operator()(const Expr::IfExpr& n) const {
    return fmt::format("{} if {} else {}", operand(n.then), operand(n.condition), operand(n.otherwise));
  }
  std::string operator()(const Expr::List& n) const { return "[" + joined(n.elements) + "]"; }
  std::string operator()(const Expr::Tuple& n) const {
    return "(" + joined(n.elements) + (n.elements.size() == 1 ? ",)" : ")");
  }
  std::string operator()(const Expr::Dict& n) const {
    std::string out;
    for (const auto& [key, value] : n.items)
      out += (out.empty() ? "" : ", ") + text(key) + ": " + text(value);
    return "{" + out + "}";
  }
  std::string operator()(const Expr::ListComp& n) const {
    return "[" + text(n.element) + loop_text(n.loop) + "]";
  }
  std::string operator()(const Expr::DictComp& n) const {
    return "{" + text(n.key) + ": " + text(n.value) + loop_text(n.loop) + "}";
  }
  std::string operator()(const Expr::FString& n) const { return fstring_text(n); }
};

std::string text(const Expr& expr) { return std::visit(ExprText{}, expr.node); }

class StmtText {
 public:
  std::string out;

  void body(const Body& statements, int depth) {
    for (const StmtPtr& statement : statements) {
      depth_ = depth;
      std::visit([&](const auto& node) { print(node); }, statement->node);
    }
  }

 private:
  int depth_ = 0;

  void line(const std::string& content) {
    out += std::string(static_cast<size_t>(depth_) * 2, ' ') + content + "\n";
  }
  void block(const std::string& head, const Body& inner) {
    const int depth = depth_;
    line(head + ":");
    if (inner.empty()) {
      ++depth_;
      line("pass");
    }
    body(inner, depth + 1);
    depth_ = depth;
  }

  void print(const Stmt::Expression& n) { line(text(n.value)); }
  void print(const Stmt::Assign& n) {
    if (n.annotation && n.targets.size() == 1 && !n.targets[0]->as<Expr::Tuple>()) {
      line(fmt::format("{}: {}{}", text(n.targets[0]), text(n.annotation),
                       n.value ? " = " + text(n.value) : ""));
      return;
    }
    std::string content;
    for (const ExprPtr& target : n.targets) content += text(target) + " = ";
    line(content + text(n.value) + (n.annotation ? "  # type: " + text(n.annotation) : ""));
  }
  void print(const Stmt::AugAssign& n) {
    line(fmt::format("{} {}= {}", text(n.target), kBinaryText[static_cast<int>(n.op)], text(n.value)));
  }
  void print(const Stmt::Return& n) { line(n.value ? "return " + text(n.value) : "return"); }
  void print(const Stmt::Raise& n) {
    line("raise" + (n.exception ? " " + text(n.exception) : "") + (n.cause ? " from " + text(n.cause) : ""));
  }
  void print(const Stmt::Assert& n) {
    line("assert " + text(n.condition) + (n.message ? ", " + text(n.message) : ""));
  }
  void print(const Stmt::Delete& n) { line("del " + joined(n.targets)); }
  void print(const Stmt::Pass&) { line("pass"); }
  void print(const Stmt::Break&) { line("break"); }
  void print(const Stmt::Continue&) { line("continue"); }
  void print(const Stmt::If& n) {
    block("if " + text(n.condition), n.then);
    if (!n.otherwise.empty()) block("else", n.otherwise);
  }
  void print(const Stmt::While& n) { block("while " + text(n.condition), n.body); }
  void print(const Stmt::For& n) {
    block(fmt::format("for {} in {}", text(n.target), text(n.iterable)), n.body);
  }
  void print(const Stmt::With& n) {
    std::string items;
    for (const WithItem& item : n.items) {
      items +=
          (items.empty() ? "" : ", ") + text(item.context) + (item.target ? " as " + text(item.target) : "");
    }
    block("with " + items, n.body);
  }
  void print(const Stmt::Import& n) { line(n.text); }
  void decorators(const std::vector<ExprPtr>& list) {
    for (const ExprPtr& decorator : list) line("@" + text(decorator));
  }
  void print(const Stmt::Def& n) {
    const FunctionDef& f = n.function;
    decorators(f.decorators);
    std::string parameters;
    bool keyword_only = false;
    for (const Parameter& p : f.parameters) {
      if (p.kind == Parameter::Kind::KeywordOnly && !keyword_only)
        parameters += parameters.empty() ? "*" : ", *";
      keyword_only = p.kind == Parameter::Kind::KeywordOnly || p.kind == Parameter::Kind::VarArgs;
      parameters += parameters.empty() ? "" : ", ";
      parameters += p.kind == Parameter::Kind::VarArgs       ? "*"
                    : p.kind == Parameter::Kind::VarKeywords ? "**"
                                                             : "";
      parameters += p.name + (p.annotation ? ": " + text(p.annotation) : "") +
                    (p.default_value ? "=" + text(p.default_value) : "");
    }
    block(fmt::format("def {}({}){}", f.name, parameters, f.returns ? " -> " + text(f.returns) : ""), f.body);
  }
  void print(const Stmt::Class& n) {
    decorators(n.definition.decorators);
    const std::string bases = joined(n.definition.bases);
    block("class " + n.definition.name + (bases.empty() ? "" : "(" + bases + ")"), n.definition.body);
  }
};

}  // namespace

std::string unparse(const Body& body) {
  StmtText printer;
  printer.body(body, 0);
  return printer.out;
}
std::string unparse(const Expr& expr) { return text(expr); }

}  // namespace weft::jit
