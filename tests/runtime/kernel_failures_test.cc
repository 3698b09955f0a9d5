// Whatever fails while a kernel is compiled, kept or loaded: an error of weft's, and nothing that hangs or
// ends the process.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "runtime/clang_toolchain.h"
#include "runtime/disk_cache.h"
#include "runtime/toolchain.h"
#include "support.h"
#include "weft/error.h"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;
using runtime_test::in_child;

constexpr int kUsable = 0, kRefused = 1, kWrong = 2;

CompileRequest gives(int value) {
  return {"gives", fmt::format("extern \"C\" int given() {{ return {}; }}\n", value)};
}

// kUsable, or kRefused where there is an error that says why.
int outcome(int value) {
  try {
    const LoadedKernel kernel = load_kernel(gives(value));
    return reinterpret_cast<int (*)()>(kernel.module->symbol("given"))() == value ? kUsable : kWrong;
  } catch (const Error& error) {
    return error.kind() == ErrorKind::Runtime && *error.what() != '\0' ? kRefused : kWrong;
  }
}

// Each test in folders of its own, with each toolchain.
struct KernelFailures : testing::TestWithParam<const char*> {
  void SetUp() override {
    for (const Toolchain* choice : toolchains()) {
      std::string why_not;
      if (choice->name() == GetParam() && !choice->available(&why_not)) GTEST_SKIP() << why_not;
    }
    std::string name = testing::TempDir() + "weft-failures-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root = name;
    fs::create_directory(root / "temporary");
    setenv("WEFT_CACHE_DIR", cache().c_str(), 1);
    setenv("WEFT_TOOLCHAIN", GetParam(), 1);
    setenv("TMPDIR", (root / "temporary").c_str(), 1);
    clear_memory_cache();
    EXPECT_EQ(outcome(0), kUsable);  // what is made once is there
  }
  void TearDown() override {
    clear_memory_cache();
    for (const char* name : {"WEFT_CACHE_DIR", "WEFT_TOOLCHAIN", "TMPDIR"}) unsetenv(name);
    if (!root.empty()) fs::remove_all(root);
  }
  fs::path cache() const { return root / "kernels"; }
  bool is_clang() const { return std::string_view(GetParam()) == "clang"; }
  // The path of the entry of gives(value), which is not there.
  fs::path entry_of(int value) {
    EXPECT_EQ(outcome(value), kUsable);
    clear_memory_cache();
    for (const auto& entry : fs::directory_iterator(cache())) {
      const std::string key = entry.path().stem().string();
      const CompileRequest request = gives(value);
      for (const Toolchain* choice : toolchains()) {
        if (choice->name() != GetParam() || !key.ends_with(cache_key(request, choice->id()))) continue;
        fs::path path = entry.path();
        fs::remove(path);
        return path;
      }
    }
    ADD_FAILURE() << "no entry";
    return {};
  }
  fs::path root;
};

// No file may grow beyond `bytes`: what a full disk does, wherever it becomes full.
int with_file_limit(rlim_t bytes, int value) {
  return in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return kWrong;
    const int first = outcome(value), again = outcome(value);
    return first == again ? first : kWrong;
  });
}

TEST_P(KernelFailures, ChildOnAFullDisk) {
  for (const rlim_t bytes : {0, 1, 64, 500, 1000, 2000, 4000, 8000, 16000, 64000, 1 << 20}) {
    const int status = with_file_limit(bytes, static_cast<int>(bytes) + 7);
    EXPECT_TRUE(status == kUsable || status == kRefused) << bytes << " bytes: " << status;
    EXPECT_TRUE(status == kRefused || bytes != 0);
    EXPECT_TRUE(status == kUsable || bytes != 1 << 20);
  }
}

