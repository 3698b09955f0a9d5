// What calls of an engine have in common.
#pragma once

#include "kernels/cpu/bfloat16_kernels.h"

namespace weft::kernels {

// Within one, this thread's products need not make the tiles ready each. Nothing else that uses tiles may run
// on the thread meanwhile.
class ProductScope {
 public:
  explicit ProductScope(const BFloat16Kernels& engine) : release_(engine.release) {
    if (engine.hold) engine.hold();
  }
  ~ProductScope() {
    if (release_) release_();
  }
  ProductScope(const ProductScope&) = delete;
  ProductScope& operator=(const ProductScope&) = delete;

 private:
  void (*const release_)();
};

}  // namespace weft::kernels
