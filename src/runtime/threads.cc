// parallel_for: cuts a range into pieces, hands them to a team of threads, and keeps the process at one team.
//
// Only one parallel region runs at a time: it holds `busy`, and whoever finds it taken runs serially. Every
// application and inter-op thread is then at work, and k of them never become k teams.
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>
#include <vector>

#include "core/profiling.h"
#include "runtime/float_flags.h"
#include "runtime/host.h"
#include "runtime/interruption.h"
#include "runtime/thread_pool.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft {
namespace {

using runtime::ThreadPool;

// Pieces of a thread's share: enough that a thread which is held up by another process is helped out.
constexpr int64_t kPiecesPerThread = 8;
// And so short that long work can be interrupted between them: `grain` says what is worth a thread.
constexpr int64_t kMostGrains = 256;
constexpr int kMaxThreads = 1024;

struct alignas(64) Share {
  std::atomic<int64_t> next{0};
  int64_t end = 0;
};

struct Pool {
  std::atomic<int> num_threads{0};  // 0: not asked for yet
  std::atomic<bool> busy{false};
  std::atomic<bool> forked{false};
  ThreadPool* threads = nullptr;         // guarded by busy
  std::vector<Share>* shares = nullptr;  // guarded by busy
};

// Never destroyed: worker threads and other libraries' destructors may use it until the process is gone.
Pool& pool() {
  static Pool& instance = *new Pool;
  return instance;
}

thread_local bool in_region = false;

const runtime::ThreadDefault& thread_default() {
  static const auto& value = *new runtime::ThreadDefault([] {
    runtime::ThreadDefault found = runtime::default_num_threads();
    found.threads = std::min(found.threads, kMaxThreads);
    return found;
  }());
  return value;
}

constinit std::atomic<bool> used{false};  // the pool, in this process or its parents

void in_child_of_fork() {
  if (!used.load()) return;
  Pool& p = pool();
  p.forked.store(true);
  p.busy.store(false);
  p.threads = nullptr;  // its threads exist in the parent only
  p.shares = nullptr;   // another thread may have been resizing it
  runtime::backend_after_fork();
}

// Registered as the library is loaded (under_way.cc says why).
[[maybe_unused]] const int threads_at_fork = pthread_atfork(nullptr, nullptr, in_child_of_fork);

struct Region {
  RangeFn body;
  void* context;
  int64_t begin, end, piece;
  int threads;
  Share* shares;
  bool flushes_denormals;
  std::atomic<bool> failed{false};
  std::exception_ptr exception;
  std::atomic<unsigned> float_flags{0};

  void run_share(int owner) noexcept {
    Share& share = shares[owner];
    while (!failed.load(std::memory_order_relaxed)) {
      const int64_t index = share.next.fetch_add(1, std::memory_order_relaxed);
      if (index >= share.end) return;
      const int64_t first = begin + index * piece;
      try {
        runtime::check_interrupt();
        const profiling::Span span("parallel_for", profiling::Kind::IntraOp);
        body(context, first, std::min(end, first + piece));
      } catch (...) {
        if (!failed.exchange(true)) exception = std::current_exception();
      }
    }
  }

