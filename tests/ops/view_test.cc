// Views, creation, joining: shapes, sharing of storage, symbolic sizes and errors. Values over layouts and
// dtypes are compared with NumPy in tests/python/test_ops_numpy.py.
#include "ops/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/build.h"
#include "support/error_of.h"

namespace weft::ops {
namespace {

using testing::HasSubstr;
using testing_support::error_of;

Tensor range(Shape shape) {
  Tensor x = Tensor::empty(shape, DType::F32);
  for (int64_t i = 0; i < x.numel(); ++i) x.data_as<float>()[i] = static_cast<float>(i);
  return x;
}

std::vector<double> values(const Tensor& x) {
  std::vector<double> result;
  for (int64_t i = 0; i < x.numel(); ++i) result.push_back(x.at(i));
  return result;
}

TEST(View, SharesStorage) {
  const Tensor x = range({2, 3, 4});
  for (const Tensor& view :
       {build::permute(x, {2, 0, 1}), build::reshape(x, {Sym(6), Sym(4)}), build::transpose(x, 0, 2),
        build::slice(x, 1, std::nullopt, std::nullopt, -1), build::select(x, 2, Sym(-1)),
        build::expand(x, {Sym(5), Sym(2), Sym(3), Sym(4)}), call1("diagonal", {x}),
        call1("unfold", {x}, {{"dim", Sym(2)}, {"size", Sym(2)}, {"step", Sym(1)}})}) {
    EXPECT_EQ(view.storage(), x.storage());
  }
  EXPECT_EQ(values(call1("diagonal", {x}, {{"offset", Sym(1)}, {"dim1", Sym(1)}, {"dim2", Sym(2)}})),
            (std::vector<double>{1, 6, 11, 13, 18, 23}));
  EXPECT_EQ(values(build::slice(range({6}), 0, std::nullopt, std::nullopt, -2)),
            (std::vector<double>{5, 3, 1}));
}

TEST(View, ReshapeIsAViewOnlyWhereStridesAllow) {
  const Tensor x = range({4, 6});
  const Tensor columns = build::slice(x, 1, Sym(0), Sym(4));
  EXPECT_EQ(build::reshape(columns, {Sym(2), Sym(2), Sym(2), Sym(2)}).storage(), x.storage());
  const Tensor copy = build::reshape(columns, {Sym(16)});
  EXPECT_NE(copy.storage(), x.storage());
  EXPECT_EQ(copy.at(4), 6);
  EXPECT_EQ(build::reshape(x, {Sym(-1), Sym(8)}).shape(), (Shape{3, 8}));
  EXPECT_EQ(build::reshape(range({}), {Sym(1), Sym(1)}).shape(), (Shape{1, 1}));
  EXPECT_EQ(build::reshape(range({0, 3}), {Sym(3), Sym(0)}).shape(), (Shape{3, 0}));
}

TEST(View, SliceFollowsNumPy) {
  struct Case {
    std::optional<int64_t> start, stop;
    int64_t step;
    std::vector<double> expected;
  };
  for (const Case& c : std::vector<Case>{{1, 4, 1, {1, 2, 3}},
                                         {-2, {}, 1, {3, 4}},
                                         {{}, {}, -1, {4, 3, 2, 1, 0}},
                                         {{}, 1, -1, {4, 3, 2}},
                                         {10, -10, -2, {4, 2, 0}},
                                         {4, 1, 1, {}},
                                         {-100, 2, 1, {0, 1}},
                                         {0, 5, 3, {0, 3}},
                                         {2, 2, -1, {}}}) {
    const auto sym = [](std::optional<int64_t> v) { return v ? std::optional<Sym>(Sym(*v)) : std::nullopt; };
    EXPECT_EQ(values(build::slice(range({5}), 0, sym(c.start), sym(c.stop), c.step)), c.expected);
  }
}

TEST(View, ShapesMayBeSymbolic) {
  SymEnv env;
  const Sym n = env.new_symbol(10);
  const TensorType x{DType::F32, {n, Sym(4)}, {}};
  const auto inferred = [&](const char* op, const Attrs& attrs) {
    return weft::str(infer(get_op(op), std::span(&x, 1), attrs)[0].shape);
  };
  EXPECT_EQ(inferred("permute", {{"dims", SymShape{Sym(1), Sym(0)}}}), "[4, s0]");
  EXPECT_EQ(inferred("reshape", {{"shape", SymShape{Sym(-1), Sym(4)}}}), "[s0, 4]");
  EXPECT_EQ(inferred("reshape", {{"shape", SymShape{n, Sym(2), Sym(-1)}}}), "[s0, 2, 2]");
  EXPECT_EQ(inferred("reshape", {{"shape", SymShape{Sym(-1)}}}), "[s0*4]");
  EXPECT_EQ(inferred("expand", {{"shape", SymShape{Sym(3), Sym(-1), Sym(4)}}}), "[3, s0, 4]");
  const SliceRange range = normalize_slice("slice", Sym(1), std::nullopt, 1, n);
  EXPECT_EQ(range.length.str(), "s0 - 1");
  EXPECT_TRUE(env.guards().empty());
}

TEST(View, Errors) {
  const Tensor x = range({2, 3});
  EXPECT_THAT(
      error_of([&] { build::reshape(x, {Sym(4), Sym(2)}); }),
      HasSubstr("reshape: cannot reshape array of size 6 into shape [4, 2]: the array has shape [2, 3]"));
  EXPECT_THAT(error_of([&] { build::reshape(x, {Sym(-1), Sym(-1)}); }),
              HasSubstr("only one dimension can be -1"));
  EXPECT_THAT(error_of([&] { build::permute(x, {0, 0}); }),
              HasSubstr("permute: each dimension may be named once"));
  EXPECT_THAT(error_of([&] { build::expand(x, {Sym(2), Sym(4)}); }),
              HasSubstr("expand: the shape must broadcast"));
  EXPECT_EQ(error_of([&] { build::select(x, 1, Sym(5)); }),
            "index 5 is out of bounds for axis 1 with size 3");
  EXPECT_THAT(error_of([&] { build::slice(x, 0, Sym(0), Sym(1), 0); }),
              HasSubstr("slice step cannot be zero"));
  EXPECT_THAT(error_of([&] { call1("concatenate", {x, range({2, 4})}); }),
              HasSubstr("sizes must match except in dimension 0: expected size 3 in dimension 1, got 4"));
  EXPECT_THAT(error_of([&] { call1("zeros", {}, {{"shape", SymShape{Sym(-1)}}}); }),
              HasSubstr("sizes must not be negative"));
}

TEST(Update, ReplacesASliceOrADiagonal) {
  const Tensor x = range({2, 3}), ones = Tensor::full({2, 2}, 1, DType::F32);
  const Tensor y = call1("slice_update", {x, ones},
                         {{"dim", Sym(1)}, {"start", Sym(2)}, {"stop", Sym(-1)}, {"step", Sym(-2)}});
  EXPECT_EQ(values(y), (std::vector<double>{1, 1, 1, 1, 4, 1}));
  EXPECT_EQ(x.at(0), 0);
  const Tensor z = call1("diagonal_update", {x, Tensor::of<float>({7, 8})}, {});
  EXPECT_EQ(values(z), (std::vector<double>{7, 1, 2, 3, 8, 5}));
}

TEST(Creation, Values) {
  EXPECT_EQ(values(call1("arange", {}, {{"start", Scalar(5)}})), (std::vector<double>{0, 1, 2, 3, 4}));
  EXPECT_EQ(call1("arange", {}, {{"start", Scalar(5)}}).dtype(), DType::I64);
  EXPECT_EQ(values(call1("arange", {}, {{"start", Scalar(5)}, {"stop", Scalar(0)}, {"step", Scalar(-2)}})),
            (std::vector<double>{5, 3, 1}));
  EXPECT_EQ(call1("full", {}, {{"shape", SymShape{Sym(2)}}, {"value", Scalar(2.5)}}).dtype(), DType::F32);
}

TEST(Join, PromotesAndFlattens) {
  const Tensor x = range({2, 2}), y = Tensor::of<int64_t>({7, 8}, {1, 2});
  const Tensor joined = call1("cat", {x, y});
  EXPECT_EQ(joined.dtype(), DType::F32);
  EXPECT_EQ(values(joined), (std::vector<double>{0, 1, 2, 3, 7, 8}));
  EXPECT_EQ(call1("concatenate", {x, y}, {{"dim", std::monostate{}}}).shape(), (Shape{6}));
  const std::vector<Tensor> parts = call(get_op("split"), {{range({5})}, {{"split_size", Sym(2)}}});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[2].shape(), (Shape{1}));
}

}  // namespace
}  // namespace weft::ops
