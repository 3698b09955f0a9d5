// What jit::load, the compiler and forward() say of wrong archives, wrong source and wrong inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "script/archive/make_archive.h"
#include "script/emit/emit.h"
#include "script/syntax/parser.h"
#include "weft/error.h"
#include "weft/jit.h"

namespace weft::jit {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

template <class F>
std::string error_of(F body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::Internal) << error.what();
    return error.what();
  }
  return "no error";
}

std::string tuple_pickle() { return "\x80\x02)."; }
// An object of the class __torch__.M with the given pickled attributes.
std::string object_pickle(const std::string& state) {
  return "\x80\x02"s
         "c__torch__\nM\n)\x81}(" +
         state + "ub.";
}
std::string text(const std::string& value) {
  return "X" + std::string(1, static_cast<char>(value.size())) + "\0\0\0"s + value;
}

std::string load_error(const Files& entries) {
  return error_of([&] { load_bytes(archive_of(entries)); });
}
// Of an archive with the class M of this body, and an object of it with these attributes.
std::string class_error(const std::string& body, const std::string& state = "") {
  return load_error({{"code/__torch__.py", "class M(Module):\n" + body},
                     {"constants.pkl", tuple_pickle()},
                     {"data.pkl", object_pickle(state)}});
}

// ---- whole archives --------------------------------------------------------------------------------------
TEST(BadArchive, MissingParts) {
  EXPECT_EQ(load_error({{"x", "y"}}), "<bytes>: not a TorchScript archive: it has no data.pkl");
  EXPECT_EQ(load_error({{"data.pkl", tuple_pickle()}}),
            "<bytes>: not a TorchScript archive: it has no constants.pkl; it holds plain values, which "
            "weft.load reads");
  EXPECT_EQ(load_error({{"data.pkl", tuple_pickle()}, {"constants.pkl", "\x80\x02K\1."}}),
            "<bytes>: constants.pkl holds int, expected a tuple");
  EXPECT_EQ(load_error({{"data.pkl", tuple_pickle()}, {"constants.pkl", tuple_pickle()}}),
            "<bytes>: data.pkl holds Tuple[()], expected a module");
  EXPECT_EQ(load_error({{"data.pkl", object_pickle("")}, {"constants.pkl", tuple_pickle()}}),
            "archive '<bytes>': unpickle: GLOBAL at byte 2: the class '__torch__.M' is not in the archive");
  EXPECT_EQ(load_error({{"version", "11\n"}, {"data.pkl", tuple_pickle()}}),
            "archive '<bytes>' has version 11: expected 3 to 10");
}

TEST(BadArchive, EntriesInAnyOrder) {
  ArchiveWriter writer("m");
  const std::string data = object_pickle(text("n") + "K\7"),
                    code = "class M(Module):\n  n : int\n  def forward(self) -> int:\n    return self.n\n";
  writer.add("version", bytes_of("3\n"));
  writer.add("constants.pkl", bytes_of(tuple_pickle()));
  writer.add("code/__torch__.py", bytes_of(code));
  writer.add("data.pkl", bytes_of(data));
  EXPECT_EQ(load_bytes(writer.finish()).forward({}).to_int(), 7);
}

TEST(BadArchive, ObjectsThatAreNotOfTheirClass) {
  EXPECT_EQ(class_error("  n : int\n"),
            "archive '<bytes>': unpickle: BUILD at byte 20: __torch__.M: the attribute 'n' is missing");
  EXPECT_THAT(class_error("  n : int\n", text("n") + text("x")),
              HasSubstr("__torch__.M: the attribute 'n' is a str: expected int"));
  EXPECT_THAT(class_error("  n : __torch__.Other\n"),
              HasSubstr("the archive has no class '__torch__.Other'\n  code/__torch__.py:2:7"));
  EXPECT_THAT(class_error("  n : __torch__.M\n", text("n") + "N"),
              HasSubstr("the attribute 'n' is a None: expected __torch__.M"));
}

