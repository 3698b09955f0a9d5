// The process group's functions (distributed.cc).
#pragma once

#include <nanobind/nanobind.h>

namespace weft::python {

void bind_distributed(nanobind::module_& m);

}  // namespace weft::python
