#include <gmock/gmock.h>
#include <sched.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/control_group.h"
#include "runtime/host.h"
#include "runtime/interop.h"
#include "support.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft {
namespace {

using runtime_test::in_child;

struct Threads : testing::Test {
  void TearDown() override { set_num_threads(default_threads); }
  int default_threads = get_num_threads();
};

int process_threads() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    (void)entry;
    ++count;
  }
  return count;
}

// The sum of [0, n), each element counted once; -1 when a range is outside.
int64_t parallel_sum(int64_t n, int64_t grain = 1) {
  std::atomic<int64_t> sum{0};
  parallel_for(0, n, grain, [&](int64_t begin, int64_t end) {
    int64_t part = 0;
    for (int64_t i = begin; i < end; ++i) part += i;
    sum += begin >= 0 && end <= n ? part : -n * n;
  });
  return sum;
}

TEST_F(Threads, CoversTheRangeOnce) {
  for (int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    for (int64_t n : {0, 1, 2, 3, 5, 16, 100, 1000, 4097, 1 << 20}) {
      for (int64_t grain : {0, 1, 3, 64, 1024}) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
        std::atomic<int> short_ranges{0};
        parallel_for(0, n, grain, [&](int64_t begin, int64_t end) {
          if (end - begin < grain && end != n) ++short_ranges;
          for (int64_t i = begin; i < end; ++i)
            seen[static_cast<size_t>(i)].fetch_add(1, std::memory_order_relaxed);
        });
        EXPECT_EQ(short_ranges, 0);
        for (const auto& count : seen)
          ASSERT_EQ(count, 1) << n << " elements, grain " << grain << ", " << threads;
      }
    }
  }
}

TEST_F(Threads, TakesRangesThatDoNotBeginAtZero) {
  set_num_threads(2);
  std::atomic<int64_t> sum{0};
  parallel_for(-10, 11, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i * i;
  });
  EXPECT_EQ(sum, 770);
}

