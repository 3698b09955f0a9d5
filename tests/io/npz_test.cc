// NumPy's files. The bytes of arrays written by NumPy itself are compared in tests/python/test_command.py.
#include "weft/npz.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "io/archive.h"
#include "io/npy.h"
#include "runtime/files.h"
#include "weft/error.h"

namespace weft::io {
namespace {

using testing::HasSubstr;

std::string npy(const std::string& header, const std::string& elements) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + elements;
}

std::string header(const std::string& dtype, const std::string& shape, const char* fortran_order = "False") {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}\n", dtype, fortran_order, shape);
}

IValue parse(const std::string& bytes) { return parse_npy(bytes, "array 'a'"); }

std::string refusal(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Npy, ReadsOrdersAndByteOrders) {
  const Tensor c = parse(npy(header("|u1", "(2, 3)"), "\1\2\3\4\5\6")).to_tensor();
  EXPECT_EQ(c.at(1), 2);
  const Tensor fortran = parse(npy(header("|u1", "(2, 3)", "True"), "\1\2\3\4\5\6")).to_tensor();
  EXPECT_EQ(fortran.strides(), (Strides{1, 2}));
  EXPECT_EQ(fortran.at(1), 3);
  EXPECT_EQ(parse(npy(header(">i4", "()"), std::string("\0\0\1\2", 4))).to_tensor().item().to_int(), 258);
  const Tensor flags = parse(npy(header("|b1", "(3,)"), std::string("\0\1\7", 3))).to_tensor();
  EXPECT_EQ(static_cast<const unsigned char*>(flags.data())[2], 1);
  EXPECT_EQ(parse(npy(header("<f8", "(0, 5)"), "")).to_tensor().shape(), (Shape{0, 5}));
}

TEST(Npy, ReadsText) {
  EXPECT_EQ(parse(npy(header("<U2", "()"), std::string("\xe9\0\0\0a\0\0\0", 8))).to_string(),
            "\xc3\xa9"
            "a");
  EXPECT_EQ(parse(npy(header(">U2", "(1,)"), std::string("\0\1\xf6\0\0\0\0\0", 8))).elements()[0].to_string(),
            "\xf0\x9f\x98\x80");
  EXPECT_THAT(refusal(npy(header("<U1", "()"), std::string("\0\xd8\0\0", 4))),
              HasSubstr("0xd800 is no character"));
  EXPECT_THAT(refusal(npy(header("<U1", "(1, 1)"), "aaaa")), HasSubstr("expected one string or a list"));
  EXPECT_THAT(refusal(npy(header("<U0", "(99999999999,)"), "")), HasSubstr("more than"));
}

TEST(Npy, RefusesMalformedFiles) {
  const std::string good = npy(header("<f4", "(2,)"), "12345678");
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(refusal(good.substr(0, length)), "accepted") << length;
  EXPECT_THAT(refusal(good + "1"), HasSubstr("has 9 bytes of elements: [2] of dtype <f4 need 8"));
  EXPECT_THAT(refusal("PK\3\4"), HasSubstr("is no .npy array"));
  EXPECT_THAT(refusal(std::string("\x93NUMPY\x04\x00\x00\x00\x00\x00", 12)), HasSubstr("has version 4.0"));
  EXPECT_THAT(refusal(npy("{}", "")), HasSubstr("expected the keys"));
  EXPECT_THAT(refusal(npy("{'descr': '<f4', 'descr': '<f4', }", "")), HasSubstr("unexpected key 'descr'"));
  EXPECT_THAT(refusal(npy(header("<f4", "(2,)") + "}", "")), HasSubstr("text after the dictionary"));
  EXPECT_THAT(refusal(npy(header("<f4", "(-1,)"), "")), HasSubstr("expected a size"));
  EXPECT_THAT(refusal(npy(header("<f4", "(99999999999999999999,)"), "")), HasSubstr("expected a size"));
  EXPECT_THAT(refusal(npy(header("<f4", "(4611686018427387904, 0)"), "")), HasSubstr("too large"));
  EXPECT_THAT(refusal(npy(header("<f4", "(1000000000, 1000000000)"), "")),
              HasSubstr("has 0 bytes of elements"));
  EXPECT_THAT(refusal(npy(header("|O", "()"), "")), HasSubstr("never unpickled"));
  EXPECT_THAT(refusal(npy(header("<M8[ns]", "()"), "")),
              HasSubstr("dtype '<M8[ns]': there is no tensor of it"));
  EXPECT_THAT(refusal(npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': ()}", "")),
              HasSubstr("structured"));
}

TEST(Npy, EveryChangedByteIsReadOrRefused) {
  const std::string good = npy(header("<f4", "(2,)"), "12345678");
  for (size_t at = 0; at < good.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(value);
      refusal(bytes);
    }
  }
}

