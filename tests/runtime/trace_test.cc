// The profiler's traces, read back as a viewer reads them.
#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/profiling.h"
#include "runtime/interop.h"
#include "support.h"
#include "weft/error.h"
#include "weft/parallel.h"
#include "weft/profiler.h"

namespace weft::runtime {
namespace {

using Json = nlohmann::json;
using profiling::Span;
using runtime_test::in_child;
using testing::HasSubstr;

struct Trace : testing::Test {
  void SetUp() override {
    path = testing::TempDir() + "weft-trace-" + std::to_string(getpid()) + ".json";
    set_num_threads(2);
  }
  void TearDown() override {
    if (profiler::enabled()) profiler::stop();
    std::remove(path.c_str());
    set_num_threads(default_threads);
  }
  std::vector<Json> spans(const std::string& name) {
    std::ifstream file(path);
    std::vector<Json> found;
    const Json trace = Json::parse(file);
    for (const Json& event : trace["traceEvents"]) {
      if (event["name"] == name) found.push_back(event);
    }
    return found;
  }
  std::string path;
  int default_threads = get_num_threads();
};

void run_tasks(int count) {
  std::atomic<int> left{count};
  for (int i = 0; i < count; ++i) {
    interop_launch([&] {
      parallel_for(0, 64, 1, [](int64_t, int64_t) {});
      --left;
      interop_notify();
    });
  }
  interop_wait([&] { return left == 0; });
}

TEST_F(Trace, HasTasksPiecesAndThreadNames) {
  profiler::start(path);
  run_tasks(20);
  std::atomic<int> inside{0};
  parallel_for(0, 2, 1, [&](int64_t, int64_t) {
    ++inside;
    while (inside < 2) std::this_thread::yield();
  });
  profiler::stop();
  EXPECT_EQ(spans("inter-op task").size(), 20u);
  const std::vector<Json> pieces = spans("parallel_for");
  EXPECT_GE(pieces.size(), 2u);
  std::set<int> threads, named;
  for (const Json& piece : pieces) {
    EXPECT_GE(piece["ts"].get<double>(), 0);
    EXPECT_GE(piece["dur"].get<double>(), 0);
    EXPECT_EQ(piece["ph"], "X");
    threads.insert(piece["tid"].get<int>());
  }
  EXPECT_GE(threads.size(), 2u);
  for (const Json& name : spans("thread_name")) named.insert(name["tid"].get<int>());
  for (const int thread : threads) EXPECT_TRUE(named.contains(thread)) << thread;
}

TEST_F(Trace, SpansNestAndKeepTheirNames) {
  profiler::start(path);
  {
    const Span outer("outer \"quoted\"\n");
    const Span inner("inner");
  }
  profiler::stop();
  const Json outer = spans("outer \"quoted\"\n").at(0), inner = spans("inner").at(0);
  EXPECT_LE(outer["ts"], inner["ts"]);
  EXPECT_LE(inner["dur"], outer["dur"]);
  EXPECT_EQ(spans("thread_name").at(0)["args"]["name"], "main");
}

TEST_F(Trace, SpansThatAreOpenWhenItStopsEndThere) {
  profiler::start(path);
  {
    const Span open("open");
    profiler::stop();
    EXPECT_EQ(spans("open").size(), 1u);
    profiler::start(path);
  }
  {
    const Span next("next");
  }
  profiler::stop();
  EXPECT_EQ(spans("open").size(), 0u);
  EXPECT_EQ(spans("next").size(), 1u);
}

TEST_F(Trace, RecordsOnlyBetweenStartAndStop) {
  {
    const Span span("before");
  }
  profiler::start(path);
  {
    const Span span("first");
  }
  profiler::stop();
  {
    const Span span("between");
  }
  EXPECT_EQ(spans("first").size(), 1u);
  profiler::start(path);
  {
    const Span span("second");
  }
  profiler::stop();
  EXPECT_EQ(spans("second").size(), 1u);
  for (const char* name : {"before", "first", "between"}) EXPECT_TRUE(spans(name).empty()) << name;
}

TEST_F(Trace, ManyThreadsWhileItStartsAndStops) {
  std::atomic<bool> finished{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!finished) const Span span("work");
    });
  }
  for (int i = 0; i < 20; ++i) {
    profiler::start(path);
    run_tasks(3);
    profiler::stop();
  }
  finished = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(spans("process_name").empty());
}

TEST_F(Trace, RefusesWhatCannotBe) {
  EXPECT_THROW(profiler::stop(), Error);
  EXPECT_THROW(profiler::start("/nonexistent/trace.json"), Error);
  EXPECT_FALSE(profiler::enabled());
  profiler::start(path);
  EXPECT_THROW(profiler::start(path), Error);
  profiler::stop();
}

TEST_F(Trace, AChildOfForkRecordsByItselfOnly) {
  profiler::start(path);
  {
    const Span span("parent");
  }
  const std::string child_path = path + ".child";
  EXPECT_EQ(in_child([&] {
              if (profiler::enabled()) return 1;
              profiler::start(child_path);
              {
                const Span span("child");
              }
              profiler::stop();
              return 0;
            }),
            0);
  profiler::stop();
  EXPECT_EQ(spans("parent").size(), 1u);
  EXPECT_TRUE(spans("child").empty());
  path = child_path;
  EXPECT_EQ(spans("child").size(), 1u);
  EXPECT_TRUE(spans("parent").empty());
  std::remove((testing::TempDir() + "weft-trace-" + std::to_string(getpid()) + ".json").c_str());
}

}  // namespace
}  // namespace weft::runtime
