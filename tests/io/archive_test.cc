// The zip reader and writer of .pt archives: what they read and write, and everything that is refused.
#include "io/archive.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "runtime/files.h"
#include "weft/error.h"
#include "zip_builder.h"

namespace weft::jit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RawEntry stored(const std::string& name, const std::string& payload) {
  RawEntry entry;
  entry.name = name;
  entry.payload = payload;
  return entry;
}
const RawEntry kVersion = stored("a/version", "3\n");

RawZip zip_of(std::vector<RawEntry> entries) {
  RawZip zip;
  zip.entries = std::move(entries);
  return zip;
}

std::shared_ptr<ArchiveReader> read_zip(const RawZip& zip) {
  return ArchiveReader::from_bytes(zip.str(), "m.pt");
}

// The message of the ValueError that `f` raises.
template <class F>
std::string archive_error(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Value) << error.what();
    return error.what();
  }
  return "no error";
}
std::string refusal(const RawZip& zip) {
  return archive_error([&] { read_zip(zip); });
}
std::string refusal(const RawEntry& entry) { return refusal(zip_of({kVersion, entry})); }

std::string contents(const std::shared_ptr<Storage>& storage) {
  return {static_cast<const char*>(storage->data()), storage->nbytes()};
}

// ---- what is read ----------------------------------------------------------------------------------------
std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(ArchiveReader, ReadsStoredAndDeflatedEntriesInAnyOrder) {
  const auto archive =
      read_zip(zip_of({deflated("a/code/x.py", "def f(): pass"), stored("a/data/0", "12345678"), kVersion}));
  EXPECT_THAT(archive->entries(), ElementsAre("code/x.py", "data/0", "version"));
  EXPECT_EQ(archive->read("code/x.py"), "def f(): pass");
  EXPECT_EQ(archive->size("code/x.py"), 13u);
  EXPECT_EQ(contents(archive->map("data/0")), "12345678");
  EXPECT_EQ(contents(archive->map("code/x.py")), "def f(): pass");
  EXPECT_EQ(archive->version(), 3);
  EXPECT_TRUE(archive->has("data/0"));
  EXPECT_FALSE(archive->has("a/data/0"));
}

TEST(ArchiveReader, ReadsZip64) {
  RawZip zip = zip_of({kVersion, stored("a/data/0", "12345678"), deflated("a/b", "text")});
  zip.zip64 = true;
  const auto archive = read_zip(zip);
  EXPECT_EQ(archive->read("data/0"), "12345678");
  EXPECT_EQ(archive->read("b"), "text");
  zip.entries[1].size = zip.entries[1].compressed_size = uint64_t{1} << 40;
  EXPECT_THAT(refusal(zip), HasSubstr("entry 'a/data/0' declares 1099511627776 bytes, the file has "));
}

TEST(ArchiveReader, RefusesZip64RecordsThatDisagree) {
  RawZip zip = zip_of({kVersion});
  zip.zip64 = true;
  std::string bytes = zip.str();
  bytes[bytes.size() - 14] = 7, bytes[bytes.size() - 13] = 0;  // the 16-bit number of entries
  bytes[bytes.size() - 12] = 7, bytes[bytes.size() - 11] = 0;
  EXPECT_EQ(archive_error([&] { ArchiveReader::from_bytes(bytes, "m.pt"); }),
            "archive 'm.pt' is damaged: its two end records differ");
  bytes = zip.str();
  bytes[bytes.find("PK\6\6")] = 'Q';
  EXPECT_EQ(archive_error([&] { ArchiveReader::from_bytes(bytes, "m.pt"); }),
            "archive 'm.pt' is damaged: its zip64 end record is not where it says");
  RawEntry entry = kVersion;  // 64-bit sizes promised, none given
  entry.size = entry.compressed_size = 0xffffffff;
  EXPECT_EQ(refusal(zip_of({entry})),
            "archive 'm.pt': entry 'a/version' is damaged: its 64-bit sizes are missing");
}

TEST(ArchiveReader, HidesItsOwnDataFolderAndFolders) {
  const auto archive = read_zip(
      zip_of({stored("a/", ""), stored("a/data/", ""), kVersion, stored("a/.data/serialization_id", "123")}));
  EXPECT_THAT(archive->entries(), ElementsAre("version"));
}

TEST(ArchiveReader, FindsTheVersionWherePyTorchPutsIt) {
  EXPECT_EQ(read_zip(zip_of({stored("a/.data/version", "10\n")}))->version(), 10);
  EXPECT_EQ(read_zip(zip_of({stored("a/version", "6")}))->version(), 6);
}

