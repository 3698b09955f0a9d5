// Functions of weft/models/masks.h, for weft.models.
#pragma once

#include <nanobind/nanobind.h>

namespace weft::python {

void bind_masks(nanobind::module_& m);

}  // namespace weft::python
