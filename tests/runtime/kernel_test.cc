// Toolchains and the kernel cache.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>
#include <vector>

#include "runtime/clang_toolchain.h"
#include "runtime/disk_cache.h"
#include "runtime/module.h"
#include "runtime/toolchain.h"
#include "support.h"
#include "support/error_of.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;
using runtime_test::in_child;
using runtime_test::ScopedEnv;
using testing::AllOf;
using testing::HasSubstr;
using testing_support::error_of;

CompileRequest returns(int value, const std::string& name = "returns") {
  return {name, "extern \"C\" int answer() { return " + std::to_string(value) + "; }\n"};
}

int answer(const LoadedKernel& kernel) {
  return reinterpret_cast<int (*)()>(kernel.module->symbol("answer"))();
}

std::string key_of_entry(const fs::path& entry) {
  const std::string stem = entry.stem().string();
  return stem.substr(stem.rfind('-') + 1);
}

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Each test in a cache folder of its own.
struct KernelCache : testing::Test {
  void SetUp() override {
    std::string name = testing::TempDir() + "weft-cache-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root = name;
    setenv("WEFT_CACHE_DIR", (root / "kernels").c_str(), 1);
    setenv("WEFT_TOOLCHAIN", "c++", 1);
    clear_memory_cache();
  }
  void TearDown() override {
    clear_memory_cache();
    unsetenv("WEFT_CACHE_DIR");
    unsetenv("WEFT_TOOLCHAIN");
    fs::remove_all(root);
  }
  fs::path only_entry() {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(root / "kernels")) found.push_back(entry.path());
    EXPECT_EQ(found.size(), 1u);
    return found.at(0);
  }
  // Warnings are given once per folder and reason; each test has its own folder.
  std::string stderr_of(const std::function<void()>& function) {
    testing::internal::CaptureStderr();
    function();
    return testing::internal::GetCapturedStderr();
  }
  fs::path root;
};

TEST_F(KernelCache, CompilesThenRemembersInMemoryThenOnDisk) {
  const LoadedKernel first = load_kernel(returns(41));
  EXPECT_STREQ(first.origin, "compiled");
  EXPECT_GT(first.compile_ms, 0);
  EXPECT_EQ(answer(first), 41);
  const LoadedKernel second = load_kernel(returns(41));
  EXPECT_STREQ(second.origin, "memory cache");
  EXPECT_EQ(second.compile_ms, 0);
  clear_memory_cache();
  const LoadedKernel third = load_kernel(returns(41));
  EXPECT_STREQ(third.origin, "disk cache");
  EXPECT_EQ(answer(third), 41);
  EXPECT_EQ(cache_stats().entries, 1);
  EXPECT_GT(cache_stats().bytes, 0);
  clear_disk_cache();
  EXPECT_EQ(cache_stats().entries, 0);
  EXPECT_EQ(answer(third), 41) << "a loaded kernel outlives its file";
}

