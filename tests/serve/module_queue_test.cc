#include "serve/module_queue.h"

#include <gmock/gmock.h>

#include <atomic>

#include "script/archive/make_archive.h"
#include "weft/jit.h"

namespace weft::serve {
namespace {

using ::testing::HasSubstr;

// Methods of many kinds: whose rows do not depend on each other, and others.
constexpr const char* kCode = R"(
class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def rows(self: __torch__.M,
    x: Tensor,
    factor: float=2.) -> Tensor:
    return torch.mul(x, factor)
  def several(self: __torch__.M,
    x: Tensor,
    y: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    return (torch.add(x, y), {"left": x, "right": y})
  def total(self: __torch__.M,
    x: Tensor) -> Tensor:
    return torch.sum(x)
  def centered(self: __torch__.M,
    x: Tensor) -> Tensor:
    return torch.sub(x, torch.mean(x, [0], True))
  def transposed(self: __torch__.M,
    x: Tensor) -> Tensor:
    return torch.transpose(x, 0, 1)
  def positive(self: __torch__.M,
    x: Tensor) -> Tensor:
    if bool(torch.lt(torch.min(x), 0)):
      ops.prim.RaiseException("negative", "builtins.ValueError")
    else:
      pass
    return torch.neg(x)
  def only_one(self: __torch__.M,
    x: Tensor) -> Tensor:
    if torch.ne(torch.size(x, 0), 1):
      ops.prim.RaiseException("one row", "builtins.ValueError")
    else:
      pass
    return torch.neg(x)
)";

jit::Module module() {
  return jit::load_bytes(jit::archive_of({{"code/__torch__.py", kCode}}, {}, [](jit::CompilationUnit& unit) {
    return jit::object_of(unit, "__torch__.M", {{"training", false}});
  }));
}

Tensor row(std::vector<float> values, int64_t rows = 1) {
  return Tensor::of(values, {rows, static_cast<int64_t>(values.size()) / rows});
}
std::vector<float> values(const IValue& value) {
  const Tensor x = value.to_tensor().contiguous();
  return {x.data_as<float>(), x.data_as<float>() + x.numel()};
}

class Queue {
 public:
  explicit Queue(const std::string& method, ModuleQueueOptions options = {})
      : queue_(module(), method, options) {}
  // The answers of these calls, which come before the first of them is made.
  std::vector<ModuleAnswer> ask(const std::vector<jit::Keywords>& calls) {
    std::vector<ModuleAnswer> answers(calls.size());
    for (size_t i = 0; i < calls.size(); ++i)
      EXPECT_TRUE(queue_.submit(calls[i], [&, i](ModuleAnswer answer) { answers[i] = std::move(answer); }));
    while (queue_.step()) {
    }
    return answers;
  }
  std::vector<ModuleAnswer> ask(const std::vector<Tensor>& inputs) {
    std::vector<jit::Keywords> calls;
    for (const Tensor& x : inputs) calls.push_back({{"x", x}});
    return ask(calls);
  }
  int64_t figure(const std::string& name) const {
    const std::string text = queue_.metrics(), line = "\n" + name + " ";
    const size_t at = text.find(line);
    return at == text.npos ? -1 : std::stoll(text.substr(at + line.size()));
  }
  ModuleQueue& operator*() { return queue_; }