TEST(Npy, WritesWhatItReads) {
  const runtime::TemporaryFolder folder;
  for (const DType dtype : {DType::Bool, DType::I8, DType::U16, DType::I64, DType::F16, DType::F32,
                            DType::F64, DType::C64, DType::C128}) {
    const Tensor written = Tensor::full({3, 2}, 1, dtype).as_strided({2, 3}, {1, 2}, 0);
    save_npy(folder.path() + "/a.npy", written);
    const Tensor read = load_npy(folder.path() + "/a.npy").to_tensor();
    EXPECT_EQ(read.dtype(), dtype);
    EXPECT_EQ(read.shape(), written.shape());
    for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(read.at(i), 1) << name(dtype);
  }
  EXPECT_EQ(parse(npy_bytes(2.5, "a")).to_tensor().item().to_double(), 2.5);
  EXPECT_EQ(parse(npy_bytes("h\xc3\xa9", "a")).to_string(), "h\xc3\xa9");
  EXPECT_EQ(parse(npy_bytes(std::vector<std::string>{"a", "bcd"}, "a")).elements()[1].to_string(), "bcd");
  EXPECT_EQ(npy_bytes(1, "a").size() % 64, 8u);
}

TEST(Npy, NamesWhatItCannotWrite) {
  const auto why = [](const IValue& value) {
    try {
      npy_bytes(value, "array 'a'");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("written");
  };
  EXPECT_THAT(why(Tensor::full({2}, 1, DType::BF16)), HasSubstr("NumPy has no bfloat16"));
  EXPECT_THAT(why(std::vector<int64_t>{1}), HasSubstr("List[int] is no array"));
  EXPECT_THAT(why(IValue()), HasSubstr("NoneType is no array"));
}

TEST(Npz, KeepsNames) {
  const runtime::TemporaryFolder folder;
  const std::string path = folder.path() + "/a.npz";
  for (const bool compress : {false, true}) {
    save_npz(path, {{"layer/w", Tensor::full({100}, 2, DType::F32)}, {"in.0", 7}}, compress);
    const NamedValues values = load_npz(path);
    ASSERT_EQ(values.size(), 2u);
    EXPECT_EQ(values[0].first, "in.0");
    EXPECT_EQ(values[1].second.to_tensor().at(99), 2);
  }
  save_npz(path, {});
  EXPECT_TRUE(load_npz(path).empty());
  EXPECT_THROW(save_npz(path, {{"../a", 1}}), Error);
}

TEST(Npz, InMemoryWithALimit) {
  const NamedValues values = {{"a", Tensor::full({100}, 2, DType::F32)}, {"b", "text"}};
  const std::string bytes = npz_bytes(values, "answer");
  const NamedValues found = parse_npz(bytes, "body", 1000);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].second.to_tensor().at(99), 2);
  EXPECT_EQ(found[1].second.to_string(), "text");
  // Sizes count before anything is unpacked: 400 and 16 bytes, and two headers of 128.
  EXPECT_EQ(parse_npz(bytes, "body", 672).size(), 2u);
  EXPECT_THROW(parse_npz(bytes, "body", 671), Error);
  jit::ArchiveWriter writer("");
  const std::string zeros(1 << 20, '\0');
  for (int i = 0; i < 100; ++i) writer.add(std::to_string(i) + ".npy", std::as_bytes(std::span(zeros)), true);
  EXPECT_THROW(parse_npz(writer.finish(), "body", 50 << 20), Error);
  EXPECT_THROW(parse_npz(bytes.substr(0, bytes.size() - 1), "body", 1000), Error);
  EXPECT_THROW(npz_bytes({{"a", Tensor::full({1}, 1, DType::BF16)}}, "answer"), Error);
  EXPECT_THAT(refusal(npy(header("<U0", "(70000,)"), "")), HasSubstr("more than 65536 strings"));
}

TEST(Npz, SaysWhatIsWrong) {
  const runtime::TemporaryFolder folder;
  const auto why = [&](const auto& read) {
    try {
      read();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("read");
  };
  const std::string path = folder.path() + "/a.npz";
  jit::ArchiveWriter archive("");
  archive.add("data.pkl", std::span<const std::byte>());
  archive.finish_to_file(path);
  EXPECT_THAT(why([&] { load_npz(path); }), HasSubstr("does not end in .npy"));
  std::ofstream(folder.path() + "/text") << "hello";
  EXPECT_THAT(why([&] { load_npz(folder.path() + "/text"); }), HasSubstr("is no zip archive"));
  EXPECT_THAT(why([&] { load_npy(folder.path() + "/none"); }), HasSubstr("No such file"));
  EXPECT_THAT(why([&] { load_npy(folder.path()); }), HasSubstr("cannot read"));
  EXPECT_THAT(why([&] { save_npy(folder.path() + "/none/a.npy", 1); }),
              HasSubstr("cannot write: No such file"));
  EXPECT_THAT(why([&] { save_npy(folder.path(), 1); }),
              HasSubstr("cannot write: it is there and not a regular file"));
}

TEST(Npy, TheFileBehindALinkIsReplaced) {
  const runtime::TemporaryFolder folder;
  const std::string file = folder.path() + "/a.npy", link = folder.path() + "/link.npy";
  save_npy(file, 1);
  std::filesystem::create_symlink(file, link);
  save_npy(link, 2);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(load_npy(file).to_tensor().item().to_int(), 2);
  const auto files = std::filesystem::directory_iterator(folder.path());
  EXPECT_EQ(std::distance(std::filesystem::begin(files), std::filesystem::end(files)), 2);
}

}  // namespace
}  // namespace weft::io
