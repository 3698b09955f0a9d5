// Graphs made by hand, run by the interpreter.
#include "script/run/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "script/builtins/builtin.h"
#include "script/builtins/prim.h"
#include "weft/jit.h"

namespace weft::jit {
namespace {

using ir::Block;
using ir::Node;
using ir::Value;
using testing::HasSubstr;

const TypePtr kInt = Type::integer(), kFloat = Type::floating(), kBool = Type::boolean(),
              kString = Type::string();

// Writes a graph node by node, each with its line.
class Builder {
 public:
  Builder() : graph(std::make_unique<ir::Graph>("test")), block(&graph->body()) {}

  Value* param(TypePtr type) { return graph->add_param(*block, script(std::move(type))); }
  Value* constant(IValue value) {
    const TypePtr type = value.type();
    auto payload = std::make_shared<ir::ScriptPayload>();
    payload->value = std::move(value);
    return node(prim::kConstant, {}, {type}, std::move(payload))->output();
  }
  Node* node(const ir::ScriptOp& op, std::vector<Value*> inputs, std::vector<TypePtr> types,
             std::shared_ptr<const ir::ScriptPayload> payload = nullptr) {
    return graph->add_script_node(*block, op, std::move(inputs), std::move(types), std::move(payload),
                                  {file, ++line});
  }
  Value* builtin(const std::string& name, std::vector<Value*> inputs, TypePtr type) {
    const Builtin* found = find_builtin(name);
    EXPECT_NE(found, nullptr) << name;
    return node(*found, std::move(inputs), {std::move(type)})->output();
  }
  void returns(std::vector<Value*> values) {
    for (Value* value : values) graph->add_return(*block, value);
  }
  // In the node's block; back in the outer one afterwards.
  template <class F>
  void in(Block& inner, F body) {
    Block* outer = std::exchange(block, &inner);
    body();
    block = outer;
  }
  Node* loop(Value* trips, Value* condition, std::vector<Value*> carried) {
    std::vector<Value*> inputs = {trips, condition};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    Node* result = graph->add_control(*block, ir::NodeKind::Loop, std::move(inputs), {file, ++line});
    graph->add_param(*result->blocks[0], script(kInt));
    for (Value* value : carried) {
      graph->add_param(*result->blocks[0], value->type);
      graph->add_output(result, value->type);
    }
    return result;
  }
  Node* branch(Value* condition, std::vector<TypePtr> types) {
    Node* result = graph->add_control(*block, ir::NodeKind::If, {condition}, {file, ++line});
    for (TypePtr& type : types) graph->add_output(result, script(std::move(type)));
    return result;
  }
  static ir::Type script(TypePtr type) {
    return {.kind = ir::Type::Kind::Script, .tensor = {}, .script = std::move(type)};
  }

