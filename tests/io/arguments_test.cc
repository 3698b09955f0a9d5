// Arguments of TorchScript from arrays of a file, and arrays from what a call returned.
#include "io/arguments.h"

#include <gmock/gmock.h>

#include "weft/error.h"

namespace weft::io {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Tensor kVector = Tensor::of<float>({1, 2, 3});
const Tensor kWhole = Tensor::scalar(3, DType::I64), kReal = Tensor::scalar(2.5, DType::F64),
             kFlag = Tensor::scalar(true, DType::Bool);

jit::Keywords arguments(const char* schema, const NamedValues& arrays) {
  return arguments_of_arrays(jit::parse_schema(schema), arrays);
}

IValue argument(const char* type, const NamedValues& arrays) {
  const std::string schema = std::string("m::f(") + type + " x) -> ()";
  return arguments(schema.c_str(), arrays).at(0).second;
}

std::string refusal(const char* schema, const NamedValues& arrays) {
  try {
    arguments(schema, arrays);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Type);
    return error.what();
  }
  return "accepted";
}

TEST(Arguments, ByNameByPositionAndWithPrefix) {
  const char* schema = "m::f(Tensor x, int n) -> ()";
  const std::vector<NamedValues> ways = {
      {{"n", kWhole}, {"x", kVector}},
      {{"0", kVector}, {"1", kWhole}},
      {{"arr_0", kVector}, {"arr_1", kWhole}},
      {{"in.0", kVector}, {"in.n", kWhole}, {"out", kFlag}},
  };
  for (const NamedValues& arrays : ways) {
    const jit::Keywords found = arguments(schema, arrays);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].first, "x");
    EXPECT_TRUE(found[0].second.is_same(kVector));
    EXPECT_EQ(found[1].second.to_int(), 3);
  }
}

TEST(Arguments, EveryType) {
  EXPECT_EQ(argument("float", {{"x", kWhole}}).to_double(), 3.0);
  EXPECT_EQ(argument("complex", {{"x", kReal}}).to_complex(), 2.5);
  EXPECT_TRUE(argument("bool", {{"x", kFlag}}).to_bool());
  EXPECT_EQ(argument("Scalar", {{"x", kReal}}).to_double(), 2.5);
  EXPECT_EQ(argument("str", {{"x", "text"}}).to_string(), "text");
  EXPECT_EQ(argument("Device", {{"x", "cpu"}}).to_device(), Device());
  EXPECT_TRUE(argument("Tensor?", {}).is_none());
  EXPECT_TRUE(argument("Tensor?", {{"x", kVector}}).is_tensor());
  EXPECT_EQ(argument("int[]", {{"x", Tensor::of<int64_t>({4, 5})}}).to_int_list(),
            (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(argument("float[]", {{"x", kVector}}).to_double_list(), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(argument("int[]", {{"x.0", kWhole}, {"x.1", kWhole}}).to_int_list(),
            (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(argument("str[]", {{"x", std::vector<std::string>{"a", "b"}}}).elements().size(), 2u);
  EXPECT_EQ(argument("Tensor[]", {{"x.0", kVector}, {"x.1", kWhole}}).to_tensor_list().size(), 2u);
  EXPECT_EQ(argument("(Tensor, int)", {{"x.0", kVector}, {"x.1", kWhole}}).elements()[1].to_int(), 3);
  EXPECT_EQ(argument("Dict(str, Tensor[])", {{"x.a.0", kVector}, {"x.b.0", kWhole}}).to_dict()->size(), 2u);
  EXPECT_TRUE(argument("Dict(int, Tensor)", {{"x.7", kVector}}).to_dict()->find(7));
}

TEST(Arguments, MistakesNameTheArgumentAndItsType) {
  EXPECT_THAT(refusal("m::f(int n) -> ()", {{"n", kVector}}),
              HasSubstr("f: argument 'n' (int): expected one int for int, got f32[3] cpu in 'n'"));
  EXPECT_THAT(refusal("m::f(int n) -> ()", {{"n", kReal}}), HasSubstr("got f64[] cpu"));
  EXPECT_THAT(refusal("m::f(bool b) -> ()", {{"b", kWhole}}), HasSubstr("expected one bool"));
  EXPECT_THAT(refusal("m::f(Tensor x) -> ()", {{"x", "text"}}),
              HasSubstr("expected an array of numbers for Tensor, got text"));
  EXPECT_THAT(refusal("m::f(str s) -> ()", {{"s", kVector}}),
              HasSubstr("expected text for str, got f32[3] cpu"));
  EXPECT_THAT(refusal("m::f(Tensor[] xs) -> ()", {{"xs.1", kVector}}),
              HasSubstr("expected arrays numbered from 0"));
  EXPECT_THAT(refusal("m::f(Tensor[] xs) -> ()", {{"xs", kVector}}),
              HasSubstr("expected arrays numbered from 0"));
  EXPECT_THAT(refusal("m::f(Tensor x) -> ()", {{"x", kVector}, {"x.0", kVector}}), HasSubstr("'x'"));
  EXPECT_THAT(refusal("m::f((Tensor, int) p) -> ()", {{"p.0", kVector}}), HasSubstr("expected 2 arrays"));
  EXPECT_THAT(
      refusal("m::f((Tensor, int) p) -> ()", {{"p.0", kVector}, {"p.1", kReal}}),
      HasSubstr("argument 'p' (Tuple[Tensor, int]): expected one int for int, got f64[] cpu in 'p.1'"));
  EXPECT_THAT(refusal("m::f(Dict(int, Tensor) d) -> ()", {{"d.a", kVector}}),
              HasSubstr("whole numbers as keys"));
  EXPECT_THAT(refusal("m::f(Future(Tensor) w) -> ()", {{"w", kVector}}),
              HasSubstr("a type that arrays can express"));
  EXPECT_THAT(refusal("m::f(Tensor x, int n) -> ()", {{"x", kVector}}),
              AllOf(HasSubstr("the argument 'n' (int) is missing"),
                    HasSubstr("arguments: x (Tensor), n (int)"), HasSubstr("arrays:    'x' (f32[3] cpu)")));
  EXPECT_THAT(refusal("m::f(Tensor x) -> ()", {{"y", kVector}}), HasSubstr("the array 'y' is no argument"));
  EXPECT_THAT(refusal("m::f(Tensor x) -> ()", {{"x", kVector}, {"0", kVector}}),
              HasSubstr("'x' is given twice"));
  EXPECT_THAT(refusal("m::f() -> ()", {{"x", kVector}}), HasSubstr("arguments: none"));
}

TEST(Arrays, ContainersBecomeNames) {
  IValue table = IValue::dict(jit::Type::string(), jit::Type::tensor());
  table.to_dict()->set("left", kVector);
  const IValue value = IValue::tuple({kVector, IValue(), IValue(std::vector<int64_t>{5}), table});
  std::vector<std::string> names;
  for (const auto& [name, array] : arrays_of_value("out", value)) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"out.0", "out.2.0", "out.3.left"}));
  EXPECT_EQ(arrays_of_value("out", kVector)[0].first, "out");
  EXPECT_EQ(arrays_of_value("", table)[0].first, "left");
  IValue strange = IValue::dict(jit::Type::floating(), jit::Type::tensor());
  strange.to_dict()->set(1.5, kVector);
  EXPECT_THROW(arrays_of_value("out", strange), Error);
}

}  // namespace
}  // namespace weft::io
