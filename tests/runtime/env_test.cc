#include "weft/env.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "runtime/log.h"
#include "support.h"
#include "support/error_of.h"
#include "weft/error.h"

namespace weft {
namespace {

using runtime_test::ScopedEnv;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::Property;
using testing_support::error_of;

TEST(Env, GivesTheDefaultWhenUnsetOrEmpty) {
  unsetenv("WEFT_CXX");
  EXPECT_EQ(env::get("WEFT_CXX"), "c++");
  const ScopedEnv empty("WEFT_CXX", "");
  EXPECT_EQ(env::get("WEFT_CXX"), "c++");
}

TEST(Env, ReadsFlags) {
  for (const char* yes : {"1", "true", "YES", "on"}) {
    const ScopedEnv set("WEFT_VERIFY", yes);
    EXPECT_TRUE(env::flag("WEFT_VERIFY")) << yes;
  }
  for (const char* no : {"0", "false", "No", "off", ""}) {
    const ScopedEnv set("WEFT_VERIFY", no);
    EXPECT_FALSE(env::flag("WEFT_VERIFY")) << no;
  }
}

TEST(Env, ReadsNumbers) {
  const ScopedEnv set("WEFT_CACHE_LIMIT_MB", "32");
  EXPECT_EQ(env::number("WEFT_CACHE_LIMIT_MB"), 32);
  unsetenv("WEFT_ALLOCATOR_LIMIT");
  EXPECT_EQ(env::number("WEFT_ALLOCATOR_LIMIT"), std::nullopt);
}

// What a variable of this kind cannot have.
std::vector<std::string> wrong_values(const env::Variable& variable) {
  const std::vector<std::string> garbage = {"maybe",
                                            " ",
                                            "-1",
                                            "0.5",
                                            "1e3",
                                            "1 ",
                                            "0x10",
                                            "\xff\xfe\x01",
                                            "99999999999999999999999999",
                                            std::string(100'000, 'x')};
  switch (variable.kind) {
    case env::Kind::Flag:
    case env::Kind::Number:
    case env::Kind::Choice: return garbage;
    case env::Kind::Channels: return {"maybe", "guards,maybe", "-1", "\xff\xfe", std::string(100'000, 'x')};
    case env::Kind::Program:
    case env::Kind::File: return {"maybe", "/nonexistent/file", "/", "\xff\xfe", std::string(100'000, 'x')};
    case env::Kind::Folder: return {"/dev/null"};
    case env::Kind::Text: return {};
  }
  return {};
}

TEST(Env, WarnsOfEveryWrongValueOnceAndTakesTheDefault) {
  for (const env::Variable& variable : env::kVariables) {
    for (const std::string& value : wrong_values(variable)) {
      const ScopedEnv set(variable.name, value);
      EXPECT_NE(env::problem(variable, value), "") << variable.name << "=" << value.substr(0, 100);
      if (variable.kind > env::Kind::Choice) continue;
      testing::internal::CaptureStderr();
      EXPECT_EQ(env::get(variable.name), variable.default_value);
      if (variable.kind == env::Kind::Flag) {
        EXPECT_EQ(env::flag(variable.name), variable.default_value == std::string("1"));
      }
      const std::string said = testing::internal::GetCapturedStderr();
      EXPECT_THAT(said, HasSubstr(std::string("[weft warning] ") + variable.name + ": expected "));
      EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
      EXPECT_LT(said.size(), 500u);
    }
  }
}

TEST(Env, ShowsBytesThatAreNoText) { EXPECT_EQ(env::shown("a\xff\n'"), "a\\xff\\x0a'"); }

TEST(Env, ListsUnknownVariablesButNotThoseOfTests) {
  const ScopedEnv typo("WEFT_LOG", "all");
  const ScopedEnv test("WEFT_TEST_SOMETHING", "1");
  EXPECT_THAT(env::unknown(), Contains("WEFT_LOG"));
  EXPECT_THAT(env::unknown(), Not(Contains("WEFT_TEST_SOMETHING")));
}

TEST(Env, AnUndeclaredNameIsABugOfOurs) {
  EXPECT_THAT(error_of([] { env::get("WEFT_NONSENSE"); }), HasSubstr("not declared"));
}

TEST(Log, SwitchesChannels) {
  log::set_logs("guards, cache");
  EXPECT_TRUE(log::enabled(log::Channel::Guards));
  EXPECT_TRUE(log::enabled(log::Channel::Cache));
  EXPECT_FALSE(log::enabled(log::Channel::Fusion));
  testing::internal::CaptureStderr();
  log::write(log::Channel::Guards, "x.shape == (3,)\n");
  log::write(log::Channel::Fusion, "never seen");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[weft guards] x.shape == (3,)\n");
  log::set_logs("");
  EXPECT_FALSE(log::enabled(log::Channel::Guards));
}

TEST(Log, RefusesUnknownChannels) {
  EXPECT_THAT(error_of([] { log::set_logs("gards"); }),
              AllOf(HasSubstr("unknown log channel 'gards'"), HasSubstr("guards")));
}

}  // namespace
}  // namespace weft
