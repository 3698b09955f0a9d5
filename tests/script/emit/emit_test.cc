// The type checker: graphs it makes, programs run, and what it says of wrong ones.
#include "script/emit/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "script/program/compilation_unit.h"
#include "script/syntax/parser.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

using testing::HasSubstr;

SourcePtr source_of(std::string text) {
  auto source = std::make_shared<Source>();
  source->text = std::move(text);
  source->file = "test.py";
  return source;
}

// The last function of a source.
std::shared_ptr<Function> compile(CompilationUnit& unit, const std::string& text) {
  const auto body = std::make_shared<Body>(parse_source(source_of(text)));
  const auto* def = body->back()->as<Stmt::Def>();
  return define_function(unit, def->function.name, std::shared_ptr<const FunctionDef>(body, &def->function),
                         builtin_resolver());
}

std::string graph_of(const std::string& text) {
  const auto unit = CompilationUnit::create();
  const auto function = compile(*unit, text);
  ir::verify(function->graph());
  return function->graph().str();
}

std::string message_of(const std::string& text) {
  const auto unit = CompilationUnit::create();
  try {
    compile(*unit, text)->graph();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

IValue run(const std::string& text, std::vector<IValue> arguments) {
  const auto unit = CompilationUnit::create();
  const auto function = compile(*unit, text);
  ir::verify(function->graph());
  return (*function)(std::move(arguments));
}

TEST(Emit, LengthAndSlicesOfStrings) {
  EXPECT_EQ(run("def f(s: str) -> int:\n    return len(s) * 10 + len('abcd')\n", {"xyz"}).to_int(), 34);
  EXPECT_EQ(run("def f(s: str) -> str:\n    return 'abcd'[1:] + s[:2]\n", {"xyz"}).to_string(), "bcdxy");
}

TEST(Emit, ConditionThatIsTrueOnlyAtFirst) {
  const char* const text = R"(
def f(n: int) -> int:
    total = 0
    again = True
    while again:
        total = total + 1
        again = total < n
    return total
)";
  EXPECT_EQ(run(text, {5}).to_int(), 5);
}

TEST(Emit, EarlyReturn) {
  const char* const text = R"(
def f(n: int) -> int:
    for i in range(n):
        if i * i > 10:
            return i
        if i > 100:
            continue
    return -1
)";
  EXPECT_EQ(run(text, {2}).to_int(), -1);
  EXPECT_EQ(run(text, {20}).to_int(), 4);
}

TEST(Emit, BreakAndContinue) {
  const char* const text = R"(
def f(n: int) -> int:
    total = 0
    i = 0
    while i < n:
        i += 1
        if i % 2 == 0:
            continue
        if i > 7:
            total += 100
            break
        total += i
    return total
)";
  EXPECT_EQ(run(text, {5}).to_int(), 1 + 3 + 5);
  EXPECT_EQ(run(text, {50}).to_int(), 1 + 3 + 5 + 7 + 100);
}

TEST(Emit, ReturnFromNestedLoops) {
  const char* const text = R"(
def f(n: int) -> int:
    count = 0
    for i in range(n):
        for j in range(n):
            if i + j == 6:
                return count
            if j > i:
                break
            count += 1
    return -count
)";
  EXPECT_EQ(run(text, {2}).to_int(), -3);
  EXPECT_EQ(run(text, {10}).to_int(), 9);
}

TEST(Emit, LoopCarriesWhatIsAssigned) {
  EXPECT_EQ(
      graph_of("def f(n: int) -> int:\n    x = 1\n    for i in range(n):\n        x = x * 2\n    return x\n"),
      R"(graph f(%n: int) {
  %1: bool = prim::Constant() [True]  # test.py:3
  %2: int = prim::Constant() [1]  # test.py:3
  %8: int = loop(%n, %1, %2) (%3: int, %4: int) {  # test.py:3
    %5: int = prim::Constant() [2]  # test.py:4
    %6: int = aten::mul(%4, %5)  # test.py:4
    %7: bool = prim::Constant() [True]  # test.py:3
    yield %7, %6
  }
  return %8
}
)");
}

TEST(Emit, NamesWhatIsWrong) {
  EXPECT_THAT(message_of("def f(n: int):\n    return missing + n\n"), HasSubstr("undefined name 'missing'"));
  EXPECT_THAT(message_of("def f(n: int) -> str:\n    return n\n"),
              HasSubstr("declared to return str but returns int"));
  EXPECT_THAT(message_of("def f(n: int) -> int:\n    if n > 0:\n        return 1\n"),
              HasSubstr("not every path ends in a return"));
}

}  // namespace
}  // namespace weft::jit
