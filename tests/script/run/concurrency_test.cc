// Many threads, many tasks: what the sanitizers are to watch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/interop.h"
#include "script/archive/make_archive.h"
#include "weft/error.h"
#include "weft/jit.h"

namespace weft::jit {
namespace {

using ::testing::HasSubstr;

constexpr const char* kCode = R"(class Net(Module):
  __parameters__ = ["weight", ]
  __buffers__ = []
  weight : Tensor
  inner : __torch__.Inner
  training : bool
  def forward(self: __torch__.Net,
    x: Tensor,
    n: int) -> Tensor:
    y = x
    for i in range(n):
      y = torch.add(y, (self.inner).forward(self.weight, i, ))
    return y
class Inner(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Inner,
    x: Tensor,
    i: int) -> Tensor:
    return torch.mul(x, i)
def square(n: int) -> int:
  total = 0
  for i in range(n):
    total = total + n
  return total
def storm(tasks: int) -> int:
  futures = annotate(List[Future[int]], [])
  for i in range(tasks):
    futures.append(torch.jit.fork(__torch__.square, i))
  total = 0
  for i in range(tasks):
    total = total + torch.jit.wait(futures[i])
  return total
def chain(n: int) -> int:
  if n == 0:
    result = 0
  else:
    result = torch.jit.wait(torch.jit.fork(__torch__.chain, n - 1)) + 1
  return result
def fails(n: int) -> int:
  if n == 0:
    raise ValueError("the innermost")
  return torch.jit.wait(torch.jit.fork(__torch__.fails, n - 1)) + 1
def abandon(tasks: int) -> int:
  for i in range(tasks):
    future = torch.jit.fork(__torch__.square, 1000)
  return tasks
def abandon_failing(tasks: int) -> int:
  for i in range(tasks):
    future = torch.jit.fork(__torch__.fails, 2)
  return tasks
)";

std::string net_archive() {
  return archive_of({{"code/__torch__.py", kCode}}, {}, [](CompilationUnit& unit) {
    const IValue inner = object_of(unit, "__torch__.Inner", {{"training", false}});
    return object_of(unit, "__torch__.Net",
                     {{"weight", Tensor::full({8}, 1.0, DType::F32)}, {"inner", inner}, {"training", false}});
  });
}

// The program's functions; they go with it.
class Program {
 public:
  Program()
      : unit_(import_archive(ArchiveReader::from_bytes(archive_of({{"code/__torch__.py", kCode}})), {})) {}
  int64_t operator()(const std::string& function, int64_t argument) const {
    return (*unit_->find_function("__torch__." + function))({argument}).to_int();
  }

 private:
  std::shared_ptr<CompilationUnit> unit_;
};

void on_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back(body, t);
  for (std::thread& thread : threads) thread.join();
}

double first_element(const IValue& value) { return value.to_tensor().item().to_double(); }

TEST(Concurrency, ManyThreadsRunOneModule) {
  const Module module = load_bytes(net_archive());
  std::atomic<int> right = 0;
  on_threads(8, [&](int t) {
    for (int i = 0; i < 10; ++i) {
      const IValue y = module.forward({Tensor::full({8}, static_cast<double>(t), DType::F32), 5});
      right += first_element(y.to_tensor().as_strided({}, {}, 3)) == t + 10;
    }
  });
  EXPECT_EQ(right, 80);
}

TEST(Concurrency, ManyThreadsLoadOneArchive) {
  const std::string bytes = net_archive();
  std::atomic<int> right = 0;
  on_threads(8, [&](int) {
    const Module module = load_bytes(bytes);
    right +=
        module.state_dict().size() == 1 && !module.code().empty() && module.clone().state_dict().size() == 1;
  });
  EXPECT_EQ(right, 8);
}

// Bodies are compiled when they are first called: here by all threads at once.
TEST(Concurrency, ManyThreadsCompileOneProgram) {
  for (int round = 0; round < 5; ++round) {
    const Program program;
    std::atomic<int> right = 0;
    on_threads(8, [&](int t) {
      right += t % 2 ? program("storm", 5) == 0 + 1 + 4 + 9 + 16 : program("chain", 5) == 5;
    });
    EXPECT_EQ(right, 8);
  }
}

TEST(Concurrency, StormsOfTasks) {
  const Program program;
  std::atomic<int> right = 0;
  on_threads(4, [&](int) { right += program("storm", 200) == 199 * 200 * 399 / 6; });
  EXPECT_EQ(right, 4);
}

TEST(Concurrency, ForksNestDeeperThanThePool) {
  const Program program;
  std::atomic<int> right = 0;
  on_threads(4, [&](int) { right += program("chain", 100) == 100; });
  EXPECT_EQ(right, 4);
}

TEST(Concurrency, ErrorsTravelThroughChainsOfFutures) {
  const Program program;
  std::atomic<int> right = 0;
  on_threads(4, [&](int) {
    for (int i = 0; i < 10; ++i) {
      try {
        program("fails", 20);
      } catch (const Error& error) {
        right += std::string(error.what()).starts_with("ValueError: the innermost\nTraceback of TorchScript");
      }
    }
  });
  EXPECT_EQ(right, 40);
}

TEST(Concurrency, ProgramsMayGoWhileTheirTasksRun) {
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(Program()("abandon", 20), 20);
    EXPECT_EQ(Program()("abandon_failing", 20), 20);
  }
}

TEST(Concurrency, ModulesMayGoWhileThreadsRunThem) {
  for (int round = 0; round < 5; ++round) {
    auto module = std::make_unique<Module>(load_bytes(net_archive()));
    std::vector<std::thread> threads;
    std::atomic<int> right = 0;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&right, copy = *module] {
        right += copy.forward({Tensor::full({8}, 0.0, DType::F32), 20}).to_tensor().numel() == 8;
      });
    }
    module.reset();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(right, 4);
  }
}

TEST(Concurrency, CallbacksOfFuturesRunOnce) {
  std::atomic<int> called = 0;
  for (int round = 0; round < 50; ++round) {
    const auto future = std::make_shared<Future>(Type::integer());
    on_threads(4, [&](int t) {
      if (t == 0) return future->set_value(round);
      future->then([&](Future& done) { called += done.wait().to_int() == round; });
      EXPECT_EQ(future->wait().to_int(), round);
    });
  }
  EXPECT_EQ(called, 150);
}

}  // namespace
}  // namespace weft::jit
