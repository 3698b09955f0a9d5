#include <nanobind/stl/string.h>

#include "array.h"
#include "bindings.h"
#include "distributed.h"
#include "errors.h"
#include "ivalue.h"
#include "jit.h"
#include "jit_trace.h"
#include "op_arguments.h"
#include "profiler.h"
#include "runtime/interop.h"
#include "runtime/log.h"
#include "script/run/interpreter.h"
#include "weft/allocator.h"
#include "weft/env.h"
#include "weft/error.h"

// Sources in python/capture are compiled into this module; they add what they have to it here, last, when
// Tensor and the operators are bound.
namespace weft::capture {
__attribute__((weak)) void register_bindings(PyObject* module);
}

namespace weft::python {

namespace {

nb::dict allocator_dict() {
  const AllocatorStats stats = allocator_stats();
  nb::dict result;
  result["allocated"] = stats.allocated;
  result["peak_allocated"] = stats.peak_allocated;
  result["cached"] = stats.cached;
  result["num_requests"] = stats.num_requests;
  result["num_reused"] = stats.num_reused;
  result["limit"] = allocator_limit();
  return result;
}

}  // namespace

}  // namespace weft::python

NB_MODULE(_C, m) {
  using namespace weft;
  using namespace weft::python;
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const jit::ScriptError& error) {
      raise_script_error(error);
    } catch (const Error& error) {
      set_error(error);
    } catch (const runtime::Interrupted&) {
      return;  // the exception is set
    }
  });
  // Tensors may outlive the module's dictionary at exit; that is not a leak worth a message.
  nb::set_leak_warnings(false);
  runtime::set_interpreter_has_ended([] { return Py_IsInitialized() == 0; });
  env::check();

  bind_dtypes(m);
  bind_print_options(m);
  bind_size(m);
  bind_symbolic_int(m);
  bind_tensor(m);
  bind_creation(m);
  bind_operators(m);
  bind_overriding(m);
  bind_array(m);
  bind_threads(m);
  bind_distributed(m);
  bind_profiler(m);
  bind_serialization(m);
  bind_storage(m);
  bind_unpickle(m);
  bind_builtins(m);
  bind_block_kernels(m);
  bind_gpu(m);
  bind_jit(m);
  bind_jit_trace(m);
  bind_exported(m);

  m.attr("__version__") = WEFT_VERSION_STRING;
  m.def(
      "set_logs", [](const std::string& channels) { log::set_logs(channels); }, nb::arg("channels"),
      "Switches log channels on, as WEFT_LOGS: set_logs('output_code,graph_breaks').");
  m.def("allocator_stats", &allocator_dict, "Bytes and counts of the recycling allocator.");
  m.def("empty_cache", &empty_allocator_cache, "Returns the blocks kept for reuse to the system.");

  if (capture::register_bindings) capture::register_bindings(m.ptr());
  explain_arguments(m);
}