TEST(ArchiveReader, ReadsEmptyEntries) {
  const auto archive = read_zip(zip_of({kVersion, stored("a/data/0", "")}));
  EXPECT_EQ(archive->read("data/0"), "");
  EXPECT_EQ(archive->map("data/0")->nbytes(), 0u);
}

TEST(ArchiveReader, NamesWhatIsNotThere) {
  const auto archive = read_zip(zip_of({kVersion}));
  EXPECT_EQ(archive_error([&] { archive->read("data/7"); }), "archive 'm.pt' has no entry 'data/7'");
  EXPECT_EQ(archive_error([&] { archive->map("data/7"); }), "archive 'm.pt' has no entry 'data/7'");
}

TEST(ArchiveReader, LittleEndianOnly) {
  EXPECT_NO_THROW(read_zip(zip_of({kVersion, stored("a/byteorder", "little")})));
  EXPECT_EQ(refusal(stored("a/byteorder", "big")),
            "archive 'm.pt': entry 'byteorder' holds 'big': only little-endian archives can be read");
}

// ---- what is refused -------------------------------------------------------------------------------------
TEST(ArchiveReader, RefusesWhatIsNoArchive) {
  const auto error = [](std::string bytes) {
    return archive_error([&] { ArchiveReader::from_bytes(std::move(bytes), "m.pt"); });
  };
  EXPECT_EQ(error(""), "archive 'm.pt' is no zip archive");
  EXPECT_EQ(error("PK"), "archive 'm.pt' is no zip archive");
  EXPECT_EQ(error("MZ" + zip_of({kVersion}).str()), "archive 'm.pt' is no zip archive");
  EXPECT_THAT(error(std::string("\x80\x02\x8a\x0al\xfc\x9c", 7)),
              HasSubstr("was written by PyTorch before 1.6"));
  EXPECT_EQ(error(RawZip().str()), "archive 'm.pt' is no zip archive");
}

TEST(ArchiveReader, RefusesEveryTruncation) {
  const std::string whole = zip_of({kVersion, stored("a/data/0", "12345678"), deflated("a/b", "text")}).str();
  for (size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    EXPECT_THAT(archive_error([&] { ArchiveReader::from_bytes(whole.substr(0, size), "m.pt"); }),
                HasSubstr("archive 'm.pt' is "));
  }
  EXPECT_EQ(archive_error([&] { ArchiveReader::from_bytes(whole.substr(0, whole.size() - 1), "m.pt"); }),
            "archive 'm.pt' is truncated: there is no central directory at its end");
}

TEST(ArchiveReader, SurvivesEveryFlippedBit) {
  const std::string whole = zip_of({kVersion, stored("a/data/0", "12345678"), deflated("a/b", "text")}).str();
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    try {
      const auto archive = ArchiveReader::from_bytes(bytes, "m.pt");
      for (const std::string& entry : archive->entries()) archive->read(entry);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Value) << error.what();
    }
  }
}

TEST(ArchiveReader, RefusesNames) {
  EXPECT_EQ(refusal(stored("/etc/passwd", "x")),
            "archive 'm.pt': entry '/etc/passwd' is refused: its name is absolute");
  EXPECT_THAT(refusal(stored("a/../../b", "x")),
              HasSubstr("entry 'a/../../b' is refused: its name leaves its folder"));
  EXPECT_THAT(refusal(stored("..", "x")), HasSubstr("leaves its folder"));
  EXPECT_THAT(refusal(stored("a/./b", "x")), HasSubstr("leaves its folder"));
  EXPECT_THAT(refusal(stored("a\\b", "x")), HasSubstr("its name has a backslash in it"));
  EXPECT_THAT(refusal(stored(std::string("a/b\0c", 5), "x")), HasSubstr("its name has a zero byte in it"));
  EXPECT_THAT(refusal(stored("", "x")), HasSubstr("its name is empty"));
  EXPECT_THAT(refusal(stored("a/" + std::string(1023, 'x'), "x")),
              HasSubstr("its name is longer than 1024 bytes"));
  EXPECT_EQ(refusal(stored("b", "x")), "archive 'm.pt': entry 'b' is not in the archive's folder");
  EXPECT_EQ(refusal(stored("b/c", "x")), "archive 'm.pt': entry 'b/c' is not in the archive's folder 'a'");
  EXPECT_EQ(refusal(stored("a/folder/", "x")), "archive 'm.pt': entry 'a/folder/' is a folder with contents");
  EXPECT_EQ(refusal(kVersion), "archive 'm.pt': entry 'a/version' is there twice");
}

