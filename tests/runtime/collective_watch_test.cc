// Collectives that nobody waits for: those that end are forgotten, one that does not ends the process.
#include "distributed/collective_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace weft::distributed {
namespace {

TEST(CollectiveWatch, WhatEndsInTimeIsForgotten) {
  std::atomic<int> asked = 0;
  std::vector<std::atomic<bool>> done(3);
  {
    CollectiveWatch watch("rank 0 of 2", 60);
    for (std::atomic<bool>& one : done)
      watch.add("all_reduce", [&] {
        ++asked;
        return one.load();
      });
    for (size_t i = done.size(); i-- > 0;) {  // the first is asked until it is done, whatever the others say
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      done[i] = true;
    }
    while (asked < 4) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GE(asked, 4);
}

TEST(CollectiveWatch, AnEndDoesNotWaitForWhatIsPending) {
  CollectiveWatch watch("rank 0 of 2", 3600);
  watch.add("all_reduce", [] { return false; });
}

TEST(CollectiveWatchDeathTest, WhatDoesNotEndInTimeEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        CollectiveWatch watch("rank 1 of 4", 0.05);
        watch.add("barrier", [] { return true; });
        watch.add("all_gather", [] { return false; });
        std::this_thread::sleep_for(std::chrono::seconds(60));
      },
      testing::ExitedWithCode(1), "rank 1 of 4: all_gather: waited 0.05 s for the other ranks");
}

}  // namespace
}  // namespace weft::distributed
