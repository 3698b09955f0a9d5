#include "weft/models/safetensors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>

#include "models/support.h"

namespace weft::models {
namespace {

using ::testing::HasSubstr;

std::string file_bytes(const std::string& header, size_t data_bytes) {
  std::string bytes(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data_bytes, '\x01');
}

std::string error_for(const std::string& bytes) {
  const Folder folder;
  const std::string path = folder.write("x.safetensors", bytes);
  return error_of([&] { SafetensorsFile file(path); });
}

TEST(Safetensors, RoundTrip) {
  const Folder folder;
  const std::map<std::string, Tensor> tensors = {{"a", Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3})},
                                                 {"flag", Tensor::of<uint8_t>({1, 0, 7})},
                                                 {"empty", Tensor::empty({0, 4}, DType::F16)},
                                                 {"z", Tensor::of<double>({0.5, -2})}};
  save_safetensors(folder.path("m.safetensors"), tensors, {{"format", "pt"}});
  const SafetensorsFile file(folder.path("m.safetensors"));
  EXPECT_THAT(file.names(), ::testing::ElementsAre("a", "empty", "flag", "z"));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.shape("a"), (Shape{2, 3}));
  EXPECT_EQ(file.tensor("a").at(4), 5.0);
  EXPECT_EQ(file.tensor("flag").at(2), 7.0);
  EXPECT_EQ(file.tensor("z").at(1), -2.0);
  EXPECT_EQ(file.tensor("empty").numel(), 0);
  EXPECT_THAT(error_of([&] { file.tensor("b"); }), HasSubstr("no tensor 'b'"));
}

TEST(Safetensors, UnalignedTensorsAreCopied) {
  const Folder folder;
  const std::string header =
      R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[1,5]},"y":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  const SafetensorsFile file(folder.write("x.safetensors", file_bytes(header, 5)));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file.tensor("x").data()) % alignof(float), 0u);
}

TEST(Safetensors, WhatIsRefused) {
  const auto tensor = [](const char* dtype, const char* shape, const char* offsets) {
    return fmt::format(R"({{"x":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape, offsets);
  };
  EXPECT_THAT(error_for(""), HasSubstr("the file is empty"));
  EXPECT_THAT(error_for("abc"), HasSubstr("3 bytes, too short for the header's length"));
  EXPECT_THAT(error_for(std::string(7, '\xff') + std::string(1, '\x7f')), HasSubstr("more than 100 MB"));
  EXPECT_THAT(error_for(file_bytes("{}", 0).substr(0, 9)),
              HasSubstr("the header is said to have 2 bytes, the file has 9"));
  EXPECT_THAT(error_for(file_bytes("[]", 0)), HasSubstr("not a JSON object"));
  EXPECT_THAT(error_for(file_bytes("{\"x\":", 0)), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_for(file_bytes(std::string(200, '['), 0)), HasSubstr("nested deeper than 64"));
  EXPECT_THAT(error_for(file_bytes(tensor("F32", "[2]", "[0,9]"), 8)),
              HasSubstr("tensor 'x': data_offsets [0, 9] end outside the file, which has 8 bytes"));
  EXPECT_THAT(error_for(file_bytes(tensor("F32", "[2]", "[4,0]"), 8)),
              HasSubstr("data_offsets is not [begin, end]"));
  EXPECT_THAT(error_for(file_bytes(tensor("F32", "[2]", "[0,4]"), 8)),
              HasSubstr("float32 [2] takes 8 bytes, data_offsets [0, 4] hold 4"));
  EXPECT_THAT(error_for(file_bytes(tensor("F32", "[-2]", "[0,8]"), 8)),
              HasSubstr("shape is not a list of integers of at least 0"));
  EXPECT_THAT(error_for(file_bytes(tensor("F32", "[4294967296,4294967296,2]", "[0,8]"), 8)),
              HasSubstr("needs more bytes than the file has"));
  EXPECT_THAT(error_for(file_bytes(tensor("F6_E2M3", "[8]", "[0,8]"), 8)),
              HasSubstr("dtype 'F6_E2M3' is not supported"));
  EXPECT_THAT(
      error_for(file_bytes(
          R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
          3)),
      HasSubstr("tensors 'x' and 'y' overlap"));
  EXPECT_THAT(
      error_for(file_bytes(
          R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
          1)),
      HasSubstr("the key 'x' is there twice"));
  EXPECT_THAT(error_of([] { SafetensorsFile file("/nonexistent/x.safetensors"); }), HasSubstr("cannot open"));
}

TEST(Safetensors, NothingIsLeftOfAFileThatCannotBeWritten) {
  const Folder folder;
  EXPECT_THAT(error_of([&] { save_safetensors(folder.path("no/m.safetensors"), {}); }),
              HasSubstr("cannot write"));
  EXPECT_THAT(error_of([&] {
                save_safetensors(folder.path("m.safetensors"), {{"c", Tensor::empty({1}, DType::C128)}});
              }),
              HasSubstr("complex128"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace weft::models
