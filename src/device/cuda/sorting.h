// Sorting, searching and counting, and what is built on them (text/sorting.inc).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/written_kernel.h"
#include "ops/registry.h"
#include "weft/tensor.h"

namespace weft::cuda {

// A kernel whose words are those of text/sorting.inc.
WrittenKernel sorting_kernel(const std::string& name, Device device);

// Rows of keys in order, and where each was in its row: uint64 and int64, [rows, length]. Equal keys keep
// their order.
struct Sorted {
  Tensor keys, positions;
};
// `key` adds the parameters it reads to the kernel, and gives the text of a function (i64 row, i64 at) ->
// u64.
Sorted sorted_by(const std::string& name, Device device, int64_t rows, int64_t length,
                 const std::function<std::string(WrittenKernel&)>& key);

// What values for one element become: KeepLast, Add, Multiply, Extreme<false>, Extreme<true>.
struct JoinedBlocks {
  Tensor to, values;  // values: [targets, block], in one piece
  Shape sizes;        // of a block of `to`
  Strides steps;
};
void join_values(const std::string& how, const JoinedBlocks& blocks, const Sorted& targets);

// Operators. Empty where the host has to do it.
std::vector<Tensor> run_sort(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs);
std::vector<Tensor> run_searchsorted(const ops::OpDef& op, std::span<const Tensor> operands,
                                     const ops::Attrs& attrs);
std::vector<Tensor> run_count_between(const ops::OpDef& op, std::span<const Tensor> operands,
                                      const ops::Attrs& attrs);
std::vector<Tensor> run_scatter(const ops::OpDef& op, std::span<const Tensor> operands,
                                const ops::Attrs& attrs);

}  // namespace weft::cuda
