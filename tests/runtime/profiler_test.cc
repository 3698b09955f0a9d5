// Recordings of weft::profiler: what they hold, averages and tables, traces and memory.
#include "weft/profiler.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/profiling.h"
#include "ops/registry.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft::profiler {
namespace {

using Json = nlohmann::json;
using profiling::Kind;
using profiling::Span;
using testing::HasSubstr;

struct ProfilerTest : testing::Test {
  void SetUp() override { path = testing::TempDir() + "weft-profile-" + std::to_string(getpid()) + ".json"; }
  void TearDown() override {
    if (enabled()) stop();
    std::remove(path.c_str());
  }
  Json file() const { return Json::parse(std::ifstream(path)); }
  std::string path;
};

Tensor floats(Shape shape) { return Tensor::full(shape, 1.0, DType::F32); }

const Event& find(const std::vector<Event>& events, std::string_view name) {
  for (const Event& event : events)
    if (event.name == name) return event;
  throw std::runtime_error("no event " + std::string(name));
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Complete events of a thread lie within each other or apart.
void expect_nested(const Json& trace) {
  std::map<int, std::vector<std::pair<double, double>>> threads;
  for (const Json& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    ASSERT_THAT(phase, testing::AnyOf("X", "M", "C", "b", "e"));
    ASSERT_TRUE(event.contains("pid") && event.contains("name"));
    if (phase == "M") continue;
    ASSERT_GE(event["ts"].get<double>(), 0);
    if (phase == "C") continue;
    ASSERT_TRUE(event.contains("tid"));
    if (phase != "X") continue;
    threads[event["tid"]].emplace_back(event["ts"], event["ts"].get<double>() + event["dur"].get<double>());
  }
  for (auto& [thread, spans] : threads) {
    std::sort(spans.begin(), spans.end(),
              [](auto a, auto b) { return a.first != b.first ? a.first < b.first : a.second > b.second; });
    std::vector<double> ends;
    constexpr double kRounding = 0.002;  // microseconds
    for (const auto& [begin, end] : spans) {
      while (!ends.empty() && ends.back() <= begin + kRounding) ends.pop_back();
      if (!ends.empty()) {
        EXPECT_LE(end, ends.back() + kRounding);
      }
      ends.push_back(end);
    }
  }
}

TEST_F(ProfilerTest, TimesOfItselfAreWithoutThoseInside) {
  start(Options{});
  {
    const Span outer("outer");
    {
      const Span inner("inner", Kind::Kernel);
    }
    {
      const Span inner("inner", Kind::Kernel);
    }
    {
      const Span lane("parallel_for", Kind::IntraOp);
    }
  }
  const auto recording = stop();
  const std::vector<Average> averages = recording->averages();
  ASSERT_EQ(averages.size(), 2u);
  EXPECT_EQ(averages[0].name, "outer");
  EXPECT_EQ(averages[0].category, "operator");
  EXPECT_EQ(averages[1].name, "inner");
  EXPECT_EQ(averages[1].category, "kernel");
  EXPECT_EQ(averages[1].calls, 2);
  EXPECT_EQ(averages[0].self_ns, averages[0].total_ns - averages[1].total_ns);
  EXPECT_EQ(averages[1].self_ns, averages[1].total_ns);
  EXPECT_EQ(averages[0].percent_of_ceiling, -1);
}

TEST_F(ProfilerTest, OperatorsHaveShapesAndWork) {
  const Tensor x = floats({8, 64}), y = floats({64, 10});
  start(Options{.record_shapes = true});
  ops::call1("matmul", {x, y});
  ops::call1("add", {x, x});
  ops::call1("softmax", {x}, [] {
    ops::Attrs attrs;
    attrs.set("dim", Sym(1));
    return attrs;
  }());
  const auto recording = stop();
  const std::vector<Event> events = recording->events();
  const Event& product = find(events, "matmul");
  EXPECT_EQ(product.shapes, "[[8, 64], [64, 10]]");
  EXPECT_EQ(product.dtypes, "[\"f32\", \"f32\"]");
  EXPECT_EQ(product.operations, 2 * 8 * 64 * 10);
  EXPECT_EQ(product.bytes, 4 * (8 * 64 + 64 * 10 + 8 * 10));
  const Event& sum = find(events, "add");
  EXPECT_EQ(sum.operations, 8 * 64);
  EXPECT_TRUE(sum.has_work);
  EXPECT_NO_THROW(find(events, "softmax"));
  const std::vector<Average> averages = recording->averages(true);
  for (const Average& average : averages) {
    if (average.name == "matmul") {
      EXPECT_GT(average.percent_of_ceiling, 0);
    }
  }
}

TEST_F(ProfilerTest, NothingIsRecordedOutside) {
  ops::call1("add", {floats({4}), floats({4})});
  start(Options{});
  const auto recording = stop();
  EXPECT_TRUE(recording->events().empty());
  EXPECT_GE(recording->length_ns(), 0);
  EXPECT_FALSE(enabled());
}

TEST_F(ProfilerTest, RangesMayEndInAnotherOrderAndThread) {
  start(Options{.trace_path = path});
  {
    const RecordFunction whole("whole");
    auto first = std::make_unique<RecordFunction>("first");
    auto second = std::make_unique<RecordFunction>("second");
    first.reset();
    {
      const Span inner("inner");
    }
    second.reset();
    auto elsewhere = std::make_unique<RecordFunction>("elsewhere");
    std::thread([&] { elsewhere.reset(); }).join();
  }
  const auto recording = stop();
  const std::vector<Event> events = recording->events();
  EXPECT_FALSE(find(events, "whole").overlaps);
  EXPECT_TRUE(find(events, "first").overlaps);
  EXPECT_TRUE(find(events, "elsewhere").overlaps);
  EXPECT_EQ(find(events, "whole").category, "user_annotation");
  expect_nested(file());
}

TEST_F(ProfilerTest, ATraceIsAFileOfJsonWhileItRuns) {
  start(Options{.profile_memory = true, .trace_path = path, .keep = false});
  {
    const Span span("early");
  }
  const Tensor x = floats({100, 100});
  bool found = false;
  for (int i = 0; i < 500 && !found; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::ifstream stream(path);
    const Json trace = Json::parse(stream, nullptr, false);
    if (trace.is_discarded()) continue;  // read while it was written
    for (const Json& event : trace["traceEvents"]) found |= event["name"] == "early";
  }
  EXPECT_TRUE(found);
  parallel_for(0, 64, 1, [](int64_t, int64_t) {});
  const auto recording = stop();
  EXPECT_TRUE(recording->events().empty());  // they were not to be kept
  const Json trace = file();
  expect_nested(trace);
  EXPECT_EQ(trace["left out"], 0);
  EXPECT_THAT(trace.dump(), HasSubstr("\"ph\":\"C\""));
}

TEST_F(ProfilerTest, ATraceIsNoLongerThanItMayBe) {
  setenv("WEFT_TRACE_LIMIT", "4000", 1);
  start(Options{.trace_path = path});
  for (int i = 0; i < 1000; ++i) const Span span("span");
  testing::internal::CaptureStderr();
  const auto recording = stop();
  unsetenv("WEFT_TRACE_LIMIT");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("later events are not in"));
  const Json trace = file();
  EXPECT_GT(trace["left out"], 900);
  EXPECT_LT(trace.dump().size(), 5000u);
  EXPECT_EQ(recording->events().size(), 1000u);
}

TEST_F(ProfilerTest, ExportsWhatItHolds) {
  start(Options{});
  {
    const RecordFunction range("range \"of\" mine");
    ops::call1("add", {floats({4}), floats({4})});
  }
  stop()->export_chrome_trace(path, ", \"note\": 5");
  const Json trace = file();
  expect_nested(trace);
  EXPECT_EQ(trace["note"], 5);
  int ranges = 0, sums = 0;
  for (const Json& event : trace["traceEvents"]) {
    ranges += event["name"] == "range \"of\" mine";
    sums +=
        event["name"] == "add" && event["args"].contains("bytes") && event["args"].contains("% of ceiling");
  }
  EXPECT_EQ(ranges, 1);
  EXPECT_EQ(sums, 1);
}

TEST_F(ProfilerTest, MemoryHasCategories) {
  const Tensor weight = floats({1000});
  start(Options{.profile_memory = true});
  note_parameter(weight, "weight");
  Tensor kept;
  {
    const Span op("op");
    const Tensor temporary = floats({2000});
    kept = floats({3000});
  }
  {
    const Tensor dropped = [] {
      const Span op("op");
      return floats({4000});
    }();
    const Span next("next");
  }
  const auto scratch = Storage::allocate(5000 * 4);
  {
    const Span compilation("compile", Kind::Compile);
    kept = Tensor();
    kept = floats({6000});
  }
  const auto recording = stop();
  std::map<std::string, std::string> found;  // category by type, or bytes
  for (const Allocation& a : recording->allocations()) {
    EXPECT_GE(a.end_ns, a.begin_ns);
    EXPECT_LE(a.end_ns, recording->length_ns());
    found[a.type.empty() ? "none" : std::string(a.type)] = a.category;
  }
  EXPECT_EQ(found["weight"], "parameter");
  EXPECT_EQ(found["f32[2000]"], "temporary");
  EXPECT_EQ(found["f32[3000]"], "activation");
  EXPECT_EQ(found["f32[4000]"], "activation");
  EXPECT_EQ(found["none"], "workspace");
  EXPECT_EQ(found["f32[6000]"], "parameter");
  const std::vector<Event> events = recording->events();
  EXPECT_GE(find(events, "op").memory, 3000 * 4);  // the temporary tensor is gone
  EXPECT_LT(find(events, "op").memory, 5000 * 4);
}

TEST_F(ProfilerTest, MemoryAsAPageAndAsNumbers) {
  start(Options{.profile_memory = true});
  const Tensor x = floats({300, 400});
  const auto recording = stop();
  const std::string page = path + ".html", numbers = path + ".memory.json";
  recording->export_memory_timeline(page);
  recording->export_memory_timeline(numbers);
  const Json timeline = Json::parse(std::ifstream(numbers));
  ASSERT_EQ(timeline["allocations"].size(), 1u);
  EXPECT_GE(timeline["allocations"][0][2], 300 * 400 * 4);
  EXPECT_EQ(timeline["texts"][timeline["allocations"][0][4].get<size_t>()], "f32[300, 400]");
  std::stringstream text;
  text << std::ifstream(page).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("f32[300, 400]"));
  EXPECT_THAT(text.str(), testing::Not(HasSubstr("src=")));
  EXPECT_THAT(message_of([&] { recording->export_memory_timeline("memory.pdf"); }),
              HasSubstr(".html or .json"));
  EXPECT_THAT(message_of([&] { recording->export_memory_timeline("/nonexistent/m.html"); }),
              HasSubstr("No such file"));
  std::remove(page.c_str());
  std::remove(numbers.c_str());
  start(Options{});
  EXPECT_THAT(message_of([] { stop()->allocations(); }), HasSubstr("profile_memory"));
}

