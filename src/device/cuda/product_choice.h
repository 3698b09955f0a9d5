// Products under mode="max-autotune": weft's kernel or one of a library's algorithms, whichever is measured
// to be the fastest. A choice is made once per process for each device, sizes, dtypes, memory order,
// alignment and what follows the sums.
//
// All candidates compute the same numbers, drawn for that, in memory of their own. A library's algorithm
// whose result differs from weft's kernel's by more than rounding is left out. With operands and what is
// added between -1 and 1, that is
//     4 * u * (depth + 16) + 2 * v * (|x| + |y|),
// u being the unit roundoff of sums (2^-53 for float64, 2^-24 for float32, 2^-22 for numbers of 16 bits,
// whose sums GPUs cut off) and v that of results; whole numbers are equal.
#pragma once

#include "device/cuda/products.h"

namespace weft::cuda {

// True: a library has been given the product. False: weft's kernel is to compute it: no choice is to be made
// (runtime/autotune.h), or it is the fastest, or there is no library.
bool run_by_library(const Product& product);

}  // namespace weft::cuda
