// Operators whose result's shape depends on the data cannot be part of a graph.
#pragma once

#include <fmt/format.h>

#include "ops/registry.h"
#include "weft/error.h"

namespace weft::ops {

inline void require_concrete(const OpDef& op, const Tensor& x) {
  if (x.is_traced()) {
    throw_error(
        ErrorKind::NotImplemented,
        fmt::format("{}: the result's shape depends on the data, which a graph does not know", op.name));
  }
}

}  // namespace weft::ops
