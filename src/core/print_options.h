// How tensors are printed: what torch.set_printoptions sets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/tensor.h"

namespace weft {

struct PrintOptions {
  int precision = 4;        // digits behind the point
  int64_t threshold = 1000;  // elements from which on only the edges of each dimension are shown
  int64_t edge_items = 3;
  int64_t line_width = 80;
  std::optional<bool> scientific;  // none: as the numbers ask for
  // What names of dtypes and sizes begin with: "torch" in a program that has imported weft.torch.
  std::string module = "weft";
};

// Of the process; read and set by one thread at a time (in Python: under the interpreter's lock).
PrintOptions& print_options();

// The tensor's text: "NAME([1., 2.], requires_grad=True)".
std::string str(const Tensor& tensor, std::string_view name, bool requires_grad);

}  // namespace weft
