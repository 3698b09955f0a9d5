// Kernels share mappings, and end when nobody refers to them.
#include "runtime/code_memory.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "runtime/clang_toolchain.h"
#include "runtime/code_image.h"
#include "runtime/module.h"
#include "runtime/toolchain.h"
#include "support.h"
#include "weft/error.h"

namespace weft::runtime {
namespace {

using runtime_test::in_child;
using runtime_test::ScopedEnv;

size_t num_mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) ++count;
  return count;
}

// A small function, a constant table and a call of a library.
std::string source(int value) {
  return fmt::format(
      "extern \"C\" double sqrt(double);\n"
      "static const double table[4] = {{{}, 1, 2, 3}};\n"
      "static const char* const names[2] = {{\"a\", \"b\"}};\n"
      "extern \"C\" int given(int i) {{ return (int)sqrt(table[i & 3] * table[i & 3]) + (names[i & 1][0] == "
      "'b'); }}\n",
      value);
}

int given(const Module& module, int i = 0) {
  return reinterpret_cast<int (*)(int)>(module.symbol("given"))(i);
}

struct CodeMemory : testing::Test {
  void SetUp() override {
    std::string why_not;
    if (!clang_toolchain().available(&why_not)) GTEST_SKIP() << why_not;
    clear_memory_cache();
  }
  void TearDown() override { clear_memory_cache(); }
  ScopedEnv no_disk{"WEFT_DISABLE_CACHE", "1"};
  ScopedEnv by_clang{"WEFT_TOOLCHAIN", "clang"};
};

TEST_F(CodeMemory, ManyKernelsShareMappings) {
  given(*load_kernel({"given", source(1 << 20)}).module);  // what the first one brings with it
  const size_t before = num_mappings();
  std::vector<std::shared_ptr<const Module>> modules;
  for (int i = 0; i < 300; ++i) modules.push_back(load_kernel({"given", source(i)}).module);
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(given(*modules[static_cast<size_t>(i)]), i);
    EXPECT_EQ(given(*modules[static_cast<size_t>(i)], 3), 4);
  }
  EXPECT_LT(num_mappings(), before + 20);
}

TEST_F(CodeMemory, KernelsEndWithWhoRefersToThem) {
  const size_t before = code_memory_stats().used;
  std::weak_ptr<const Module> kept, dropped;
  {
    const std::shared_ptr<const Module> module = load_kernel({"given", source(5)}).module;
    dropped = module;
    clear_memory_cache();
    EXPECT_EQ(given(*module), 5) << "a cleared cache ends nothing that is in use";
    EXPECT_GT(code_memory_stats().used, before);
  }
  EXPECT_TRUE(dropped.expired());
  EXPECT_EQ(code_memory_stats().used, before);
  kept = load_kernel({"given", source(6)}).module;
  EXPECT_FALSE(kept.expired()) << "the cache keeps what was asked for last";
}

TEST_F(CodeMemory, TheCacheIsBoundedAndFindsWhatIsInUse) {
  const std::shared_ptr<const Module> used = load_kernel({"given", source(0)}).module;
  const std::weak_ptr<const Module> first = load_kernel({"given", source(1)}).module;
  const std::weak_ptr<const Module> again = load_kernel({"given", source(2)}).module;
  for (int i = 3; i < 300; ++i) {
    load_kernel({"given", source(i)});
    EXPECT_STREQ(load_kernel({"given", source(2)}).origin, "memory cache");
  }
  EXPECT_TRUE(first.expired());
  EXPECT_FALSE(again.expired());
  const LoadedKernel found = load_kernel({"given", source(0)});
  EXPECT_STREQ(found.origin, "memory cache");
  EXPECT_EQ(found.module, used);
}

TEST_F(CodeMemory, MemoryThatComesBackIsUsedAgain) {
  std::vector<std::shared_ptr<const Module>> modules;
  for (int i = 0; i < 64; ++i) modules.push_back(load_kernel({"given", source(i)}).module);
  const CodeMemoryStats before = code_memory_stats();
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < modules.size(); i += 2) modules[i].reset();
    clear_memory_cache();
    EXPECT_LT(code_memory_stats().used, before.used);
    for (size_t i = 0; i < modules.size(); i += 2)
      modules[i] = load_kernel({"given", source(static_cast<int>(i))}).module;
    EXPECT_EQ(code_memory_stats().used, before.used);
    EXPECT_EQ(code_memory_stats().regions, before.regions);
    for (size_t i = 0; i < modules.size(); ++i) EXPECT_EQ(given(*modules[i]), static_cast<int>(i));
  }
}

TEST_F(CodeMemory, VariablesAndConstructorsAreTheSystemLoaders) {
  for (const char* text :
       {"int counter = 4; extern \"C\" int given(int i) { return counter += i; }",
        "static int zero; extern \"C\" int given(int i) { return 4 + (zero += i); }",
        "struct A { A(); int x; }; A::A() : x(4) {} A a; extern \"C\" int given(int i) { return a.x + i; }",
        "thread_local int own = 4; extern \"C\" int given(int i) { return own += i; }"}) {
    const std::string bytes = clang_toolchain().compile({"given", text});
    EXPECT_EQ(load_image(bytes, "given"), nullptr) << text;
    const std::shared_ptr<const Module> module = load_module_bytes(bytes, "given");
    EXPECT_EQ(given(*module), 4) << text;
  }
}

TEST_F(CodeMemory, WhatIsNoSharedObjectIsNone) {
  const std::string bytes = clang_toolchain().compile({"given", source(3)});
  ASSERT_NE(load_image(bytes, "given"), nullptr);
  EXPECT_EQ(load_image("", "given"), nullptr);
  EXPECT_EQ(load_image("not an object", "given"), nullptr);
  for (size_t length = 0; length < bytes.size(); length += 16)
    EXPECT_EQ(load_image(bytes.substr(0, length), "given"), nullptr) << length;  // its last table is missing
}

TEST_F(CodeMemory, AMissingSymbolOfALibraryIsNamed) {
  const std::string bytes = clang_toolchain().compile({"given",
                                                       "extern \"C\" int nobody_has_this(int); extern \"C\" "
                                                       "int given(int i) { return nobody_has_this(i); }"});
  try {
    load_module_bytes(bytes, "given");
    ADD_FAILURE() << "loaded";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("nobody_has_this"));
  }
}

// What one of two processes writes later, the other does not see.
TEST_F(CodeMemory, AChildOfForkHasItsOwn) {
  std::shared_ptr<const Module> module = load_kernel({"given", source(1)}).module;
  int to_child[2];
  ASSERT_EQ(pipe(to_child), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    const bool was_told = read(to_child[0], &byte, 1) == 1;
    _exit(was_told && given(*module) == 1 && given(*load_kernel({"given", source(2)}).module) == 2 ? 0 : 1);
  }
  module.reset();
  clear_memory_cache();
  for (int i = 10; i < 20; ++i) EXPECT_EQ(given(*load_kernel({"given", source(i)}).module), i);
  ASSERT_EQ(write(to_child[1], "x", 1), 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  close(to_child[0]);
  close(to_child[1]);
}

}  // namespace
}  // namespace weft::runtime