TEST_F(KernelCache, TheFolderIsPrivate) {
  load_kernel(returns(1));
  struct stat status;
  ASSERT_EQ(stat((root / "kernels").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST_F(KernelCache, KeyIsTheContentNotTheName) {
  EXPECT_EQ(answer(load_kernel(returns(1, "same"))), 1);
  EXPECT_EQ(answer(load_kernel(returns(2, "same"))), 2);
  clear_memory_cache();
  EXPECT_EQ(answer(load_kernel(returns(1, "same"))), 1);
  EXPECT_EQ(answer(load_kernel(returns(2, "same"))), 2);
  EXPECT_STREQ(load_kernel(returns(2, "other")).origin, "memory cache");
}

TEST_F(KernelCache, FlagsArePartOfTheKey) {
  load_kernel(returns(3));
  clear_memory_cache();
  const ScopedEnv narrow("WEFT_VECTOR_BYTES", "16");
  EXPECT_STREQ(load_kernel(returns(3)).origin, host_vector_bytes() == 16 ? "compiled" : "disk cache");
}

TEST_F(KernelCache, DamagedEntriesAreRebuilt) {
  load_kernel(returns(7));
  const fs::path entry = only_entry();
  const std::string whole = bytes_of(entry);
  for (size_t position : {size_t{0}, whole.size() / 3, whole.size() - 40, whole.size() - 1}) {
    clear_memory_cache();
    std::string damaged = whole;
    damaged[position] = static_cast<char>(damaged[position] ^ 0x20);
    std::ofstream(entry, std::ios::binary) << damaged;
    LoadedKernel kernel;
    EXPECT_THAT(stderr_of([&] { kernel = load_kernel(returns(7)); }), HasSubstr("damaged")) << position;
    EXPECT_STREQ(kernel.origin, "compiled");
    EXPECT_EQ(answer(kernel), 7);
  }
}

TEST_F(KernelCache, TruncatedEntriesAreRebuilt) {
  load_kernel(returns(8));
  const fs::path entry = only_entry();
  const auto size = fs::file_size(entry);
  for (auto length : {uintmax_t{0}, uintmax_t{10}, size / 2, size - 1}) {
    clear_memory_cache();
    fs::resize_file(entry, length);
    LoadedKernel kernel;
    EXPECT_THAT(stderr_of([&] { kernel = load_kernel(returns(8)); }), HasSubstr("damaged")) << length;
    EXPECT_STREQ(kernel.origin, "compiled");
    EXPECT_EQ(answer(kernel), 8);
  }
}

TEST_F(KernelCache, AnEntryUnderAnothersNameIsNotExecuted) {
  const auto entry_of = [&](int value) {
    std::set<fs::path> before;
    if (fs::exists(root / "kernels"))
      for (const auto& entry : fs::directory_iterator(root / "kernels")) before.insert(entry.path());
    EXPECT_EQ(answer(load_kernel(returns(value))), value);
    for (const auto& entry : fs::directory_iterator(root / "kernels"))
      if (!before.count(entry.path())) return entry.path();
    return fs::path();
  };
  const fs::path one = entry_of(22), other = entry_of(23);
  fs::rename(one, root / "kept");
  fs::rename(other, one);
  fs::rename(root / "kept", other);
  clear_memory_cache();
  for (const int value : {22, 23}) {
    LoadedKernel kernel;
    EXPECT_THAT(stderr_of([&] { kernel = load_kernel(returns(value)); }),
                AllOf(HasSubstr("dropped"), HasSubstr("another kernel")));
    EXPECT_STREQ(kernel.origin, "compiled");
    EXPECT_EQ(answer(kernel), value);
  }
  clear_memory_cache();
  for (const int value : {22, 23}) {
    const LoadedKernel kernel = load_kernel(returns(value));
    EXPECT_STREQ(kernel.origin, "disk cache") << "made again";
    EXPECT_EQ(answer(kernel), value);
  }
}

// Bits of every byte that follows the code, and some of the code.
TEST_F(KernelCache, NoFlippedBitIsExecuted) {
  load_kernel(returns(24));
  const fs::path entry = only_entry();
  const std::string whole = bytes_of(entry);
  std::vector<size_t> bits;
  for (size_t bit = 0; bit < 8 * 64; bit += 5) bits.push_back(8 * (whole.size() - 64) + bit);
  for (size_t bit = 0; bit < 8 * whole.size(); bit += whole.size() / 4) bits.push_back(bit);
  testing::internal::CaptureStderr();
  for (const size_t bit : bits) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    std::ofstream(entry, std::ios::binary) << damaged;
    EXPECT_EQ(disk_cache_load("returns", key_of_entry(entry)), nullptr) << bit;
    EXPECT_FALSE(fs::exists(entry)) << bit;
  }
  testing::internal::GetCapturedStderr();
}

TEST_F(KernelCache, AFolderInAnEntrysPlaceIsLeftAlone) {
  load_kernel(returns(25));
  const fs::path entry = only_entry();
  fs::remove(entry);
  fs::create_directory(entry);
  clear_memory_cache();
  LoadedKernel kernel;
  EXPECT_THAT(stderr_of([&] { kernel = load_kernel(returns(25)); }), HasSubstr("ignored"));
  EXPECT_STREQ(kernel.origin, "compiled");
  EXPECT_EQ(answer(kernel), 25);
  EXPECT_TRUE(fs::is_directory(entry));
  EXPECT_EQ(only_entry(), entry) << "nothing half written stays";
}

TEST_F(KernelCache, ReadOnlyFolder) {
  load_kernel(returns(26));
  const std::string folder = (root / "kernels").string(), entry = only_entry().string();
  const std::string whole = bytes_of(entry);
  if (mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) != 0)
    GTEST_SKIP() << "needs the right to mount";
  ASSERT_EQ(mount("none", folder.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr), 0);
  clear_memory_cache();
  LoadedKernel kernel;
  EXPECT_EQ(stderr_of([&] { kernel = load_kernel(returns(26)); }), "");
  EXPECT_STREQ(kernel.origin, "disk cache");
  EXPECT_THAT(stderr_of([&] { kernel = load_kernel(returns(27)); }), HasSubstr("cannot write"));
  EXPECT_EQ(answer(kernel), 27);
  EXPECT_EQ(bytes_of(entry), whole);
  EXPECT_EQ(umount2(folder.c_str(), MNT_DETACH), 0);  // a loaded kernel is in use
}

TEST_F(KernelCache, UnusableFolderWarnsOnceAndGoesOn) {
  std::ofstream(root / "kernels") << "a file where the folder should be";
  LoadedKernel kernel;
  EXPECT_THAT(stderr_of([&] { kernel = load_kernel(returns(9)); }),
              AllOf(HasSubstr("kernel cache is off"), HasSubstr("WEFT_CACHE_DIR")));
  EXPECT_EQ(answer(kernel), 9);
  EXPECT_EQ(stderr_of([&] { kernel = load_kernel(returns(10)); }), "");
  EXPECT_EQ(answer(kernel), 10);
}

TEST_F(KernelCache, FolderThatCannotBeMade) {
  const ScopedEnv nowhere("WEFT_CACHE_DIR", "/proc/weft/kernels");
  LoadedKernel kernel;
  EXPECT_THAT(stderr_of([&] { kernel = load_kernel(returns(11)); }), HasSubstr("cannot make the folder"));
  EXPECT_EQ(answer(kernel), 11);
}

TEST_F(KernelCache, FullFolder) {
  fs::create_directory(root / "kernels");
  const std::string folder = (root / "kernels").string();
  if (mount("none", folder.c_str(), "tmpfs", 0, "size=4k,mode=0700") != 0)
    GTEST_SKIP() << "needs the right to mount";
  LoadedKernel kernel;
  EXPECT_THAT(stderr_of([&] { kernel = load_kernel(returns(12)); }), HasSubstr("No space left"));
  EXPECT_EQ(answer(kernel), 12);
  EXPECT_EQ(stderr_of([&] { EXPECT_EQ(answer(load_kernel(returns(13))), 13); }), "");
  EXPECT_TRUE(fs::is_empty(folder));
  EXPECT_EQ(umount(folder.c_str()), 0);
}

TEST_F(KernelCache, FolderOthersCanWriteToIsRefused) {
  fs::create_directory(root / "kernels");
  chmod((root / "kernels").c_str(), 0777);
  EXPECT_THAT(stderr_of([&] { EXPECT_EQ(answer(load_kernel(returns(14))), 14); }),
              HasSubstr("other users can write"));
  EXPECT_TRUE(fs::is_empty(root / "kernels"));
}

TEST_F(KernelCache, FolderOfAnotherUserIsRefused) {
  fs::create_directory(root / "kernels");
  if (chown((root / "kernels").c_str(), 12345, 12345) != 0)
    GTEST_SKIP() << "needs root to give a folder away";
  EXPECT_THAT(stderr_of([&] { EXPECT_EQ(answer(load_kernel(returns(15))), 15); }), HasSubstr("another user"));
}

TEST_F(KernelCache, EntryOfAnotherUserIsNotExecuted) {
  load_kernel(returns(16));
  if (chown(only_entry().c_str(), 12345, 12345) != 0) GTEST_SKIP() << "needs root to give a file away";
  clear_memory_cache();
  LoadedKernel kernel;
  EXPECT_THAT(stderr_of([&] { kernel = load_kernel(returns(16)); }), HasSubstr("ignored"));
  EXPECT_STREQ(kernel.origin, "compiled");
  EXPECT_EQ(answer(kernel), 16);
}

TEST_F(KernelCache, Disabled) {
  const ScopedEnv off("WEFT_DISABLE_CACHE", "1");
  EXPECT_EQ(answer(load_kernel(returns(17))), 17);
  EXPECT_FALSE(fs::exists(root / "kernels"));
  clear_memory_cache();
  EXPECT_STREQ(load_kernel(returns(17)).origin, "compiled");
}

TEST_F(KernelCache, ThreadsCompileAKernelOnce) {
  std::atomic<int> compiled{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const LoadedKernel kernel = load_kernel(returns(18));
      if (std::string_view(kernel.origin) == "compiled") ++compiled;
      if (answer(kernel) != 18) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(wrong, 0);
}

TEST_F(KernelCache, ChildrenShareTheFolder) {
  std::vector<std::thread> parents;
  std::atomic<int> failed{0};
  for (int i = 0; i < 4; ++i) {
    parents.emplace_back([&] {
      if (in_child([] { return answer(load_kernel(returns(19))) == 19 ? 0 : 1; }) != 0) ++failed;
    });
  }
  for (std::thread& parent : parents) parent.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(cache_stats().entries, 1);
  EXPECT_STREQ(load_kernel(returns(19)).origin, "disk cache");
}

TEST_F(KernelCache, AChildDropsOldEntriesWhenTheLimitIsPassed) {
  // The limit is looked at by a process's first store into a folder: a child's.
  EXPECT_EQ(in_child([&] {
              load_kernel(returns(20, "old"));
              std::ofstream big(root / "kernels/unused-0.so");
              big << std::string(3 << 20, 'x');
              big.close();
              fs::last_write_time(root / "kernels/unused-0.so",
                                  fs::file_time_type::clock::now() - std::chrono::hours(9));
              return 0;
            }),
            0);
  const ScopedEnv limit("WEFT_CACHE_LIMIT_MB", "1");
  EXPECT_EQ(in_child([] { return answer(load_kernel(returns(21, "fresh"))) == 21 ? 0 : 1; }), 0);
  EXPECT_FALSE(fs::exists(root / "kernels/unused-0.so"));
  EXPECT_EQ(cache_stats().entries, 2);
}

// ---- toolchains
// ---------------------------------------------------------------------------------------------

struct Toolchains : KernelCache, testing::WithParamInterface<const char*> {
  void SetUp() override {
    KernelCache::SetUp();
    setenv("WEFT_TOOLCHAIN", GetParam(), 1);
    for (const Toolchain* choice : toolchains()) {
      std::string why_not;
      if (choice->name() == GetParam() && !choice->available(&why_not)) GTEST_SKIP() << why_not;
    }
  }
};

TEST_P(Toolchains, AnErrorCarriesTheCompilersMessage) {
  const CompileRequest request{"broken_kernel",
                               "extern \"C\" int answer() {\n  return undeclared_thing;\n}\n"};
  const std::string message = error_of([&] { load_kernel(request); });
  EXPECT_THAT(message, AllOf(HasSubstr("broken_kernel"), HasSubstr("undeclared_thing"),
                             HasSubstr("broken_kernel.cc:2")));
  EXPECT_EQ(answer(load_kernel(returns(30))), 30) << "a good kernel after a bad one";
}

TEST_P(Toolchains, KernelsCallMathLibraries) {
  const CompileRequest request{"calls_math",
                               "extern \"C\" double sin(double);\n"
                               "extern \"C\" double weft_sin(double);\n"
                               "extern \"C\" double difference(double x) { return sin(x) - weft_sin(x); }\n"};
  const LoadedKernel kernel = load_kernel(request);
  auto difference = reinterpret_cast<double (*)(double)>(kernel.module->symbol("difference"));
  EXPECT_NEAR(difference(1.25), 0.0, 1e-15);
}

// A flag that is dropped would change results in silence.
TEST(ClangFlags, WhatIsNotKnownIsNamed) {
  std::string why_not;
  if (!clang_toolchain().available(&why_not)) GTEST_SKIP() << why_not;
  for (const std::string flag :
       {"-ffast-math", "-fno-wrapv", "-Ofast", "-mno-avx", "-mtune=generic", "-mavx1024", "-DNAME=1"}) {
    std::vector<std::string> flags = kernel_flags();
    flags.push_back(flag);
    try {
      compile_with_clang(returns(0), flags);
      ADD_FAILURE() << flag;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Internal) << flag;
      EXPECT_THAT(error.what(), HasSubstr("flag '" + flag + "'"));
    }
  }
  EXPECT_NE(compile_with_clang(returns(0), kernel_flags()), "");
}

// Loops that the source keeps apart, over other arrays but equal otherwise.
CompileRequest equal_loops(int count) {
  std::string source;
  for (int i = 0; i < count; ++i)
    source += fmt::format(
        "extern \"C\" void loop{0}(double* a, long n) {{\n"
        "  const auto add = [=](long begin, long end) __attribute__((noinline)) {{\n"
        "    for (long i = begin; i < end; ++i) a[i] = a[i] * a[i + {1}] + 1;\n  }};\n"
        "  add(0, n / 2);\n  add(n / 2, n);\n}}\n",
        i, i < 8 ? 1 : 2);
  return {fmt::format("equal_loops_{}", count), source};
}

TEST(ClangOptimizer, OfEqualLoopsOneIsCompiled) {
  std::string why_not;
  if (!clang_toolchain().available(&why_not)) GTEST_SKIP() << why_not;
  const auto size = [](int count) { return compile_with_clang(equal_loops(count), kernel_flags()).size(); };
  const size_t one = size(1), eight = size(8);
  EXPECT_LT(eight, 2 * one);

  const std::shared_ptr<const Module> module =
      load_module_bytes(compile_with_clang(equal_loops(9), kernel_flags()), "equal_loops");
  for (int i : {0, 7, 8}) {
    std::vector<double> a(40), expected(40);
    for (int k = 0; k < 40; ++k) a[k] = expected[k] = k;
    for (int k = 0; k < 37; ++k) expected[k] = expected[k] * expected[k + (i < 8 ? 1 : 2)] + 1;
    reinterpret_cast<void (*)(double*, long)>(module->symbol(fmt::format("loop{}", i)))(a.data(), 37);
    EXPECT_EQ(a, expected) << i;
  }
}

TEST_P(Toolchains, NoSystemHeaderIsFound) {
  EXPECT_THAT(error_of([] { load_kernel({"includes", "#include <vector>\n"}); }), HasSubstr("vector"));
}

TEST_P(Toolchains, MultipliesAndAddsAreNotContracted) {
  const CompileRequest request{
      "contracts", "extern \"C\" double contracted(double x, double y, double z) { return x * y + z; }\n"};
  const LoadedKernel kernel = load_kernel(request);
  auto multiply_add =
      reinterpret_cast<double (*)(double, double, double)>(kernel.module->symbol("contracted"));
  const double x = 1.0 + 0x1p-30;
  EXPECT_EQ(multiply_add(x, x, -1.0), (1.0 + 0x1p-29) - 1.0);
}

TEST_P(Toolchains, SignalHandlersStayTheApplications) {
  const auto handler = [](int) {};
  struct sigaction mine = {}, now = {}, before = {};
  mine.sa_handler = handler;
  for (int signal : {SIGINT, SIGTERM, SIGSEGV, SIGPIPE}) {
    ASSERT_EQ(sigaction(signal, &mine, &before), 0);
    load_kernel({"signals", returns(100 + signal).source});
    ASSERT_EQ(sigaction(signal, &before, &now), 0);
    EXPECT_EQ(now.sa_handler, mine.sa_handler) << signal;
  }
}

TEST_P(Toolchains, KernelsCallTheLibrary) {
  const CompileRequest request{"calls_weft",
                               "namespace weft { int num_usable_cores(); }\n"
                               "extern \"C\" int answer() { return weft::num_usable_cores(); }\n"};
  EXPECT_EQ(answer(load_kernel(request)), num_usable_cores());
}

// Four threads, each of which compiles three kernels of its own; how many gave a wrong answer.
int wrong_answers_of_threads(int first, const std::function<void()>& meanwhile) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&wrong, first, i] {
      for (int k = 0; k < 3; ++k) {
        const int value = first + 10 * i + k;
        if (answer(load_kernel(returns(value))) != value) ++wrong;
      }
    });
  }
  meanwhile();
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

