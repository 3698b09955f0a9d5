// Threads: one intra-op pool per process, which parallel_for uses inside one operation, and one inter-op
// pool, which runs whole tasks such as a script's fork(). docs/THREADS.md tells how they work together.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace weft {

// Number of threads parallel_for uses. Default: MKL_NUM_THREADS, else OMP_NUM_THREADS, else the usable cores
// (affinity mask and cgroup quota respected).
int get_num_threads();
// ValueError unless n >= 1.
void set_num_threads(int n);
int num_usable_cores();
// Where the number comes from: "set_num_threads", "OMP_NUM_THREADS", "usable cores", …
std::string num_threads_source();
// Number of threads that run inter-op tasks. Default: the usable cores.
int get_num_interop_threads();
// Once in a process, before the first inter-op task: ValueError unless n >= 1, RuntimeError afterwards.
void set_num_interop_threads(int n);
// Runs a task on the inter-op pool, some time from now. It delivers its results and errors by itself: an
// exception that leaves it is logged and dropped.
void launch(std::function<void()> task);
// "OpenMP" or "TBB".
const char* threading_backend();
// All of these, the libraries' versions and the environment variables, a line each.
std::string parallel_info();

// Calls body(begin, end) on disjoint ranges that cover [begin, end), each at least `grain` long except the
// last. How the whole is cut depends on its length, the grain and the number of threads only; one thread may
// get several ranges. Runs serially, as one range, when nested in another parallel_for, for a short range,
// and while another application thread uses the pool. The first exception thrown by a body is rethrown here.
// A child of fork() has a pool of its own.
void parallel_for(int64_t begin, int64_t end, int64_t grain,
                  const std::function<void(int64_t, int64_t)>& body);
// The same without std::function, for generated code.
using RangeFn = void (*)(void* context, int64_t begin, int64_t end);
void parallel_for_raw(int64_t begin, int64_t end, int64_t grain, RangeFn body, void* context);
bool in_parallel_region();

}  // namespace weft
