// The reduction primitives over dtypes, axes and memory layouts, against plain loops.
#include <gmock/gmock.h>

#include "ops/harness.h"
#include "scalar/math.h"

namespace weft::ops::harness {
namespace {

using Axes = std::vector<int64_t>;

Attrs reduction_attrs(const Axes& axes, bool keepdim) {
  SymShape dims;
  for (int64_t axis : axes) dims.push_back(Sym(axis));
  return {{"dim", dims}, {"keepdim", keepdim}};
}

// Flat positions of `x` that make up each result, in order.
std::vector<std::vector<int64_t>> groups(const Shape& shape, const Axes& axes) {
  std::vector<std::vector<int64_t>> result;
  int64_t results = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) == axes.end()) results *= shape[d];
  }
  result.resize(static_cast<size_t>(results));
  for (int64_t flat = 0; flat < numel(shape); ++flat) {
    int64_t rest = flat, kept = 0, scale = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      const int64_t index = rest % shape[d];
      rest /= shape[d];
      if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end()) continue;
      kept += index * scale;
      scale *= shape[d];
    }
    result[static_cast<size_t>(kept)].push_back(flat);
  }
  return result;
}

// Whether `next` takes the place of `best`, which came earlier.
bool wins(const scalar::Element& next, const scalar::Element& best, bool smaller) {
  return visit_dtype(next.dtype, [&]<class T>(std::type_identity<T>) {
    using C = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
    const scalar::Number<C> a(scalar::convert<C>(best.as<T>())), b(scalar::convert<C>(next.as<T>()));
    if (isnan(a).value) return false;
    return isnan(b).value || (smaller ? b < a : b > a).value;
  });
}

const std::vector<Axes> kAxes = {{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}};

TEST(Reduction, SumStaysWithinItsBound) {
  for (const Shape& shape : {Shape{3, 700, 9}, Shape{70, 3, 40}, Shape{2, 5, 100003}}) {
    for (DType dtype : {DType::F32, DType::F64}) {
      const Tensor x = sample(shape, dtype, -1, 1, 3);
      const double epsilon = dtype == DType::F32 ? 0x1p-24 : 0x1p-53;
      for (const Axes& axes : kAxes) {
        const Tensor sum = call1("sum", {x}, reduction_attrs(axes, false));
        const auto positions = groups(shape, axes);
        ASSERT_EQ(static_cast<size_t>(sum.numel()), positions.size());
        for (size_t i = 0; i < positions.size(); ++i) {
          long double exact = 0, magnitude = 0;
          for (int64_t flat : positions[i]) exact += x.at(flat), magnitude += std::fabs(x.at(flat));
          const double n = static_cast<double>(positions[i].size());
          const double bound =
              (36 + std::log2(std::max(1.0, n / 512))) * epsilon * static_cast<double>(magnitude);
          ASSERT_NEAR(sum.at(static_cast<int64_t>(i)), static_cast<double>(exact), bound);
        }
      }
    }
  }
}