TEST_P(Toolchains, ThreadsCompileAtOnce) {
  EXPECT_EQ(wrong_answers_of_threads(1000, [] {}), 0);
}

TEST_P(Toolchains, AChildOfAProcessThatIsCompilingCompilesToo) {
  const auto children = [] {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(in_child([i] { return answer(load_kernel(returns(2000 + i))) == 2000 + i ? 0 : 1; }), 0);
    }
  };
  EXPECT_EQ(wrong_answers_of_threads(1100, children), 0);
}

TEST_P(Toolchains, AMissingSymbolIsABugOfOurs) {
  const LoadedKernel kernel = load_kernel(returns(31));
  EXPECT_THAT(error_of([&] { kernel.module->symbol("absent"); }),
              AllOf(HasSubstr("absent"), HasSubstr("bug")));
}

TEST_P(Toolchains, VectorsOfTheMachinesWidth) {
  const std::string bytes = std::to_string(host_vector_bytes());
  const CompileRequest request{"vectors",
                               "typedef float vec __attribute__((vector_size(" + bytes +
                                   ")));\n"
                                   "extern \"C\" void scale(const float* a, float* out, long n, float s) {\n"
                                   "  constexpr long w = sizeof(vec) / sizeof(float);\n"
                                   "  for (long i = 0; i + w <= n; i += w) {\n"
                                   "    vec v; __builtin_memcpy(&v, a + i, sizeof v);\n"
                                   "    v = v * s;\n"
                                   "    __builtin_memcpy(out + i, &v, sizeof v);\n"
                                   "  }\n"
                                   "}\n"};
  const LoadedKernel kernel = load_kernel(request);
  auto scale = reinterpret_cast<void (*)(const float*, float*, long, float)>(kernel.module->symbol("scale"));
  std::vector<float> in(64), out(64);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i) * 0.37f;
  scale(in.data(), out.data(), 64, 1.7f);
  for (size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], in[i] * 1.7f);
}

