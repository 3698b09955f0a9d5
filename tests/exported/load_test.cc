// Archives of exported programs: read, refused by what is wrong with them, and bounded.
#include <gmock/gmock.h>

#include "exported/program_builder.h"
#include "weft/error.h"
#include "weft/exported.h"
#include "weft/jit.h"

namespace weft::exported {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& bytes) {
  try {
    load_bytes(bytes);
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::Value || error.kind() == ErrorKind::NotImplemented) << error.what();
    return error.what();
  }
  return "accepted";
}
std::string refusal(const ArchiveEntries& entries) { return refusal(archive_of(entries)); }

// The archive of add_weight() with entries changed.
ArchiveEntries changed(const ArchiveEntries& changes) {
  ArchiveEntries entries = entries_of(add_weight().json());
  for (const auto& [name, contents] : changes) entries[name] = contents;
  return entries;
}
std::string weights_config(const std::string& entry) {
  return fmt::format(R"({{"config": {{"w": {}}}}})", entry);
}
std::string weight_entry(const std::string& tensor_meta, const std::string& path = "weight_0", bool use_pickle = false) {
  return fmt::format(R"({{"path_name": "{}", "is_param": true, "use_pickle": {}, "tensor_meta": {}}})", path, use_pickle, tensor_meta);
}

Tensor rows(int64_t count) { return Tensor::full({count, 2}, 0, DType::F32); }

TEST(ExportedLoad, RunsAndChecksSizes) {
  const Program program = load_bytes(archive_of(add_weight()));
  EXPECT_EQ(program({rows(1)}).to_tensor().str(), Tensor::of<float>({1, 2}, {1, 2}).str());
  EXPECT_EQ(program({rows(4)}).to_tensor().shape(), Shape({4, 2}));
  EXPECT_EQ(program({rows(0)}).to_tensor().shape(), Shape({0, 2}));  // a least size of 1 or 2 is an assumption of PyTorch's
  const auto refuses = [](const Program& each, int64_t count) {
    try {
      each({rows(count)});
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Value);
      EXPECT_THAT(error.what(), HasSubstr("*args[0].shape[0]"));
    }
  };
  refuses(program, 5);
  ProgramText others = add_weight();
  others.ranges = R"({"s0": {"min_val": 3, "max_val": 4}})";
  refuses(load_bytes(archive_of(others)), 2);
  EXPECT_EQ(load_bytes(archive_of(others))({rows(3)}).to_tensor().shape(), Shape({3, 2}));
  others.ranges = R"({"s0": {"min_val": 2, "max_val": null}})";
  others.guards = R"(["(L['x'].size()[0] % 2) == 0", "math.ceil(L['x'].size()[0]) == 2"])";
  refuses(load_bytes(archive_of(others)), 3);
  EXPECT_EQ(load_bytes(archive_of(others))({rows(4)}).to_tensor().shape(), Shape({4, 2}));
  ASSERT_EQ(program.ranges().size(), 1u);
  EXPECT_EQ(program.ranges()[0].max, 4);
  EXPECT_EQ(program.weights().size(), 1u);
  EXPECT_EQ(program.text(), add_weight().json());
}

TEST(ExportedLoad, MadeOfItsParts) {
  const Program loaded = load_bytes(archive_of(add_weight()));
  const Program made = make_program(loaded.text(), loaded.weights(), loaded.constants());
  EXPECT_EQ(made({rows(2)}).to_tensor().str(), loaded({rows(2)}).to_tensor().str());
  try {
    make_program(loaded.text(), {}, {});
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("there is no tensor 'w'"));
  }
}

