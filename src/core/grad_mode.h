// torch.no_grad and torch.inference_mode. weft computes no gradients: what switches them is kept for programs
// that ask.
#pragma once

namespace weft {

struct GradMode {
  bool grad = true;
  bool inference = false;
  bool operator==(const GradMode&) const = default;
};

// Of the calling thread.
GradMode grad_mode();
void set_grad_mode(GradMode mode);

// As a number, which guards compare.
constexpr int packed(GradMode mode) { return (mode.grad ? 1 : 0) + (mode.inference ? 2 : 0); }

}  // namespace weft