TEST(BadArchive, SourceThatIsNone) {
  EXPECT_THAT(class_error("  n : int +\n"),
              HasSubstr("expected an expression, got the end of the line\n  code/__torch__.py:2:12"));
  EXPECT_THAT(class_error("  n : Lst[int]\n"),
              HasSubstr("unknown generic type 'Lst'\n  code/__torch__.py:2:7"));
  EXPECT_THAT(class_error("  __parameters__ = 3\n"),
              HasSubstr("__parameters__ must be a list of names\n  code/__torch__.py:2:3"));
  EXPECT_THAT(class_error("  a.b[0] = int\n"),
              HasSubstr("unknown statement in a class\n  code/__torch__.py:2:3"));
  EXPECT_THAT(class_error("  __annotations__[\"n\"] : int\n"),
              HasSubstr("unknown statement in a class\n  code/__torch__.py:2:3"));
}

// Bodies are compiled when they are called.
TEST(BadArchive, BodiesThatDoNotCompile) {
  const auto call_error = [](const std::string& body) {
    const std::string code =
        "class M(Module):\n  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n    return " + body + "\n";
    const Module module = load_bytes(archive_of(
        {{"code/__torch__.py", code}, {"constants.pkl", tuple_pickle()}, {"data.pkl", object_pickle("")}}));
    return error_of([&] { module.forward({Tensor::full({2}, 1.0, DType::F32)}); });
  };
  EXPECT_THAT(call_error("CONSTANTS.c0"),
              HasSubstr("the archive has no constant 'c0'\n  code/__torch__.py:3:12"));
  EXPECT_THAT(call_error("CONSTANTS.c99999999999999999999"),
              HasSubstr("the archive has no constant 'c99999999999999999999'"));
  EXPECT_THAT(call_error("torch.no_such_operator(x)"),
              HasSubstr("unknown builtin operator aten::no_such_operator\n  code/__torch__.py:3:12"));
  EXPECT_THAT(call_error("ops.mine.nms(x)"), HasSubstr("unknown builtin operator mine::nms"));
  EXPECT_THAT(call_error("__torch__.missing.f(x)"), HasSubstr("__torch__.missing.f"));
  EXPECT_THAT(call_error("self.weight"), HasSubstr("has no attribute 'weight'"));
}

// ---- source ----------------------------------------------------------------------------------------------
std::string compile_error(const std::string& source_text) {
  const auto unit = CompilationUnit::create();
  return error_of([&] {
    const auto source = std::make_shared<const Source>(Source{source_text, "model.py", 1, 0});
    const auto body = std::make_shared<Body>(parse_source(source));
    const auto* def = body->back()->as<Stmt::Def>();
    define_function(*unit, "f", {body, &def->function}, builtin_resolver())->graph();
  });
}
std::string body_error(const std::string& line) {
  return compile_error("def f(x: Tensor, n: int, s: str):\n  " + line + "\n");
}

TEST(BadSource, UnknownOperators) {
  EXPECT_EQ(body_error("return torch.no_such(x)"),
            "unknown builtin operator aten::no_such\n  model.py:2:10\n      return torch.no_such(x)\n        "
            "     ~~~~~~~~~~~~~~~~");
  EXPECT_THAT(body_error("return x.rel()"), HasSubstr("rel"));
  EXPECT_THAT(body_error("return missing(x)"), HasSubstr("undefined name 'missing'\n  model.py:2:10"));
  EXPECT_THAT(body_error("return numpy.sin(x)"), HasSubstr("undefined name 'numpy'"));
}

