#include <fmt/format.h>

#include "runtime/thread_pool.h"

#if defined(WEFT_THREADING_OMP)
#include <omp.h>

namespace weft::runtime {

void backend_run(int n, TeamFn fn, void* context) {
#pragma omp parallel num_threads(n)
  fn(context, omp_get_thread_num());
}

bool backend_deals_work() { return false; }

// The forking thread's team is a list of threads that do not exist here: any OpenMP region of more than one
// thread, such as one in a BLAS, would wait for them without end.
void backend_after_fork() { omp_set_num_threads(1); }

const char* backend_name() { return "OpenMP"; }

std::string backend_version() {
  const char* version = _OPENMP >= 202111   ? "5.2"
                        : _OPENMP >= 202011 ? "5.1"
                        : _OPENMP >= 201811 ? "5.0"
                                            : "4.5";
  return fmt::format("OpenMP {} (a.k.a. OpenMP {})", _OPENMP, version);
}

std::string backend_limit() { return fmt::format("omp_get_max_threads() : {}", omp_get_max_threads()); }

}  // namespace weft::runtime

#elif defined(WEFT_THREADING_TBB)
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>
#include <tbb/version.h>

#include <algorithm>
#include <memory>

#include "core/profiling.h"
#include "weft/parallel.h"

namespace weft::runtime {
namespace {

struct ThreadNames : tbb::task_scheduler_observer {
  explicit ThreadNames(tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  void on_scheduler_entry(bool is_worker) override {
    if (is_worker) profiling::name_thread("intra-op", tbb::this_task_arena::current_thread_index());
  }
};

// Made for n threads, and made again when the number changes. Never destroyed: at exit TBB may be gone
// already.
struct Arena {
  explicit Arena(int n)
      : size(n), allowed(tbb::global_control::max_allowed_parallelism, n), arena(n), names(arena) {}
  int size;
  tbb::global_control allowed;
  tbb::task_arena arena;
  ThreadNames names;
};

}  // namespace

void backend_run(int n, TeamFn fn, void* context) {
  static std::unique_ptr<Arena>& current = *new std::unique_ptr<Arena>();
  const int size = std::max(n, get_num_threads());
  if (current == nullptr || current->size != size) {
    current.reset();
    current = std::make_unique<Arena>(size);
  }
  current->arena.execute(
      [&] { tbb::parallel_for(0, n, [&](int index) { fn(context, index); }, tbb::static_partitioner()); });
}

bool backend_deals_work() { return true; }

void backend_after_fork() {}

const char* backend_name() { return "TBB"; }

std::string backend_version() {
  return fmt::format("oneTBB {} (interface {})", TBB_runtime_version(), TBB_runtime_interface_version());
}

std::string backend_limit() {
  return fmt::format("tbb::global_control max_allowed_parallelism : {}",
                     tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
}

}  // namespace weft::runtime
#else
#error "WEFT_THREADING must be OMP or TBB"
#endif
