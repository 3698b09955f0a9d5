// Functions run by compiled stretches: what is compiled, when, and that it changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "script/emit/emit.h"
#include "script/program/compilation_unit.h"
#include "script/program/function.h"
#include "script/run/code.h"
#include "script/run/stretch.h"
#include "script/syntax/parser.h"
#include "weft/error.h"
#include "weft/jit.h"

namespace weft::jit {
namespace {

using testing::HasSubstr;

struct Script {
  std::shared_ptr<CompilationUnit> unit = CompilationUnit::create();
  std::vector<std::shared_ptr<Function>> functions;

  explicit Script(const std::string& text) {
    auto source = std::make_shared<Source>();
    source->text = text;
    source->file = "test.py";
    const auto body = std::make_shared<Body>(parse_source(source));
    for (const auto& statement : *body) {
      const auto* def = statement->as<Stmt::Def>();
      functions.push_back(define_function(*unit, def->function.name,
                                          std::shared_ptr<const FunctionDef>(body, &def->function),
                                          builtin_resolver()));
    }
  }
  IValue operator()(std::vector<IValue> arguments) const { return (*functions.back())(std::move(arguments)); }

  std::vector<std::shared_ptr<const Stretch>> stretches() const {
    std::vector<std::shared_ptr<const Stretch>> found;
    const auto& code = functions.back()->impl().optimized;
    if (!code) return found;
    for (const Instruction& instruction : code->instructions) {
      if (instruction.op == OpCode::RunStretch)
        found.push_back(static_cast<const StretchPayload*>(instruction.payload)->stretch);
    }
    return found;
  }
  size_t specializations() const {
    size_t count = 0;
    for (const auto& stretch : stretches()) count += stretch->num_specializations();
    return count;
  }
};

Tensor ramp(Shape shape) {
  Tensor x = Tensor::empty(shape, DType::F32);
  for (int64_t i = 0; i < x.numel(); ++i) x.data_as<float>()[i] = static_cast<float>(i % 17) / 8 - 1;
  return x;
}
std::vector<float> values(const IValue& value) {
  const Tensor dense = value.to_tensor().contiguous();
  return {dense.data_as<float>(), dense.data_as<float>() + dense.numel()};
}
// As interpreted; the function is called until it has been compiled, and must go on giving that.
void expect_same(const Script& script, const std::vector<IValue>& arguments, size_t specializations) {
  set_profiling_executor(false);
  const std::vector<float> expected = values(script(arguments));
  set_profiling_executor(true);
  for (int call = 0; call < 5; ++call) EXPECT_EQ(values(script(arguments)), expected) << "call " << call;
  EXPECT_EQ(script.specializations(), specializations);
}

const char* const kPointwise = R"(
def f(x: Tensor, y: Tensor) -> Tensor:
    z = torch.relu(x + y) * 2.0
    return z * torch.sigmoid(z) - y
)";

TEST(Executor, CompilesAfterAProfilingRun) {
  const Script script(kPointwise);
  script({ramp({4, 8}), ramp({8})});
  EXPECT_EQ(script.functions[0]->impl().optimized, nullptr);
  expect_same(script, {ramp({4, 8}), ramp({8})}, 1);
  EXPECT_EQ(script.stretches().size(), 1u);
}

TEST(Executor, SizesBecomeDynamicAndDtypesAreGuarded) {
  const Script script(kPointwise);
  for (int64_t n = 3; n < 12; ++n) expect_same(script, {ramp({n, 8}), ramp({8})}, n == 3 ? 1 : 2);
  const Tensor wide = ramp({4, 8}).to(DType::F64);
  for (int call = 0; call < 4; ++call) EXPECT_EQ(script({wide, wide}).to_tensor().dtype(), DType::F64);
  EXPECT_EQ(script.specializations(), 3u);
}

TEST(Executor, NumbersAreGuardedByTheirValues) {
  const Script script(R"(
def f(x: Tensor, n: int, flag: bool) -> Tensor:
    if flag:
        y = x * n + 1.0
    else:
        y = x - n
    return torch.relu(y) + x
)");
  expect_same(script, {ramp({5}), 2, true}, 1);
  expect_same(script, {ramp({5}), 3, true}, 2);
  expect_same(script, {ramp({5}), 2, false}, 3);
  expect_same(script, {ramp({5}), 2, true}, 3);
}

TEST(Executor, ACounterIsNotWorthCompiling) {
  const Script script(R"(
def f(x: Tensor, n: int) -> Tensor:
    y = x
    for i in range(n):
        y = torch.relu(y + i) - x
    return y
)");
  expect_same(script, {ramp({5}), 40}, 0);
}

TEST(Executor, ViewsAndSingleProductsAreNotWorthCompiling) {
  const Script views("def f(x: Tensor) -> Tensor:\n    return x.view(-1).unsqueeze(0).t().select(1, 0)\n");
  expect_same(views, {ramp({5, 2})}, 0);
  const Script products(
      "def f(x: Tensor, y: Tensor) -> Tensor:\n    return torch.matmul(torch.matmul(x, y), y)\n");
  expect_same(products, {ramp({5, 5}), ramp({5, 5})}, 0);
}

// Traces compute sizes on tensors of one element; compiled code knows them as integers.
TEST(Executor, SizesThatTracesComputeOnTensors) {
  const Script script(R"(
def f(x: Tensor) -> Tensor:
    n = ops.prim.NumToTensor(torch.size(x, 0))
    rows = torch.floor_divide(torch.mul(torch.add(n, 2), 4), 3)
    y = torch.tanh(x + 1.0) * 2.0
    halves = torch.reshape(y, [int(torch.div(rows, 2, rounding_mode="trunc")), -1])
    return torch.exp(torch.reshape(halves, [int(rows), -1]) - 1.0) * 3.0
)");
  expect_same(script, {ramp({4, 6})}, 1);
}

// Also those that integers do not do, beside what cuts the graph, and where one is a result.
TEST(Executor, NumbersThatTracesComputeOnTensors) {
  const Script script(R"(
def f(x: Tensor, w: Tensor) -> Tensor:
    n = ops.prim.NumToTensor(torch.size(x, 1))
    scale = torch.pow(torch.floor_divide(n, 2), -0.5)
    missing = int(torch.remainder(torch.rsub(torch.remainder(n, 4), 4), 4))
    y = torch.tanh(x * scale) + 1.0
    z = torch.constant_pad_nd(y, [0, missing], float(scale)) * w
    read = float(torch.item(torch.amax(z)))
    return torch.exp(torch.reshape(z, [-1, int(torch.floor_divide(torch.add(n, 2), 2))]) - read) * n
)");
  expect_same(script, {ramp({4, 6}), ramp({4, 8})}, 2);
  // The numbers of another shape are others.
  expect_same(script, {ramp({6, 4}), ramp({6, 4})}, 4);
}

TEST(Executor, NumbersThatAreWrittenTo) {
  const Script script(R"(
def f(x: Tensor) -> Tensor:
    n = ops.prim.NumToTensor(torch.size(x, 0))
    n.mul_(2)
    y = torch.tanh(x + 1.0) * 2.0
    return torch.reshape(y, [int(n), -1]) - 1.0
)");
  expect_same(script, {ramp({3, 6})}, 1);
}

TEST(Executor, IndicesOfIntegersAreCompiled) {
  const Script script(R"(
def f(x: Tensor) -> Tensor:
    last = torch.argmax(x, 1)
    rows = torch.arange(x.size(0))
    picked = torch.index(torch.tanh(x) * 2.0, annotate(List[Optional[Tensor]], [rows, torch.remainder(last, 2)]))
    once = torch.repeat_interleave(picked, ops.prim.NumToTensor(torch.size(x, 0)) // torch.size(x, 0), 0)
    twice = torch.repeat_interleave(once + torch.tensor([1.0, 2.0]).sum(), 2, 0)
    put = torch.index_put(twice, annotate(List[Optional[Tensor]], [rows]), torch.tensor(3.0))
    return torch.exp(put) - 1.0
)");
  expect_same(script, {ramp({4, 6})}, 1);
  expect_same(script, {ramp({3, 6})}, 2);
}

// Their results' shapes follow from elements: no compiled stretch takes them.
TEST(Executor, MasksAreInterpreted) {
  const Script script(R"(
def f(x: Tensor, at: Tensor) -> Tensor:
    y = torch.tanh(x) * 2.0
    z = torch.index(y, annotate(List[Optional[Tensor]], [torch.gt(y, 0.0)])) + torch.tensor(y[0, 0])
    w = torch.index(y, annotate(List[Optional[Tensor]], [at])) * 2.0
    return torch.exp(w) - torch.amax(z)
)");
  const Tensor mask = Tensor::of(std::vector<int64_t>{0, 1, 1, 0}).to(DType::Bool);
  expect_same(script, {ramp({4, 6}), mask}, 3);
  expect_same(script, {ramp({4, 6}), Tensor::of(std::vector<int64_t>{3, 1})}, 3);
}

// Of what indexes the dtype is not known: integers are compiled with what lies around them, and for a mask what lies
// before and behind it.
TEST(Executor, WhatIndexesMayBeAMask) {
  const char* const text = R"(
def f(x: Tensor, at: Tensor) -> Tensor:
    y = torch.tanh(x) * 2.0
    w = torch.index(y, annotate(List[Optional[Tensor]], [at])) * 2.0
    return torch.exp(w) - torch.amax(w)
)";
  const Tensor mask = Tensor::of(std::vector<int64_t>{0, 1, 1, 0}).to(DType::Bool);
  const Tensor rows = Tensor::of(std::vector<int64_t>{3, 1});
  const Script integers_first(text);
  expect_same(integers_first, {ramp({4, 6}), rows}, 1);
  expect_same(integers_first, {ramp({4, 6}), mask}, 3);
  expect_same(integers_first, {ramp({4, 6}), rows}, 3);
  const Script mask_first(text);
  expect_same(mask_first, {ramp({4, 6}), mask}, 2);
  expect_same(mask_first, {ramp({4, 6}), rows}, 2);
  EXPECT_THROW(integers_first({ramp({4, 6}), Tensor::of(std::vector<int64_t>{4})}), Error);
}

// Every call makes its own: who writes to one changes no later one.
TEST(Executor, ResultsThatDependOnNoInput) {
  const Script script(R"(
def f(x: Tensor) -> Tuple[Tensor, Tensor, List[Tensor]]:
    mask = torch.zeros([2, 3])
    mask.select(0, 1).fill_(5.0)
    return torch.relu(x) * 2.0 + 1.0, mask, [torch.full([2], 7.0), x * 2.0]
)");
  for (int call = 0; call < 5; ++call) {
    const IValue result = script({ramp({4})});
    const Tensor mask = result.elements()[1].to_tensor();
    EXPECT_EQ(values(mask), (std::vector<float>{0, 0, 0, 5, 5, 5}));
    EXPECT_EQ(values(result.elements()[2].elements()[0]), (std::vector<float>{7, 7}));
    EXPECT_EQ(values(result.elements()[2].elements()[1]), (std::vector<float>{-2, -1.75, -1.5, -1.25}));
    mask.copy_from(ramp({2, 3}));
    result.elements()[2].elements()[0].to_tensor().copy_from(ramp({2}));
  }
  EXPECT_EQ(script.specializations(), 1u);
}

// The strides that a compiled stretch gives may not be those that a view needs.
TEST(Executor, ViewsOfWhatStretchesGive) {
  const Script script(R"(
def f(x: Tensor, w: Tensor) -> Tensor:
    y = torch.contiguous(torch.transpose(torch.tanh(torch.matmul(x, w) + 1.0), 0, 1))
    part = torch.contiguous(torch.slice(torch.exp(y) * 2.0, 1, 0, 2))
    print_free = float(torch.item(torch.sum(part)))
    return torch.view(part, [-1]) * print_free
)");
  expect_same(script, {ramp({6, 4}), ramp({4, 4})}, 1);
}

TEST(Executor, LoopsKeepTheirStretches) {
  const Script script(R"(
def f(x: Tensor, w: Tensor, n: int) -> Tensor:
    y = x
    for i in range(n):
        y = torch.tanh(torch.matmul(y, w) + x)
    return y * 2.0
)");
  expect_same(script, {ramp({5, 5}), ramp({5, 5}), 3}, 1);
}

TEST(Executor, UpdatesOfInputsAreSeenOutside) {
  const Script script(R"(
def f(x: Tensor, y: Tensor) -> Tensor:
    x.add_(y)
    z = x * 2.0
    z.mul_(y)
    return z + x
)");
  const Tensor y = ramp({6});
  for (int call = 0; call < 4; ++call) {
    const Tensor x = ramp({6});
    set_profiling_executor(false);
    const Tensor same = ramp({6});
    const std::vector<float> expected = values(script({same, y}));
    set_profiling_executor(true);
    EXPECT_EQ(values(script({x, y})), expected);
    EXPECT_EQ(values(x), values(same));
  }
  EXPECT_EQ(script.specializations(), 1u);
  const Tensor both = ramp({6}), apart = ramp({6});  // an update that the other operand sees
  const std::vector<float> compiled = values(script({both, both}));
  set_profiling_executor(false);
  EXPECT_EQ(compiled, values(script({apart, apart})));
  set_profiling_executor(true);
}

TEST(Executor, EffectsStayInOrder) {
  const Script script(R"(
def f(x: Tensor, out: List[Tensor]) -> Tensor:
    y = torch.relu(x) + 1.0
    out.append(y)
    z = y * 2.0 - x
    out.append(z)
    return z
)");
  for (int call = 0; call < 4; ++call) {
    IValue list = IValue::list(Type::tensor());
    script({ramp({7}), list});
    ASSERT_EQ(list.elements().size(), 2u);
    EXPECT_EQ(values(list.elements()[1])[1], values(list.elements()[0])[1] * 2.0f - values(ramp({7}))[1]);
  }
  EXPECT_EQ(script.stretches().size(), 2u);
}

TEST(Executor, RandomnessAndDataDependenceAreInterpreted) {
  const Script script(R"(
def f(x: Tensor) -> Tensor:
    y = torch.relu(x) + torch.sigmoid(x)
    if bool(y.sum() > 0):
        y = y * 2.0 - 1.0
    return y + torch.rand_like(y) * 0.0 + torch.nonzero(x).sum() * 0
)");
  expect_same(script, {ramp({9})}, 4);
  const Script random("def f(x: Tensor) -> Tensor:\n    return torch.relu(x) + torch.rand([4]) * 2.0\n");
  std::vector<float> last;
  for (int call = 0; call < 5; ++call) {
    const std::vector<float> now = values(random({ramp({4})}));
    EXPECT_NE(now, last);
    last = now;
  }
}

TEST(Executor, ListsAndTuplesOfResultsAreMadeAnew) {
  const Script script(R"(
def f(x: Tensor) -> List[Tensor]:
    parts = torch.chunk(torch.relu(x) * 2.0, 2)
    return [parts[0] + 1.0, parts[1] - x.size(0)]
)");
  IValue last = script({ramp({6})});
  for (int call = 0; call < 3; ++call) {
    const IValue now = script({ramp({6})});
    EXPECT_FALSE(now.is_same(last));
    EXPECT_EQ(values(now.elements()[1]), values(last.elements()[1]));
    last = now;
  }
}

TEST(Executor, ErrorsKeepTheStack) {
  const Script script(R"(
def f(x: Tensor, y: Tensor) -> Tensor:
    z = torch.relu(x) + 1.0
    return torch.matmul(z, y) * 2.0
)");
  script({ramp({2, 3}), ramp({3, 2})});
  script({ramp({2, 3}), ramp({3, 2})});
  for (int call = 0; call < 4; ++call) {
    try {
      script({ramp({2, 3}), ramp({4, 2})});
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("File \"test.py\", line 4, in f"));
    }
  }
  expect_same(script, {ramp({2, 3}), ramp({3, 2})}, 1);
}

TEST(Executor, EightThreads) {
  const Script script(kPointwise);
  set_profiling_executor(false);
  const std::vector<float> expected = values(script({ramp({16, 8}), ramp({8})}));
  set_profiling_executor(true);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int call = 0; call < 200; ++call) wrong += values(script({ramp({16, 8}), ramp({8})})) != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(script.specializations(), 1u);
}

}  // namespace
}  // namespace weft::jit
