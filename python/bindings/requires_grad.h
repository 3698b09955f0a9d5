// A flag of tensors that weft keeps and does nothing with: it computes no gradients.
#pragma once

#include <nanobind/nanobind.h>

namespace weft::python {

bool requires_grad(nanobind::handle tensor);
// RuntimeError for a tensor of whole numbers that is to require gradients.
void set_requires_grad(nanobind::handle tensor, bool value);

}  // namespace weft::python
