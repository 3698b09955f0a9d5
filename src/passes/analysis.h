// Facts about values that several passes need.
#pragma once

#include <optional>
#include <string_view>

#include "ir/graph.h"

namespace weft::passes {

// The value whose memory `value` is a view of: itself unless a view operator made it.
const ir::Value* view_root(const ir::Value* value);
// May its memory be handed to the caller, as an output or as a view of one?
bool escapes(const ir::Value* value);
// May `to` stand for `from` without two outputs, or an output and an input or constant, coming to share
// memory that did not before?
bool may_replace(const ir::Value* from, const ir::Value* to);
// Every element is >= 0 (-0.0 included) or NaN, whatever the inputs.
bool is_non_negative(const ir::Value* value);
// The value of a constant whose elements are all the same, bit for bit; null otherwise.
std::optional<Scalar> uniform_constant(const ir::Value* value);
// Does running the node do more than give its results? Blocks inside it count.
bool has_effects(const ir::Node& node);
// Does it change memory that others may read?
bool writes_memory(const ir::Node& node);
// Is the memory that `value` is a view of, or is itself, changed by a node of the graph? Reads of it must
// then stay where they are among the nodes with effects, and it is no constant.
bool is_written(const ir::Value* value);
// Do two nodes, each a slice or slice_update of tensors of one rank, take the same range?
bool selects_same_range(const ir::Node& a, const ir::Node& b);
// Can the device that `value` is on run this operator (Backend::has_operator)?
bool has_operator(const ir::Value& value, std::string_view op);
// False for operators whose results differ from call to call.
bool is_deterministic(const ir::OpDef& op);

}  // namespace weft::passes
