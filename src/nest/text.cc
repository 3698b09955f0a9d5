#include "nest/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace weft::nest {
namespace {

std::string_view kind_name(Scope::Kind kind) {
  switch (kind) {
    case Scope::Kind::Function: return "function";
    case Scope::Kind::Parallel: return "parallel";
    case Scope::Kind::Vector: return "vector";
    case Scope::Kind::Serial: return "serial";
    case Scope::Kind::VectorReduce: return "vector_reduce";
    case Scope::Kind::ParallelReduce: return "parallel_reduce";
  }
  return "";
}

std::string_view reduce_name(ops::ReduceOp op) {
  switch (op) {
    case ops::ReduceOp::None: return "none";
    case ops::ReduceOp::Sum: return "sum";
    case ops::ReduceOp::Prod: return "prod";
    case ops::ReduceOp::Min: return "min";
    case ops::ReduceOp::Max: return "max";
    case ops::ReduceOp::ArgMin: return "argmin";
    case ops::ReduceOp::ArgMax: return "argmax";
    case ops::ReduceOp::Any: return "any";
    case ops::ReduceOp::All: return "all";
  }
  return "";
}

std::string atom_text(const IndexSpace& space, int id) {
  const Atom& atom = space.atom(id);
  const auto of = [&](const char* format) {
    return fmt::format(fmt::runtime(format), str(space, atom.inner), atom.divisor.str());
  };
  switch (atom.kind) {
    case Atom::Kind::Loop: return atom.name;
    case Atom::Kind::Quotient: return of("(({}) / {})");
    case Atom::Kind::Remainder: return of("(({}) % {})");
    case Atom::Kind::Ring: return of("ring({}, {})");
  }
  return "";
}

class Writer {
 public:
  explicit Writer(const LoopNest& nest) : nest_(nest) {
    is_ordered_ = std::any_of(nest.scopes.begin(), nest.scopes.end(),
                              [](const Scope& scope) { return !scope.statements.empty(); });
  }

  std::string run() {
    text_ =
        fmt::format("nest {}: {} bytes per vector, {:.3g} ns per element{}\n", nest_.name, nest_.vector_bytes,
                    nest_.cost_per_element, nest_.may_stream ? ", bypasses the caches" : "");
    for (const Buffer& buffer : nest_.buffers)
      line(1, fmt::format("{} {}: {}", buffer.written ? "out" : "in", buffer.name, short_name(buffer.dtype)));
    body(0, 1);
    return std::move(text_);
  }

 private:
  const LoopNest& nest_;
  std::string text_;
  bool is_ordered_ = false;

  void line(int depth, const std::string& text) {
    text_ += std::string(static_cast<size_t>(depth) * 2, ' ') + text + "\n";
  }
  std::string at(int buffer, const Index& index) const {
    return fmt::format("{}[{}]", nest_.buffers[static_cast<size_t>(buffer)].name, str(nest_.space, index));
  }

  void scope(ScopeId id, int depth) {
    const Scope& scope = nest_.scope(id);
    std::string head(kind_name(scope.kind));
    for (const int loop : scope.loops)
      head += fmt::format(" {} < {}", nest_.space.atom(loop).name, nest_.space.atom(loop).extent.str());
    if (scope.lanes > 1) head += fmt::format(", {} lanes", scope.lanes);
    line(depth, head + ":");
    body(id, depth + 1);
  }

  void body(ScopeId id, int depth) {
    const Scope& scope = nest_.scope(id);
    if (is_ordered_) {
      for (const Statement& statement : scope.statements) write(id, statement, depth);
      return;
    }
    for (NodeId node = 0; node < static_cast<NodeId>(nest_.nodes.size()); ++node)
      if (nest_.node(node).scope == id && nest_.node(node).kind != KernelNode::Kind::Constant &&
          nest_.node(node).kind != KernelNode::Kind::Reduced)
        write(id, {Statement::Kind::Let, node}, depth);
    for (size_t k = 0; k < scope.accumulators.size(); ++k)
      write(id, {Statement::Kind::Update, static_cast<int>(k)}, depth);
    for (size_t k = 0; k < scope.stores.size(); ++k)
      write(id, {Statement::Kind::Store, static_cast<int>(k)}, depth);
    for (ScopeId child = 0; child < static_cast<ScopeId>(nest_.scopes.size()); ++child)
      if (nest_.scope(child).parent == id) write(id, {Statement::Kind::Child, child}, depth);
  }