TEST(Reduction, ExactOnesEqualPlainLoops) {
  const Shape shape{4, 37, 19};
  for (const char* name : {"amin", "amax", "any", "all", "argmin", "argmax", "sum", "prod"}) {
    const OpDef& op = get_op(name);
    for (DType dtype : dtypes_in(op.dtypes)) {
      const bool accumulates = op.reduce == ReduceOp::Sum || op.reduce == ReduceOp::Prod;
      if (accumulates && is_inexact(dtype)) continue;
      const Tensor x = sample(shape, dtype, -3, 3, 11, true);
      for (const Axes& axes : kAxes) {
        const bool arg = op.reduce == ReduceOp::ArgMin || op.reduce == ReduceOp::ArgMax;
        if (arg && axes.size() == 2) continue;
        const Attrs attrs =
            arg ? Attrs{{"dim", axes.size() == 1 ? Attr(Sym(axes[0])) : Attr(std::monostate{})}}
                : reduction_attrs(axes, false);
        const Tensor result = call1(name, {x}, attrs);
        const auto positions = groups(shape, axes);
        for (size_t i = 0; i < positions.size(); ++i) {
          const auto first = static_cast<int64_t>(i);
          if (accumulates) {
            uint64_t total = op.reduce == ReduceOp::Prod;
            for (int64_t flat : positions[i]) {
              const uint64_t value =
                  static_cast<uint64_t>(visit_dtype(dtype, [&]<class T>(std::type_identity<T>) {
                    return scalar::convert<int64_t>(element_at(x, flat).as<T>());
                  }));
              total = op.reduce == ReduceOp::Prod ? total * value : total + value;
            }
            ASSERT_EQ(static_cast<uint64_t>(element_at(result, first).as<int64_t>()), total)
                << name << " " << weft::name(dtype);
            continue;
          }
          const bool smaller = op.reduce == ReduceOp::Min || op.reduce == ReduceOp::ArgMin;
          scalar::Element best = element_at(x, positions[i][0]);
          int64_t best_index = 0;
          for (size_t k = 1; k < positions[i].size(); ++k) {
            const scalar::Element next = element_at(x, positions[i][k]);
            if (!wins(next, best, smaller)) continue;
            best = next;
            best_index = static_cast<int64_t>(k);
          }
          if (arg) {
            ASSERT_EQ(result.at(first), static_cast<double>(best_index)) << name << " " << weft::name(dtype);
          } else if (op.reduce == ReduceOp::Min || op.reduce == ReduceOp::Max) {
            // Zeros of either sign are equal, so which one wins is not said.
            const scalar::Element found = element_at(result, first);
            const bool equal = !wins(best, found, smaller) && !wins(found, best, smaller);
            ASSERT_TRUE(same_element(best, found) || equal) << name << " " << weft::name(dtype);
          } else {
            bool any = false, all = true;
            for (int64_t flat : positions[i]) {
              const bool nonzero = visit_dtype(dtype, [&]<class T>(std::type_identity<T>) {
                return scalar::convert<bool>(element_at(x, flat).as<T>());
              });
              any = any || nonzero;
              all = all && nonzero;
            }
            ASSERT_EQ(result.at(first) != 0, op.reduce == ReduceOp::Any ? any : all)
                << name << " " << weft::name(dtype);
          }
        }
      }
    }
  }
}

TEST(Reduction, LayoutsDoNotMatter) {
  for (const char* name : {"sum", "prod", "amin", "amax", "any", "all", "argmin", "argmax"}) {
    const OpDef& op = get_op(name);
    const bool arg = op.reduce == ReduceOp::ArgMin || op.reduce == ReduceOp::ArgMax;
    for (DType dtype : dtypes_in(op.dtypes)) {
      const Tensor x = sample({6, 40, 21}, dtype, -3, 3, 4);
      for (int layout = 0; layout < static_cast<int>(Layout::kCount); ++layout) {
        const Tensor arranged = with_layout(x, static_cast<Layout>(layout));
        for (const Axes& axes : kAxes) {
          if (arg && axes.size() > 1) continue;
          const Attrs attrs =
              arg ? Attrs{{"dim", Sym(axes[0])}, {"keepdim", true}} : reduction_attrs(axes, true);
          ASSERT_TRUE(same_tensor(call1(name, {arranged}, attrs), call1(name, {arranged.clone()}, attrs)))
              << name << " " << weft::name(dtype) << " " << layout_name(static_cast<Layout>(layout));
        }
      }
    }
  }
}

// Rows and blocks that lie apart, follow each other, overlap or are one and the same give what their copies
// do, bit by bit, at all lengths where other loops begin.
TEST(Reduction, PartsOfRowsAreReadWhereTheyLie) {
  for (const char* name : {"sum", "prod", "amin", "amax"}) {
    const OpDef& op = get_op(name);
    for (DType dtype : dtypes_in(op.dtypes)) {
      if (is_complex(dtype)) continue;
      const Tensor x = sample({9 * 2080 + 2080}, dtype, -3, 3, 4);
      for (const int64_t length : {1,   15,  16,  17,  63,  64,   65,   127,  128,  129,
                                   256, 257, 511, 512, 513, 1023, 1024, 1025, 2047, 2048}) {
        for (const int64_t apart : {int64_t{0}, int64_t{1}, length - 1, length, length + 1, int64_t{2080}}) {
          const Tensor rows =
              x.as_strided({3, 3, length}, {apart == 2080 ? 6240 : 3 * apart + 1, apart, 1}, 1);
          for (const Axes& axes : {Axes{2}, Axes{1, 2}, Axes{0, 2}, Axes{0, 1, 2}}) {
            const Attrs attrs = reduction_attrs(axes, false);
            ASSERT_TRUE(same_tensor(call1(name, {rows}, attrs), call1(name, {rows.clone()}, attrs)))
                << name << " " << weft::name(dtype) << " " << length << " every " << apart;
          }
        }
      }
    }
  }
}