TEST_F(Threads, UsesAsManyThreadsAsAsked) {
  set_num_threads(3);
  EXPECT_EQ(get_num_threads(), 3);
  EXPECT_EQ(num_threads_source(), "set_num_threads");
  std::atomic<int> inside{0}, most{0};
  parallel_for(0, 3, 1, [&](int64_t, int64_t) {
    const int now = ++inside;
    int seen = most.load();
    while (seen < now && !most.compare_exchange_weak(seen, now)) {
    }
    for (int i = 0; i < 2000 && most < 3; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --inside;
  });
  EXPECT_EQ(most, 3);
}

TEST_F(Threads, RefusesNonsense) {
  EXPECT_THROW(set_num_threads(0), Error);
  EXPECT_THROW(set_num_threads(-4), Error);
}

TEST_F(Threads, NestedRegionsRunSerially) {
  set_num_threads(4);
  EXPECT_FALSE(in_parallel_region());
  std::atomic<int> inner_ranges{0}, outer_ranges{0};
  parallel_for(0, 4, 1, [&](int64_t, int64_t) {
    ++outer_ranges;
    EXPECT_TRUE(in_parallel_region());
    const auto thread = std::this_thread::get_id();
    parallel_for(0, 1000, 1, [&](int64_t begin, int64_t end) {
      ++inner_ranges;
      EXPECT_EQ(std::this_thread::get_id(), thread);
      EXPECT_EQ(end - begin, 1000);
    });
  });
  EXPECT_EQ(inner_ranges, outer_ranges);
  EXPECT_FALSE(in_parallel_region());
}

TEST_F(Threads, RethrowsAnException) {
  for (int threads : {1, 4}) {
    set_num_threads(threads);
    EXPECT_THROW(parallel_for(0, 100, 1,
                              [](int64_t begin, int64_t) {
                                if (begin >= 0) throw std::out_of_range("body");
                              }),
                 std::out_of_range);
    EXPECT_EQ(parallel_sum(1000), 499500) << "after an exception";
  }
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_TEST_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(WEFT_TEST_TSAN)
constexpr int kThreadsOfTheSanitizer = 1;
#else
constexpr int kThreadsOfTheSanitizer = 0;
#endif

// How many threads the process has besides the application's and the inter-op pool's. One that has just ended
// may still be listed, so: the least of some looks.
int intraop_threads(int application_threads) {
  int least = 1 << 20;
  for (int look = 0; look < 20; ++look) {
    const int now = process_threads() - application_threads - runtime::interop_threads_alive();
    least = std::min(least, now - kThreadsOfTheSanitizer);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return least;
}

// Application threads and inter-op tasks at once, on any number of intra-op threads: one team.
TEST_F(Threads, NeverMultiply) {
  int largest = intraop_threads(1);  // the team never shrinks
  for (const int threads : {2, 4, 3}) {
    set_num_threads(threads);
    EXPECT_EQ(parallel_sum(100000), 4999950000);
    constexpr int kCallers = 8;
    std::atomic<int> wrong{0}, tasks{0};
    std::atomic<bool> stop{false};
    std::vector<std::thread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&] {
        for (int round = 0; round < 200; ++round) {
          runtime::interop_launch([&] {
            if (parallel_sum(5000) != 12497500) ++wrong;
            ++tasks;
            runtime::interop_notify();
          });
          if (parallel_sum(20000) != 199990000) ++wrong;
        }
        while (!stop) parallel_sum(1000);
      });
    }
    runtime::interop_wait([&] { return tasks == kCallers * 200; });
    largest = std::max(largest, threads);
    EXPECT_LE(intraop_threads(1 + kCallers), largest);
    stop = true;
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(Threads, ApplicationThreadsThatComeAndGo) {
  set_num_threads(3);
  const int before = intraop_threads(1);
  for (int i = 0; i < 50; ++i) {
    std::thread([] { EXPECT_EQ(parallel_sum(5000), 12497500); }).join();
  }
  EXPECT_LE(intraop_threads(1), std::max(before, 3));
}

TEST_F(Threads, TheTeamGrows) {
  for (const int threads : {2, 5, 3, 8}) {
    set_num_threads(threads);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(parallel_sum(100000), 4999950000) << threads;
  }
}

// Threads that are late, because others have the cores, are not waited for.
TEST_F(Threads, MoreThreadsThanCores) {
  set_num_threads(4 * num_usable_cores());
  for (int i = 0; i < 200; ++i) EXPECT_EQ(parallel_sum(10000), 49995000);
}

TEST_F(Threads, WorksInAChildAfterTheParentUsedThePool) {
  set_num_threads(4);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(parallel_sum(100000), 4999950000);
    EXPECT_EQ(in_child([] {
                for (int i = 0; i < 100; ++i) {
                  if (parallel_sum(100000) != 4999950000) return 1;
                }
                // A grandchild, after the child used a pool of its own.
                return in_child([] { return parallel_sum(1000) == 499500 ? 0 : 2; });
              }),
              0);
  }
  EXPECT_EQ(parallel_sum(100000), 4999950000);
}

TEST_F(Threads, AChildUsesSeveralThreads) {
  set_num_threads(3);
  ASSERT_EQ(parallel_sum(100000), 4999950000);
  EXPECT_EQ(in_child([] {
              if (parallel_sum(100000) != 4999950000) return 1;
              return process_threads() == 3 ? 0 : 2;
            }),
            0);
}

// Where the team's second thread may run while a caller on `core` has it work; an empty set if it did not
// come.
cpu_set_t helpers_cores(int core) {
  cpu_set_t only{}, found{};
  CPU_SET(core, &only);
  sched_setaffinity(0, sizeof only, &only);
  const auto caller = std::this_thread::get_id();
  std::atomic<int> inside{0};
  parallel_for(0, 2, 1, [&](int64_t, int64_t) {
    ++inside;
    for (int i = 0; i < 2000 && inside < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (std::this_thread::get_id() != caller) sched_getaffinity(0, sizeof found, &found);
  });
  return found;
}

TEST_F(Threads, HelpersOfAChildStayOffTheCallersCore) {
  cpu_set_t usable;
  ASSERT_EQ(sched_getaffinity(0, sizeof usable, &usable), 0);
  EXPECT_EQ(in_child([&] {
              set_num_threads(2);
              if (num_usable_cores() < 2) return 0;
              std::atomic<int> inside{0};
              parallel_for(0, 2, 1, [&](int64_t, int64_t) {  // so that the helper is there
                ++inside;
                while (inside < 2) std::this_thread::yield();
              });
              for (int core = 0; core < CPU_SETSIZE; ++core) {
                if (!CPU_ISSET(core, &usable)) continue;
                const cpu_set_t cores = helpers_cores(core);
                if (CPU_COUNT(&cores) != CPU_COUNT(&usable) - 1 || CPU_ISSET(core, &cores)) return 1 + core;
              }
              return 0;
            }),
            0);
}

TEST_F(Threads, ChildrenMadeWhileOtherThreadsUseThePool) {
  set_num_threads(3);
  std::atomic<bool> stop{false};
  std::vector<std::thread> users;
  for (int i = 0; i < 3; ++i) {
    users.emplace_back([&] {
      while (!stop) parallel_sum(20000);
    });
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(in_child([] { return parallel_sum(1000) == 499500 ? 0 : 1; }), 0);
  }
  stop = true;
  for (std::thread& user : users) user.join();
}

TEST_F(Threads, AChildOfAThreadThatNeverUsedThePool) {
  set_num_threads(3);
  ASSERT_EQ(parallel_sum(1000), 499500);
  int status = -1;
  std::thread([&] { status = in_child([] { return parallel_sum(1000) == 499500 ? 0 : 1; }); }).join();
  EXPECT_EQ(status, 0);
}

struct ThreadDefaults : testing::Test {
  void SetUp() override {
    unsetenv("MKL_NUM_THREADS");
    unsetenv("OMP_NUM_THREADS");
  }
  void TearDown() override { SetUp(); }
};

TEST_F(ThreadDefaults, MklOverOmpOverCores) {
  EXPECT_EQ(runtime::default_num_threads().threads, num_usable_cores());
  setenv("OMP_NUM_THREADS", "5,2", 1);
  EXPECT_EQ(runtime::default_num_threads().threads, 5);
  EXPECT_EQ(runtime::default_num_threads().source, "OMP_NUM_THREADS");
  setenv("MKL_NUM_THREADS", "3", 1);
  EXPECT_EQ(runtime::default_num_threads().threads, 3);
  EXPECT_EQ(runtime::default_num_threads().source, "MKL_NUM_THREADS");
}

TEST_F(ThreadDefaults, NonsenseIsIgnoredWithAWarning) {
  for (const char* text : {"0", "-3", "many", "4x"}) {
    setenv("OMP_NUM_THREADS", text, 1);
    testing::internal::CaptureStderr();
    EXPECT_EQ(runtime::default_num_threads().threads, num_usable_cores()) << text;
    EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("OMP_NUM_THREADS")) << text;
  }
}

struct ControlGroups : testing::Test {
  void SetUp() override {
    std::string name = testing::TempDir() + "weft-cgroup-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root = name;
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  int limit() { return runtime::cgroup_cpu_limit((root / "self").string(), (root / "fs").string()); }
  size_t memory_limit() { return cgroup_memory_limit((root / "self").string(), (root / "fs").string()); }
  std::filesystem::path root;
};

TEST_F(ControlGroups, VersionTwo) {
  write("self", "0::/outer/inner\n");
  EXPECT_EQ(limit(), 0);
  write("fs/outer/inner/cpu.max", "max 100000\n");
  EXPECT_EQ(limit(), 0);
  write("fs/outer/cpu.max", "250000 100000\n");
  EXPECT_EQ(limit(), 3);
  write("fs/outer/inner/cpu.max", "50000 100000\n");
  EXPECT_EQ(limit(), 1);
}

TEST_F(ControlGroups, VersionOne) {
  write("self", "12:memory:/a\n4:cpu,cpuacct:/a\n");
  write("fs/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  write("fs/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 0);
  write("fs/cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
  EXPECT_EQ(limit(), 4);
}

TEST_F(ControlGroups, NoneAtAll) {
  EXPECT_EQ(limit(), 0);
  EXPECT_EQ(memory_limit(), 0U);
}

TEST_F(ControlGroups, MemoryOfVersionTwo) {
  write("self", "0::/outer/inner\n");
  write("fs/outer/inner/memory.max", "max\n");
  EXPECT_EQ(memory_limit(), 0U);
  write("fs/outer/memory.max", "4294967296\n");
  EXPECT_EQ(memory_limit(), size_t{4} << 30);
  write("fs/memory.max", "1073741824\n");
  EXPECT_EQ(memory_limit(), size_t{1} << 30);
}

TEST_F(ControlGroups, MemoryOfVersionOne) {
  write("self", "12:memory:/a\n4:cpu,cpuacct:/b\n");
  write("fs/memory/a/memory.limit_in_bytes", "2147483648\n");
  write("fs/memory/b/memory.limit_in_bytes", "1024\n");
  EXPECT_EQ(memory_limit(), size_t{2} << 30);
}

}  // namespace
}  // namespace weft
