// What is done behind every pass: the function is verified (WEFT_VERIFY=1) and shown
// (WEFT_LOGS=native_loops).
#pragma once

#include <functional>
#include <string>

#include "loopir/function.h"

namespace weft::loopir {

class PassLog {
 public:
  PassLog();
  // `function` is only made where somebody looks at it.
  void finish(const char* pass, const std::function<Function()>& function);

 private:
  bool is_verifying_, is_logging_;
  std::string before_;
};

}  // namespace weft::loopir