TEST(ArchiveReader, RefusesWhatItCannotRead) {
  RawEntry entry = stored("a/b", "text");
  entry.flags = 1;
  EXPECT_EQ(refusal(entry), "archive 'm.pt': entry 'a/b' is encrypted");
  entry = stored("a/b", "text");
  entry.method = 12;
  EXPECT_EQ(refusal(entry),
            "archive 'm.pt': entry 'a/b' is compressed by method 12: expected stored (0) or deflated (8)");
  entry = stored("a/b", "text");
  entry.disk = 1;
  EXPECT_EQ(refusal(entry), "archive 'm.pt': entry 'a/b' lies on another disk of a split archive");
  RawZip zip = zip_of({kVersion});
  zip.disk = 1;
  EXPECT_EQ(refusal(zip), "archive 'm.pt' is split over several disks");
}

TEST(ArchiveReader, RefusesSizes) {
  RawEntry entry = stored("a/b", "text");
  entry.size = entry.compressed_size = 1000000;
  EXPECT_THAT(refusal(entry), HasSubstr("entry 'a/b' declares 1000000 bytes, the file has "));
  entry.size = entry.compressed_size = 200;  // fits the file, not what is left of it
  EXPECT_THAT(refusal(entry), HasSubstr("entry 'a/b' reaches byte "));
  entry.size = 5, entry.compressed_size = 4;
  EXPECT_EQ(refusal(entry), "archive 'm.pt': entry 'a/b' is stored and declares two sizes: 4 and 5 bytes");
}

TEST(ArchiveReader, RefusesBombs) {
  RawEntry entry = deflated("a/b", std::string(1000, 'x'));
  entry.size = uint64_t{1} << 31;
  EXPECT_EQ(
      refusal(entry),
      "archive 'm.pt': entry 'a/b' is refused: it expands from 1005 to 2147483648 bytes, more than 200-fold");
  entry.size = 16 << 20;  // small enough to be tried, and then the lie shows
  const auto archive = read_zip(zip_of({kVersion, entry}));
  EXPECT_EQ(archive_error([&] { archive->read("b"); }),
            "archive 'm.pt': entry 'b' is damaged: it ends after 1000 of 16777216 bytes");
  entry.size = 10;
  EXPECT_EQ(archive_error([&] { read_zip(zip_of({kVersion, entry}))->read("b"); }),
            "archive 'm.pt': entry 'b' is damaged: it does not end after 10 bytes");
}

TEST(ArchiveReader, RefusesOverlap) {
  RawEntry first = stored("a/b", std::string(100, 'x'));
  RawEntry inner = stored("a/c", "y");
  // The second entry's header lies in the first's payload.
  first.payload = "xx" + std::string("PK\3\4") + little_endian(45, 2) + little_endian(0, 8) +
                  little_endian(crc32_of("y"), 4) + little_endian(1, 4) + little_endian(1, 4) +
                  little_endian(3, 2) + little_endian(0, 2) + "a/cy" + std::string(60, 'x');
  inner.payload = "";
  RawZip zip = zip_of({first, kVersion});
  const size_t header = zip.str().find("PK\3\4", 10);
  inner.offset = header;
  inner.size = inner.compressed_size = 1;
  inner.crc = crc32_of("y");
  zip.entries.push_back(inner);
  EXPECT_EQ(refusal(zip), "archive 'm.pt': entry 'b' overlaps 'c'");
}

TEST(ArchiveReader, RefusesEntriesThatShareBytes) {
  RawEntry again = stored("a/c", "text");
  RawZip zip = zip_of({kVersion, stored("a/b", "text"), again});
  zip.entries[2].offset = zip_of({kVersion}).str().find("PK\1\2");
  EXPECT_THAT(refusal(zip), HasSubstr("entry 'a/c' is damaged: its local header is missing or differs"));
}

TEST(ArchiveReader, RefusesDamagedHeaders) {
  RawEntry entry = stored("a/b", "text");
  entry.local_name = "a/longer";
  EXPECT_THAT(refusal(entry), HasSubstr("entry 'a/b' is damaged: its local header is missing or differs"));
  entry = stored("a/b", "text");
  entry.offset = 7;
  EXPECT_THAT(refusal(entry), HasSubstr("entry 'a/b' is damaged: its local header is missing or differs"));
  RawZip zip = zip_of({kVersion});
  zip.num_entries = 2;
  EXPECT_EQ(refusal(zip), "archive 'm.pt' is damaged: record 1 of its central directory cannot be read");
  zip = zip_of({kVersion});
  zip.directory_offset = 1 << 30;
  EXPECT_THAT(refusal(zip), HasSubstr("central directory"));
  zip = zip_of({kVersion});
  zip.num_entries = 0;
  EXPECT_EQ(refusal(zip), "archive 'm.pt' is empty: it has no entries");
}