  // A thread's own share, then what others have left.
  static void run(void* self, int index) {
    Region& region = *static_cast<Region*>(self);
    const bool outer = std::exchange(in_region, true);
    const runtime::SharedWork work(&region.failed);
    const bool flushed = runtime::flushes_denormals();
    runtime::set_flush_denormals(region.flushes_denormals);
    const unsigned before = runtime::raised_flags();
    runtime::set_flags(0);
    for (int i = 0; i < region.threads; ++i) region.run_share((index + i) % region.threads);
    if (const unsigned raised = runtime::raised_flags())
      region.float_flags.fetch_or(raised, std::memory_order_relaxed);
    runtime::set_flags(before);
    runtime::set_flush_denormals(flushed);
    in_region = outer;
  }
};

struct Lease {
  explicit Lease(Pool& p) : pool(p), held(!p.busy.exchange(true, std::memory_order_acquire)) {}
  ~Lease() {
    if (held) pool.busy.store(false, std::memory_order_release);
  }
  Pool& pool;
  bool held;
};

// OpenMP's runtime is not instrumented: ThreadSanitizer would report its hand-over of work. Its builds use
// weft's own threads.
#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
constexpr bool kThreadSanitizer = false;
#endif

// Whole cache lines per piece, whatever the element type, so that threads do not share the lines they write.
int64_t whole_lines(int64_t piece) { return piece >= 1024 ? (piece + 63) / 64 * 64 : piece; }

void run_serially(int64_t begin, int64_t end, int64_t grain, RangeFn body, void* context) {
  const profiling::Span span("parallel_for, one thread", profiling::Kind::IntraOp);
  const int64_t length = end - begin;
  const int64_t piece =
      grain > length / kMostGrains ? length : whole_lines(std::max<int64_t>(1, grain) * kMostGrains);
  for (int64_t first = begin; first < end; first += piece) {
    runtime::check_interrupt();
    body(context, first, std::min(end, first + piece));
  }
}

bool may_use_backend(const Pool& p) { return !kThreadSanitizer && !p.forked.load(std::memory_order_relaxed); }

// The one team, made anew when it has to grow.
ThreadPool& team(Pool& p, int threads) {
  const int size = std::max(threads, get_num_threads());
  if (p.threads == nullptr || p.threads->size() < size) {
    delete std::exchange(p.threads, nullptr);
    p.threads = new ThreadPool(size, may_use_backend(p));
  }
  return *p.threads;
}

void run_parallel(Pool& p, Region& region, int64_t pieces) {
  if (p.shares == nullptr) p.shares = new std::vector<Share>(kMaxThreads);
  region.shares = p.shares->data();
  for (int i = 0; i < region.threads; ++i) {
    region.shares[i].next.store(pieces * i / region.threads, std::memory_order_relaxed);
    region.shares[i].end = pieces * (i + 1) / region.threads;
  }
  if (runtime::backend_deals_work() && may_use_backend(p)) {
    runtime::backend_run(region.threads, Region::run, &region);
  } else {
    team(p, region.threads).run(region.threads, Region::run, &region);
  }
}

}  // namespace

int get_num_threads() {
  const int asked = pool().num_threads.load(std::memory_order_relaxed);
  return asked > 0 ? asked : thread_default().threads;
}

void set_num_threads(int n) {
  WEFT_CHECK(n >= 1 && n <= kMaxThreads,
             fmt::format("set_num_threads: expected 1 <= n <= {}, got {}", kMaxThreads, n));
  pool().num_threads.store(n, std::memory_order_relaxed);
}

std::string num_threads_source() {
  return pool().num_threads.load(std::memory_order_relaxed) > 0 ? "set_num_threads" : thread_default().source;
}

const char* threading_backend() { return runtime::backend_name(); }

bool in_parallel_region() { return in_region; }

void parallel_for_raw(int64_t begin, int64_t end, int64_t grain, RangeFn body, void* context) {
  if (begin >= end) return;
  const int64_t length = end - begin;
  const int64_t most_pieces = grain > 1 ? length / grain : length;
  const int threads = static_cast<int>(std::min<int64_t>(get_num_threads(), most_pieces));
  if (in_region) return body(context, begin, end);
  if (threads <= 1) return run_serially(begin, end, grain, body, context);

  Pool& p = pool();
  used.store(true, std::memory_order_relaxed);
  Lease lease(p);
  if (!lease.held) {
    ThreadPool::stop_spinning();
    return run_serially(begin, end, grain, body, context);
  }

  const int64_t wanted = std::max(threads * std::clamp<int64_t>(most_pieces / threads, 1, kPiecesPerThread),
                                  most_pieces / kMostGrains);
  const int64_t piece = whole_lines((length + wanted - 1) / wanted);
  const int64_t pieces = (length + piece - 1) / piece;
  Region region{body,    context,
                begin,   end,
                piece,   static_cast<int>(std::min<int64_t>(threads, pieces)),
                nullptr, runtime::flushes_denormals(),
                {},      {},
                {}};
  run_parallel(p, region, pieces);
  runtime::set_flags(runtime::raised_flags() | region.float_flags.load(std::memory_order_relaxed));
  if (region.exception) std::rethrow_exception(region.exception);
}

void parallel_for(int64_t begin, int64_t end, int64_t grain,
                  const std::function<void(int64_t, int64_t)>& body) {
  parallel_for_raw(
      begin, end, grain,
      [](void* context, int64_t first, int64_t last) {
        (*static_cast<const std::function<void(int64_t, int64_t)>*>(context))(first, last);
      },
      const_cast<std::function<void(int64_t, int64_t)>*>(&body));
}

}  // namespace weft
