#include "script/syntax/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/error.h"

namespace weft::jit {
namespace {

using testing::HasSubstr;

SourcePtr source(std::string text) {
  return std::make_shared<const Source>(Source{std::move(text), "model.py", 1, 0});
}
std::string again(const std::string& text) { return unparse(parse_source(source(text))); }
std::string expression(const std::string& text) { return unparse(*parse_expression(source(text))); }

std::string syntax_error_of(const std::string& text) {
  try {
    parse_source(source(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Value) << text;
    return error.what();
  }
  ADD_FAILURE() << "no error for " << text;
  return "";
}

TEST(Parser, Precedence) {
  EXPECT_EQ(expression("a + b * c"), "a + (b * c)");
  EXPECT_EQ(expression("-x ** 2"), expression("-(x ** 2)"));
  EXPECT_EQ(expression("2 ** -1"), "(2) ** (-(1))");
  EXPECT_EQ(expression("not a == b"), "not (a == b)");
  EXPECT_EQ(expression("a or b and c"), "a or (b and c)");
  EXPECT_EQ(expression("a if b else c if d else e"), "a if b else (c if d else e)");
  EXPECT_EQ(expression("a < b <= c not in d"), "a < b <= c not in d");
  EXPECT_EQ(expression("a - b - c"), "(a - b) - c");
  EXPECT_EQ(expression("a | b ^ c & d << 1"), "a | (b ^ (c & (d << (1))))");
}

TEST(Parser, Literals) {
  EXPECT_EQ(expression("0x_ff"), "255");
  EXPECT_EQ(expression("1_000"), "1000");
  EXPECT_EQ(expression("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(expression("1e3"), "1000.0");
  EXPECT_EQ(expression("2.5j"), "2.5j");
  EXPECT_EQ(expression("'a' \"b\" r'\\n'"), "'ab\\\\n'");
  EXPECT_EQ(expression("'\\x41\\u00e9\\101\\\\'"), "'A\u00e9A\\\\'");
  EXPECT_EQ(expression("f'{x}: {y!r:>10} {{}} {a[\"k\"]}'"), "f\"{x}: {y!r:>10} {{}} {a['k']}\"");
  EXPECT_EQ(expression("[1, *x, (2,), ()]"), "[1, *x, (2,), ()]");
  EXPECT_EQ(expression("{'a': 1}"), "{'a': 1}");
}

TEST(Parser, SubscriptsAndCalls) {
  EXPECT_EQ(expression("x[1:, ..., None, ::2, a:b:c]"), "x[1:, ..., None, ::2, a:b:c]");
  EXPECT_EQ(expression("x[(a, b)]"), "x[(a, b)]");
  EXPECT_EQ(expression("f(a, *b, c=1, **d)"), "f(a, *b, c=1, **d)");
  EXPECT_EQ(expression("(self).forward(x, )"), "self.forward(x)");
  EXPECT_EQ(expression("[x for x in y if x > 1 if z]"), "[x for x in y if (x > (1)) if z]");
}

TEST(Parser, StatementsParseBackToTheSame) {
  const std::string text = R"(import torch
class M(Module):
  """What it is."""
  __parameters__ = ["weight", ]
  weight : Tensor
  in_features : Final[int] = 2
  @torch.jit.export
  def forward(self: __torch__.M, x: Tensor, n: int=3, *, flag: bool=False) -> Tuple[Tensor, int]:
    a = b = x
    (c, *d), e.f, g[0] = h
    while n > 0: n -= 1
    for i, (j, k) in enumerate(zip(a, b)):
      if i == 1:
        continue
      elif j:
        break
      else:
        pass
    with torch.no_grad() as q, r:
      del x[0], y
    assert n == 0, "bad"
    raise ValueError("no") from e
    def __forked_function():
      return (s).one(x, )
    y: Optional[int] = None
    return x, n; pass
)";
  const std::string once = again(text);
  EXPECT_EQ(again(once), once);
  EXPECT_THAT(
      once,
      HasSubstr(
          "def forward(self: __torch__.M, x: Tensor, n: int=3, *, flag: bool=False) -> Tuple[Tensor, int]:"));
  EXPECT_THAT(once, HasSubstr("((c, *d), e.f, g[0]) = h"));
}

TEST(Parser, TypeComments) {
  EXPECT_THAT(again("def f(x, y):\n    # type: (int, Tensor) -> List[int]\n    z = []  # type: List[int]\n   "
                    " return z\n"),
              HasSubstr("def f(x: int, y: Tensor) -> List[int]:\n  z: List[int] = []"));
  EXPECT_THAT(again("def f(x,  # type: int\n      y  # type: str\n      ):\n    return x\n"),
              HasSubstr("def f(x: int, y: str):"));
  EXPECT_THAT(again("x = 1  # type: ignore\n"), HasSubstr("x = 1\n"));
}

TEST(Parser, FunctionsMayBeIndented) {
  const FunctionDef f = parse_function(
      source("    @torch.jit.export\n    def f(self, x):\n        'Doc.'\n        return x\n"));
  EXPECT_EQ(f.name, "f");
  EXPECT_EQ(f.docstring, "Doc.");
  EXPECT_EQ(f.decorators.size(), 1u);
  EXPECT_EQ(f.body.size(), 1u);
}

TEST(Parser, ErrorsPointAtThePlace) {
  EXPECT_EQ(syntax_error_of("x = 1\ny = lambda z: z\n"),
            "lambda is not part of TorchScript\n  model.py:2:5\n    y = lambda z: z\n        ~~~~~~");
  EXPECT_THAT(syntax_error_of("try:\n  pass\n"), HasSubstr("try is not part of TorchScript"));
  EXPECT_THAT(syntax_error_of("x = {1, 2}\n"), HasSubstr("a set is not part of TorchScript"));
  EXPECT_THAT(syntax_error_of("x = (a for a in b)\n"),
              HasSubstr("a generator expression is not part of TorchScript"));
  EXPECT_THAT(syntax_error_of("if (a := 1): pass\n"), HasSubstr("':=' is not part of TorchScript"));
  EXPECT_THAT(syntax_error_of("f(x) = 1\n"), HasSubstr("cannot assign to this expression"));
  EXPECT_THAT(syntax_error_of("x = (1,\n"), HasSubstr("this bracket is never closed"));
  EXPECT_THAT(syntax_error_of("x = 'a\n"), HasSubstr("this string is never closed"));
  EXPECT_THAT(syntax_error_of("if x:\npass\n"), HasSubstr("expected an indented block"));
  EXPECT_THAT(syntax_error_of("if x:\n    a\n  b\n"), HasSubstr("unindent does not match"));
  EXPECT_THAT(syntax_error_of("x = 99999999999999999999\n"), HasSubstr("does not fit into 64 bits"));
  EXPECT_THAT(syntax_error_of("x = f'{a'\n"), HasSubstr("never closed"));
  EXPECT_THAT(syntax_error_of("x = b'a'\n"), HasSubstr("bytes are not part of TorchScript"));
  EXPECT_THAT(syntax_error_of("x = $\n"), HasSubstr("unexpected character '$'"));
  EXPECT_THAT(
      syntax_error_of(
          "def f(x, y):\n  # type: (int) -> int\n  pass\ndef g(x, y, z):\n  # type: (int) -> int\n  pass\n"),
      HasSubstr("the type comment has 1 types for 3 parameters"));
}

TEST(Parser, DeepNestingIsRefused) {
  for (const char* open : {"(", "[", "{1:", "-", "not ", "f(", "x[", "a if b else "}) {
    std::string text = "x = ";
    for (int i = 0; i < 100000; ++i) text += open;
    EXPECT_ANY_THROW(parse_source(source(text))) << open;
  }
  std::string chain = "x = a";
  for (int i = 0; i < 100000; ++i) chain += ".a";
  EXPECT_THAT(syntax_error_of(chain + "\n"), HasSubstr("in a row"));
  std::string sum = "x = a";
  for (int i = 0; i < 100000; ++i) sum += "+a";
  EXPECT_THAT(syntax_error_of(sum + "\n"),
              HasSubstr("more than 1000 operators, calls and attributes in a row"));
  // Chains in chains: neither is long.
  std::string chains = "x = " + std::string(40, '(') + "a";
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 30; ++j) chains += "+a";
    chains += ")";
  }
  EXPECT_THAT(syntax_error_of(chains + "\n"), HasSubstr("more than 1000 operators"));
  std::string list = "x = [a";  // not deep
  for (int i = 0; i < 5000; ++i) list += ", a + b.c";
  EXPECT_NO_THROW(parse_source(source(list + "]\n")));
}

TEST(Parser, PositionsAreTheUsersFile) {
  const auto piece =
      std::make_shared<const Source>(Source{"def f(x):\n  return lambda: x\n", "user.py", 40, 4});
  try {
    parse_function(piece);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("user.py:41:14"));
  }
}

}  // namespace
}  // namespace weft::jit
