// Linear algebra by cuSOLVER, where it is there (libcusolver.so.12 or .11): float32 and float64, matrix by
// matrix of a stack.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/registry.h"
#include "weft/tensor.h"

namespace weft::cuda {

// Why there is no cuSOLVER; empty where there is.
const std::string& why_no_cusolver();

// cholesky, cholesky_ex, solve, lu_factor, det, slogdet, eigh, eigvalsh, qr, svd, svdvals. Empty where the
// host is to compute: cuSOLVER is not there, or fails, or says of a matrix that it is singular, say. So
// errors, and what a singular matrix gives, are the host's.
std::vector<Tensor> run_linear_algebra(const ops::OpDef& op, std::span<const Tensor> operands,
                                       const ops::Attrs& attrs);

// Whether cuSOLVER would compute the call, were it there.
bool is_linear_algebra(const ops::OpDef& op, std::span<const Tensor> operands);

}  // namespace weft::cuda
