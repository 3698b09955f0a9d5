// Fourier transforms by cuFFT, where it is there (libcufft.so.12, .11 or .10).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/registry.h"
#include "weft/tensor.h"

namespace weft::cuda {

// Why there is no cuFFT; empty where there is.
const std::string& why_no_cufft();

// fft_c2c, fft_r2c and fft_c2r. Empty where cuFFT is not there, or fails.
std::vector<Tensor> run_transform(const ops::OpDef& op, std::span<const Tensor> operands,
                                  const ops::Attrs& attrs);

}  // namespace weft::cuda