// The disk where temporary files and kernels are kept has no room: the compiler in the process needs neither.
TEST_P(KernelFailures, ChildWithoutRoomInAnyFolder) {
  const int status = in_child([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return 77;
    for (const fs::path& folder : {cache(), root / "temporary"}) {
      if (mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=4k,mode=700") != 0) return 77;
      std::ofstream(folder / "filler") << std::string(1 << 16, 'x');
    }
    return outcome(11);
  });
  if (status == 77) GTEST_SKIP() << "needs the right to mount";
  EXPECT_EQ(status, is_clang() ? kUsable : kRefused);
}

TEST_P(KernelFailures, FoldersThatCannotBeUsed) {
  EXPECT_EQ(outcome(20), kUsable);
  std::ofstream(root / "a file") << "x";
  mkfifo((root / "a pipe").c_str(), 0600);
  for (const fs::path& place :
       {root / "missing" / "deeper", root / "a file", root / "a pipe", root / "a file" / "below"}) {
    clear_memory_cache();
    setenv("TMPDIR", place.c_str(), 1);
    EXPECT_EQ(outcome(20), kUsable) << place;  // of the cache
    setenv("WEFT_CACHE_DIR", place.c_str(), 1);
    EXPECT_EQ(outcome(21), is_clang() ? kUsable : kRefused) << place;
    setenv("WEFT_CACHE_DIR", cache().c_str(), 1);
    setenv("TMPDIR", (root / "temporary").c_str(), 1);
    fs::remove_all(root / "missing");
  }
}

// Something else than a file in the place of an entry.
TEST_P(KernelFailures, ChildWithAPipeInAnEntrysPlace) {
  const fs::path path = entry_of(30);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(in_child([] { return outcome(30); }), kUsable);
  EXPECT_TRUE(fs::is_regular_file(path)) << "the entry is made again";
}

TEST_P(KernelFailures, ChildWithAFolderInAnEntrysPlace) {
  const fs::path path = entry_of(31);
  fs::create_directories(path / "full");
  EXPECT_EQ(in_child([] { return outcome(31); }), kUsable);
}

TEST_P(KernelFailures, ChildWithASocketOrALinkInAnEntrysPlace) {
  const fs::path path = entry_of(32);
  fs::create_symlink("/dev/zero", path);
  EXPECT_EQ(in_child([] { return outcome(32); }), kUsable);
  fs::remove(path);
  ASSERT_EQ(mknod(path.c_str(), S_IFSOCK | 0600, 0), 0);
  EXPECT_EQ(in_child([] { return outcome(32); }), kUsable);
}

TEST_P(KernelFailures, ChildWithPipesOfEveryNameInTheFolder) {
  for (const char* name : {"prelude-0123.pch", ".tmp-abcdef", "other-0123.so", "x"})
    ASSERT_EQ(mkfifo((cache() / name).c_str(), 0600), 0);
  setenv("WEFT_CACHE_LIMIT_MB", "1", 1);
  EXPECT_EQ(in_child([] {
              const int status = outcome(33);
              cache_stats();
              clear_disk_cache();
              return status;
            }),
            kUsable);
  unsetenv("WEFT_CACHE_LIMIT_MB");
}

INSTANTIATE_TEST_SUITE_P(Both, KernelFailures, testing::Values("clang", "c++"), [](const auto& info) {
  return std::string(info.param) == "clang" ? "Clang" : "Spawned";
});

// What LLVM calls fatal: an instruction that the processor does not have. It is not asked for anything from
// then on, and others compile.
TEST(ClangFailures, ChildThatGoesOnAfterAFatalError) {
  std::string why_not;
  if (!clang_toolchain().available(&why_not)) GTEST_SKIP() << why_not;
  const CompileRequest impossible = {"impossible",
                                     "extern \"C\" double unknown(double) __asm__(\"llvm.amdgcn.rcp.f64\");\n"
                                     "extern \"C\" double given(double x) { return unknown(x); }\n"};
  const auto error_of = [](const CompileRequest& request) {
    try {
      clang_toolchain().compile(request);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(in_child([&] {
              setenv("WEFT_DISABLE_CACHE", "1", 1);
              if (!error_of(gives(1)).empty()) return 1;
              if (error_of(impossible).find("annot select") == std::string::npos) return 2;
              for (const CompileRequest& request : {impossible, gives(1)})
                if (error_of(request).find("gave up: Cannot select") == std::string::npos) return 3;
              if (clang_toolchain().available(nullptr)) return 4;
              const bool has_other = toolchains().back()->available(nullptr);
              return outcome(40) == (has_other ? kUsable : kRefused) ? 0 : 5;
            }),
            0);
}

}  // namespace
}  // namespace weft::runtime
