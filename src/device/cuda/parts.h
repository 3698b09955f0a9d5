// Arrays by their parts: regions written into, bits as other numbers, complex numbers as pairs of real ones.
#pragma once

#include <span>
#include <vector>

#include "ops/registry.h"
#include "weft/tensor.h"

namespace weft::cuda {

// Operators of views and copies, which work on any device.
std::vector<Tensor> run_as_it_is(const ops::OpDef& op, std::span<const Tensor> operands,
                                 const ops::Attrs& attrs);
// Empty where the host, or another kernel, has to do it.
std::vector<Tensor> run_bitcast(const ops::OpDef& op, std::span<const Tensor> operands,
                                const ops::Attrs& attrs);
std::vector<Tensor> run_complex(const ops::OpDef& op, std::span<const Tensor> operands,
                                const ops::Attrs& attrs);
// Sums and means of complex numbers: their parts'; any, all: of numbers that are not zero.
std::vector<Tensor> run_complex_reduction(const ops::OpDef& op, std::span<const Tensor> operands,
                                          const ops::Attrs& attrs);
std::vector<Tensor> run_complex_cumsum(const ops::OpDef& op, std::span<const Tensor> operands,
                                       const ops::Attrs& attrs);
// Products of complex numbers as four of real ones; of truth values, counts that are not zero.
std::vector<Tensor> run_matmul_of_parts(const ops::OpDef& op, std::span<const Tensor> operands,
                                        const ops::Attrs& attrs);
// Reads the condition; where it does not hold, the host says so.
std::vector<Tensor> run_require(const ops::OpDef& op, std::span<const Tensor> operands,
                                const ops::Attrs& attrs);
// int8 and int4 weights as numbers.
std::vector<Tensor> run_dequantize(const ops::OpDef& op, std::span<const Tensor> operands,
                                   const ops::Attrs& attrs);

}  // namespace weft::cuda
