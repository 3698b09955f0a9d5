#include "runtime/autotune.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "weft/parallel.h"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTwo[] = {"slow", "fast"};

void wait_for(size_t candidate) {
  std::this_thread::sleep_for(std::chrono::microseconds(candidate == 0 ? 3000 : 200));
}

// A cache of its own, and no choices.
class Autotune : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("weft_autotune_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    setenv("WEFT_CACHE_DIR", folder_.c_str(), 1);
    forget_choices();
  }
  void TearDown() override {
    fs::permissions(folder_, fs::perms::owner_all, ignored_);
    fs::remove_all(folder_, ignored_);
    unsetenv("WEFT_CACHE_DIR");
    unsetenv("WEFT_DISABLE_CACHE");
    forget_choices();
  }

  // Counts what is measured.
  size_t choose(int64_t size = 1) {
    const AutotuneScope scope(true);
    return tuned_choice({"test", {size}}, kTwo, [&](size_t candidate) { ++runs_, wait_for(candidate); });
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> found;
    if (fs::exists(folder_))
      for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path());
    return found;
  }

  fs::path folder_;
  std::error_code ignored_;
  int runs_ = 0;
};

TEST_F(Autotune, OnlyWithinAScope) {
  const auto run = [&](size_t) { ++runs_; };
  EXPECT_EQ(tuned_choice({"test", {1}}, kTwo, run), 0u);
  {
    const AutotuneScope scope(true);
    EXPECT_TRUE(is_autotuning());
    const AutotuneScope off(false);
    EXPECT_EQ(tuned_choice({"test", {1}}, kTwo, run), 0u);
    parallel_for(0, 2, 1, [](int64_t, int64_t) { EXPECT_FALSE(is_autotuning()); });
  }
  EXPECT_FALSE(is_autotuning());
  EXPECT_EQ(runs_, 0);
}

TEST_F(Autotune, MeasuresOnceAndKeeps) {
  EXPECT_EQ(choose(), 1u);
  EXPECT_GT(runs_, 2);
  runs_ = 0;
  EXPECT_EQ(choose(), 1u);
  EXPECT_EQ(runs_, 0);
  forget_choices();  // as in another process
  EXPECT_EQ(choose(), 1u);
  EXPECT_EQ(runs_, 0);
  EXPECT_EQ(choose(2), 1u);  // another problem
  EXPECT_GT(runs_, 0);
  EXPECT_EQ(entries().size(), 2u);
}

TEST_F(Autotune, AnotherNumberOfThreadsIsAnotherProblem) {
  const int threads = get_num_threads();
  set_num_threads(1);
  choose();
  runs_ = 0;
  set_num_threads(2);
  choose();
  set_num_threads(threads);
  EXPECT_GT(runs_, 0);
}

TEST_F(Autotune, DamagedEntriesAreMeasuredAgain) {
  choose();
  const std::vector<fs::path> paths = entries();
  ASSERT_EQ(paths.size(), 1u);
  std::string whole;
  {
    std::ifstream file(paths[0], std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::string flipped = whole;
  flipped[whole.size() / 4] ^= 1;
  for (const std::string& text : {std::string(), whole.substr(0, whole.size() / 2), flipped, whole + "x"}) {
    std::ofstream(paths[0], std::ios::binary | std::ios::trunc) << text;
    forget_choices();
    runs_ = 0;
    EXPECT_EQ(choose(), 1u);
    EXPECT_GT(runs_, 0) << text.size();
  }
}

TEST_F(Autotune, WithoutADiskTheProcessKeepsChoices) {
  setenv("WEFT_DISABLE_CACHE", "1", 1);
  EXPECT_EQ(choose(), 1u);
  runs_ = 0;
  EXPECT_EQ(choose(), 1u);
  EXPECT_EQ(runs_, 0);
  EXPECT_TRUE(entries().empty());
}

TEST_F(Autotune, AFolderThatCannotBeMade) {
  std::ofstream(folder_.string()) << "a file";
  EXPECT_EQ(choose(), 1u);
  runs_ = 0;
  EXPECT_EQ(choose(), 1u);
  EXPECT_EQ(runs_, 0);
}

TEST_F(Autotune, ThreadsAtOnceGetSomeCandidate) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int64_t size = 1; size < 6; ++size) {
        const AutotuneScope scope(true);
        EXPECT_LT(tuned_choice({"test", {size}}, kTwo, wait_for), 2u);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int64_t size = 1; size < 6; ++size) EXPECT_EQ(choose(size), 1u);
}

