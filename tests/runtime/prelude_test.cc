// The prelude that the in-process compiler keeps precompiled.
#include "codegen/prelude.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <vector>

#include "runtime/clang_toolchain.h"
#include "runtime/precompiled_prelude.h"
#include "scalar/expr.h"
#include "support.h"
#include "weft/error.h"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;
using codegen::PreludeKind;
using runtime_test::in_child;
using runtime_test::ScopedEnv;

struct PrecompiledPrelude : testing::Test {
  void SetUp() override {
    std::string why_not;
    if (!clang_toolchain().available(&why_not)) GTEST_SKIP() << why_not;
    std::string name = testing::TempDir() + "weft-prelude-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root = name;
    setenv("WEFT_CACHE_DIR", root.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("WEFT_CACHE_DIR");
    fs::remove_all(root);
  }
  // Files of preludes in the cache.
  std::vector<fs::path> entries() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(root))
      if (entry.path().extension() == ".pch") found.push_back(entry.path());
    return found;
  }
  fs::path root;
};

const char* const kKernel = R"(extern "C" void kernel(const f64* a, f64* b, i64 n) {
  vectorized<8>(0, n, [&](auto lanes, i64 i) { lanes.store(b + i, elementary::exp(lanes.load(a + i)) + square_root(lanes.load(a + i))); });
}
)";
const char* const kLoop = R"(extern "C" i64 loop(f64* a, i64 n) {
  for (i64 i = 0; i < n; ++i) a[clamped(i, n - 1)] = sum_of<f64, f64>(i, a, 1) / (f64)int_floor_div(i + 3, (i64)2);
  return slice_length(0, n, 2);
}
)";

CompileRequest kernel() {
  return codegen::compile_request("kernel",
                                  codegen::with_prelude(PreludeKind::Kernel, {scalar::Prim::Exp}, kKernel));
}
CompileRequest loop() {
  return codegen::compile_request("loop", codegen::with_prelude(PreludeKind::Loop, {}, kLoop));
}
CompileRequest plain(CompileRequest request) {
  request.prelude = {};
  return request;
}

// Flags for which nothing comes with the library: of other processors of this architecture.
std::vector<std::string> flags_of_other(size_t number) {
  constexpr const char* kX86[] = {"nehalem", "haswell", "westmere", "sandybridge", "ivybridge"};
  constexpr const char* kArm[] = {"armv8.1-a", "armv8.2-a", "armv8.3-a", "armv8.4-a", "armv8.5-a"};
  std::vector<std::string> flags = kernel_flags();
  for (std::string& flag : flags) {
    if (flag.starts_with("-march=x86-64")) flag = std::string("-march=") + kX86[number];
    if (flag.starts_with("-march=armv8")) flag = std::string("-march=") + kArm[number];
  }
  return flags;
}

TEST_F(PrecompiledPrelude, GivesTheSameCode) {
  for (const std::vector<std::string>& flags : {kernel_flags(), flags_of_other(0), flags_of_other(1)})
    for (const CompileRequest& request : {kernel(), loop()})
      EXPECT_TRUE(compile_with_clang(request, flags) == compile_with_clang(plain(request), flags))
          << request.name;
}

TEST_F(PrecompiledPrelude, MessagesAreThoseOfTheSourceAlone) {
  CompileRequest request = loop();
  request.source += "extern \"C\" int wrong() { return undeclared_name; }\n";
  const auto message = [](const CompileRequest& of) -> std::string {
    try {
      compile_with_clang(of, kernel_flags());
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message(request), testing::HasSubstr("undeclared_name"));
  EXPECT_EQ(message(request), message(plain(request)));
}

// One file serves processors that differ in what the prelude does not ask for.
TEST_F(PrecompiledPrelude, AsksOnlyForFeaturesThatMarchBrings) {
  const std::set<std::string> known = {"__AVX__",    "__FMA__",     "__AVX512F__", "__AVX512BW__",
                                       "__x86_64__", "__aarch64__", "__clang__"};
  const std::string& text = codegen::shared_prelude();
  const std::regex conditional("\n *#(if|ifdef|ifndef|elif)[^\n]*"), macro("__[A-Za-z0-9_]+__");
  for (std::sregex_iterator line(text.begin(), text.end(), conditional), end; line != end; ++line) {
    const std::string condition = line->str();
    for (std::sregex_iterator name(condition.begin(), condition.end(), macro); name != end; ++name)
      EXPECT_TRUE(known.count(name->str())) << condition;
  }
}

TEST_F(PrecompiledPrelude, OneThatIsMadeStaysInTheCacheForTheNextChild) {
  const std::vector<std::string> flags = flags_of_other(2);
  const auto compiles = [&] {
    return in_child([&] { return compile_with_clang(kernel(), flags).empty() ? 1 : 0; });
  };
  if (prelude_flags(flags) == prelude_flags(kernel_flags()))
    GTEST_SKIP() << "no other processor to compile for";
  EXPECT_EQ(compiles(), 0);
  ASSERT_EQ(entries().size(), 1u);
  const fs::path entry = entries()[0];
  const auto written = fs::last_write_time(entry);
  EXPECT_EQ(compiles(), 0);
  EXPECT_EQ(entries().size(), 1u);

  const auto size = fs::file_size(entry);
  for (const uintmax_t length : {uintmax_t{0}, uintmax_t{20}, size / 2, size - 1}) {
    fs::resize_file(entry, length);
    EXPECT_EQ(compiles(), 0) << "cut to " << length;
    EXPECT_EQ(fs::file_size(entry), size) << "made again";
  }
  std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size / 3));
  file.write("hostile", 7);
  file.close();
  EXPECT_EQ(compiles(), 0) << "with other bytes";
  EXPECT_GE(fs::last_write_time(entry), written);

  const std::vector<std::string> other = flags_of_other(3);
  EXPECT_EQ(in_child([&] { return compile_with_clang(kernel(), other).empty() ? 1 : 0; }), 0);
  ASSERT_EQ(entries().size(), 2u);
  for (const fs::path& made : entries())
    if (made != entry) fs::rename(made, entry);
  EXPECT_EQ(compiles(), 0) << "with the entry of another processor";
  EXPECT_EQ(fs::file_size(entry), size) << "made again";
}

TEST_F(PrecompiledPrelude, IsMadeInEachChildWhereNothingCanBeKept) {
  const ScopedEnv disabled("WEFT_DISABLE_CACHE", "1");
  EXPECT_EQ(in_child([] { return compile_with_clang(loop(), flags_of_other(4)).empty() ? 1 : 0; }), 0);
  EXPECT_TRUE(entries().empty());
}

}  // namespace
}  // namespace weft::runtime