// Chunks of a row of more than 32768 elements in runs of each length around those of a block.
TEST(Reduction, LongRowsAreReadWhereTheyLie) {
  for (DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16, DType::I64}) {
    for (const int64_t run : {511, 512, 513, 1023, 1024, 1025, 1536, 2048}) {
      const Tensor x =
          sample({40, 2, run + 1}, dtype, -3, 3, 4).as_strided({2, 40, run}, {run + 1, 2 * run + 2, 1}, 1);
      for (const char* name : {"sum", "amax"})
        ASSERT_TRUE(same_tensor(call1(name, {x}, reduction_attrs({1, 2}, false)),
                                call1(name, {x.clone().as_strided({2, 40 * run}, {40 * run, 1}, 0)},
                                      reduction_attrs({1}, false))))
            << name << " " << weft::name(dtype) << " " << run;
    }
  }
}

// Wherever a NaN stands in a row, it is the row's extreme, and no other row's.
TEST(Reduction, ExtremesOfRowsWithANaN) {
  for (const char* name : {"amin", "amax"}) {
    for (DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
      for (const int64_t length : {1, 16, 63, 64, 65, 128, 130, 300}) {
        for (int64_t at = 0; at < length; ++at) {
          const Tensor x = sample({3 * length}, DType::F64, -3, 3, 4).clone();
          x.data_as<double>()[length + at] = std::numeric_limits<double>::quiet_NaN();
          const Tensor rows = x.to(dtype).as_strided({3, length}, {length, 1}, 0);
          const Tensor found = call1(name, {rows}, reduction_attrs({1}, false)).to(DType::F64);
          ASSERT_TRUE(std::isnan(found.data_as<double>()[1])) << name << " " << length << " " << at;
          ASSERT_FALSE(std::isnan(found.data_as<double>()[0]) || std::isnan(found.data_as<double>()[2]))
              << name << " " << length << " " << at;
        }
      }
    }
  }
}

TEST(Reduction, EmptyAndZeroDimensional) {
  const Tensor empty = Tensor::empty({0, 3}, DType::F32);
  EXPECT_EQ(call1("sum", {empty}).item(), Scalar(0.0));
  EXPECT_EQ(call1("prod", {empty}).item(), Scalar(1.0));
  EXPECT_EQ(call1("sum", {empty}, reduction_attrs({0}, false)).shape(), Shape{3});
  EXPECT_EQ(call1("sum", {empty}, reduction_attrs({1}, false)).shape(), Shape{0});
  EXPECT_TRUE(call1("all", {empty}).item().to_bool());
  EXPECT_TRUE(std::isnan(call1("mean", {empty}).item().to_double()));
  EXPECT_THAT(error_of([&] { call1("amax", {empty}); }),
              ::testing::HasSubstr("amax: an empty reduction has no value"));
  EXPECT_EQ(call1("amax", {Tensor::scalar(Scalar(3.0), DType::F32)}).item(), Scalar(3.0));
  EXPECT_EQ(call1("argmax", {Tensor::scalar(Scalar(3.0), DType::F32)}).item(), Scalar(int64_t{0}));
}

TEST(Reduction, HalvesAccumulateInSinglePrecision) {
  const Tensor ones = Tensor::full({5000}, Scalar(1), DType::F16);
  EXPECT_EQ(call1("sum", {ones}).item().to_double(), 5000);
  const Tensor large = Tensor::full({4}, Scalar(60000), DType::F16);
  EXPECT_EQ(call1("mean", {large}).item().to_double(), 60000);
}

TEST(Reduction, ErrorsNameTheRule) {
  const Tensor x = Tensor::empty({2, 3}, DType::I32);
  EXPECT_THAT(error_of([&] { call1("sum", {x}, reduction_attrs({2}, false)); }),
              ::testing::HasSubstr("sum: dimension out of range: expected one in [-2, 1], got 2"));
  EXPECT_THAT(error_of([&] { call1("sum", {x}, reduction_attrs({0, -2}, false)); }),
              ::testing::HasSubstr("sum: each dimension may be named once"));
  EXPECT_THAT(
      error_of([&] { call1("mean", {x}); }),
      ::testing::HasSubstr(
          "mean: dtype not supported: expected floating or complex (or an explicit dtype), got int32\n"
          "  x: i32[2, 3] cpu"));
}

}  // namespace
}  // namespace weft::ops::harness
