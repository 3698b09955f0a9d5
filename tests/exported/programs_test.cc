// Programs that PyTorch 2.15 exported, with its results: the same from C++, on one thread and on two.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <filesystem>

#include "exported/json_access.h"
#include "support/shared_data.h"
#include "weft/exported.h"
#include "weft/jit.h"
#include "weft/npz.h"
#include "weft/parallel.h"

namespace weft::exported {
namespace {

namespace fs = std::filesystem;

using Arrays = std::map<std::string, Tensor>;

DType dtype_named(const std::string& name) {
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I64, DType::I32, DType::I16, DType::I8,
                            DType::U8, DType::Bool, DType::C64, DType::C128})
    if (weft::name(dtype) == name) return dtype;
  fail("no dtype " + name);
}

// The value that a tree of the data says (its README).
IValue value_of(const Json& tree, const Arrays& arrays) {
  const auto each = [&](const Json& parts) {
    std::vector<IValue> values;
    for (const Json& part : parts) values.push_back(value_of(part, arrays));
    return values;
  };
  if (tree.contains("t")) return arrays.at(tree["t"]).clone().to(dtype_named(tree["dtype"]));
  if (tree.contains("u")) return IValue::tuple(each(tree["u"]));
  if (tree.contains("l")) return IValue::list(jit::Type::any(), each(tree["l"]));
  if (tree.contains("d")) {
    IValue dict = IValue::dict(jit::Type::string(), jit::Type::any());
    for (const auto& [key, part] : tree["d"].items()) dict.to_dict()->set(IValue(key), value_of(part, arrays));
    return dict;
  }
  const Json& plain = tree["s"];
  if (plain.is_boolean()) return plain.get<bool>();
  if (plain.is_number_integer()) return plain.get<int64_t>();
  if (plain.is_number()) return plain.get<double>();
  if (plain.is_string()) return plain.get<std::string>();
  return {};
}

double tolerance(DType dtype) {
  if (dtype == DType::BF16) return 1e-2;
  if (dtype == DType::F16) return 2e-3;
  return dtype == DType::F64 ? 1e-10 : 1e-4;
}

void expect_close(const Tensor& found, const Tensor& expected, const std::string& place) {
  ASSERT_EQ(found.dtype(), expected.dtype()) << place;
  ASSERT_EQ(found.shape(), expected.shape()) << place;
  const Tensor one = found.to(DType::C128).contiguous(), other = expected.to(DType::C128).contiguous();
  const auto* a = one.data_as<std::complex<double>>();
  const auto* b = other.data_as<std::complex<double>>();
  double scale = 1e-3;
  for (int64_t i = 0; i < other.numel(); ++i)
    if (std::isfinite(std::abs(b[i]))) scale = std::max(scale, std::abs(b[i]));
  const bool is_exact = found.dtype() == DType::Bool || is_integral(found.dtype());
  const double bound = is_exact ? 0 : tolerance(found.dtype());
  for (int64_t i = 0; i < other.numel(); ++i) {
    const bool is_same = a[i] == b[i] || (std::isnan(a[i].real()) && std::isnan(b[i].real()));
    ASSERT_TRUE(is_same || std::abs(a[i] - b[i]) <= bound * (scale + std::abs(b[i])))
        << place << ", element " << i << ": " << a[i] << " instead of " << b[i];
  }
}

// Values by place, nested ones taken apart; classes and dictionaries alike. PyTorch's own named tuples (torch.sort's) have
// no names in files.
void add_leaves(const IValue& value, const std::string& place, std::map<std::string, IValue>& leaves) {
  if (value.is(IValue::Tag::Dict)) {
    for (const auto& [key, item] : value.to_dict()->items()) add_leaves(item, place + "." + key.to_string(), leaves);
  } else if (value.is(IValue::Tag::Tuple) && !value.type()->name().empty() && value.type()->fields()[0] != "field_0") {
    const auto& names = value.type()->fields();
    for (size_t i = 0; i < names.size(); ++i) add_leaves(value.elements()[i], place + "." + names[i], leaves);
  } else if (value.is_list() || value.is(IValue::Tag::Tuple)) {
    for (size_t i = 0; i < value.elements().size(); ++i)
      add_leaves(value.elements()[i], fmt::format("{}[{}]", place, i), leaves);
  } else {
    leaves[place] = value;
  }
}

void expect_same(const IValue& found, const IValue& expected, const std::string& place) {
  std::map<std::string, IValue> ours, theirs;
  add_leaves(found, place, ours);
  add_leaves(expected, place, theirs);
  ASSERT_EQ(ours.size(), theirs.size()) << place;
  for (const auto& [where, value] : theirs) {
    ASSERT_TRUE(ours.contains(where)) << where;
    if (value.is_tensor())
      expect_close(ours[where].to_tensor(), value.to_tensor(), where);
    else
      EXPECT_EQ(ours[where].repr(), value.repr()) << where;
  }
}

void check(const fs::path& path, const std::string& name) {
  Arrays arrays;
  for (const auto& [key, value] : load_npz((path / (name + ".npz")).string())) arrays.emplace(key, value.to_tensor());
  const Program program = load((path / (name + ".pt2")).string());
  int number = 0;
  const Json all = read_json((path / (name + ".json")).string());
  for (const Json& call : all["calls"]) {
    const std::vector<IValue> arguments = value_of(call["args"], arrays).elements();
    jit::Keywords keywords;
    for (const auto& [key, tree] : call["kwargs"]["d"].items()) keywords.emplace_back(key, value_of(tree, arrays));
    const IValue result = program(arguments, keywords);
    expect_same(result, value_of(call["out"], arrays), fmt::format("{}, call {}: the result", name, number));
    expect_same(IValue::tuple(arguments), value_of(call["args_after"], arrays),
                fmt::format("{}, call {}: the arguments afterwards", name, number));
    ++number;
  }
}

TEST(ExportedPrograms, AsPyTorchRunsThem) {
  const fs::path folder = fs::path(testing_support::shared_data()) / "pt2";
  if (!fs::exists(folder)) GTEST_SKIP() << "no test data at " << folder;
  const int before = get_num_threads();
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".pt2") continue;
    ++count;
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(fmt::format("{} threads", threads));
      set_num_threads(threads);
      check(folder, entry.path().stem().string());
    }
  }
  set_num_threads(before);
  EXPECT_GE(count, 40);
}

}  // namespace
}  // namespace weft::exported