TEST_F(ProfilerTest, TablesAreSorted) {
  std::vector<Average> rows(2);
  rows[0] = {.name = "short", .category = "operator", .calls = 5, .total_ns = 1500, .self_ns = 1500};
  rows[1] = {.name = "long", .category = "kernel", .calls = 1, .total_ns = 2'000'000, .self_ns = 2'000'000};
  rows[1].bytes = 3e6;
  rows[1].percent_of_ceiling = 42;
  const std::string text = table(rows, {.sort_by = "cpu_time_total"});
  EXPECT_LT(text.find("long"), text.find("short"));
  EXPECT_THAT(text, HasSubstr("42.0"));
  EXPECT_THAT(text, HasSubstr("2.86 MB"));
  EXPECT_THAT(text, HasSubstr("1.500us"));
  const std::string by_count = table(rows, {.sort_by = "count", .row_limit = 1});
  EXPECT_THAT(by_count, HasSubstr("short"));
  EXPECT_EQ(by_count.find("long"), std::string::npos);
  EXPECT_THAT(message_of([&] { table(rows, {.sort_by = "colour"}); }),
              testing::AllOf(HasSubstr("'colour'"), HasSubstr("self_cpu_time_total")));
  EXPECT_THAT(message_of([&] { table(rows, {.time_unit = "h"}); }), HasSubstr("time_unit"));
  EXPECT_NO_THROW(table({}, {.sort_by = "count"}));
}

TEST_F(ProfilerTest, RefusesBeforeTheWork) {
  EXPECT_THAT(message_of([] { start(Options{.trace_path = "/nonexistent/trace.json"}); }),
              HasSubstr("No such file"));
  EXPECT_FALSE(enabled());
  EXPECT_THAT(message_of([] { start(Options{.trace_path = "/dev/full"}); }), HasSubstr("No space"));
  EXPECT_FALSE(enabled());
  start(Options{});
  EXPECT_THAT(message_of([] { start(Options{}); }), HasSubstr("do not nest"));
  const auto recording = stop();
  EXPECT_THAT(message_of([&] { recording->export_chrome_trace("/nonexistent/t.json"); }),
              HasSubstr("No such file"));
}

}  // namespace
}  // namespace weft::profiler
