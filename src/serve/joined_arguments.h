// Arguments of several calls as those of one, and its results for each of them again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/jit/module.h"
#include "weft/npz.h"

namespace weft::serve {

// The size of the first dimension, where there are tensors, each has one, and it is the same; nothing where a
// container holds tensors.
std::optional<int64_t> rows_of(const jit::Keywords& arguments);
// Equal for calls that can be joined: names, dtypes, sizes of the other dimensions, and what is no tensor.
std::string shape_key(const jit::Keywords& arguments);
// Less: what decides how a module computes, mostly. Without sizes, so that there are few.
std::string kind_key(const jit::Keywords& arguments);
uint64_t bytes_of(const jit::Keywords& arguments);

// Tensors one after the other in the first dimension. All have one shape_key.
jit::Keywords join(const std::vector<const jit::Keywords*>& calls);
// The parts of a joined call's arrays; nothing where an array is no tensor with so many rows.
std::optional<std::vector<NamedValues>> split(const NamedValues& arrays, const std::vector<int64_t>& rows);
bool are_same(const jit::Keywords& a, const jit::Keywords& b);  // of one shape_key: byte for byte
// Equal but for rounding of the order in which the rows of a product are summed: floating tensors within a
// small part of their largest element, all else exactly.
bool are_close(const NamedValues& a, const NamedValues& b);

}  // namespace weft::serve
