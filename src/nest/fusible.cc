#include "nest/fusible.h"

#include <set>

#include "nest/views.h"
#include "nest/vocabulary.h"
#include "scalar/split_complex.h"

namespace weft::nest {
namespace {

scalar::Expr expression_of(const ir::Node& node) {
  std::vector<scalar::Expr> args;
  for (const ir::Value* input : node.inputs)
    if (input)
      args.push_back(scalar::Expr::arg(static_cast<int>(args.size()), compute_dtype(input->tensor().dtype)));
  return scalar::split_complex(node.op->semantics(args, node.attrs));
}

bool all_printable(const Vocabulary& vocabulary, const scalar::Expr& expression,
                   std::set<const scalar::ExprNode*>& seen) {
  if (!seen.insert(expression.get()).second) return true;
  const scalar::ExprNode& node = expression.node();
  using scalar::Prim;
  if (node.prim == Prim::Real || node.prim == Prim::Imag) return node.args[0].node().prim == Prim::Arg;
  if (is_complex(node.dtype) && node.prim != Prim::MakeComplex) return false;
  DType operand = node.args.empty() ? node.dtype : node.args.back().dtype();
  if (node.prim != Prim::MakeComplex && !vocabulary.has(node.prim, operand)) return false;
  for (const scalar::Expr& arg : node.args)
    if (!all_printable(vocabulary, arg, seen)) return false;
  return true;
}

double cost(const scalar::Expr& expression, std::set<const scalar::ExprNode*>& seen) {
  using scalar::Prim;
  if (!seen.insert(expression.get()).second) return 0;
  const scalar::ExprNode& node = expression.node();
  double total = node.prim >= Prim::Exp ? 20 : node.prim == Prim::Div || node.prim == Prim::Sqrt ? 4 : 1;
  for (const scalar::Expr& arg : node.args) total += cost(arg, seen);
  return total;
}

bool is_symbolic(const ops::Attr& attr) {
  const Sym* sym = std::get_if<Sym>(&attr);
  return sym && !sym->is_constant();
}

}  // namespace

bool is_fusible(const ir::Node& node) {
  if (node.kind == ir::NodeKind::Constant)  // one number: printed
    return node.constant.numel() == 1;
  if (node.kind != ir::NodeKind::Op || node.outputs.size() != 1) return false;
  if (is_rotation(node)) return true;
  switch (node.op->kind) {
    case ops::OpKind::View: return is_index_view(node);
    case ops::OpKind::Reduction:
      return node.op->reduce != ops::ReduceOp::None && !is_complex(node.inputs[0]->tensor().dtype) &&
             !is_complex(node.output()->tensor().dtype);
    case ops::OpKind::Creation:
      if (!node.is("full") && (!node.is("iota") || is_complex(node.output()->tensor().dtype))) return false;
      for (const auto& [name, attr] : node.attrs.items())
        if (name != "shape" && name != "size" && name != "end" && is_symbolic(attr)) return false;
      return true;
    case ops::OpKind::Pointwise: {
      if (!node.op->semantics) return false;
      std::set<const scalar::ExprNode*> seen;
      return all_printable(vocabulary_of(node.output()->tensor().device), expression_of(node), seen);
    }
    default: return false;
  }
}

double pointwise_cost(const ir::Node& node) {
  std::set<const scalar::ExprNode*> seen;
  return cost(expression_of(node), seen);
}

}  // namespace weft::nest
