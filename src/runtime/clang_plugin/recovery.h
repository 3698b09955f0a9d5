// Errors that LLVM answers by ending the process.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <string>

namespace weft::clang_plugin {

// Does the work. False where LLVM gave it up as it does what it calls fatal (an instruction that it cannot
// select, memory or output that fails); `message` says why then, behind what it had. Its work is left as it
// was in the middle, so it is not to be called again.
bool run_recoverable(llvm::function_ref<void()> work, std::string* message);

// LLVM takes over the process's signal handlers for what it calls crashes, and to remove half-written files.
// A library has no business with the application's Ctrl-C: they are put back.
class KeepSignalHandlers {
 public:
  KeepSignalHandlers();
  ~KeepSignalHandlers();
  KeepSignalHandlers(const KeepSignalHandlers&) = delete;
  KeepSignalHandlers& operator=(const KeepSignalHandlers&) = delete;

 private:
  struct Saved;
  Saved* saved_;
};

}  // namespace weft::clang_plugin