  void write(ScopeId id, const Statement& statement, int depth) {
    switch (statement.kind) {
      case Statement::Kind::Let:
        return line(depth, fmt::format("%{} = {}", statement.id, value(statement.id)));
      case Statement::Kind::LoadGroup: {
        const LoadGroup& group = nest_.groups[static_cast<size_t>(statement.id)];
        std::string members;
        for (const NodeId member : group.members)
          members += fmt::format("{}%{}", members.empty() ? "" : ", ", member);
        return line(
            depth, fmt::format("{} = load {} every {}", members, at(group.buffer, group.base), group.stride));
      }
      case Statement::Kind::Child: {
        scope(statement.id, depth);
        for (NodeId node = 0; node < static_cast<NodeId>(nest_.nodes.size()); ++node)
          if (nest_.node(node).kind == KernelNode::Kind::Reduced && nest_.node(node).loop == statement.id)
            line(depth, fmt::format("%{} = {}", node, value(node)));
        return;
      }
      case Statement::Kind::Update: {
        const Accumulator& accumulator = nest_.scope(id).accumulators[static_cast<size_t>(statement.id)];
        return line(depth, fmt::format("acc {} = {}:{} of {}{}{}", statement.id, reduce_name(accumulator.op),
                                       short_name(accumulator.dtype), operand(accumulator.operand),
                                       is_arg_reduction(accumulator.op)
                                           ? fmt::format(" at {}", str(nest_.space, accumulator.position))
                                           : "",
                                       accumulator.through_root ? " through its root" : ""));
      }
      case Statement::Kind::Store: {
        const Store& store = nest_.scope(id).stores[static_cast<size_t>(statement.id)];
        std::string values = operand(store.value);
        for (const NodeId more : store.more) values += ", " + operand(more);
        return line(depth, fmt::format("{} = {}", at(store.buffer, store.index), values));
      }
    }
  }

  std::string operand(NodeId id) const {
    const KernelNode& node = nest_.node(id);
    return node.kind == KernelNode::Kind::Constant ? fmt::format("{}", node.value.str())
                                                   : fmt::format("%{}", id);
  }

  std::string value(NodeId id) const {
    const KernelNode& node = nest_.node(id);
    const std::string type = std::string(short_name(node.dtype)) + (node.varying ? "*" : "");
    std::string args;
    for (const NodeId arg : node.args) args += (args.empty() ? "" : ", ") + operand(arg);
    switch (node.kind) {
      case KernelNode::Kind::Constant: return node.value.str();
      case KernelNode::Kind::Load: return fmt::format("{} load {}", type, at(node.buffer, node.index));
      case KernelNode::Kind::Position:
        return fmt::format("{} position {}", type, str(nest_.space, node.index));
      case KernelNode::Kind::Apply: return fmt::format("{} {}({})", type, scalar::prim_name(node.prim), args);
      case KernelNode::Kind::Reduced:
        return fmt::format("{} acc {} of {}{}", type, node.accumulator,
                           nest_.space.atom(nest_.scope(node.loop).loops.back()).name,
                           node.part == 1 ? ", the position" : "");
      case KernelNode::Kind::Take:
        return fmt::format("{} {}({}){}", type, node.largest ? "is_larger" : "is_smaller", args,
                           node.through_root ? " through their roots" : "");
    }
    return "";
  }
};

}  // namespace

std::string str(const IndexSpace& space, const Index& index) {
  std::string text;
  for (const auto& [id, coefficient] : index.terms) {
    if (!text.empty()) text += " + ";
    text += known_one(coefficient) ? atom_text(space, id) : coefficient.str() + "*" + atom_text(space, id);
  }
  const bool has_constant = !known_zero(index.constant);
  if (text.empty()) return index.constant.str();
  return has_constant ? text + " + " + index.constant.str() : text;
}

std::string str(const LoopNest& nest) { return Writer(nest).run(); }

}  // namespace weft::nest