INSTANTIATE_TEST_SUITE_P(Both, Toolchains, testing::Values("clang", "c++"), [](const auto& info) {
  return std::string(info.param) == "clang" ? "clang" : "cxx";
});

TEST_F(KernelCache, ToolchainsGiveEqualResults) {
  std::string why_not;
  for (const Toolchain* choice : toolchains()) {
    if (!choice->available(&why_not)) GTEST_SKIP() << why_not;
  }
  const CompileRequest request{"polynomial",
                               "extern \"C\" void polynomial(const float* a, float* out, long n) {\n"
                               "  for (long i = 0; i < n; ++i) {\n"
                               "    float x = a[i], y = 0.25f;\n"
                               "    for (int k = 0; k < 12; ++k) y = y * x + 1.0f / (k + 2);\n"
                               "    out[i] = __builtin_sqrtf(y * y + x) / (x - 0.3f);\n"
                               "  }\n"
                               "}\n"};
  std::vector<float> in(1000), by_clang(1000), by_cxx(1000);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i) * 0.0031f;
  using Function = void (*)(const float*, float*, long);
  for (auto [name, out] : {std::pair("clang", &by_clang), std::pair("c++", &by_cxx)}) {
    const LoadedKernel kernel = load_kernel(request, name);
    EXPECT_STREQ(kernel.origin, "compiled") << "each toolchain has entries of its own";
    reinterpret_cast<Function>(kernel.module->symbol("polynomial"))(in.data(), out->data(), 1000);
  }
  EXPECT_EQ(by_clang, by_cxx);
}