TEST(ArchiveReader, ChecksTheChecksumOfWhatItReads) {
  RawEntry entry = stored("a/b", "0123456789abcdef");
  entry.crc = 0;
  const auto archive = read_zip(zip_of({kVersion, entry}));
  EXPECT_EQ(archive_error([&] { archive->read("b"); }),
            "archive 'm.pt': entry 'b' is damaged: its checksum (CRC-32) is wrong");
}

TEST(ArchiveReader, VerifyNamesEveryDamagedEntry) {
  ArchiveWriter writer("m");
  writer.add("code/x.py", as_bytes(std::string(10000, 'c')), true);
  writer.add("data/0", as_bytes(std::string(5000, 'x')));
  writer.add("data/1", as_bytes(std::string(3, 'y')));
  writer.add("data/2", as_bytes(""));
  writer.add("version", as_bytes("3\n"));
  const std::string good = writer.finish();
  const auto reader = ArchiveReader::from_bytes(good, "m.pt");
  EXPECT_TRUE(reader->damaged().empty());
  EXPECT_NO_THROW(reader->verify());
  std::string bad = good;
  bad[bad.find("xxxx") + 4999] ^= 1;
  EXPECT_EQ(ArchiveReader::from_bytes(bad)->damaged(), std::vector<std::string>{"data/0"});
  bad[bad.find("yyy")] ^= 1;
  EXPECT_EQ(archive_error([&] { ArchiveReader::from_bytes(bad, "m.pt")->verify(); }),
            "archive 'm.pt' is damaged: the checksum (CRC-32) of 'data/0', 'data/1' is wrong");
  EXPECT_NO_THROW(ArchiveReader::from_bytes(bad)->map("data/0"));
  bad = good;
  bad[(bad.find("code/x.py") + 9 + 63) / 64 * 64 + 5] ^= 0xff;  // deflated, from a multiple of 64 bytes on
  EXPECT_EQ(ArchiveReader::from_bytes(bad)->damaged(), std::vector<std::string>{"code/x.py"});
}

TEST(ArchiveReader, RefusesVersions) {
  for (const char* version : {"2", "11", "999999999"})
    EXPECT_EQ(refusal(zip_of({stored("a/version", version)})),
              fmt::format("archive 'm.pt' has version {}: expected 3 to 10", version));
  for (const char* version : {"", "x", "-3", "3.5", "1234567890123"})
    EXPECT_EQ(refusal(zip_of({stored("a/version", version)})),
              fmt::format("archive 'm.pt': entry 'version' holds '{}': expected a number", version));
  EXPECT_EQ(refusal(zip_of({stored("a/version", std::string(17, '3'))})),
            "archive 'm.pt': entry 'version' has 17 bytes: expected a word");
  EXPECT_EQ(refusal(zip_of({stored("a/data.pkl", "x")})), "archive 'm.pt' has no entry 'version'");
}

// ---- files -----------------------------------------------------------------------------------------------
std::string file_contents(const std::string& path) { return runtime::read_file(path).value_or("none"); }

TEST(ArchiveReader, MapsFilesCopyOnWrite) {
  const runtime::TemporaryFolder folder;
  const std::string path = folder.path() + "/m.pt";
  ArchiveWriter writer("m");
  writer.add("data/0", as_bytes(std::string(5000, 'x')));
  writer.add("version", as_bytes("3\n"));
  writer.finish_to_file(path);
  const std::string before = file_contents(path);
  std::shared_ptr<Storage> storage = ArchiveReader::open(path)->map("data/0");  // outlives the reader
  EXPECT_EQ(reinterpret_cast<uintptr_t>(storage->data()) % 64, 0u);
  std::memset(storage->data(), 'y', storage->nbytes());
  EXPECT_EQ(contents(storage), std::string(5000, 'y'));
  EXPECT_EQ(file_contents(path), before);
}

TEST(ArchiveReader, RefusesWhatIsNoFile) {
  const runtime::TemporaryFolder folder;
  EXPECT_THROW(ArchiveReader::open(folder.path()), Error);
  EXPECT_THROW(ArchiveReader::open(folder.path() + "/none"), Error);
  std::ofstream(folder.path() + "/empty");
  EXPECT_THAT(archive_error([&] { ArchiveReader::open(folder.path() + "/empty"); }),
              HasSubstr("the file is empty"));
}

