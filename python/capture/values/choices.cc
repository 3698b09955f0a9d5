#include "capture/values/choices.h"

#include <fmt/format.h>

#include <atomic>

#include "bindings.h"
#include "capture/objects/error_actions.h"
#include "core/default_dtype.h"

namespace weft::capture {

namespace {

std::atomic<DType> default_float{DType::F64};

}  // namespace

Choices choices() {
  return {default_float.load(std::memory_order_relaxed), python::default_device(), weft::default_float(),
          ops::autocast(), current_error_actions().handled != 0};
}

void set_default_float(DType dtype) { default_float = dtype; }

std::string Choices::str() const {
  if (are_usual()) return "";
  return fmt::format("{} {} {} {}{}{}{}", name(default_float), device.str(), name(torch_float),
                     autocast.enabled, name(autocast.dtype), autocast.keeps_casts,
                     keeps_errors ? " keeps errors" : "");
}

}  // namespace weft::capture
