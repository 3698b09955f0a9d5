// Products by wgmma (text/wgmma_products.inc): which ones, by tiles of which size, and a check before the
// first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weft/dtype.h"

namespace weft::cuda {

// What one block computes.
struct WgmmaTile {
  int64_t rows, columns;
  int across;  // columns of a warpgroup: of one instruction
  int down;    // warpgroups below each other, of two
  int stages;  // parts of 128 bytes of depth in shared memory at once
  int64_t shared() const { return (rows + columns) * 128 * stages + 1024; }
};

struct WgmmaProduct {
  int device;
  DType dtype;                   // of both operands: BF16, F16 or I8
  bool left_along, right_along;  // memory runs along depth; otherwise along rows or columns
  int64_t rows, columns, depth, batches;
};
// The tile where wgmma is to compute the product, and does it right on this device: none of a GPU that has no
// wgmma, of small products, or where WEFT_CUDA_PRODUCTS says so. Compiles and runs a small product when it is
// first asked for a kind of product, but not while work is recorded: none then.
std::optional<WgmmaTile> wgmma_tile(const WgmmaProduct& product);

// For tests: what the checks found is forgotten; `fails`: the next ones find other numbers.
void forget_wgmma_checks(bool fails = false);

}  // namespace weft::cuda
