// Schemas: "(Tensor x, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor".
#pragma once

#include <string_view>
#include <vector>

#include "ops/registry.h"

namespace weft::ops {

struct Schema {
  std::vector<Param> params;
  int num_outputs = 1;
};

// Internal error naming what is malformed. Types: Tensor, Tensor[], Tensor[2] (exactly two), bool, int,
// float, Scalar, str, dtype, device, int[] (default: a list or one number), int|int[] (a single integer stays
// one), int[]|str (or a word, in composites only); "?" after a type makes it optional; parameters after "*"
// are keyword-only. Results: Tensor, (Tensor, Tensor), Tensor[] or, where Python gets one tensor alone as it
// is, Tensor[]|Tensor; "bool" is a 0-d tensor of it, a bool in Python.
Schema parse_schema(std::string_view text);

}  // namespace weft::ops
