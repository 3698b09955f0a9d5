#include "codegen/print_expr.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "codegen/print_cpp.h"
#include "scalar/elementary.h"
#include "scalar/math_calls.h"
#include "scalar/special_text.h"
#include "weft/error.h"

namespace weft::codegen {

using scalar::Prim;

std::string type_name(DType dtype) { return dtype == DType::Bool ? "bool" : std::string(short_name(dtype)); }
std::string register_type(DType dtype) { return type_name(compute_dtype(dtype)); }

namespace {

// What a value is called in generated code.
std::string value_name(Prim prim) {
  switch (prim) {
    case Prim::Add: return "total";
    case Prim::Sub: return "difference";
    case Prim::Mul: return "product";
    case Prim::Div: return "quotient";
    case Prim::Sqrt: return "root";
    case Prim::Min: return "smaller";
    case Prim::Max: return "larger";
    case Prim::Select: return "chosen";
    case Prim::Cast: return "converted";
    case Prim::Eq:
    case Prim::Ne:
    case Prim::Lt:
    case Prim::Le:
    case Prim::IsNan:
    case Prim::And:
    case Prim::Or:
    case Prim::Xor:
    case Prim::Not: return "condition";
    default: return std::string(scalar::prim_name(prim)) + "_value";
  }
}

bool stands_alone(const std::string& text) {
  // A call, name or literal stands alone.
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[' || text[i] == '{') ++depth;
    if (text[i] == ')' || text[i] == ']' || text[i] == '}') --depth;
    if (depth == 0 && text[i] == ' ') return false;
  }
  return text.empty() || (text[0] != '-' && text[0] != '~' && text[0] != '!');
}

}  // namespace

std::string wrap(const std::string& text) { return stands_alone(text) ? text : "(" + text + ")"; }

ExpressionPrinter::ExpressionPrinter(const LoopNest& nest, PrintedKernel& kernel)
    : nest_(nest),
      kernel_(kernel),
      uses_(nest.nodes.size()),
      names_(nest.nodes.size()),
      inline_depths_(nest.nodes.size(), -1) {
  for (const KernelNode& node : nest.nodes)
    for (NodeId arg : node.args) ++uses_[static_cast<size_t>(arg)];
  // Used in another scope, or several times: a variable.
  for (const KernelNode& node : nest.nodes)
    for (NodeId arg : node.args)
      if (nest.node(arg).scope != node.scope) uses_[static_cast<size_t>(arg)] += 2;
  for (const Scope& scope : nest.scopes) {
    for (const Store& store : scope.stores) {
      ++uses_[static_cast<size_t>(store.value)];
      for (NodeId value : store.more) ++uses_[static_cast<size_t>(value)];
    }
    for (const Accumulator& accumulator : scope.accumulators) {
      bool arg = is_arg_reduction(accumulator.op);
      uses_[static_cast<size_t>(accumulator.operand)] += arg ? 2 : 1;
    }
  }
  for (const Buffer& buffer : nest.buffers) taken_.insert(buffer.name);
  for (const char* reserved :
       {"begin", "end", "lanes", "row", "chunk", "out", "symbols", "arrays", "functions"})
    taken_.insert(reserved);
}

std::string ExpressionPrinter::unique(const std::string& base) {
  std::string name = base;
  for (int number = 1; !taken_.insert(name).second; ++number) name = fmt::format("{}_{}", base, number);
  return name;
}

bool ExpressionPrinter::is_inline(NodeId id) const { return inline_depth(id) > 0; }

int ExpressionPrinter::inline_depth(NodeId id) const {
  constexpr int kMostNested = 24;  // what is deeper cannot be read, and compilers have limits, too
  int& depth = inline_depths_[static_cast<size_t>(id)];
  if (depth >= 0) return depth;
  const KernelNode& node = nest_.node(id);
  if (node.kind == KernelNode::Kind::Constant || node.kind == KernelNode::Kind::Reduced) return depth = 1;
  if (uses_[static_cast<size_t>(id)] > 1 || node.kind == KernelNode::Kind::Take) return depth = 0;
  if (node.kind == KernelNode::Kind::Load) return depth = 1;
  int weight = 0, deepest = 0;
  for (NodeId arg : node.args) {
    const int inner = inline_depth(arg);
    deepest = std::max(deepest, inner);
    if (inner > 0 && nest_.node(arg).kind == KernelNode::Kind::Apply)
      weight += 1 + static_cast<int>(nest_.node(arg).args.size());
  }
  return depth = weight <= 3 && deepest < kMostNested ? deepest + 1 : 0;
}

std::string ExpressionPrinter::name(NodeId id) {
  std::string& name = names_[static_cast<size_t>(id)];
  if (!name.empty()) return name;
  const KernelNode& node = nest_.node(id);
  switch (node.kind) {
    case KernelNode::Kind::Load: name = unique(load_name(node)); break;
    case KernelNode::Kind::Take: name = unique(node.largest ? "farther" : "nearer"); break;
    case KernelNode::Kind::Position: name = unique("position"); break;
    default: {
      const KernelNode& first = nest_.node(node.args[0]);
      bool converted = node.prim == Prim::Cast && first.kind == KernelNode::Kind::Load;
      name = unique(converted ? load_name(first) : value_name(node.prim));
    }
  }
  return name;
}

// "means_3" for an element known at compile time, "means_at" otherwise.
std::string ExpressionPrinter::load_name(const KernelNode& node) const {
  const std::string& buffer = nest_.buffers[static_cast<size_t>(node.buffer)].name;
  bool fixed =
      node.index.is_constant() && node.index.constant.is_constant() && node.index.constant.constant() >= 0;
  return fixed ? fmt::format("{}_{}", buffer, node.index.constant.constant()) : buffer + "_at";
}

std::string ExpressionPrinter::reference(NodeId id) {
  const KernelNode& node = nest_.node(id);
  int group = nest_.group_of.empty() ? -1 : nest_.group_of[static_cast<size_t>(id)];
  if (group >= 0) {
    const auto& members = nest_.groups[static_cast<size_t>(group)].members;
    auto part = std::find(members.begin(), members.end(), id) - members.begin();
    return fmt::format("{}.part[{}]", group_name(group), part);
  }
  if (node.kind == KernelNode::Kind::Constant) return literal(node);
  if (node.kind == KernelNode::Kind::Reduced) {
    std::string base = accumulator_name(node.loop, static_cast<size_t>(node.accumulator));
    const Scope& scope = nest_.scope(node.loop);
    if (scope.kind != Scope::Kind::Serial) base += "_result";
    return node.part == 1 ? base + "_at" : base;
  }
  return is_inline(id) ? compute(id) : name(id);
}

int ExpressionPrinter::lanes_at(ScopeId id) const {
  for (; id >= 0; id = nest_.scope(id).parent)
    if (nest_.scope(id).lanes > 1) return nest_.scope(id).lanes;
  return 1;
}

std::string ExpressionPrinter::vector_reference(NodeId id, DType dtype) {
  std::string text = reference(id);
  if (nest_.node(id).varying) return text;
  if (nest_.node(id).kind == KernelNode::Kind::Constant)
    return fmt::format("lanes.splat({})", typed_literal(nest_.node(id), dtype));
  if (dtype == DType::Bool) return fmt::format("lanes.splat((bool){})", wrap(text));
  if (compute_dtype(nest_.node(id).dtype) == compute_dtype(dtype) && !is_integral(dtype))
    return fmt::format("lanes.splat({})", text);
  return fmt::format("lanes.splat(({}){})", register_type(dtype), wrap(text));
}

// Operand of a vector operation: infix operators take numbers as they are, functions want vectors.
std::string ExpressionPrinter::operand(const KernelNode& user, NodeId arg, bool must_be_vector) {
  if (user.varying && must_be_vector) return vector_reference(arg, nest_.node(arg).dtype);
  return reference(arg);
}

std::string ExpressionPrinter::compute(NodeId id) {
  const KernelNode& node = nest_.node(id);
  switch (node.kind) {
    case KernelNode::Kind::Load: return load(id);
    case KernelNode::Kind::Position:
      return node.varying ? lane_positions(node.index, node.scope, true) : index(node.index);
    case KernelNode::Kind::Take: {
      std::string function =
          fmt::format("displaces_{}{}", node.largest ? "max" : "min", node.through_root ? "_root" : "");
      return fmt::format("{}({}, {})", function, operand(node, node.args[0], true),
                         operand(node, node.args[1], true));
    }
    default: return apply(node);
  }
}

std::string ExpressionPrinter::load(NodeId id) {
  const KernelNode& node = nest_.node(id);
  std::string at = pointer(node.buffer, node.index);
  if (!node.varying) {
    const auto found = loaded_.find(id);
    std::string element =
        found != loaded_.end()
            ? found->second
            : fmt::format("{}[{}]", nest_.buffers[static_cast<size_t>(node.buffer)].name, index(node.index));
    return node.dtype == DType::F16 || node.dtype == DType::BF16 ? fmt::format("to_register({})", element)
                                                                 : element;
  }
  int loop = nest_.vector_loop(node.scope);
  const std::string& buffer = nest_.buffers[static_cast<size_t>(node.buffer)].name;
  if (nest_.space.is_nonlinear_in(node.index, loop)) {
    const std::string& variable = nest_.space.atom(loop).name;
    return fmt::format(
        "lanes.gather_at({0}, [&, {1}_0 = {1}](i64 lane) {{ const i64 {1} = {1}_0 + lane; return {2}; }})",
        buffer, variable, index(node.index));
  }
  Sym stride = nest_.space.coefficient(node.index, loop);
  if (known_one(stride)) return fmt::format("lanes.load({})", at);
  return fmt::format("lanes.gather({}, {})", at, sym(stride));
}

bool ExpressionPrinter::holds(NodeId id, DType dtype) const {
  const KernelNode& node = nest_.node(id);
  if (node.dtype == dtype) return true;
  if (node.kind != KernelNode::Kind::Apply) return false;
  switch (node.prim) {
    case Prim::Cast:
      return (node.dtype == DType::F32 || node.dtype == DType::F64) && holds(node.args[0], dtype);
    case Prim::Neg:
    case Prim::Abs: return holds(node.args[0], dtype);
    case Prim::Min:
    case Prim::Max: return holds(node.args[0], dtype) && holds(node.args[1], dtype);
    case Prim::Select: return holds(node.args[1], dtype) && holds(node.args[2], dtype);
    default: return false;
  }
}

std::string ExpressionPrinter::cast(const KernelNode& node) {
  NodeId arg = node.args[0];
  DType from = nest_.node(arg).dtype, to = node.dtype;
  std::string text = reference(arg);
  if (to == DType::Bool) return fmt::format("{} != 0", wrap(text));
  if (from == DType::Bool)
    text = fmt::format("from_bool<{}>({})", register_type(to), text);
  else if (compute_dtype(from) != compute_dtype(to))
    text = fmt::format("convert<{}>({})", register_type(to), text);
  if (from == DType::Bool || holds(arg, to)) return text;
  if (to == DType::F16) return fmt::format("round_f16({})", text);
  if (to == DType::BF16) return fmt::format("round_bf16({})", text);
  return text;
}

std::string ExpressionPrinter::apply(const KernelNode& node) {
  if (node.prim == Prim::Cast) return cast(node);
  DType dtype = nest_.node(node.args.back()).dtype;
  if (node.prim == Prim::Select) {
    std::string condition = reference(node.args[0]);
    if (dtype == DType::Bool) {
      std::string a = operand(node, node.args[1], true), b = operand(node, node.args[2], true);
      return fmt::format("mask_or(mask_and({0}, {1}), mask_and(mask_not({0}), {2}))",
                         operand(node, node.args[0], true), a, b);
    }
    if (!node.varying)
      return fmt::format("{} ? {} : {}", wrap(condition), wrap(reference(node.args[1])),
                         wrap(reference(node.args[2])));
    return fmt::format("select({}, {}, {})", condition, vector_reference(node.args[1], dtype),
                       vector_reference(node.args[2], dtype));
  }
  std::vector<std::string> args;
  if (dtype == DType::Bool) {
    if (node.prim == Prim::Not || node.prim == Prim::Neg)
      return fmt::format("mask_not({})", reference(node.args[0]));
    const char* function = mask_function(node.prim);
    for (NodeId arg : node.args) args.push_back(operand(node, arg, true));
    if (function) return fmt::format("{}({}, {})", function, args[0], args[1]);
    if (node.prim == Prim::Eq) return fmt::format("mask_not(mask_xor({}, {}))", args[0], args[1]);
    if (node.prim == Prim::Lt) return fmt::format("mask_and(mask_not({}), {})", args[0], args[1]);
    return fmt::format("mask_or(mask_not({}), {})", args[0], args[1]);
  }
  if (node.prim == Prim::Neg || node.prim == Prim::Not) {
    std::string text = fmt::format("{}{}", node.prim == Prim::Neg ? "-" : "~", wrap(reference(node.args[0])));
    return !node.varying && is_integral(dtype) && itemsize(dtype) < 4
               ? fmt::format("({})({})", type_name(dtype), text)
               : text;
  }
  if (const char* op = infix(node.prim, dtype)) {
    bool both_uniform = !nest_.node(node.args[0]).varying && !nest_.node(node.args[1]).varying;
    std::string text =
        fmt::format("{} {} {}", wrap(reference(node.args[0])), op, wrap(reference(node.args[1])));
    if (both_uniform && is_integral(node.dtype) && itemsize(node.dtype) < 4)
      return fmt::format("({})({})", type_name(node.dtype), text);
    return text;
  }
  if (const char* with = function_with_number(node)) {
    const NodeId number = node.args[1];
    return fmt::format("{}({}, {})", with, reference(node.args[0]), reference(number));
  }
  for (NodeId arg : node.args) args.push_back(operand(node, arg, true));
  const char* function = prelude_function(node.prim, dtype);
  if (is_floating(dtype) && scalar::is_elementary(node.prim)) {
    elementary_.insert(node.prim);
    return fmt::format("elementary::{}({})", scalar::prim_name(node.prim), fmt::join(args, ", "));
  }
  const bool is_special = is_floating(dtype) || node.prim == Prim::Gcd;
  if (is_special && vocabulary_of(nest_.device).is_grid() && scalar::has_special_text(node.prim)) {
    elementary_.insert(node.prim);
    return fmt::format("special::{}({})", scalar::prim_name(node.prim), fmt::join(args, ", "));
  }
  if (!function || (node.prim == Prim::Pow && is_floating(dtype))) return math_call(node, args);
  std::string text = std::string(function) + "(";
  for (size_t i = 0; i < args.size(); ++i) text += (i ? ", " : "") + args[i];
  return text + ")";
}

// For extremes of lanes and a number that is not known; null for other nodes.
const char* ExpressionPrinter::function_with_number(const KernelNode& node) const {
  if (node.prim != Prim::Min && node.prim != Prim::Max) return nullptr;
  const KernelNode &lanes = nest_.node(node.args[0]), &number = nest_.node(node.args[1]);
  const bool is_number = lanes.varying && !number.varying && number.kind != KernelNode::Kind::Constant;
  if (!is_number || !is_floating(lanes.dtype) || compute_dtype(lanes.dtype) != compute_dtype(number.dtype))
    return nullptr;
  return node.prim == Prim::Min ? "minimum_with" : "maximum_with";
}

std::string ExpressionPrinter::math_call(const KernelNode& node, const std::vector<std::string>& args) {
  DType dtype = compute_dtype(nest_.node(node.args[0]).dtype);
  const auto function = vocabulary_of(nest_.device).math_function(node.prim, dtype);
  WEFT_ASSERT(function.has_value(), fmt::format("no function for {}", scalar::prim_name(node.prim)));
  const std::string type = type_name(dtype);
  const std::string variable = fmt::format("{}_{}", scalar::prim_name(node.prim), type);
  if (functions_.insert(variable).second) {
    declarations_.push_back(fmt::format("  const auto {} = ({} (*)({}))functions[{}];  // {}\n", variable,
                                        type, node.args.size() == 1 ? type : type + ", " + type,
                                        kernel_.functions.size(), function->name));
    kernel_.functions.push_back(function->address);
  }
  std::string list;
  for (const std::string& arg : args) list += ", " + arg;
  return fmt::format("call({}{})", variable, list);
}

std::string ExpressionPrinter::function_declarations() const {
  std::string text;
  for (const std::string& declaration : declarations_) text += declaration;
  return text;
}

std::string ExpressionPrinter::literal(const KernelNode& node) {
  DType dtype = compute_dtype(node.dtype);
  if (dtype == DType::Bool) return node.value.to_bool() ? "true" : "false";
  if (is_integral(dtype)) {
    int64_t value =
        node.value.is_float() ? static_cast<int64_t>(node.value.to_double()) : node.value.to_int();
    if (value == INT64_MIN) return "(i64)((u64)1 << 63)";
    return fmt::format("({}){}", type_name(dtype), value);
  }
  double value = node.value.to_double();
  if (std::isnan(value))
    return fmt::format("({}){}__builtin_nan(\"\")", type_name(dtype), std::signbit(value) ? "-" : "");
  if (std::isinf(value)) return fmt::format("({}){}__builtin_inf()", type_name(dtype), value < 0 ? "-" : "");
  std::string text =
      dtype == DType::F32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return dtype == DType::F32 ? text + "f" : text;
}

std::string ExpressionPrinter::typed_literal(const KernelNode& node, DType dtype) {
  KernelNode typed = node;
  typed.dtype = dtype;
  return literal(typed);
}

std::string ExpressionPrinter::sym(Sym s) {
  if (s.is_constant()) return fmt::format("{}", s.constant());
  const SymNode& node = *s.node();
  if (node.op == SymOp::Symbol) {
    symbols_.insert(node.symbol);
    return fmt::format("s{}", node.symbol);
  }
  std::string a = sym(node.a), b = sym(node.b);
  switch (node.op) {
    case SymOp::Add: return fmt::format("({} + {})", a, b);
    case SymOp::Mul: return fmt::format("{} * {}", wrap(a), wrap(b)).insert(0, "(") + ")";
    case SymOp::FloorDiv: return fmt::format("floor_div({}, {})", a, b);
    case SymOp::Mod: return fmt::format("floor_mod({}, {})", a, b);
    case SymOp::Min: return fmt::format("minimum<i64>({}, {})", a, b);
    default: return fmt::format("maximum<i64>({}, {})", a, b);
  }
}

std::string ExpressionPrinter::index(const Index& index) {
  std::string text;
  auto append = [&](const std::string& term) {
    if (text.empty())
      text = term;
    else if (term[0] == '-')
      text += " - " + term.substr(1);
    else
      text += " + " + term;
  };
  if (!known_zero(index.constant)) append(sym(index.constant));
  for (const auto& [id, coefficient] : index.terms) {
    const Atom& atom = nest_.space.atom(id);
    std::string factor;
    switch (atom.kind) {
      case Atom::Kind::Loop: factor = atom.name; break;
      case Atom::Kind::Quotient:
        factor = fmt::format("({} / {})", wrap(this->index(atom.inner)), sym(atom.divisor));
        break;
      case Atom::Kind::Remainder:
        factor = fmt::format("({} % {})", wrap(this->index(atom.inner)), sym(atom.divisor));
        break;
      case Atom::Kind::Ring:
        factor = fmt::format("on_ring({}, {})", this->index(atom.inner), sym(atom.divisor));
        break;
    }
    if (known_one(coefficient))
      append(factor);
    else if (coefficient.is_constant() && coefficient.constant() == -1)
      append("-" + factor);
    else
      append(fmt::format("{} * {}", sym(coefficient), factor));
  }
  return text.empty() ? "0" : text;
}

std::string ExpressionPrinter::pointer(int buffer, const Index& index) {
  const std::string& name = nest_.buffers[static_cast<size_t>(buffer)].name;
  if (index.is_zero()) return name;
  std::string text = this->index(index);
  return text[0] == '-' ? fmt::format("{} + ({})", name, text) : fmt::format("{} + {}", name, text);
}

std::string ExpressionPrinter::lane_positions(const Index& index, ScopeId scope, bool) {
  int loop = nest_.vector_loop(scope);
  if (loop < 0 || !nest_.space.depends_on(index, loop))
    return fmt::format("lanes.splat((i64)({}))", this->index(index));
  if (nest_.space.is_nonlinear_in(index, loop)) {
    const std::string& variable = nest_.space.atom(loop).name;
    return fmt::format(
        "lanes.positions_at([&, {0}_0 = {0}](i64 lane) {{ const i64 {0} = {0}_0 + lane; return {1}; }})",
        variable, this->index(index));
  }
  return fmt::format("lanes.positions({}, {})", this->index(index),
                     sym(nest_.space.coefficient(index, loop)));
}

std::string ExpressionPrinter::group_name(int group) {
  auto [found, added] = group_names_.try_emplace(group);
  if (added)
    found->second = unique(
        nest_.buffers[static_cast<size_t>(nest_.groups[static_cast<size_t>(group)].buffer)].name + "_parts");
  return found->second;
}

std::string ExpressionPrinter::accumulator_name(ScopeId scope, size_t k) {
  auto [found, added] = accumulator_names_.try_emplace({scope, k});
  if (added) {
    static constexpr const char* kNames[] = {"none",  "sum",      "product", "least", "greatest",
                                             "least", "greatest", "any_of",  "all_of"};
    found->second = unique(kNames[static_cast<size_t>(nest_.scope(scope).accumulators[k].op)]);
  }
  return found->second;
}

}  // namespace weft::codegen
