#include <atomic>
#include <mutex>
#include <vector>

#include "runtime/interop.h"
#include "script/builtins/builtin.h"
#include "weft/error.h"
#include "weft/jit/module.h"

namespace weft::jit {

struct Future::State {
  std::mutex mutex;
  std::atomic<bool> done{false};
  IValue value;
  std::exception_ptr error;
  std::vector<std::function<void(Future&)>> callbacks;
};

Future::Future(TypePtr element) : element_(std::move(element)), state_(std::make_unique<State>()) {}
Future::~Future() = default;

bool Future::done() const { return state_->done.load(std::memory_order_acquire); }

namespace {

// Marks the future done and runs what waits for that.
template <class State, class Store>
void finish(Future& future, State& state, Store store) {
  std::vector<std::function<void(Future&)>> callbacks;
  {
    const std::lock_guard lock(state.mutex);
    WEFT_CHECK(!state.done.load(), "Future: it has a value already");
    store();
    callbacks.swap(state.callbacks);
    state.done.store(true, std::memory_order_release);
  }
  runtime::interop_notify();
  for (const auto& callback : callbacks) callback(future);
}

}  // namespace

void Future::set_value(IValue value) {
  finish(*this, *state_, [&] { state_->value = std::move(value); });
}
void Future::set_error(std::exception_ptr error) {
  finish(*this, *state_, [&] { state_->error = std::move(error); });
}

IValue Future::wait() {
  const auto self = shared_from_this();  // the last other reference may go meanwhile
  if (!done()) runtime::interop_wait([this] { return done(); });
  if (state_->error) std::rethrow_exception(state_->error);
  return state_->value;
}

void Future::then(std::function<void(Future&)> callback) {
  {
    const std::lock_guard lock(state_->mutex);
    if (!done()) {
      state_->callbacks.push_back(std::move(callback));
      return;
    }
  }
  callback(*this);
}

namespace {

[[maybe_unused]] const auto& wait_builtin = builtin(
    "aten::wait(Future(t) self) -> t", [](IValue& self) -> IValue { return self.to_future()->wait(); },
    false);

}  // namespace
}  // namespace weft::jit
