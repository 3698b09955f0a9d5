// The inter-op pool: forks nested in forks, exceptions, children of fork(). The number of its threads can be
// set once in a process, so what depends on it runs in children.
#include "runtime/interop.h"

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft::runtime {
namespace {

using runtime_test::in_child;

// A task that can be waited for.
template <class F>
std::shared_ptr<std::atomic<bool>> start(F function) {
  auto finished = std::make_shared<std::atomic<bool>>(false);
  interop_launch([finished, function = std::move(function)] {
    function();
    finished->store(true);
    interop_notify();
  });
  return finished;
}

void wait_for(const std::shared_ptr<std::atomic<bool>>& finished) {
  interop_wait([&] { return finished->load(); });
}

// 2^depth leaves, each task waiting for the two it forks.
int64_t fork_tree(int depth) {
  if (depth == 0) return 1;
  int64_t left = 0, right = 0;
  const auto first = start([&] { left = fork_tree(depth - 1); });
  const auto second = start([&] { right = fork_tree(depth - 1); });
  wait_for(first);
  wait_for(second);
  return left + right;
}

int64_t fork_chain(int length) {
  if (length == 0) return 0;
  int64_t rest = 0;
  wait_for(start([&] { rest = fork_chain(length - 1); }));
  return rest + 1;
}

TEST(Interop, RunsATask) {
  int value = 0;
  wait_for(start([&] { value = 42; }));
  EXPECT_EQ(value, 42);
}

TEST(Interop, ManyTasks) {
  std::atomic<int> count{0};
  constexpr int kTasks = 10000;
  for (int i = 0; i < kTasks; ++i) {
    interop_launch([&] {
      ++count;
      interop_notify();
    });
  }
  interop_wait([&] { return count == kTasks; });
  EXPECT_FALSE(interop_help());
}

TEST(Interop, TenThousandTasksEachInsideTheOneBefore) { EXPECT_EQ(fork_chain(10000), 10000); }

TEST(Interop, ForkBomb) {
  for (int round = 0; round < 3; ++round) EXPECT_EQ(fork_tree(12), 4096);
}

TEST(Interop, ForkBombsOfManyThreads) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 6; ++i) callers.emplace_back([&] { wrong += fork_tree(9) != 512; });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

// Tasks that launch others and do not wait: what is below a finished task is still below the one above it.
TEST(Interop, TasksOutliveTheOnesThatLaunchedThem) {
  std::atomic<int> count{0};
  std::function<void(int)> spread = [&](int depth) {
    if (depth > 0) {
      for (int i = 0; i < 2; ++i) interop_launch([&spread, depth] { spread(depth - 1); });
    }
    ++count;
    interop_notify();
  };
  wait_for(start([&] {
    spread(12);
    interop_wait([&] { return count == (1 << 13) - 1; });
  }));
  EXPECT_EQ(count, (1 << 13) - 1);
}

// Waits for what it did not launch: were an unrelated task run on top of a waiting one, the second could wait
// for the first without end.
TEST(Interop, TasksWaitForEarlierOnes) {
  std::vector<std::shared_ptr<std::atomic<bool>>> tasks;
  std::atomic<int> sum{0};
  for (int i = 0; i < 300; ++i) {
    auto earlier = tasks.empty() ? nullptr : tasks.back();
    tasks.push_back(start([&sum, earlier] {
      const auto child = start([&sum] { ++sum; });
      if (earlier) wait_for(earlier);
      wait_for(child);
    }));
  }
  wait_for(tasks.back());
  EXPECT_EQ(sum, 300);
}

// All threads of the pool sleep in tasks that wait for the last one.
TEST(Interop, ManyTasksWaitForALaterOne) {
  std::atomic<bool> go{false};
  std::atomic<int> count{0};
  constexpr int kTasks = 100;
  for (int i = 0; i < kTasks; ++i) {
    interop_launch([&] {
      interop_wait([&] { return go.load(); });
      ++count;
      interop_notify();
    });
  }
  interop_launch([&] {
    go = true;
    interop_notify();
  });
  while (count < kTasks) std::this_thread::yield();
  // The spare threads end when they find nothing to do.
  while (interop_threads_alive() > get_num_interop_threads()) std::this_thread::yield();
}

TEST(Interop, AnExceptionThatLeavesATaskIsLogged) {
  testing::internal::CaptureStderr();
  std::atomic<int> count{0};
  for (int i = 0; i < 20; ++i) {
    interop_launch([&] {
      const std::shared_ptr<void> at_end(nullptr, [&](void*) {
        ++count;
        interop_notify();
      });
      if (count >= 0) throw std::out_of_range("no such element");
    });
  }
  interop_wait([&] { return count == 20; });
  wait_for(start([] {}));
  EXPECT_EQ(fork_tree(4), 16);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("no such element"));
}

