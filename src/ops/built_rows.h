// Composites along the last dimension that are one kernel, where the build has written it
// (tools/write_kernels.cc).
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "weft/tensor.h"

namespace weft::ops {

// `name` along `dim` of x with the result's shape; an undefined tensor where there is none for this call: x
// is traced, of another dtype or on another device, `dim` is not the last one, or rows have
// more elements than `longest`. `dtype`: the result's, where it is not x's. `numbers`: what the kernel takes
// beside the rows.
Tensor run_built_rows(std::string_view name, const Tensor& x, int64_t dim, const Shape& result,
                      int64_t longest, std::optional<DType> dtype = {}, std::span<const Tensor> numbers = {});

// The same of float16 and bfloat16 through the kernel for the dtype that they are computed in, a few rows at
// a time: where it writes down what it would compute twice otherwise. The kernel may work in place.
Tensor run_built_rows_wide(std::string_view name, const Tensor& x, int64_t dim, int64_t longest);

}  // namespace weft::ops
