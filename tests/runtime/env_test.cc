#include "weft/env.h"

#include <gmock/gmock.h>

#include "runtime/log.h"
#include "support.h"
#include "weft/error.h"

namespace weft {
namespace {

using runtime_test::ScopedEnv;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::Property;

template <typename Function>
std::string error_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

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
  const ScopedEnv set("WEFT_VERIFY", "maybe");
  EXPECT_EQ(error_of([] { env::flag("WEFT_VERIFY"); }), "WEFT_VERIFY: expected 0 or 1, got 'maybe'");
}

TEST(Env, ReadsIntegers) {
  const ScopedEnv set("WEFT_VECTOR_BYTES", "32x");
  EXPECT_EQ(error_of([] { env::integer("WEFT_VECTOR_BYTES"); }),
            "WEFT_VECTOR_BYTES: expected a whole number >= 0, got '32x'");
}

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
