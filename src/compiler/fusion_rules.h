// What fusion asks of single nodes and values.
#pragma once

#include "ir/graph.h"

namespace weft::compiler {

// One number repeated, on the host: to compile a kernel for it takes longer than many calls of the operator.
bool is_small_fill(const ir::Node& node);
// A slice without steps in place of a part.
bool replaces_part(const ir::Node& node);
bool replaces_or_views(const ir::Node& node);
bool have_same_shape(const ir::Value* a, const ir::Value* b);
// To compute it twice takes longer than to store it.
bool is_costly(const ir::Node& node);

}  // namespace weft::compiler
