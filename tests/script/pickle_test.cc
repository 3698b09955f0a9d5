// Unpickling: real archives, every kind of value, and every refusal.
#include "script/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>

#include "weft/error.h"

namespace weft::jit {
namespace {

std::string shared_data() {
  const char* folder = std::getenv("WEFT_SHARED_DATA");
  return folder ? folder : "";
}

// The classes of an archive, with every annotated attribute as Any: enough for unpickling.
class ArchiveClasses {
 public:
  explicit ArchiveClasses(std::shared_ptr<ArchiveReader> archive) : archive_(std::move(archive)) {}

  TypePtr find(const std::string& qualified) {
    const auto found = types_.find(qualified);
    return found != types_.end() ? found->second : types_[qualified] = read(qualified);
  }

 private:
  TypePtr read(const std::string& qualified) {
    const size_t dot = qualified.rfind('.');
    std::string file = "code/" + qualified.substr(0, dot);
    std::replace(file.begin() + 5, file.end(), '.', '/');
    const std::string source = archive_->read(file + ".py");
    const ClassTypePtr type = ClassType::create(qualified, true);
    const size_t start = source.find("class " + qualified.substr(dot + 1) + "(");
    if (start == source.npos) return nullptr;
    std::string body = source.substr(start);
    body = body.substr(0, std::min(body.find("\n  def "), body.find("\nclass ", 1)));
    static const std::regex kAttribute(R"re(\n  (?:__annotations__\["(\w+)"\] =|(\w+) :) (\S+))re");
    for (std::sregex_iterator it(body.begin(), body.end(), kAttribute), end; it != end; ++it) {
      if (it->str(3).starts_with("Final[")) continue;
      Attribute attribute;
      attribute.name = it->str(1) + it->str(2);
      attribute.type = Type::any();
      type->add_attribute(std::move(attribute));
    }
    return type;
  }

  std::shared_ptr<ArchiveReader> archive_;
  std::map<std::string, TypePtr> types_;
};

int64_t count_parameters(const IValue& value) {
  if (value.is_tensor()) return value.to_tensor().numel();
  int64_t count = 0;
  if (value.is(IValue::Tag::Object)) {
    for (const IValue& slot : value.to_object()->slots) count += count_parameters(slot);
  }
  return count;
}

TEST(Unpickle, ReadsEveryArchiveOfTorchScript) {
  const std::string folder = shared_data() + "/torchscript";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared data (WEFT_SHARED_DATA)";
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".pt") continue;
    SCOPED_TRACE(file.path());
    const auto archive = ArchiveReader::open(file.path());
    ArchiveClasses classes(archive);
    UnpickleOptions options;
    options.find_type = [&](const std::string& name) { return classes.find(name); };
    const IValue module = unpickle(archive->read("data.pkl"), archive.get(), options);
    EXPECT_TRUE(module.is(IValue::Tag::Object));
    if (file.path().stem() == "squeezenet1_1") {
      EXPECT_EQ(count_parameters(module), 1235496);
    }
    options.storages = "constants";
    EXPECT_TRUE(unpickle(archive->read("constants.pkl"), archive.get(), options).is(IValue::Tag::Tuple));
    ++count;
  }
  EXPECT_GE(count, 13);
}

}  // namespace
}  // namespace weft::jit
