// What the program has chosen besides the arguments of a call: weft.config, `with weft.device(...)`, `with
// torch.autocast(...)`.
// Captures are kept for each choice.
#pragma once

#include <string>

#include "ops/autocast.h"
#include "weft/device.h"
#include "weft/dtype.h"

namespace weft::capture {

struct Choices {
  DType default_float = DType::F64;  // of arrays that NumPy makes of no other floating-point array
  Device device;                     // where arrays live
  DType torch_float = DType::F32;    // PyTorch's default dtype
  ops::Autocast autocast;
  // numpy.errstate asks for more than warnings: whatever may raise is computed when the function runs.
  bool keeps_errors = false;

  bool are_usual() const {
    return default_float == DType::F64 && device == Device{} && torch_float == DType::F32 &&
           autocast == ops::Autocast{} && !keeps_errors;
  }
  bool on_meta() const { return device.type == DeviceType::Meta; }
  std::string str() const;  // empty for the usual ones
};

// Of this thread, now.
Choices choices();
// For the whole process; F32 or F64.
void set_default_float(DType dtype);

}  // namespace weft::capture
