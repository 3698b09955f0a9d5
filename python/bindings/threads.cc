// Numbers of threads, and what __config__ prints.
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "runtime/float_flags.h"
#include "runtime/toolchain.h"
#include "weft/config.h"
#include "weft/parallel.h"

namespace weft::python {

void bind_threads(nb::module_& m) {
  m.def("set_num_threads", &set_num_threads, nb::arg("n"),
        "Number of threads that one operation uses, at least 1.");
  m.def("get_num_threads", &get_num_threads, "Number of threads that one operation uses.");
  m.def("set_num_interop_threads", &set_num_interop_threads, nb::arg("n"),
        "Number of threads that run forked tasks, at least 1. Once in a process, before the first task: "
        "RuntimeError afterwards.");
  m.def("get_num_interop_threads", &get_num_interop_threads, "Number of threads that run forked tasks.");
  m.def("_set_flush_denormal", &runtime::set_flush_denormals);
  m.def("_parallel_info", &parallel_info);
  m.def("_build_info", &build_info);
  m.def("_torch_cpu_capability", &runtime::torch_cpu_capability);
}

}  // namespace weft::python
