// parallel_info(), from the library and from both programs, and build_info().
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <thread>

#include "runtime/process.h"
#include "support.h"
#include "weft/config.h"
#include "weft/parallel.h"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;
using runtime_test::ScopedEnv;
using testing::HasSubstr;
using testing::MatchesRegex;

// The names and order of lines are PyTorch's.
std::string expected_info(const std::string& threads, const std::string& omp, const std::string& mkl) {
  const std::string library =
      std::string(threading_backend()) == "OpenMP"
          ? "OpenMP [0-9]+ .a.k.a. OpenMP [0-9.]+.\n\tomp_get_max_threads.. : [0-9]+\n"
          : "oneTBB [^\n]*\n\ttbb::global_control max_allowed_parallelism : [0-9]+\n";
  return fmt::format(
      "weft/Parallel:\n"
      "\tweft::get_num_threads.. : {}\n"
      "\tweft::get_num_interop_threads.. : {}\n"
      "{}"
      "MKL not found\n"
      "BLAS[^\n]*\n"
      "std::thread::hardware_concurrency.. : {}\n"
      "Environment variables:\n"
      "\tOMP_NUM_THREADS : {}\n"
      "\tMKL_NUM_THREADS : {}\n"
      "weft parallel backend: {}\n",
      threads, num_usable_cores(), library, std::thread::hardware_concurrency(), omp, mkl,
      threading_backend());
}

std::string run_program(const char* name, std::vector<std::string> arguments, int* status = nullptr) {
  arguments.insert(arguments.begin(), (fs::read_symlink("/proc/self/exe").parent_path() / name).string());
  if (!fs::exists(arguments[0])) return "not built";
  const ProcessResult result = run_process(arguments);
  if (status != nullptr) *status = result.status;
  return result.output;
}

TEST(ParallelInfo, OfBothPrograms) {
  if (run_program("parallel_info", {}) == "not built") GTEST_SKIP() << "parallel_info is not built";
  const ScopedEnv omp("OMP_NUM_THREADS", "3");
  const ScopedEnv mkl("MKL_NUM_THREADS", "2");
  EXPECT_THAT(run_program("parallel_info", {}), MatchesRegex(expected_info("2", "3", "2")));
  EXPECT_EQ(run_program("parallel_info", {}), run_program("weft", {"parallel_info"}));
}

TEST(ParallelInfo, OfTheLibrary) {
  set_num_threads(7);
  EXPECT_THAT(parallel_info(), MatchesRegex(expected_info("7", "[^\n]*", "[^\n]*")));
  set_num_threads(num_usable_cores());
}

TEST(ParallelInfo, TakesNoArguments) {
  int status = 0;
  if (run_program("parallel_info", {"--help"}, &status) == "not built")
    GTEST_SKIP() << "parallel_info is not built";
  EXPECT_EQ(status, 0);
  EXPECT_THAT(run_program("parallel_info", {"--all"}, &status), HasSubstr("takes no arguments"));
  EXPECT_EQ(status, 2);
}

TEST(BuildInfo, NamesTheSettings) {
  for (const char* part : {"weft built with:\n  - ", "C++ Version: 20",
                           "CPU capability usage: ", "BUILD_TYPE=", "CXX_FLAGS=", "WEFT_THREADING="}) {
    EXPECT_THAT(build_info(), HasSubstr(part));
  }
}

}  // namespace
}  // namespace weft::runtime
