// What operators over kernels::attention share.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/cpu/attention.h"
#include "ops/arguments.h"
#include "ops/registry.h"

namespace weft::ops {

// query, key and value, the first three operands: one floating dtype.
void check_attention_dtypes(const OpDef& op, std::span<const TensorType> operands);
// And their shapes: at least two dimensions, fitting rows and columns.
void check_attention_shapes(const OpDef& op, std::span<const TensorType> operands);
SymShape without_trailing(const SymShape& shape, size_t trailing);
// The attribute, or 1 / sqrt(head_dim).
double attention_scale(const Attrs& attrs, int64_t head_dim);

// Results lie as the query, the first operand, does (OpDef::result_order).
std::vector<int64_t> attention_order(std::span<const Tensor> operands);

// `x` with dense rows.
Tensor dense_rows(const Tensor& x);
int64_t row_stride(const Tensor& x);
// Of operands and a result with dense rows: no mask, nothing causal, no grid.
kernels::AttentionShape attention_shape(const Tensor& query, const Tensor& key, const Tensor& value,
                                        const Tensor& output, const Attrs& attrs);
// Where each head's part of an operand begins, heads in C order of `batch`; `group` heads share one of `x`.
std::vector<void*> head_starts(const Tensor& x, size_t trailing, const Shape& batch, int64_t group);

}  // namespace weft::ops