TEST(BadSource, TypeErrors) {
  EXPECT_THAT(body_error("return n + s"), HasSubstr("model.py:2:10"));
  EXPECT_THAT(body_error("return torch.relu(s)"), HasSubstr("Tensor"));
  EXPECT_THAT(body_error("for i in n:\n    pass"), HasSubstr("model.py:2"));
  EXPECT_THAT(body_error("return n if n > 0 else s"), HasSubstr("the two values must have one type"));
  EXPECT_THAT(compile_error("def f(x: Strng):\n  pass\n"),
              HasSubstr("unknown type 'Strng'\n  model.py:1:10"));
  EXPECT_THAT(compile_error("def f(x: List):\n  pass\n"),
              HasSubstr("the type 'List' needs its element types, as in List[int]"));
  EXPECT_THAT(compile_error("def f(x: Dict[int]):\n  pass\n"), HasSubstr("Dict[…] takes 2 types, got 1"));
  EXPECT_THAT(compile_error("def f(x: List[int]):\n  x.append(None)\n"),
              HasSubstr("argument 'self': expected List[Optional[int]], got List[int]"));
  EXPECT_THAT(compile_error("def f(x: Dict[str, int]):\n  x['a'] = None\n"),
              HasSubstr("argument 'l': expected Dict[str, Optional[int]], got Dict[str, int]"));
  EXPECT_THAT(compile_error("def f(*x):\n  pass\n"),
              HasSubstr("'x': a TorchScript function has a fixed number of parameters"));
  EXPECT_THAT(compile_error("def f(x: BroadcastingList99999999999[int]):\n  pass\n"),
              HasSubstr("'BroadcastingList99999999999': expected a length of 1 to 64\n  model.py:1:10"));
  EXPECT_THAT(compile_error("def f(x: BroadcastingListX[int]):\n  pass\n"), HasSubstr("BroadcastingListX"));
}

TEST(BadSource, DeepNesting) {
  const auto nested = [](const std::string& open, const std::string& inner, const std::string& close,
                         int depth) {
    std::string result;
    for (int i = 0; i < depth; ++i) result += open;
    result += inner;
    for (int i = 0; i < depth; ++i) result += close;
    return result;
  };
  EXPECT_THAT(body_error("return " + nested("(", "n", ")", 100000)),
              HasSubstr("nesting deeper than 200 levels"));
  EXPECT_THAT(body_error("return " + nested("[", "n", "]", 100000)),
              HasSubstr("nesting deeper than 200 levels"));
  EXPECT_THAT(compile_error("def f(x: " + nested("List[", "int", "]", 100000) + "):\n  pass\n"),
              HasSubstr("nesting deeper than 200 levels"));
  EXPECT_EQ(body_error("y = " + nested("[", "n", "]", 40)), "no error");
  std::string blocks = "def f(n: int):\n", indent = " ";
  for (int i = 0; i < 1000; ++i, indent += " ") blocks += indent + "if n > 0:\n";
  EXPECT_THAT(compile_error(blocks + indent + "pass\n"), HasSubstr("too many levels of indentation"));
  std::string elifs = "def f(n: int):\n  if n == 0:\n    pass\n";
  for (int i = 0; i < 1000; ++i) elifs += "  elif n == 1:\n    pass\n";
  EXPECT_THAT(compile_error(elifs), HasSubstr("nesting deeper than 200 levels"));
}

// Small source whose graph, or whose types, would not be.
TEST(BadSource, Explosions) {
  std::string loops = "def f(n: int):\n  t = (1, 2, 3, 4)\n", indent = "  ";
  for (int i = 0; i < 50; ++i, indent += " ") loops += indent + "for x in t:\n";
  EXPECT_THAT(compile_error(loops + indent + "pass\n"),
              HasSubstr("the function has more than 262144 operations: loops over tuples"));
  std::string pairs = "def f(n: int):\n  x = (n, n)\n";
  for (int i = 0; i < 100; ++i) pairs += "  x = (x, x)\n";
  EXPECT_THAT(compile_error(pairs + "  return x\n"), HasSubstr("a type of more than 10000 parts"));
  std::string returns = "def f(n: int) -> int:\n";
  for (int i = 0; i < 5000; ++i) returns += "  if n == 1: return n\n";
  EXPECT_THAT(compile_error(returns + "  return 0\n"),
              HasSubstr("more than 400 branches and early returns inside one another\n  model.py:402"));
}