TEST_F(KernelCache, MissingCompiler) {
  const ScopedEnv missing("WEFT_CXX", "/nonexistent/compiler");
  const ScopedEnv no_plugin("WEFT_CLANG_PLUGIN", "/nonexistent/plugin.so");
  for (const char* choice : {"c++", "auto"}) {
    const ScopedEnv set("WEFT_TOOLCHAIN", choice);
    EXPECT_THAT(error_of([] { load_kernel(returns(32)); }),
                AllOf(HasSubstr("no toolchain"), HasSubstr("/nonexistent/compiler"), HasSubstr("WEFT_CXX")));
  }
  const ScopedEnv set("WEFT_TOOLCHAIN", "auto");
  EXPECT_THAT(error_of([] { load_kernel(returns(32)); }), HasSubstr("/nonexistent/plugin.so"));
}

TEST_F(KernelCache, AutoFallsBackToTheSpawnedCompiler) {
  const ScopedEnv set("WEFT_TOOLCHAIN", "auto");
  std::ofstream(root / "plugin.so") << "not a library";
  const ScopedEnv broken("WEFT_CLANG_PLUGIN", (root / "plugin.so").string());
  EXPECT_EQ(toolchain().name(), "c++");
  EXPECT_EQ(answer(load_kernel(returns(33))), 33);
}

TEST_F(KernelCache, UnknownToolchain) {
  EXPECT_THAT(error_of([] { load_kernel(returns(34), "msvc"); }),
              AllOf(HasSubstr("msvc"), HasSubstr("clang or c++")));
}

}  // namespace
}  // namespace weft::runtime