  std::unique_ptr<ir::Graph> graph;
  Block* block;
  std::shared_ptr<const std::string> file = std::make_shared<const std::string>("model.py");
  int line = 0;
};

std::shared_ptr<Function> make_function(const std::string& schema,
                                        std::function<std::unique_ptr<ir::Graph>()> define) {
  Schema parsed = parse_schema(schema);
  const std::string name = parsed.name;
  return std::make_shared<Function>(name, std::move(parsed), std::move(define));
}

IValue run(Builder& builder, std::vector<IValue> arguments) {
  const Code code(*builder.graph, "test");
  return run_code(code, arguments);
}

TEST(Interpreter, AddsNumbers) {
  Builder b;
  Value* x = b.param(kInt);
  b.returns({b.builtin("aten::add.int", {x, b.constant(2)}, kInt)});
  EXPECT_EQ(run(b, {40}).to_int(), 42);
}

TEST(Interpreter, TakesTheBranch) {
  Builder b;
  Value* x = b.param(kInt);
  Value* text = b.param(kString);
  Node* node = b.branch(b.builtin("aten::lt.int", {x, b.constant(0)}, kBool), {kString, kInt});
  b.in(*node->blocks[0], [&] { b.returns({b.constant("negative"), b.builtin("aten::neg.int", {x}, kInt)}); });
  b.in(*node->blocks[1], [&] { b.returns({text, x}); });
  b.returns({node->outputs[0], node->outputs[1]});
  EXPECT_EQ(run(b, {-3, "given"}).repr(), "('negative', 3)");
  EXPECT_EQ(run(b, {4, "given"}).repr(), "('given', 4)");
}

// a, b = b, a + b, n times: the carried values change places.
TEST(Interpreter, CarriedValuesChangeTogether) {
  Builder b;
  Value* n = b.param(kInt);
  Node* loop = b.loop(n, b.constant(true), {b.constant(0), b.constant(1)});
  Block& body = *loop->blocks[0];
  b.in(body, [&] {
    Value* sum = b.builtin("aten::add.int", {body.params[1], body.params[2]}, kInt);
    b.returns({b.constant(true), body.params[2], sum});
  });
  b.returns({loop->outputs[0]});
  EXPECT_EQ(run(b, {10}).to_int(), 55);
  EXPECT_EQ(run(b, {0}).to_int(), 0);
}

TEST(Interpreter, LoopEndsWithItsCondition) {
  Builder b;
  Node* loop = b.loop(b.constant(int64_t{1} << 62), b.constant(true), {b.constant(1)});
  Block& body = *loop->blocks[0];
  b.in(body, [&] {
    Value* twice = b.builtin("aten::mul.int", {body.params[1], b.constant(2)}, kInt);
    b.returns({b.builtin("aten::lt.int", {twice, b.constant(100)}, kBool), twice});
  });
  b.returns({loop->output()});
  EXPECT_EQ(run(b, {}).to_int(), 128);
}

// A list made outside, appended to inside a nested loop, and read after it.
TEST(Interpreter, ListsAreReferences) {
  Builder b;
  Value* n = b.param(kInt);
  const TypePtr list_type = Type::list(kInt);
  Value* list = b.node(prim::kListConstruct, {}, {list_type})->output();
  Node* outer = b.loop(n, b.constant(true), {});
  b.in(*outer->blocks[0], [&] {
    Value* i = outer->blocks[0]->params[0];
    Node* inner = b.loop(i, b.constant(true), {});
    b.in(*inner->blocks[0], [&] {
      b.builtin("aten::append.t", {list, b.builtin("aten::mul.int", {i, inner->blocks[0]->params[0]}, kInt)},
                list_type);
      b.returns({b.constant(true)});
    });
    b.returns({b.constant(true)});
  });
  b.returns({list});
  EXPECT_EQ(run(b, {4}).repr(), "[0, 0, 2, 0, 3, 6]");
}

// The list of the next iteration is computed from this one's, which only the loop refers to.
TEST(Interpreter, CarriedListMovesOn) {
  Builder b;
  const TypePtr list_type = Type::list(kInt);
  Value* list = b.param(list_type);
  Node* loop = b.loop(b.constant(3), b.constant(true), {list});
  Block& body = *loop->blocks[0];
  b.in(body, [&] {
    Value* first = b.builtin("aten::__getitem__.t", {body.params[1], b.constant(-1)}, kInt);
    Value* next = b.node(prim::kListConstruct, {first, body.params[0]}, {list_type})->output();
    b.returns({b.constant(true), next});
  });
  b.returns({loop->output()});
  EXPECT_EQ(run(b, {IValue(std::vector<int64_t>{7})}).repr(), "[1, 2]");
}

TEST(Interpreter, TensorsAreReleasedAtTheirLastUse) {
  Builder b;
  Value* x = b.param(Type::tensor());
  Value* pair = b.node(prim::kTupleConstruct, {x}, {Type::tuple({Type::tensor()})})->output();
  b.node(prim::kTupleUnpack, {pair}, {Type::tensor()});
  b.returns({b.constant(1)});
  const Tensor tensor = Tensor::full({2}, 1.0, DType::F32);
  EXPECT_EQ(run(b, {tensor}).to_int(), 1);
  EXPECT_EQ(tensor.impl().use_count(), 1);
}

TEST(Interpreter, AttributesByTheirSlots) {
  const ClassTypePtr type = ClassType::create("__torch__.Counter", false);
  type->add_attribute({.name = "step", .type = kInt});
  type->add_attribute({.name = "count", .type = kInt});
  Builder b;
  Value* self = b.param(type);
  const auto named = [](const char* name) {
    auto payload = std::make_shared<ir::ScriptPayload>();
    payload->text = name;
    return payload;
  };
  Value* count = b.node(prim::kGetAttr, {self}, {kInt}, named("count"))->output();
  Value* step = b.node(prim::kGetAttr, {self}, {kInt}, named("step"))->output();
  b.node(prim::kSetAttr, {self, b.builtin("aten::add.int", {count, step}, kInt)}, {}, named("count"));
  b.returns({self});
  auto object = std::make_shared<Object>(Object{type, {3, 4}});
  run(b, {object});
  EXPECT_EQ(object->attribute("count").to_int(), 7);
}

TEST(Interpreter, ErrorsCarryTheScriptsStackOnce) {
  const auto inner = make_function("__torch__.inner(int x) -> int", [] {
    Builder b;
    Value* x = b.param(kInt);
    b.returns({b.builtin("aten::floordiv.int", {x, b.constant(0)}, kInt)});
    return std::move(b.graph);
  });
  Builder b;
  b.line = 10;
  Value* x = b.param(kInt);
  auto payload = std::make_shared<ir::ScriptPayload>();
  payload->function = inner;
  b.returns({b.node(prim::kCallFunction, {x}, {kInt}, payload)->output()});
  try {
    run(b, {1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Runtime);
    EXPECT_STREQ(error.what(),
                 "ZeroDivisionError: integer division or modulo by zero\n"
                 "Traceback of TorchScript (most recent call last):\n"
                 "  File \"model.py\", line 11, in test\n"
                 "  File \"model.py\", line 2, in inner");
  }
}

TEST(Interpreter, RaiseNamesTheClass) {
  Builder b;
  auto payload = std::make_shared<ir::ScriptPayload>();
  payload->text = "ValueError";
  b.node(prim::kRaise, {b.constant("no such mode")}, {}, payload);
  b.returns({b.constant(0)});
  try {
    run(b, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Runtime);
    EXPECT_THAT(error.what(), HasSubstr("ValueError: no such mode"));
  }
}

TEST(Interpreter, DeepRecursionIsAnError) {
  std::shared_ptr<Function> self;
  self = make_function("__torch__.endless(int x) -> int", [&self] {
    Builder b;
    Value* x = b.param(kInt);
    auto payload = std::make_shared<ir::ScriptPayload>();
    payload->function = std::shared_ptr<Function>(std::shared_ptr<void>(), self.get());  // no cycle
    b.returns({b.node(prim::kCallFunction, {x}, {kInt}, payload)->output()});
    return std::move(b.graph);
  });
  try {
    (*self)({1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("nested deeper than 1000, in 'endless'"));
  }
}

// fib(n) = fork(fib, n - 1) + fib(n - 2)
std::shared_ptr<Function> make_fib() {
  auto holder = std::make_shared<std::weak_ptr<Function>>();
  auto fib = make_function("__torch__.fib(int n) -> int", [holder] {
    Builder b;
    Value* n = b.param(kInt);
    auto payload = std::make_shared<ir::ScriptPayload>();
    payload->function = std::shared_ptr<Function>(std::shared_ptr<void>(), holder->lock().get());
    Node* node = b.branch(b.builtin("aten::lt.int", {n, b.constant(2)}, kBool), {kInt});
    b.in(*node->blocks[0], [&] { b.returns({n}); });
    b.in(*node->blocks[1], [&] {
      Value* one = b.builtin("aten::sub.int", {n, b.constant(1)}, kInt);
      Value* two = b.builtin("aten::sub.int", {n, b.constant(2)}, kInt);
      Value* future = b.node(prim::kFork, {one}, {Type::future(kInt)}, payload)->output();
      Value* second = b.node(prim::kCallFunction, {two}, {kInt}, payload)->output();
      b.returns({b.builtin("aten::add.int", {b.builtin("aten::wait", {future}, kInt), second}, kInt)});
    });
    b.returns({node->output()});
    return std::move(b.graph);
  });
  *holder = fib;
  return fib;
}

TEST(Interpreter, ForksNest) { EXPECT_EQ((*make_fib())({12}).to_int(), 144); }

TEST(Interpreter, EightThreadsRunOneFunction) {
  const auto fib = make_fib();
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) right += (*fib)({8}).to_int() == 21;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 40);
}

TEST(Interpreter, ErrorsTravelWithTheFuture) {
  const auto failing = make_function("__torch__.failing(int x) -> int", [] {
    Builder b;
    Value* x = b.param(kInt);
    b.returns({b.builtin("aten::remainder.int", {x, b.constant(0)}, kInt)});
    return std::move(b.graph);
  });
  Builder b;
  Value* x = b.param(kInt);
  auto payload = std::make_shared<ir::ScriptPayload>();
  payload->function = failing;
  Value* future = b.node(prim::kFork, {x}, {Type::future(kInt)}, payload)->output();
  b.returns({b.builtin("aten::wait", {future}, kInt)});
  try {
    run(b, {1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("line 2, in failing"));
  }
}

}  // namespace
}  // namespace weft::jit