TEST(BadArchive, ClassesThatContainThemselves) {
  const auto error = [](const std::string& code) {
    return load_error(
        {{"code/__torch__.py", code}, {"constants.pkl", tuple_pickle()}, {"data.pkl", object_pickle("")}});
  };
  EXPECT_THAT(error("class M(NamedTuple):\n  x : __torch__.M\n"),
              HasSubstr("'__torch__.M' contains itself\n  code/__torch__.py:1:1"));
  EXPECT_THAT(
      error("class M(NamedTuple):\n  x : __torch__.N\nclass N(NamedTuple):\n  x : Optional[__torch__.M]\n"),
      HasSubstr("'__torch__.M' contains itself"));
  // Interfaces that are compared while they are compared.
  const std::string interfaces =
      "class I(Interface):\n  def f(self, x: __torch__.I) -> __torch__.I:\n    pass\n"
      "class J(Interface):\n  def f(self, x: __torch__.J) -> __torch__.J:\n    pass\n"
      "class M(Module):\n  def forward(self: __torch__.M, i: __torch__.I) -> __torch__.J:\n    return i\n";
  const Module module = load_bytes(archive_of({{"code/__torch__.py", interfaces},
                                               {"constants.pkl", tuple_pickle()},
                                               {"data.pkl", object_pickle("")}}));
  EXPECT_NO_THROW(module.method("forward")->graph());
}

// ---- inputs of forward -----------------------------------------------------------------------------------
TEST(BadArchive, ClassesThatNameOneAnotherTooDeep) {
  std::string source = "class M(Module):\n  next : Optional[__torch__.C0]\n";
  for (int i = 0; i < 20'000; ++i)
    source += "class C" + std::to_string(i) + "(Module):\n  next : Optional[__torch__.C" +
              std::to_string(i + 1) + "]\n";
  EXPECT_THAT(load_error({{"data.pkl", object_pickle(text("next") + "N")},
                          {"code/__torch__.py", source},
                          {"constants.pkl", tuple_pickle()}}),
              HasSubstr("classes name one another more than 300 deep"));
}

TEST(BadInput, Forward) {
  const std::string code =
      "class M(Module):\n"
      "  def forward(self: __torch__.M, x: Tensor, n: int=2, sizes: Optional[List[int]]=None) -> Tensor:\n"
      "    return torch.matmul(x, x)\n";
  const Module module = load_bytes(archive_of(
      {{"code/__torch__.py", code}, {"constants.pkl", tuple_pickle()}, {"data.pkl", object_pickle("")}}));
  const Tensor x = Tensor::full({2, 3}, 1.0, DType::F32);
  const auto error = [&](std::vector<IValue> inputs, const Keywords& keywords = {}) {
    return error_of([&] { module.forward(std::move(inputs), keywords); });
  };
  EXPECT_THAT(error({}), HasSubstr("forward() is missing the argument 'x' of type Tensor\n"));
  EXPECT_THAT(error({1}), HasSubstr("forward() argument 'x': expected Tensor, got int\n"));
  EXPECT_THAT(error({nullptr}), HasSubstr("forward() argument 'x': expected Tensor, got NoneType\n"));
  EXPECT_THAT(error({x, "2"}), HasSubstr("forward() argument 'n': expected int, got str\n"));
  EXPECT_THAT(error({x, 1.5}), HasSubstr("forward() argument 'n': expected int, got float\n"));
  EXPECT_THAT(error({x, 2, IValue(std::vector<double>{1})}),
              HasSubstr("forward() argument 'sizes': expected Optional[List[int]], got List[float]\n"));
  EXPECT_THAT(error({x, 2, nullptr, 4}), HasSubstr("forward() takes "));
  EXPECT_THAT(error({x}, {{"m", 3}}), HasSubstr("forward() got an unexpected keyword argument 'm'\n"));
  EXPECT_THAT(error({x}, {{"x", x}}), HasSubstr("forward() got multiple values for argument 'x'\n"));
  EXPECT_THAT(error({Tensor()}), HasSubstr("forward"));
  const std::string shapes = error({x});  // the operator's error, with the script's stack
  EXPECT_THAT(shapes, HasSubstr("matmul"));
  EXPECT_THAT(shapes, HasSubstr("[2, 3]"));
  EXPECT_THAT(shapes, HasSubstr("File \"code/__torch__.py\", line 3, in forward"));
}

}  // namespace
}  // namespace weft::jit
