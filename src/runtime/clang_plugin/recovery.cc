#include "runtime/clang_plugin/recovery.h"

#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>
#include <signal.h>

#include <mutex>
#include <new>

namespace weft::clang_plugin {

struct KeepSignalHandlers::Saved {
  struct sigaction actions[NSIG];
  bool is_known[NSIG] = {};
};

KeepSignalHandlers::KeepSignalHandlers() : saved_(new Saved) {
  for (int i = 1; i < NSIG; ++i) saved_->is_known[i] = ::sigaction(i, nullptr, &saved_->actions[i]) == 0;
}

KeepSignalHandlers::~KeepSignalHandlers() {
  for (int i = 1; i < NSIG; ++i) {
    struct sigaction now;
    if (!saved_->is_known[i] || ::sigaction(i, nullptr, &now) != 0) continue;
    if (now.sa_sigaction != saved_->actions[i].sa_sigaction) ::sigaction(i, &saved_->actions[i], nullptr);
  }
  delete saved_;
}

namespace {

thread_local std::string* said = nullptr;

void give_up(void*, const char* reason, bool) {
  if (said != nullptr) *said += reason;
  if (auto* context = llvm::CrashRecoveryContext::GetCurrent()) context->HandleExit(1);
}

// What LLD calls fatal leaves through the current context as well.
void prepare() {
  static std::once_flag once;
  std::call_once(once, [] {
    const KeepSignalHandlers keep;
    llvm::CrashRecoveryContext::Enable();
    llvm::install_fatal_error_handler(give_up);
    llvm::install_bad_alloc_error_handler(give_up);
  });
}

// This file alone is compiled with exceptions: what `operator new` throws must not pass the plugin's callers,
// which hold locks.
bool has_memory_for(llvm::function_ref<void()> work) {
  try {
    work();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

bool run_recoverable(llvm::function_ref<void()> work, std::string* message) {
  prepare();
  said = message;
  bool has_memory = false;
  llvm::CrashRecoveryContext context;
  const bool is_done = context.RunSafely([&] { has_memory = has_memory_for(work); });
  said = nullptr;
  if (is_done && has_memory) return true;
  if (is_done || message->empty()) *message += is_done ? "out of memory" : "the compiler gave up";
  return false;
}

}  // namespace weft::clang_plugin
