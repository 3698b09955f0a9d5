// Threads that use the device while another one records: the recording goes on with memory and faults of its
// own while others wait for it, so nobody may wait for it with a lock that it takes.
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <latch>
#include <thread>

#include "core/backend.h"
#include "core/pinned.h"
#include "device/cuda/driver.h"
#include "device/cuda/memory.h"
#include "device/cuda/pinned.h"
#include "gpu/same_call.h"

namespace weft::gpu_testing {
namespace {

constexpr int64_t kMany = 3 << 20, kMore = kMany + (1 << 18);  // float32, of 32 MiB

struct Case {
  const char* name;
  std::function<void()> run;
};

// What takes memory and waits for the device, each in a way of its own.
std::vector<Case> cases() {
  return {
      {"memory that is kept makes room",
       [] {
         {
           const Tensor x = Tensor::empty({kMany}, DType::F32, kThere);
         }
         const Tensor y = Tensor::empty({kMore}, DType::F32, kThere);
       }},
      {"no memory is left",
       [] {
         EXPECT_THAT(error_of([] { Tensor::empty({4 * kMany}, DType::F32, kThere); }),
                     HasSubstr("out of memory"));
       }},
      {"kept memory is given back",
       [] {
         {
           const Tensor x = Tensor::empty({kMany / 8}, DType::F32, kThere);
         }
         cuda::release_kept_memory(0);
         cuda::release_kept_pinned();
       }},
      {"an index is looked at",
       [] {
         const Tensor x = sample({5, 3}, DType::F32).to(kThere);
         const Tensor rows = Tensor::full({2}, Scalar(4), DType::I64).to(kThere);
         EXPECT_EQ(index_select(x, 0, rows).to(Device()).at(0), x.to(Device()).at(12));
       }},
      {"pinned memory",
       [] {
         const Tensor x = pinned(sample({1000}, DType::F32));
         EXPECT_EQ(start_move(start_move(x, kThere), Device()).numel(), 1000);
       }},
  };
}

// Ends the process where the two wait for each other: their threads cannot be ended.
void wait_for(std::future<void>& done, const char* what) {
  if (done.wait_for(std::chrono::seconds(60)) == std::future_status::ready) return done.get();
  std::fprintf(stderr, "threads wait for each other: %s\n", what);
  std::abort();
}

TEST(LocksOfGpus, AreTakenInOneOrder) {
  if (std::getenv("WEFT_TEST_GPU") != nullptr) GTEST_SKIP() << "it takes all memory";
  const Backend& gpu = backend_of(kThere);
  const Tensor x = sample({6, 4}, DType::F32).to(kThere);
  const Tensor rows = Tensor::full({3}, Scalar(2), DType::I64).to(kThere);
  const auto work = [&] { return index_select(add(x, x), 0, rows); };
  const Tensor want = work().to(Device());
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    cuda::release_kept_memory(0);
    cuda::set_emulated_memory(size_t{32} << 20);
    std::latch records(1), begins(1);
    Tensor result;
    std::unique_ptr<RecordedWork> recorded;
    std::future<void> first = std::async(std::launch::async, [&] {
      recorded = gpu.record_work(0, [&] {
        records.count_down();
        begins.wait();
        std::this_thread::sleep_for(std::chrono::milliseconds(30));  // so that the other one waits by now
        result = work();
      });
    });
    std::future<void> second = std::async(std::launch::async, [&] {
      records.wait();
      begins.count_down();
      c.run();
    });
    wait_for(first, c.name);
    wait_for(second, c.name);
    cuda::set_emulated_memory(0);
    ASSERT_NE(recorded, nullptr);
    recorded->repeat();
    EXPECT_EQ(difference({result.to(Device())}, {want}), "");
  }
}

// A recorded run is not asked for its faults when it is recorded, but each time that it is repeated.
TEST(LocksOfGpus, FaultsOfRepeatedRunsAreSeen) {
  const Backend& gpu = backend_of(kThere);
  const Tensor x = sample({6, 4}, DType::F32).to(kThere),
               rows = Tensor::full({3}, Scalar(2), DType::I64, kThere);
  index_select(x, 0, rows).to(Device());
  Tensor result;
  const auto recorded = gpu.record_work(0, [&] { result = index_select(x, 0, rows); });
  ASSERT_NE(recorded, nullptr);
  gpu.synchronize(gpu.current_stream(0));
  for (int round = 0; round < 2; ++round) {
    rows.copy_from(Tensor::full({3}, Scalar(6), DType::I64));
    recorded->repeat();
    EXPECT_THAT(error_of([&] { result.to(Device()); }),
                HasSubstr("an index names no element: expected one in [-6, 6)"));
    rows.copy_from(Tensor::full({3}, Scalar(5), DType::I64));
    recorded->repeat();
    EXPECT_EQ(result.to(Device()).at(0), x.to(Device()).at(20));
  }
}

// What a thread that records may not do, and that it can record again then.
TEST(LocksOfGpus, WhatWaitsIsNotRecorded) {
  const Backend& gpu = backend_of(kThere);
  const Tensor x = sample({6, 4}, DType::F32).to(kThere);
  const Stream stream = gpu.current_stream(0);
  const Event event = gpu.record(stream);
  const std::function<void()> waiting[] = {
      [&] { x.to(Device()); },          [&] { sample({3}, DType::F32).to(kThere); },
      [&] { start_move(x, Device()); }, [&] { gpu.record(stream); },
      [&] { gpu.wait(stream, event); }, [&] { gpu.synchronize(stream); }};
  for (const auto& work : waiting) EXPECT_EQ(gpu.record_work(0, work), nullptr);
  Tensor result;
  const auto recorded = gpu.record_work(0, [&] { result = add(x, x); });
  ASSERT_NE(recorded, nullptr);
  recorded->repeat();
  EXPECT_EQ(difference({result.to(Device())}, {add(x, x).to(Device())}), "");
}

}  // namespace
}  // namespace weft::gpu_testing