TEST_F(Autotune, CandidatesThatThrow) {
  const AutotuneScope scope(true);
  const auto choose_of = [](int64_t size, auto run) { return tuned_choice({"throws", {size}}, kTwo, run); };
  EXPECT_EQ(choose_of(1, [](size_t each) { each == 1 ? throw std::runtime_error("no") : wait_for(0); }), 0u);
  EXPECT_EQ(choose_of(2, [](size_t each) { each == 0 ? throw std::runtime_error("no") : wait_for(1); }), 1u);
  int calls = 0;
  const auto all = [&](size_t) { ++calls, throw std::runtime_error("no"); };
  EXPECT_EQ(choose_of(3, all), 0u);
  const int first = calls;
  EXPECT_EQ(choose_of(3, all), 0u);
  EXPECT_EQ(calls, first);
}

TEST_F(Autotune, WhatThereIsNoTimeForIsMeasuredLater) {
  const auto long_work = [&](size_t) {
    ++runs_, std::this_thread::sleep_for(std::chrono::milliseconds(700));
  };
  {
    const AutotuneScope scope(true);
    tuned_choice({"long", {1}}, kTwo, long_work);
    EXPECT_EQ(runs_, 2);
    EXPECT_EQ(tuned_choice({"long", {2}}, kTwo, long_work), 0u);
    EXPECT_EQ(runs_, 2);
  }
  EXPECT_EQ(choose(), 1u);
}

TEST(AutotuneText, IsReadAsWritten) {
  const double never = std::numeric_limits<double>::infinity();
  const TuningResult result{"p 1 x 2, 1 thread", {"slow", "fast"}, {never, 12.5}, 1};
  const std::string text = result.str();
  const auto read = TuningResult::parse(text, kTwo);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->problem, result.problem);
  EXPECT_EQ(read->chosen, 1u);
  EXPECT_EQ(read->microseconds, result.microseconds);
  constexpr const char* kOthers[] = {"slow", "faster"};
  constexpr const char* kMore[] = {"slow", "fast", "third"};
  EXPECT_FALSE(TuningResult::parse(text, kOthers));
  EXPECT_FALSE(TuningResult::parse(text, kMore));
  EXPECT_FALSE(TuningResult::parse("", kTwo));
  EXPECT_FALSE(TuningResult::parse("p\n*\t1\tslow\n*\t1\tfast\n", kTwo));  // two are chosen
  EXPECT_FALSE(TuningResult::parse("p\n-\t1\tslow\n-\t1\tfast\n", kTwo));  // none is
  EXPECT_FALSE(TuningResult::parse("p\n*\tx\tslow\n-\t1\tfast\n", kTwo));
  EXPECT_FALSE(TuningResult::parse("p\n*\t-1\tslow\n-\t1\tfast\n", kTwo));
  EXPECT_FALSE(TuningResult::parse("p\n*\tnan\tslow\n-\t1\tfast\n", kTwo));
  EXPECT_FALSE(TuningResult::parse("p\n*1 slow\n-\t1\tfast\n", kTwo));
}

TEST(AutotuneClasses, CoverSizes) {
  EXPECT_EQ(size_class(0), 0);
  EXPECT_EQ(size_class(1), 1);
  EXPECT_EQ(size_class(64), 64);
  EXPECT_EQ(size_class(65), 80);
  EXPECT_EQ(size_class(128), 128);
  EXPECT_EQ(size_class(129), 160);
  EXPECT_EQ(size_class(768), 768);
  int64_t last = 0;
  for (int64_t size = 1; size < 5000; ++size) {
    const int64_t of = size_class(size);
    EXPECT_GE(of, size);
    EXPECT_GE(of, last);
    EXPECT_LE(of, size + size / 4);
    EXPECT_EQ(size_class(of), of);
    last = of;
  }
  EXPECT_EQ(rows_to_measure(10, 1), 10);
  EXPECT_EQ(rows_to_measure(int64_t{1} << 40, int64_t{1} << 30), 256);
  EXPECT_EQ(rows_to_measure(100, 0), 100);
}

}  // namespace
}  // namespace weft::runtime