 private:
  ModuleQueue queue_;
};

TEST(ModuleQueue, JoinsCallsThatAgree) {
  Queue queue("rows");
  for (int round = 0; round < 8; ++round) {
    const int64_t before = queue.figure("weft_calls_total");
    const auto answers = queue.ask({row({1, 2}), row({3, 4, 5, 6}, 2), row({7, 8})});
    EXPECT_EQ(values(answers[0].arrays.at(0).second), (std::vector<float>{2, 4}));
    EXPECT_EQ(values(answers[1].arrays.at(0).second), (std::vector<float>{6, 8, 10, 12}));
    EXPECT_EQ(answers[1].arrays.at(0).second.to_tensor().shape(), (Shape{2, 2}));
    EXPECT_EQ(values(answers[2].arrays.at(0).second), (std::vector<float>{14, 16}));
    // The first are compared with what each call gives alone.
    EXPECT_EQ(queue.figure("weft_calls_total") - before, round < 4 ? 4 : 1) << round;
  }
  EXPECT_EQ(queue.figure("weft_joined_calls_total"), 8);
  EXPECT_EQ(queue.figure("weft_compared_calls_total"), 4);
  EXPECT_EQ(queue.figure("weft_kinds_apart_total"), 0);
}

TEST(ModuleQueue, ComparesNowAndThen) {
  Queue queue("rows");
  for (int round = 0; round < 130; ++round) queue.ask({row({1, 2}), row({3, 4})});
  EXPECT_EQ(queue.figure("weft_compared_calls_total"), 4 + 2);
}

TEST(ModuleQueue, DoesNotJoinWhatDiffers) {
  Queue queue("rows");
  const auto answers = queue.ask({{{"x", row({1, 2})}, {"factor", 2.0}},
                                  {{"x", row({1, 2})}, {"factor", 3.0}},
                                  {{"x", row({1, 2, 3})}, {"factor", 2.0}},
                                  {{"x", row({1, 2}).to(DType::F64)}, {"factor", 2.0}},
                                  {{"x", Tensor::scalar(Scalar(4.0), DType::F32)}, {"factor", 2.0}},
                                  {{"x", row({5, 6})}, {"factor", 2.0}}});
  EXPECT_EQ(queue.figure("weft_joined_calls_total"), 1);  // the first and the last
  EXPECT_EQ(values(answers[1].arrays[0].second), (std::vector<float>{3, 6}));
  EXPECT_EQ(values(answers[2].arrays[0].second), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(answers[3].arrays[0].second.to_tensor().dtype(), DType::F64);
  EXPECT_EQ(values(answers[4].arrays[0].second), (std::vector<float>{8}));
  EXPECT_EQ(values(answers[5].arrays[0].second), (std::vector<float>{10, 12}));
}

TEST(ModuleQueue, RowsAreLimited) {
  for (const auto& [most, joined] : {std::pair{1, 0}, {2, 2}, {3, 1}, {4, 1}, {5, 1}}) {
    Queue queue("rows", {.max_rows = most});
    const std::vector<Tensor> inputs(4, row({1, 2}));
    for (const ModuleAnswer& answer : queue.ask(inputs))
      EXPECT_EQ(values(answer.arrays[0].second), (std::vector<float>{2, 4}));
    EXPECT_EQ(queue.figure("weft_joined_calls_total"), joined) << most;
  }
  Queue queue("rows", {.max_rows = 4});
  const auto answers = queue.ask({row({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 5), row({1, 2}), row({1, 2})});
  EXPECT_EQ(answers[0].arrays[0].second.to_tensor().shape(), (Shape{5, 2}));  // more rows than are joined
}

TEST(ModuleQueue, ContainersOfResultsAreSplit) {
  Queue queue("several");
  for (int round = 0; round < 6; ++round) {
    const auto answers = queue.ask(std::vector<jit::Keywords>{
        {{"x", row({1})}, {"y", row({2})}}, {{"x", row({3, 4}, 2)}, {"y", row({5, 6}, 2)}}});
    ASSERT_EQ(answers[1].arrays.size(), 3);
    EXPECT_EQ(answers[1].arrays[1].first, "out.1.left");
    EXPECT_EQ(values(answers[0].arrays[0].second), (std::vector<float>{3}));
    EXPECT_EQ(values(answers[1].arrays[0].second), (std::vector<float>{8, 10}));
    EXPECT_EQ(values(answers[1].arrays[2].second), (std::vector<float>{5, 6}));
  }
  // Another number of rows of the second argument: it is no batch.
  const auto alone = queue.ask(std::vector<jit::Keywords>{{{"x", row({1, 2}, 2)}, {"y", row({2})}},
                                                          {{"x", row({1, 3}, 2)}, {"y", row({2})}}});
  EXPECT_EQ(values(alone[1].arrays[0].second), (std::vector<float>{3, 5}));
}

// Right answers for modules whose results have no rows, or whose rows depend on each other; and not joined
// again.
TEST(ModuleQueue, ModulesThatCannotBeJoined) {
  for (const std::string method : {"total", "centered", "transposed", "only_one"}) {
    Queue queue(method);
    Queue alone(method, {.max_rows = 1});
    for (int round = 0; round < 3; ++round) {
      const std::vector<Tensor> inputs{row({1, 2}), row({3, 5}), row({8, 13})};
      const auto answers = queue.ask(inputs), expected = alone.ask(inputs);
      for (size_t i = 0; i < inputs.size(); ++i) {
        EXPECT_EQ(answers[i].error, "");
        EXPECT_EQ(values(answers[i].arrays[0].second), values(expected[i].arrays[0].second)) << method;
      }
    }
    EXPECT_EQ(queue.figure("weft_joined_calls_total"), 1) << method;
    EXPECT_EQ(queue.figure("weft_kinds_apart_total"), 1) << method;
  }
}

// Members that are all the same prove nothing: what `centered` gives for equal rows is the same joined or
// not.
TEST(ModuleQueue, EqualMembersProveNothing) {
  Queue queue("centered");
  for (int round = 0; round < 10; ++round) queue.ask({row({1, 2}), row({1, 2})});
  EXPECT_EQ(queue.figure("weft_compared_calls_total"), 10);
  const auto answers = queue.ask({row({1, 2}), row({3, 4})});
  EXPECT_EQ(values(answers[0].arrays[0].second), (std::vector<float>{0, 0}));
  EXPECT_EQ(queue.figure("weft_kinds_apart_total"), 1);
}

TEST(ModuleQueue, OneMemberRaises) {
  Queue queue("positive");
  for (int round = 0; round < 8; ++round) {
    const auto answers = queue.ask({row({1, 2}), row({-1, 2}), row({5, 6})});
    EXPECT_EQ(values(answers[0].arrays.at(0).second), (std::vector<float>{-1, -2}));
    EXPECT_THAT(answers[1].error, HasSubstr("negative"));
    EXPECT_EQ(values(answers[2].arrays.at(0).second), (std::vector<float>{-5, -6}));
    for (const ModuleAnswer& answer : queue.ask({row({1, 2}), row({3, 4})})) EXPECT_EQ(answer.error, "");
  }
  EXPECT_EQ(queue.figure("weft_kinds_apart_total"), 0);  // others are joined as before
  EXPECT_EQ(queue.figure("weft_joined_calls_total"), 16);
}

TEST(ModuleQueue, LimitsAndCancelledCalls) {
  Queue queue("rows", {.max_queue = 2});
  int told = 0;
  const auto count = [&](const ModuleAnswer&) { ++told; };
  const auto first = (*queue).submit({{"x", row({1, 2})}}, count);
  EXPECT_TRUE(first && (*queue).submit({{"x", row({1, 2})}}, count));
  EXPECT_FALSE((*queue).submit({{"x", row({1, 2})}}, count));
  EXPECT_EQ(queue.figure("weft_requests_waiting"), 2);
  (*queue).cancel(*first);
  (*queue).cancel(*first);
  EXPECT_TRUE((*queue).submit({{"x", row({1, 2})}}, count));
  while ((*queue).step()) {
  }
  EXPECT_EQ(told, 2);
  EXPECT_EQ(queue.figure("weft_waiting_bytes"), 0);
  EXPECT_EQ(queue.figure("weft_requests_total{outcome=\"refused\"}"), 1);
  EXPECT_EQ(queue.figure("weft_requests_total{outcome=\"cancelled\"}"), 1);
  Queue small("rows", {.max_bytes = 1000});
  EXPECT_FALSE((*small).submit({{"x", Tensor::full({1, 300}, Scalar(1.0), DType::F32)}}, count));
  EXPECT_TRUE((*small).submit({{"x", Tensor::full({1, 100}, Scalar(1.0), DType::F32)}}, count));
  EXPECT_THROW(ModuleQueue(module(), "absent"), Error);
}

TEST(ModuleQueue, AThreadWaitsForMembers) {
  Queue queue("rows", {.max_rows = 4, .window_seconds = 60});
  std::atomic<int> told = 0;
  std::mutex mutex;
  std::condition_variable changed;
  (*queue).start();
  for (int i = 0; i < 4; ++i)  // the fourth fills the call, long before the window is over
    (*queue).submit({{"x", row({1, 2})}}, [&](const ModuleAnswer&) {
      const std::scoped_lock lock(mutex);
      ++told;
      changed.notify_all();
    });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return told == 4; });
  EXPECT_EQ(queue.figure("weft_joined_calls_total"), 1);
  (*queue).submit({{"x", row({1, 2})}}, [](const ModuleAnswer&) { FAIL() << "stopped before"; });
  (*queue).stop();
  EXPECT_EQ(queue.figure("weft_requests_waiting"), 0);
}

}  // namespace
}  // namespace weft::serve
