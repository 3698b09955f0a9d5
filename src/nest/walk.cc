#include "nest/walk.h"

#include "nest/views.h"

namespace weft::nest {

SymShape contiguous_sym_strides(const SymShape& shape) {
  SymShape strides(shape.size());
  Sym stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride = stride * shape[d];
  }
  return strides;
}

Sym reduction_extent(const ir::Node& node) {
  Sym extent = 1;
  for (size_t d : reduced_dims(node)) extent = extent * node.inputs[0]->tensor().shape[d];
  return extent;
}

bool is_unrolled(const ir::Node& node) {
  constexpr int64_t kMaxUnrolled = 8;
  Sym extent = reduction_extent(node);
  return extent.is_constant() && extent.constant() >= 1 && extent.constant() <= kMaxUnrolled;
}

std::vector<Index> reduction_operand_index(const ir::Node& node, const std::vector<Index>& index,
                                           const std::vector<Index>& inner) {
  size_t ndim = node.inputs[0]->tensor().shape.size();
  std::vector<size_t> dims = reduced_dims(node);
  bool keepdim = index.size() == ndim;
  std::vector<Index> result(ndim);
  size_t next_kept = 0, next_reduced = 0;
  for (size_t d = 0; d < ndim; ++d) {
    bool reduced = next_reduced < dims.size() && dims[next_reduced] == d;
    result[d] = reduced ? inner[next_reduced] : index[next_kept];
    if (reduced) ++next_reduced;
    if (!reduced || keepdim) ++next_kept;
  }
  return result;
}

bool Walk::run(const ir::Value* value, std::vector<Index> index, std::vector<int> enclosing,
               std::vector<int> around) {
  const SymShape& shape = value->tensor().shape;
  std::string key = std::to_string(value->id);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (known_one(shape[d])) index[d] = Index();
    key += "," + space_.key(index[d]);
  }
  if (!seen_.insert(key).second) return true;

  if (memory_.holds(value) && !(inside_ && inside_->count(value))) {
    Visit visit;
    visit.value = value;
    const SymShape& strides = memory_.strides.at(value);
    for (size_t d = 0; d < shape.size(); ++d)
      visit.address = space_.add(visit.address, space_.scale(index[d], strides[d]));
    visits.push_back(visit);
    return space_.is_affine(visit.address);
  }
  const ir::Node& node = *value->def;
  if (node.kind == ir::NodeKind::Constant) return true;
  if (is_index_view(node))
    return run(node.inputs[0], view_operand_index(space_, node, index), enclosing, around);
  if (is_rotation(node)) {
    Visit visit;
    visit.value = value;
    index = rotated_index(space_, node, std::move(index));
    visit.address = index[rotated_dim(node)];
    rotations.push_back(visit);
    return run(rotated_operand(node), std::move(index), enclosing, around);
  }
  if (node.op->kind == ops::OpKind::Creation) {
    bool affine = true;
    for (const Index& i : index) affine = affine && space_.is_affine(i);
    return affine;
  }
  if (node.op->kind == ops::OpKind::Pointwise) {
    Visit visit;
    visit.value = value;
    visit.enclosing = around;
    for (const Index& i : index) space_.collect_loops(i, visit.loops);
    pointwise.push_back(visit);
    bool affine = true;
    for (const ir::Value* input : node.inputs)
      if (input)
        affine =
            run(input, broadcast_operand_index(input->tensor().shape, index), enclosing, around) && affine;
    return affine;
  }
  std::vector<Index> inner;
  Visit visit;
  visit.value = value;
  visit.is_reduction = true;
  visit.enclosing = enclosing;
  for (const Index& i : index) space_.collect_loops(i, visit.loops);
  visits.push_back(visit);
  while (!around.empty() && !visit.loops.count(around.back())) around.pop_back();
  bool affine = true;
  for (const Index& i : index) affine = affine && space_.is_affine(i);
  const SymShape& operand_shape = node.inputs[0]->tensor().shape;
  for (size_t d : reduced_dims(node)) {
    if (is_unrolled(node)) {
      inner.push_back(Index());
    } else {
      int loop = space_.new_loop("r", operand_shape[d]);
      enclosing.push_back(loop);
      around.push_back(loop);
      inner.push_back(IndexSpace::of(loop));
    }
  }
  return run(node.inputs[0], reduction_operand_index(node, index, inner), enclosing, around) && affine;
}

}  // namespace weft::nest
