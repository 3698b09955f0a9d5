// Kernels that weft's code generator wrote when the library was built, one for each level of instructions:
// eager operators run what compiled graphs would run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "kernels/cpu/built_table.h"

namespace weft::kernels {

// Of this processor's level; null where there is none of the name (in the program that writes them, of any).
const BuiltKernel* find_built(std::string_view name);
// The same of a name in parts: "sum", "_rows_", "float32".
const BuiltKernel* find_built(std::initializer_list<std::string_view> parts);

// The width of the vectors that kernels of this processor's level are written for; 0: there are none.
int built_vector_bytes();

// Contiguous operands and result, which may be one of the operands where the kernel goes element by element.
// `sizes`: those of the operands' dimensions that differ, in order. `is_parallel`: on all threads, else on
// this one.
void run_built(const BuiltKernel& kernel, void* result, std::span<const void* const> operands,
               std::span<const int64_t> sizes, bool is_parallel);

// The same `times` times on this thread, over `size` elements each. `first`: where the operands and, behind
// them, the result are; `steps`: the bytes that each goes on by from one time to the next.
void run_built_repeatedly(const BuiltKernel& kernel, std::span<std::byte* const> first,
                          std::span<const int64_t> steps, int64_t times, int64_t size);

}  // namespace weft::kernels
