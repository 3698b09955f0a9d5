// Loading archives that PyTorch wrote.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "weft/error.h"
#include "weft/jit.h"

namespace weft::jit {
namespace {

std::vector<std::filesystem::path> archives() {
  const char* data = std::getenv("WEFT_SHARED_DATA");
  std::vector<std::filesystem::path> paths;
  if (!data) return paths;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(data) / "torchscript")) {
    if (entry.path().extension() == ".pt") paths.push_back(entry.path());
  }
  return paths;
}

TEST(Load, EveryArchiveGivesAModule) {
  if (archives().empty()) GTEST_SKIP() << "no shared data (WEFT_SHARED_DATA)";
  for (const auto& path : archives()) {
    const Module module = load(path.string());
    EXPECT_TRUE(module.has_method("forward")) << path;
    EXPECT_EQ(module.state_dict().size(), module.clone().state_dict().size());
    for (const auto& [name, child] : module.named_modules()) {
      EXPECT_EQ(module.submodule(name).object(), child.object()) << path << " " << name;
    }
  }
}

TEST(Load, WhatIsNoArchiveIsRefused) {
  EXPECT_THROW(load("/nonexistent/model.pt"), Error);
  EXPECT_THROW(load_bytes("PK\3\4 not a zip file"), Error);
  EXPECT_THROW(load_bytes(""), Error);
}

TEST(Load, UnknownMembersAreNamed) {
  if (archives().empty()) GTEST_SKIP() << "no shared data (WEFT_SHARED_DATA)";
  const Module module = load(archives()[0].string());
  EXPECT_THROW(module.method("backward"), Error);
  EXPECT_THROW(module.attribute("no_such_attribute"), Error);
  EXPECT_THROW(module.submodule("no.such.module"), Error);
  EXPECT_THROW(module.set_attribute("training", "yes"), Error);
  module.train();
  EXPECT_TRUE(module.is_training());
  module.eval();
  EXPECT_FALSE(module.is_training());
}

}  // namespace
}  // namespace weft::jit
