#include "runtime/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "weft/error.h"

namespace weft::runtime {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMappedBytes = 1 << 16;

class MappedFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "weft-mapped-XXXXXX").string();
    folder = mkdtemp(name.data());
    path = folder + "/model.safetensors";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void write(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
  static char at(const Storage& storage, size_t offset) {
    return static_cast<const volatile char*>(storage.data())[offset];
  }
  std::string error() const {
    try {
      map_file(path, "safetensors file");
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  std::string folder, path;
};
using MappedFileDeathTest = MappedFile;

TEST_F(MappedFile, MayBeRemovedReplacedAndAppendedTo) {
  write(std::string(kMappedBytes, 'a'));
  const auto removed = map_file(path, "file");
  std::filesystem::remove(path);
  write(std::string(10, 'b'));
  EXPECT_EQ(at(*removed, kMappedBytes - 1), 'a');
  const auto longer = map_file(path, "file");
  std::filesystem::resize_file(path, kMappedBytes);
  EXPECT_EQ(longer->nbytes(), 10);
  EXPECT_EQ(at(*longer, 9), 'b');
}

TEST_F(MappedFileDeathTest, SaysWhichFileBecameShorter) {
  const auto end = [&](size_t left, size_t offset) {
    write(std::string(kMappedBytes, 'a'));
    const std::string other = path + ".other";
    std::ofstream(other) << std::string(kMappedBytes, 'o');
    const auto before = map_file(other, "file"), storage = map_file(path, "file"),
               after = map_file(other, "file");
    std::filesystem::resize_file(path, left);
    return at(*storage, offset);
  };
  EXPECT_EXIT(end(0, 0), ::testing::KilledBySignal(SIGBUS),
              "weft error. '.*model.safetensors': the file has become");
  EXPECT_EXIT(end(4096, kMappedBytes - 1), ::testing::KilledBySignal(SIGBUS),
              "model.safetensors': the file has become");
  EXPECT_EXIT(std::exit(end(4096, 4095) == 'a' ? 7 : 8), ::testing::ExitedWithCode(7), "^$");
}

// A signal that is of no mapped file, or of one that is not mapped any more, is none of weft's.
TEST_F(MappedFileDeathTest, OtherSignalsAreLeftAlone) {
  write(std::string(kMappedBytes, 'a'));
  EXPECT_EXIT(
      {
        map_file(path, "file");
        std::FILE* const file = std::tmpfile();
        void* const data = mmap(nullptr, kMappedBytes, PROT_READ, MAP_PRIVATE, fileno(file), 0);
        std::exit(*static_cast<const volatile char*>(data));
      },
      ::testing::KilledBySignal(SIGBUS), "^$");
}

// Whoever handled the signal before still does, after the message.
TEST_F(MappedFileDeathTest, TheHandlerBeforeIsCalled) {
  write(std::string(kMappedBytes, 'a'));
  const auto end = [&] {
    std::signal(SIGBUS, [](int) { _exit(9); });
    const auto storage = map_file(path, "file");
    std::filesystem::resize_file(path, 0);
    return at(*storage, 0);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process in which no file has been mapped
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(9), "the file has become shorter");
}

TEST_F(MappedFile, PointersOfGitLfs) {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935\nsize 12345\n";
  write(pointer);
  EXPECT_THAT(error(), HasSubstr("safetensors file '" + path + "': this is a pointer that Git LFS left"));
  write("version https://example.com\n");
  EXPECT_EQ(error(), "no error");
  write("version ");
  EXPECT_EQ(error(), "no error");
}

}  // namespace
}  // namespace weft::runtime
