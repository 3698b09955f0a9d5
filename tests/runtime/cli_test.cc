// The `weft` command, run as a user runs it.
#include <gmock/gmock.h>

#include <filesystem>

#include "runtime/process.h"
#include "support.h"
#include "weft/env.h"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;
using runtime_test::ScopedEnv;
using testing::AllOf;
using testing::HasSubstr;

struct Command : testing::Test {
  void SetUp() override {
    program = (fs::read_symlink("/proc/self/exe").parent_path() / "weft").string();
    if (!fs::exists(program)) GTEST_SKIP() << "the command is not built: " << program;
  }
  ProcessResult weft(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program);
    return run_process(arguments);
  }
  std::string program;
};

TEST_F(Command, HelpShowsExamples) {
  const ProcessResult result = weft({"--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("weft info"), HasSubstr("weft cache clear"), HasSubstr("Examples")));
}

TEST_F(Command, RefusesUnknownWords) { EXPECT_NE(weft({"inof"}).status, 0); }

TEST_F(Command, InfoSaysWhereTheNumberOfThreadsComesFrom) {
  const ScopedEnv omp("OMP_NUM_THREADS", "7");
  EXPECT_THAT(weft({"info"}).output, HasSubstr("7 (OMP_NUM_THREADS)"));
  const ScopedEnv mkl("MKL_NUM_THREADS", "3");
  EXPECT_THAT(weft({"info"}).output, HasSubstr("3 (MKL_NUM_THREADS)"));
}

TEST_F(Command, InfoSaysWhyAToolchainIsMissing) {
  const ScopedEnv cxx("WEFT_CXX", "no-such-compiler");
  const ScopedEnv plugin("WEFT_CLANG_PLUGIN", "/nonexistent/plugin.so");
  EXPECT_THAT(weft({"info"}).output, AllOf(HasSubstr("no-such-compiler"), HasSubstr("/nonexistent/plugin.so"),
                                           HasSubstr("no toolchain can compile")));
}

TEST_F(Command, InfoAsJson) {
  const ScopedEnv folder("WEFT_CACHE_DIR", "/nonexistent/kernels");
  const ProcessResult result = weft({"info", "--json"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("\"vector_bytes\""), HasSubstr("\"folder\": \"/nonexistent/kernels\""),
                    HasSubstr("\"WEFT_CACHE_DIR\"")));
}

TEST_F(Command, WarnsOfUnknownVariables) {
  const ScopedEnv typo("WEFT_TOOLCHIAN", "clang");
  EXPECT_THAT(weft({"info"}).output, HasSubstr("unknown environment variable WEFT_TOOLCHIAN"));
}

TEST_F(Command, EnvListsEveryVariable) {
  EXPECT_THAT(weft({"env"}).output,
              AllOf(HasSubstr("WEFT_LOGS"), HasSubstr("WEFT_CACHE_DIR"), HasSubstr("MKL_NUM_THREADS")));
}

TEST_F(Command, CacheClear) {
  std::string folder = testing::TempDir() + "weft-cli-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const ScopedEnv set("WEFT_CACHE_DIR", folder);
  EXPECT_THAT(weft({"cache", "info"}).output, HasSubstr("0 kernels"));
  EXPECT_THAT(weft({"cache", "clear"}).output, HasSubstr("removed 0 kernels"));
  fs::remove_all(folder);
}

TEST_F(Command, WarnsOfWrongValues) {
  for (const char* value : {"17", "maybe", "\xff\xfe"}) {
    const ScopedEnv bad("WEFT_VECTOR_BYTES", value);
    for (const char* command : {"info", "env", "parallel_info"}) {
      const ProcessResult result = weft({command});
      EXPECT_EQ(result.status, 0) << result.output;
      EXPECT_THAT(result.output,
                  HasSubstr("WEFT_VECTOR_BYTES: expected 0, 16, 32 or 64, got '" + env::shown(value)));
    }
    EXPECT_EQ(weft({"info", "--json"}).status, 0);
  }
}

}  // namespace
}  // namespace weft::runtime
