#include "device/cuda/emulated_threads.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <numeric>
#include <random>

#include "nest/grid.h"
#include "runtime/stack_context.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

constexpr int kThreads = nest::kGridThreads, kWarp = nest::kGridWarp;
constexpr size_t kStack = size_t{64} << 10;
// What kernels declare, and what launches bring; addresses of shared memory are below 256 KiB.
constexpr size_t kDeclaredShared = size_t{48} << 10, kAllShared = size_t{256} << 10;
constexpr size_t kExchangedWords = 4 * kThreads;

enum class ThreadState : uint8_t { Ready, AtBarrier, AtWarpBarrier, Done };

struct Fibers {
  EmulatedThread state;
  EmulatedEntry entry;
  void* const* parameters;
  std::array<runtime::StackContext, kThreads> contexts;
  std::array<ThreadState, kThreads> states;
  runtime::StackContext scheduler;
  int current = 0;
};
Fibers* running = nullptr;  // one launch at a time, whoever makes it (emulated_driver.cc)

void leave(ThreadState state) {
  Fibers& fibers = *running;
  const int thread = fibers.current;
  fibers.states[static_cast<size_t>(thread)] = state;
  runtime::StackContext::change(fibers.contexts[static_cast<size_t>(thread)], fibers.scheduler,
                                state == ThreadState::Done);
}

void run_fiber() {
  running->scheduler.begun();
  running->entry(&running->state, running->parameters);
  leave(ThreadState::Done);
}

char* stacks() {
  static char* const memory = [] {
    void* mapped = ::mmap(nullptr, kThreads * kStack, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    return static_cast<char*>(mapped);
  }();
  return memory;
}

// Those that wait go on when all of theirs do.
bool release(Fibers& fibers) {
  bool any = false;
  const auto release_range = [&](int begin, int end, ThreadState waiting) {
    const auto first = fibers.states.begin() + begin, last = fibers.states.begin() + end;
    if (!std::all_of(first, last, [&](ThreadState state) { return state == waiting; })) return;
    std::fill(first, last, ThreadState::Ready);
    any = true;
  };
  release_range(0, kThreads, ThreadState::AtBarrier);
  for (int warp = 0; warp < kThreads; warp += kWarp)
    release_range(warp, warp + kWarp, ThreadState::AtWarpBarrier);
  return any;
}

bool run_block(Fibers& fibers, std::array<int, kThreads>& order, std::mt19937_64* random) {
  for (int thread = 0; thread < kThreads; ++thread) {
    fibers.contexts[static_cast<size_t>(thread)].prepare(stacks() + static_cast<size_t>(thread) * kStack,
                                                         kStack, run_fiber);
    fibers.states[static_cast<size_t>(thread)] = ThreadState::Ready;
  }
  const auto is_done = [](ThreadState state) { return state == ThreadState::Done; };
  do {
    if (random != nullptr) std::shuffle(order.begin(), order.end(), *random);
    for (const int thread : order) {
      if (fibers.states[static_cast<size_t>(thread)] != ThreadState::Ready) continue;
      fibers.current = thread;
      fibers.state.thread = thread;
      runtime::StackContext::change(fibers.scheduler, fibers.contexts[static_cast<size_t>(thread)], false);
    }
    if (std::all_of(fibers.states.begin(), fibers.states.end(), is_done)) return true;
  } while (release(fibers));
  return false;
}

}  // namespace

bool run_blocks(EmulatedEntry entry, void* const* parameters, const EmulatedLaunch& launch, uint64_t seed) {
  const int64_t blocks = launch.blocks;
  const size_t shared_bytes = kDeclaredShared + static_cast<size_t>(launch.shared);
  WEFT_ASSERT(shared_bytes <= kAllShared, "a block's shared memory");
  std::mt19937_64 random(seed);
  alignas(128) static std::array<uint64_t, kAllShared / sizeof(uint64_t)> shared;  // one launch at a time
  std::array<uint64_t, kExchangedWords> exchange;
  std::array<int, kThreads> order;
  std::iota(order.begin(), order.end(), 0);
  Fibers fibers;
  fibers.entry = entry;
  fibers.parameters = parameters;
  fibers.state.blocks = blocks;
  fibers.state.shared = shared.data();
  fibers.state.exchange = exchange.data();
  fibers.state.barrier = [](EmulatedThread*) { leave(ThreadState::AtBarrier); };
  fibers.state.warp_barrier = [](EmulatedThread*) { leave(ThreadState::AtWarpBarrier); };
  running = &fibers;
  bool is_done = true;
  for (int64_t k = 0; k < blocks && is_done; ++k) {
    fibers.state.block = seed != 0 && k % 2 == 1 ? blocks - 1 - k / 2 : k / 2;
    if (seed == 0) fibers.state.block = k;
    std::memset(shared.data(), 0xCB, shared_bytes);
    std::memset(exchange.data(), 0xCB, sizeof exchange);
    if (launch.waits) {
      is_done = run_block(fibers, order, seed != 0 ? &random : nullptr);
      continue;
    }
    if (seed != 0) std::shuffle(order.begin(), order.end(), random);
    for (const int thread : order) {
      fibers.state.thread = thread;
      entry(&fibers.state, parameters);
    }
  }
  running = nullptr;
  return is_done;
}

}  // namespace weft::cuda
