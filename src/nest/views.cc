#include "nest/views.h"

#include <algorithm>

#include "weft/error.h"

namespace weft::nest {
namespace {

size_t wrap(int64_t dim, size_t ndim) {
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(ndim) : dim);
}

Sym sym_attr(const ir::Node& node, std::string_view name, Sym otherwise) {
  const ops::Attr* attr = node.attrs.find(name);
  if (!attr || std::holds_alternative<std::monostate>(*attr)) return otherwise;
  return std::get<Sym>(*attr);
}

// Maps an index of `out` to `in` through equal products, group by group, so that dimensions that the reshape
// leaves alone, merges or splits exactly stay affine.
std::vector<Index> reshape_index(IndexSpace& space, const SymShape& in, const SymShape& out,
                                 const std::vector<Index>& index) {
  std::vector<Index> result(in.size());
  size_t i = 0, o = 0;
  while (i < in.size() || o < out.size()) {
    size_t i_end = i, o_end = o;
    Sym in_product = 1, out_product = 1;
    if (i < in.size()) in_product = in[i_end++];
    if (o < out.size()) out_product = out[o_end++];
    while (!sym_known_equal(in_product, out_product)) {
      bool grow_in = o_end == out.size();
      if (!grow_in && i_end < in.size()) grow_in = in_product.hint() < out_product.hint();
      if (grow_in && i_end < in.size()) {
        in_product = in_product * in[i_end++];
      } else if (o_end < out.size()) {
        out_product = out_product * out[o_end++];
      } else {
        break;
      }
    }
    while (i_end < in.size() && known_one(in[i_end])) ++i_end;
    while (o_end < out.size() && known_one(out[o_end])) ++o_end;
    Index flat;
    for (size_t d = o; d < o_end; ++d) flat = space.add(space.scale(flat, out[d]), index[d]);
    std::vector<Index> part =
        space.unflatten(flat, SymShape(in.begin() + static_cast<std::ptrdiff_t>(i),
                                       in.begin() + static_cast<std::ptrdiff_t>(i_end)));
    for (size_t d = i; d < i_end; ++d) result[d] = part[d - i];
    i = i_end, o = o_end;
  }
  return result;
}

std::vector<Index> permute_index(const ir::Node& node, const std::vector<Index>& index) {
  std::vector<int64_t> dims = node.attrs.get_ints("dims");
  std::vector<Index> result(index.size());
  for (size_t d = 0; d < dims.size(); ++d) result[wrap(dims[d], index.size())] = index[d];
  return result;
}

std::vector<Index> slice_index(IndexSpace& space, const ir::Node& node, std::vector<Index> index) {
  size_t dim = wrap(node.attrs.get_int("dim"), index.size());
  index[dim] =
      space.add(Index(sym_attr(node, "start", 0)), space.scale(index[dim], sym_attr(node, "step", 1)));
  return index;
}

std::vector<Index> diagonal_index(IndexSpace& space, const ir::Node& node, const std::vector<Index>& index) {
  size_t ndim = node.inputs[0]->tensor().shape.size();
  size_t dim1 = wrap(node.attrs.get_int("dim1"), ndim), dim2 = wrap(node.attrs.get_int("dim2"), ndim);
  int64_t offset = node.attrs.get_int("offset");
  std::vector<Index> result(ndim);
  size_t next = 0;
  for (size_t d = 0; d < ndim; ++d)
    if (d != dim1 && d != dim2) result[d] = index[next++];
  result[dim1] = space.add(Index(std::max<int64_t>(-offset, 0)), index.back());
  result[dim2] = space.add(Index(std::max<int64_t>(offset, 0)), index.back());
  return result;
}

std::vector<Index> unfold_index(IndexSpace& space, const ir::Node& node, const std::vector<Index>& index) {
  size_t ndim = node.inputs[0]->tensor().shape.size();
  if (ndim == 0) return {};
  size_t dim = wrap(node.attrs.get_int("dim"), ndim);
  std::vector<Index> result(index.begin(), index.end() - 1);
  result[dim] = space.add(space.scale(index[dim], sym_attr(node, "step", 1)), index.back());
  return result;
}

}  // namespace

bool is_index_view(const ir::Node& node) {
  return node.is("permute") || node.is("reshape") || node.is("expand") || node.is("slice") ||
         node.is("diagonal") || node.is("unfold");
}

namespace {
// The range that a slice takes along `dim`.
bool takes_range(const ir::Value* slice, size_t dim, Sym* start, Sym* stop) {
  const ir::Node* node = slice->def;
  if (!node || !node->is("slice") || !known_one(sym_attr(*node, "step", 1))) return false;
  *start = sym_attr(*node, "start", 0);
  *stop = sym_attr(*node, "stop", 0);
  return wrap(node->attrs.get_int("dim"), slice->tensor().shape.size()) == dim;
}
}  // namespace

size_t rotated_dim(const ir::Node& node) {
  return wrap(node.attrs.get_int("dim"), node.output()->tensor().shape.size());
}
const ir::Value* rotated_operand(const ir::Node& node) { return node.inputs[0]->def->inputs[0]; }

bool is_rotation(const ir::Node& node) {
  if (node.kind != ir::NodeKind::Op || !node.is("join") || node.inputs.size() != 2) return false;
  const size_t dim = rotated_dim(node);
  Sym cut, size, begin, stop;
  if (!takes_range(node.inputs[0], dim, &cut, &size) || !takes_range(node.inputs[1], dim, &begin, &stop))
    return false;
  const ir::Value* operand = rotated_operand(node);
  return operand == node.inputs[1]->def->inputs[0] && known_zero(begin) && sym_known_equal(cut, stop) &&
         sym_known_equal(size, operand->tensor().shape[dim]);
}

std::vector<Index> rotated_index(IndexSpace& space, const ir::Node& node, std::vector<Index> index) {
  const size_t dim = rotated_dim(node);
  const Sym cut = sym_attr(*node.inputs[0]->def, "start", 0),
            size = rotated_operand(node)->tensor().shape[dim];
  index[dim] = space.on_ring(space.add(index[dim], Index(cut)), size);
  return index;
}

std::vector<Index> broadcast_operand_index(const SymShape& operand, const std::vector<Index>& index) {
  std::vector<Index> result(index.end() - static_cast<std::ptrdiff_t>(operand.size()), index.end());
  for (size_t d = 0; d < operand.size(); ++d)
    if (known_one(operand[d])) result[d] = Index();
  return result;
}

std::vector<Index> view_operand_index(IndexSpace& space, const ir::Node& node,
                                      const std::vector<Index>& index) {
  const SymShape& in = node.inputs[0]->tensor().shape;
  if (node.is("permute")) return permute_index(node, index);
  if (node.is("reshape")) return reshape_index(space, in, node.output()->tensor().shape, index);
  if (node.is("expand")) return broadcast_operand_index(in, index);
  if (node.is("slice")) return slice_index(space, node, index);
  if (node.is("diagonal")) return diagonal_index(space, node, index);
  WEFT_ASSERT(node.is("unfold"), "not an index view");
  return unfold_index(space, node, index);
}

std::vector<size_t> reduced_dims(const ir::Node& node) {
  auto ndim = static_cast<int64_t>(node.inputs[0]->tensor().shape.size());
  std::vector<size_t> dims;
  for (int64_t dim : ops::reduction_axes(node.op->name, node.attrs, ndim))
    dims.push_back(static_cast<size_t>(dim));
  return dims;
}

}  // namespace weft::nest
