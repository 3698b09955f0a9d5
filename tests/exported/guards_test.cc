// What programs ask of sizes beside ranges.
#include "exported/guards.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "weft/error.h"

namespace weft::exported {
namespace {

// x: [n, 4], dict["key"]: [m], a number n.
std::vector<Input> inputs() {
  Input x, key, number;
  x.name = "x", x.place = "*args[0]", x.is_tensor = true, x.sizes = {"s0", "4"};
  key.name = "dict_key", key.place = "*args[1]['key']", key.is_tensor = true, key.sizes = {"s1"};
  number.name = "n", number.place = "*args[2]";
  return {x, key, number};
}
std::vector<IValue> values(int64_t rows, int64_t length = 3, int64_t number = 2) {
  return {IValue(Tensor::full({rows, 4}, 0, DType::F32)), IValue(Tensor::full({length}, 0, DType::F32)),
          IValue(number)};
}
std::string answer(const std::string& text, int64_t rows, int64_t length = 3) {
  const std::vector<Input> known = inputs();
  const auto guard = Guard::parse(text, known);
  if (!guard) return "not read";
  try {
    guard->check(values(rows, length), known);
    return "holds";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(ExportedGuards, HoldOrRefuse) {
  EXPECT_EQ(answer("(L['x'].size()[0] % 2) == 0", 4), "holds");
  EXPECT_EQ(answer("(L['x'].size()[0] % 2) == 0", 5),
            "Expected inputs with (*args[0].shape[0] % 2) == 0, but got *args[0].shape[0] = 5");
  EXPECT_EQ(answer("L['x'].size()[0] > 3", 4), "holds");
  EXPECT_THAT(answer("L['x'].size()[0] > 3", 3),
              testing::StartsWith("Expected inputs with *args[0].shape[0] > 3"));
  EXPECT_EQ(answer("L['x'].size()[0] == L['dict']['key'].size()[0]", 3), "holds");
  EXPECT_EQ(
      answer("L['x'].size()[0] == L['dict']['key'].size()[0]", 4),
      "Expected inputs with *args[0].shape[0] == *args[1]['key'].shape[0], but got *args[0].shape[0] = 4, "
      "*args[1]['key'].shape[0] = 3");
  EXPECT_EQ(answer("L['flat_args'][1].size()[0] == 3", 4), "holds");
  EXPECT_EQ(answer("L['n'] == 2 and L['x'].stride()[0] == 4", 4), "holds");
}

TEST(ExportedGuards, WhatTheyAreMadeOf) {
  for (const char* const text :
       {"((-1) + 3*L['x'].size()[0]) == 11", "L['x'].size()[0] // 3 == 1", "-L['x'].size()[0] // 3 == -2",
        "-L['x'].size()[0] % 3 == 2", "L['x'].size()[0]**2 == 16", "-L['x'].size()[0]**2 == -16",
        "2**3**1 == 8", "Max(L['x'].size()[0], 9) == 9", "min(L['x'].size()[0], 9, 2) == 2",
        "not L['x'].size()[0] == 3", "L['x'].size()[0] == 3 or L['x'].size()[0] == 4",
        "L['x'].size()[0] != 5 and L['x'].size()[0] >= 4", "L['x'].size()[0] < 5", "L['x'].size()[0] <= 4"})
    EXPECT_EQ(answer(text, 4), "holds") << text;
  // No number comes out.
  for (const char* const text : {"4 % L['x'].size()[0] == 0", "4 // L['x'].size()[0] == 0",
                                 "9223372036854775807 + L['dict']['key'].size()[0] > 0", "2**65 > 0"})
    EXPECT_THAT(answer(text, 0), testing::StartsWith("Expected inputs with ")) << text;
}

TEST(ExportedGuards, OthersAreNotRead) {
  for (const char* const text :
       {"", "L['x'].size()[0] == 2.5", "L['y'].size()[0] == 2", "L['x'].size()[2] == 2", "L['x'] == 2",
        "L['n'].size()[0] == 2", "L['x'].size()[0] / 2 == 2", "math.floor(L['x'].size()[0]) == 2",
        "L['x'].size()[0] ==", "(L['x'].size()[0] == 2", "L['x'].size()[-1] == 2", "L['x'].size()[0] == 2 3",
        "L['x", "L['flat_args'][9].size()[0] == 3", "99999999999999999999 == 1"})
    EXPECT_EQ(answer(text, 4), "not read") << text;
  EXPECT_EQ(answer(std::string(500, '(') + "1" + std::string(500, ')') + " == 1", 4), "not read");
  EXPECT_EQ(answer(std::string(500, '-') + "1 == 1", 4), "not read");
  const auto chain = [](int terms) {
    std::string text = "1";
    for (int i = 1; i < terms; ++i) text += " + 1";
    return text + fmt::format(" == {}", terms);
  };
  EXPECT_EQ(answer(chain(400), 4), "holds");
  EXPECT_EQ(answer(chain(100000), 4), "not read");
}

}  // namespace
}  // namespace weft::exported
