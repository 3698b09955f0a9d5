// weft.profiler's half in C++.
#pragma once

#include <nanobind/nanobind.h>

namespace weft::python {

void bind_profiler(nanobind::module_& m);

}  // namespace weft::python
