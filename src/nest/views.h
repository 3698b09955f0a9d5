// What view operators do to indices.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "nest/index.h"

namespace weft::nest {

// True for the view operators whose index mapping is known here.
bool is_index_view(const ir::Node& node);
// Index into the operand of a view for an index into its result.
std::vector<Index> view_operand_index(IndexSpace& space, const ir::Node& node,
                                      const std::vector<Index>& index);
// True for a join of the end and the beginning of one value, as numpy.roll makes it: the value, turned along
// a dimension.
bool is_rotation(const ir::Node& node);
const ir::Value* rotated_operand(const ir::Node& node);
size_t rotated_dim(const ir::Node& node);
std::vector<Index> rotated_index(IndexSpace& space, const ir::Node& node, std::vector<Index> index);
// Index into an operand that is broadcast to the result of a pointwise operator.
std::vector<Index> broadcast_operand_index(const SymShape& operand, const std::vector<Index>& index);
// The reduced dimensions of a reduction, in increasing order.
std::vector<size_t> reduced_dims(const ir::Node& node);

}  // namespace weft::nest
