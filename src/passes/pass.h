// Graph-to-graph passes. Each keeps what ir::interpret gives, bit for bit unless its comment says otherwise.
// compiler/stages.cc has their order.
#pragma once

#include "ir/graph.h"

namespace weft::passes {

// Writes operators in terms of fewer others, so that later passes and codegen see one form.
void decompose(ir::Graph& graph);
// Local simplifications that change no bit of any result, signed zeros and NaN included.
void canonicalize(ir::Graph& graph);
// What results in another order of dimensions are made of is permuted, rather than the results.
void sink_permutes(ir::Graph& graph);
// Nodes that depend on constants only and are small become constants.
void fold_constants(ir::Graph& graph);
// Equal computations become one. An inner block may use an outer one's result, not the other way round.
void eliminate_common_subexpressions(ir::Graph& graph);
// Attention whose scores gain by the row and the column of a key, as a formula or as a mask, becomes one
// operator; results differ by the rounding of sums, and a query whose scores are all -inf gives 0, where the
// formula gives NaN.
void relative_attention(ir::Graph& graph);
// Two-dimensional float32 convolutions with constant weights, and what stands between them, work on images
// with the channels last; results differ by the rounding of sums.
void channels_last(ir::Graph& graph);
// Products with constant float32 matrices become linear layers with packed weights; bias, residual and
// activation are added by the convolution or layer they follow. Results differ by the rounding of sums.
void fuse_epilogues(ir::Graph& graph);
// argmin(sqrt(x)) becomes argmin(x) {through="sqrt"} where x is known not to be negative.
void strip_monotone(ir::Graph& graph);
// Nodes whose results nobody uses, and that change nothing.
void eliminate_dead_code(ir::Graph& graph);

}  // namespace weft::passes