TEST(Interop, RefusesNonsense) {
  EXPECT_THROW(interop_launch(nullptr), Error);
  EXPECT_THROW(set_num_interop_threads(0), Error);
  EXPECT_THROW(set_num_interop_threads(-3), Error);
}

TEST(Interop, TasksUseTheIntraOpPool) {
  set_num_threads(3);
  std::atomic<int64_t> total{0};
  for (int i = 0; i < 200; ++i) {
    interop_launch([&] {
      parallel_for(0, 1000, 1, [&](int64_t begin, int64_t end) { total += end - begin; });
      interop_notify();
    });
  }
  interop_wait([&] { return total == 200000; });
}

TEST(InteropChild, HasAPoolOfItsOwn) {
  ASSERT_EQ(fork_tree(5), 32);
  EXPECT_EQ(in_child([] {
              if (interop_threads_alive() != 0) return 1;
              return fork_tree(8) == 256 ? 0 : 2;
            }),
            0);
  ASSERT_EQ(fork_tree(5), 32);
}

TEST(InteropChild, MadeInsideATask) {
  int status = -1;
  wait_for(start([&] { status = in_child([] { return fork_tree(6) == 64 ? 0 : 1; }); }));
  EXPECT_EQ(status, 0);
}

TEST(InteropChild, MadeWhileOthersFork) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) fork_tree(6);
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(in_child([] { return fork_tree(5) == 32 ? 0 : 1; }), 0);
  stop = true;
  other.join();
}

TEST(InteropChild, NumberOfThreadsIsSetOnceBeforeUse) {
  EXPECT_EQ(in_child([] {
              set_num_interop_threads(3);
              if (get_num_interop_threads() != 3) return 1;
              try {
                set_num_interop_threads(3);
                return 2;
              } catch (const Error& error) {
                if (error.kind() != ErrorKind::Runtime) return 3;
              }
              std::atomic<int> inside{0};
              for (int i = 0; i < 3; ++i) {
                interop_launch([&] {
                  ++inside;
                  while (inside < 3) std::this_thread::yield();
                });
              }
              while (inside < 3) std::this_thread::yield();
              return interop_threads_alive() == 3 ? 0 : 4;
            }),
            0);
  EXPECT_EQ(in_child([] {
              wait_for(start([] {}));
              try {
                set_num_interop_threads(3);
                return 1;
              } catch (const Error& error) {
                return error.kind() == ErrorKind::Runtime ? 0 : 2;
              }
            }),
            0);
}

// Whoever waits helps, but no more threads run tasks than were asked for.
TEST(InteropChild, NoMoreTasksAtOnceThanThreads) {
  for (const int threads : {1, 2, 3}) {
    EXPECT_EQ(in_child([&] {
                set_num_interop_threads(threads);
                std::atomic<int> inside{0}, most{0}, left{0};
                const auto task = [&] {
                  const int now = ++inside;
                  for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
                  }
                  std::this_thread::sleep_for(std::chrono::milliseconds(2));
                  --inside;
                  --left;
                  interop_notify();
                };
                for (int round = 0; round < 20; ++round) {
                  left = 12;
                  for (int i = 0; i < 12; ++i) interop_launch(task);
                  interop_wait([&] { return left == 0; });
                }
                return most <= threads ? 0 : 10 + most;
              }),
              0)
        << threads;
  }
}

TEST(InteropChild, EveryPoolSize) {
  for (const int threads : {1, 2, 5}) {
    EXPECT_EQ(in_child([&] {
                set_num_interop_threads(threads);
                if (fork_tree(10) != 1024 || fork_chain(3000) != 3000) return 1;
                while (interop_threads_alive() > threads) std::this_thread::yield();
                return 0;
              }),
              0)
        << threads;
  }
}

std::atomic<bool> running{false};

void exit_while_a_task_runs() {
  // Registered before the pool's own handler, hence called after it.
  std::atexit([] {
    if (running) _exit(3);
  });
  set_num_interop_threads(1);
  interop_launch([] {
    running = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    running = false;
  });
  interop_launch([] { _exit(2); });
  while (!running) std::this_thread::yield();
  std::exit(0);
}

TEST(InteropChild, ExitDropsQueuedTasksAndAwaitsRunningOnes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fresh process
  EXPECT_EXIT(exit_while_a_task_runs(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft::runtime