TEST(ExportedLoad, OtherArchives) {
  EXPECT_THAT(refusal({{"data/aotinductor/model/m.so", "x"}}), HasSubstr("AOTInductor"));
  EXPECT_THAT(refusal(changed({{"data/aotinductor/model/m.so", "x"}})), testing::Eq("accepted"));
  ArchiveEntries compiled = changed({{"data/aotinductor/model/m.so", "x"}});
  compiled.erase("models/model.json");
  EXPECT_THAT(refusal(compiled), HasSubstr("AOTInductor"));
  EXPECT_THAT(refusal({{"constants.pkl", "x"}}), HasSubstr("weft.jit.load"));
  EXPECT_THAT(refusal({{"other", "x"}}), HasSubstr("no archive_format"));
  std::string executorch = std::string("\x20\0\0\0ET12", 8) + std::string(64, '\0');
  EXPECT_THAT(refusal(executorch), HasSubstr("ExecuTorch"));
  EXPECT_THAT(refusal(std::string("ET12")), testing::Not(HasSubstr("ExecuTorch")));
}

TEST(ExportedLoad, Versions) {
  ProgramText program = add_weight();
  program.major = 9;
  EXPECT_THAT(refusal(archive_of(program)), HasSubstr("major version 9"));
  EXPECT_THAT(refusal(changed({{"archive_version", "1"}})), HasSubstr("archive_version"));
  EXPECT_THAT(refusal(changed({{"archive_format", "pt3"}})), HasSubstr("archive_format"));
}

TEST(ExportedLoad, ModelsAndJson) {
  EXPECT_THAT(refusal(changed({{"models/other.json", "{}"}})), HasSubstr("expected one model, found 2"));
  EXPECT_THAT(refusal(changed({{"models/model.json", "{"}})), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal(changed({{"models/model.json", "[]"}})), HasSubstr("schema_version"));
  EXPECT_THAT(refusal(changed({{"models/model.json", R"({"a": 1, "a": 2})"}})), HasSubstr("twice"));
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_THAT(refusal(changed({{"models/model.json", deep}})), HasSubstr("nested deeper than"));
}

TEST(ExportedLoad, Weights) {
  const std::string huge = "9223372036854775807";
  const auto with = [&](const std::string& entry) {
    return refusal(changed({{"data/weights/model_weights_config.json", weights_config(entry)}}));
  };
  EXPECT_EQ(with(weight_entry(meta({size(2)}))), "accepted");
  EXPECT_THAT(with(weight_entry(meta({size(3)}))), testing::AnyOf(HasSubstr("byte"), HasSubstr("storage"), HasSubstr("beyond")));
  for (const std::string& bad : {fmt::format(R"({{"as_int": {}}})", huge), size(-1), std::string(R"({"as_int": 9223372036854775808})"),
                                 std::string(R"_({"as_expr": {"expr_str": "Symbol('s0')", "hint": null}})_"), std::string("3")})
    EXPECT_NE(with(weight_entry(meta({bad, bad}))), "accepted") << bad;
  EXPECT_THAT(with(weight_entry(meta({size(2)}, 99))), HasSubstr("no dtype of the schema's number 99"));
  EXPECT_THAT(with(weight_entry(meta({size(2)}, 7, 1))), HasSubstr("strided"));
  EXPECT_THAT(with(weight_entry(meta({size(2)}), "weight_1")), HasSubstr("weight_1"));
  EXPECT_THAT(with(weight_entry(meta({size(2)}), "custom_obj_0")), HasSubstr("custom class"));
  EXPECT_NE(with(weight_entry("null", "weight_0", true)), "accepted");  // no pickle
  EXPECT_EQ(with(weight_entry(meta({size(0), size(5)}))), "accepted");
}

TEST(ExportedLoad, DamagedBytesAreRefusedOrRead) {
  const std::string whole = archive_of(branches());
  for (size_t at = 0; at < whole.size(); at += 37) {
    std::string cut = whole.substr(0, at), flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x11);
    EXPECT_NE(refusal(cut), "accepted") << at;
    refusal(flipped);
  }
}

// The size of an entry is looked at before anything of it is read.
TEST(LongExportedLoad, JsonOfAnySize) {
  ArchiveEntries entries = entries_of(std::string((size_t{256} << 20) + 1, ' '));
  EXPECT_THAT(refusal(archive_of(entries)), HasSubstr("256 MiB"));
}

}  // namespace
}  // namespace weft::exported