// ---- the writer ------------------------------------------------------------------------------------------
TEST(ArchiveWriter, ReadsBack) {
  const auto write = [] {
    ArchiveWriter writer("m");
    writer.add("code/x.py", as_bytes(std::string(10000, 'c')), true);
    std::shared_ptr<Storage> storage = Storage::allocate(100);
    std::memset(storage->data(), 's', 100);
    writer.add("data/0", storage);
    writer.add("data/1", as_bytes(""));
    writer.add("version", as_bytes("3\n"));
    return writer.finish();
  };
  const std::string bytes = write();
  EXPECT_LT(bytes.size(), 1200u);
  EXPECT_EQ(bytes, write());  // deterministic
  const auto archive = ArchiveReader::from_bytes(bytes);
  EXPECT_EQ(archive->read("code/x.py"), std::string(10000, 'c'));
  EXPECT_EQ(archive->read("data/0"), std::string(100, 's'));
  EXPECT_EQ(archive->read("data/1"), "");
  EXPECT_EQ(bytes.find(std::string(100, 's')) % 64, 0u);
}

TEST(ArchiveWriter, FlatArchivesReadBack) {
  const std::string contents = "[1, 2]";
  ArchiveWriter writer("");
  writer.add("x.npy", std::as_bytes(std::span(contents)));
  writer.add("layer/weight.npy", std::as_bytes(std::span(contents)), true);
  const auto archive = ArchiveReader::from_bytes(writer.finish(), "m.npz", ArchiveLayout::Flat);
  EXPECT_EQ(archive->entries(), (std::vector<std::string>{"layer/weight.npy", "x.npy"}));
  EXPECT_EQ(archive->read("layer/weight.npy"), contents);
  EXPECT_TRUE(
      ArchiveReader::from_bytes(ArchiveWriter("").finish(), "m.npz", ArchiveLayout::Flat)->entries().empty());
  EXPECT_THROW(ArchiveReader::from_bytes("PK", "m.npz", ArchiveLayout::Flat), Error);
}

TEST(ArchiveWriter, RefusesNames) {
  EXPECT_EQ(archive_error([] { ArchiveWriter("a/b"); }),
            "archive: expected the name of one folder, got 'a/b'");
  ArchiveWriter writer("m");
  writer.add("x", as_bytes("1"));
  EXPECT_EQ(archive_error([&] { writer.add("x", as_bytes("1")); }),
            "archive: the entry 'x' is written twice");
  EXPECT_THAT(archive_error([&] { writer.add("../x", as_bytes("1")); }),
              HasSubstr("cannot write the entry '../x': its name leaves"));
  EXPECT_THAT(archive_error([&] { writer.add(std::string(2000, 'x'), as_bytes("1")); }),
              HasSubstr("longer than 1024"));
}

TEST(ArchiveWriter, LeavesNothingWhereItFails) {
  const runtime::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/taken");
  ArchiveWriter writer("m");
  writer.add("version", as_bytes("3\n"));
  try {
    writer.finish_to_file(folder.path() + "/taken");
    FAIL() << "a folder was replaced";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Runtime);
    EXPECT_THAT(error.what(), HasSubstr("not a regular file"));
  }
  const auto files = std::filesystem::directory_iterator(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

// A storage of 4.5 GiB, which needs 64-bit sizes and offsets. Slow, and needs the space: only on request.
TEST(ArchiveWriter, Zip64) {
  if (!std::getenv("WEFT_TEST_LARGE")) GTEST_SKIP() << "WEFT_TEST_LARGE is not set";
  const runtime::TemporaryFolder folder;
  const std::string path = folder.path() + "/m.pt";
  const size_t size = size_t{9} << 29;
  ArchiveWriter writer("m");
  void* zeros =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(zeros, MAP_FAILED);
  static_cast<char*>(zeros)[size - 1] = 'e';
  writer.add("data/0", Storage::wrap(zeros, size, [=] { munmap(zeros, size); }));
  writer.add("data/1", as_bytes("after"));
  writer.add("version", as_bytes("3\n"));
  writer.finish_to_file(path);
  const auto archive = ArchiveReader::open(path);
  EXPECT_EQ(archive->size("data/0"), size);
  EXPECT_EQ(static_cast<const char*>(archive->map("data/0")->data())[size - 1], 'e');
  EXPECT_EQ(archive->read("data/1"), "after");
}

}  // namespace
}  // namespace weft::jit
