// What `weft serve --archive` answers: calls of a TorchScript method on arrays, in JSON or .npz.
#pragma once

#include <memory>

#include "serve/api_service.h"
#include "serve/module_queue.h"

namespace weft::serve {

// The queue must have been started.
std::shared_ptr<Service> make_module_service(std::shared_ptr<ModuleQueue> queue, ApiServiceOptions options);

}  // namespace weft::serve
