#include "compiler/fusion_rules.h"

#include "ir/symbols.h"
#include "nest/fusible.h"
#include "nest/views.h"

namespace weft::compiler {

bool is_small_fill(const ir::Node& node) {
  constexpr int64_t kSmall = 1 << 16;
  if (!node.is("full") || node.output()->tensor().device != Device()) return false;
  int64_t count = 1;
  for (const Sym& size : node.output()->tensor().shape) {
    if (!size.is_constant() || size.constant() > kSmall) return false;
    count *= size.constant();
    if (count > kSmall) return false;
  }
  return true;
}

bool replaces_part(const ir::Node& node) {
  return node.kind == ir::NodeKind::Op && node.is("slice_update") && node.attrs.get_int("step") == 1;
}

bool replaces_or_views(const ir::Node& node) {
  return node.kind == ir::NodeKind::Constant || node.is("slice_update") || is_index_view(node);
}

bool have_same_shape(const ir::Value* a, const ir::Value* b) {
  return ir::same_shape(a->tensor().shape, b->tensor().shape);
}

bool is_costly(const ir::Node& node) {
  if (!node.op) return false;
  if (node.op->kind == ops::OpKind::Reduction) return true;
  if (node.op->kind != ops::OpKind::Pointwise) return false;
  return pointwise_cost(node) >= 10;
}

}  // namespace weft::compiler
