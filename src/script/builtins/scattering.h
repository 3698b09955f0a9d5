// Distinct slices, which several builtins give.
#pragma once

#include <tuple>

#include "script/builtins/aten.h"

namespace weft::jit::aten::scattering {

// The first of every run of equal slices of a dimension; of each slice its run's number, and the runs'
// lengths.
std::tuple<Tensor, Tensor, Tensor> unique_neighbours(const Tensor& x, int64_t dim, bool inverse, bool counts);

}  // namespace weft::jit::aten::scattering
