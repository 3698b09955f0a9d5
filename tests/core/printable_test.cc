#include "core/printable.h"

#include <gtest/gtest.h>

#include "core/suggest.h"

namespace weft {
namespace {

TEST(Printable, CharactersStayAndOtherBytesAreEscaped) {
  EXPECT_EQ(printable("plain 'text'"), "plain 'text'");
  EXPECT_EQ(printable("é 漢 😀"), "é 漢 😀");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\x1b[31m\n\t\x7f"), "\\x1b[31m\\x0a\\x09\\x7f");
  EXPECT_EQ(printable("\xc2\x85"), "\\xc2\\x85");  // U+0085, a control
}

TEST(Printable, WhatIsNoUtf8IsEscaped) {
  for (const char* bytes :
       {"\xff", "\x80", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(bytes));
    const std::string text = printable(std::string("a") + bytes + "b");
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_TRUE(text.starts_with("a\\x") && text.ends_with("b")) << text;
  }
  EXPECT_TRUE(is_utf8("é 漢 😀"));
}

TEST(Printable, LongTextIsCutBetweenCharacters) {
  const std::string text = printable(std::string(1000, 'x'), 10);
  EXPECT_EQ(text, "xxxxxxxxxx…");
  EXPECT_EQ(printable("éééé", 5), "éé…");
  EXPECT_EQ(printable("éééé", 8), "éééé");
}

TEST(Suggest, TheNearestNameOrNone) {
  const std::vector<std::string> names = {"float16", "float32", "int8", "bool"};
  EXPECT_EQ(did_you_mean("float33", names), "; did you mean 'float32'?");
  EXPECT_EQ(did_you_mean("Float32", names), "; did you mean 'float32'?");
  EXPECT_EQ(did_you_mean("bolo", names), "; did you mean 'bool'?");
  EXPECT_EQ(did_you_mean("complex", names), "");
  EXPECT_EQ(did_you_mean("", names), "");
  EXPECT_EQ(did_you_mean(std::string(10000, 'x'), names), "");
  EXPECT_EQ(did_you_mean("x", {}), "");
}

}  // namespace
}  // namespace weft
