// The process group; weft/distributed/__init__.py is what users see.
#include "distributed.h"

#include <nanobind/stl/string.h>

#include "bindings.h"
#include "weft/distributed.h"

namespace weft::python {

// Who waits for other ranks lets other threads run.
void bind_distributed(nb::module_& m) {
  using namespace distributed;
  using Released = nb::call_guard<GilRelease>;
  m.def(
      "_init_process_group",
      [](const std::string& backend, double timeout, bool check) {
        init_process_group({.backend = backend, .timeout = timeout, .check = check});
      },
      Released());
  m.def("_destroy_process_group", &destroy_process_group, Released());
  m.def("_abort_process_group", [](int status) { abort_process_group(status); });
  m.def("_distributed_is_initialized", &is_initialized);
  m.def("_distributed_rank", &get_rank);
  m.def("_distributed_world_size", &get_world_size);
  m.def("_distributed_backend", &get_backend);
  m.def("_distributed_rank_name", &rank_name);
  m.def("_distributed_barrier", &barrier, Released());
  m.def("_distributed_broadcast_bytes", [](const nb::bytes& bytes, int root) {
    const std::string own(bytes.c_str(), bytes.size());
    std::string all;
    {
      const GilRelease no_gil;
      all = broadcast_bytes(own, root);
    }
    return nb::bytes(all.data(), all.size());
  });
  m.def("_distributed_launch", []() -> nb::object {
    const auto found = launch();
    if (!found) return nb::none();
    return nb::make_tuple(found->rank, found->world_size, found->local_rank, found->local_size);
  });
  m.def("_distributed_statistics", [] {
    const Statistics found = statistics();
    nb::dict result;
    result["calls"] = found.calls;
    result["bytes"] = found.bytes;
    result["seconds"] = found.seconds;
    return result;
  });
  m.def("_distributed_reset_statistics", &reset_statistics);
}

}  // namespace weft::python
