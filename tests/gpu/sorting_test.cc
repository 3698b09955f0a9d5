// Scans, sorting, searching, counting and scattering on the device, beside the host's operators: sizes on
// each side of what a thread, a block and a part take.
#include "gpu/same_call.h"

namespace weft {
namespace {

using namespace gpu_testing;

// Few different numbers, with NaN, zeros of both signs and infinities among floating ones.
Tensor repeating(const Shape& shape, DType dtype, unsigned seed = 1) {
  const Tensor wide = sample(shape, DType::I64, seed).to(DType::F64);
  if (is_floating(dtype))
    for (int64_t i = 0; i < wide.numel(); ++i) {
      double& value = wide.data_as<double>()[i];
      if (i % 11 == 3) value = std::nan("");
      if (i % 13 == 5) value = -0.0;
      if (i % 17 == 7)
        value =
            i % 2 == 0 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    }
  return wide.to(dtype);
}

ops::Attrs along(int64_t dim) { return {{"dim", Sym(dim)}}; }
ops::Attrs scan_attrs(int64_t dim) { return {{"dim", Sym(dim)}, {"dtype", std::monostate{}}}; }

const std::vector<std::pair<Shape, int64_t>> kScanned = {
    {{1}, 0},         {{64}, 0},        {{65}, 0},       {{1023}, 0},      {{1024}, 0},  {{1025}, 0},
    {{2048}, 0},      {{2049}, 0},      {{5000}, 0},     {{3, 64}, 1},     {{3, 65}, 1}, {{100, 5}, 0},
    {{2, 100, 3}, 1}, {{600, 2100}, 1}, {{100, 300}, 0}, {{16384, 66}, 1}, {{0}, 0},     {{4, 0}, 0}};

void expect_scans(const std::vector<DType>& dtypes, bool of_large) {
  for (const auto& [shape, dim] : kScanned) {
    const bool is_large = numel(shape) > 100000;
    if (is_large && !of_large) continue;
    for (const DType dtype : is_large ? std::vector{DType::F32} : dtypes) {
      SCOPED_TRACE(weft::str(shape) + " " + std::string(name(dtype)));
      const Tensor x = sample(shape, dtype);
      const double size = static_cast<double>(shape[static_cast<size_t>(dim)]);
      expect_same("cumsum", {x}, scan_attrs(dim), bound_of(dtype), 3 * size);
      if (is_integral(dtype) || dtype == DType::Bool) expect_same("cumprod", {x}, scan_attrs(dim), 0);
      if (is_floating(dtype) && dtype != DType::F16)
        expect_same("logcumsumexp", {x}, along(dim), bound_of(dtype), 3);
      const Tensor repeated = is_floating(dtype) ? repeating(shape, dtype) : x;
      expect_same("cummax", {repeated}, along(dim), 0);
      expect_same("cummin", {repeated}, along(dim), 0);
    }
  }
}

TEST(LongScansOnGpu, EqualTheHost) { expect_scans({DType::F64, DType::F16, DType::I64, DType::U8}, false); }

TEST(ScansOnGpu, EqualTheHost) {
  expect_scans({DType::F32, DType::BF16, DType::I8, DType::Bool}, true);
  // Products of numbers near one, so that they neither vanish nor grow.
  for (const int64_t n : {64, 65, 3000}) {
    const Tensor x = add(mul(sample({n}, DType::F64), Tensor::scalar(Scalar(1e-3), DType::F64)),
                         Tensor::scalar(Scalar(1.0), DType::F64));
    expect_same("cumprod", {x}, scan_attrs(0), 1e-10);
  }
  expect_same("cumsum", {turned(sample({70, 90}, DType::F32))}, scan_attrs(1), 1e-5, 300);
  expect_same("cumsum", {sample({100}, DType::I8)}, {{"dim", Sym(0)}, {"dtype", DType::I8}}, 0);
  expect_same("cumsum", {sample({100}, DType::Bool)}, {{"dim", Sym(0)}, {"dtype", DType::Bool}}, 0);
}

// A thread for each run adds in the host's order.
TEST(ScansOnGpu, OfManyRunsEqualTheHostToTheLastBit) {
  expect_same("cumsum", {sample({64, 50}, DType::F32)}, scan_attrs(0), 0);
  expect_same("cumsum", {sample({66, 16384}, DType::F32)}, scan_attrs(0), 0);
}

const std::vector<std::pair<Shape, int64_t>> kSorted = {
    {{1}, 0},      {{31}, 0},       {{32}, 0},      {{33}, 0},   {{2047}, 0},
    {{2048}, 0},   {{2049}, 0},     {{4097}, 0},    {{9000}, 0}, {{70, 40}, 1},
    {{70, 40}, 0}, {{2, 65, 3}, 1}, {{3, 2100}, 1}, {{0}, 0},    {{300, 2}, 1}};

TEST(SortsOnGpu, EqualTheHost) {
  for (const auto& [shape, dim] : kSorted)
    for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32,
                              DType::I8, DType::U8, DType::Bool}) {
      SCOPED_TRACE(weft::str(shape) + " " + std::string(name(dtype)));
      for (const bool descending : {false, true})
        expect_same("sort", {repeating(shape, dtype)},
                    {{"dim", Sym(dim)}, {"descending", descending}, {"stable", true}}, 0);
      expect_same("sort_values", {repeating(shape, dtype)}, along(dim), 0);
    }
  expect_same("sort", {turned(sample({50, 60}, DType::F32))},
              {{"dim", Sym(1)}, {"descending", false}, {"stable", true}}, 0);
}

// Numbers that all differ: which of equal ones come is not said.
TEST(SortsOnGpu, ChooseTheFirst) {
  for (const Shape& shape : std::vector<Shape>{{40}, {2100}, {7, 33}}) {
    const Tensor x = sample(shape, DType::F64);
    const int64_t dim = x.dim() - 1;
    for (const int64_t k : {0, 1, 5, 33})
      for (const bool largest : {false, true})
        expect_same("topk", {x}, {{"k", Sym(k)}, {"dim", Sym(dim)}, {"largest", largest}, {"sorted", true}},
                    0);
    for (const int64_t k : {1, 5, 33})
      for (const bool keepdim : {false, true})
        expect_same("kthvalue", {x}, {{"k", Sym(k)}, {"dim", Sym(dim)}, {"keepdim", keepdim}}, 0);
  }
}

TEST(SearchesOnGpu, EqualTheHost) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::I64, DType::U8})
    for (const int64_t length : {0, 1, 2, 31, 700}) {
      SCOPED_TRACE(fmt::format("{} in {}", name(dtype), length));
      const Tensor sorted = ops::call1("sort_values", {repeating({length}, dtype)}, along(0));
      for (const bool right : {false, true})
        expect_same("searchsorted_strict", {sorted, repeating({9, 40}, dtype, 2)}, {{"right", right}}, 0);
      if (length > 0) expect_same("count_between", {repeating({1000}, dtype, 2), sorted}, {}, 0);
    }
  const Tensor rows = ops::call1("sort_values", {sample({3, 20}, DType::F32)}, along(1));
  expect_same("searchsorted_strict", {rows, sample({3, 7}, DType::F32, 2)}, {{"right", false}}, 0);
}

TEST(ScattersOnGpu, CombineInTheHostsOrder) {
  for (const DType dtype :
       {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I64, DType::I8, DType::Bool}) {
    SCOPED_TRACE(std::string(name(dtype)));
    const Tensor x = sample({5, 4, 6}, dtype), source = sample({5, 300, 6}, dtype, 2);
    const Tensor index = ops::call1(
        "remainder", {sample({5, 300, 6}, DType::I64, 3), Tensor::full({}, Scalar(4), DType::I64)});
    expect_same("scatter", {x, index, source}, along(1), 0);
    expect_same("scatter_add", {x, index, source}, along(1), 0);
    for (const char* reduce : {"prod", "amin", "amax"})
      expect_same("scatter_combine", {x, index, source}, {{"dim", Sym(1)}, {"reduce", std::string(reduce)}},
                  0);
    const Tensor i = Tensor::of<int64_t>({3, -1, 0, 3}), j = Tensor::of<int64_t>({1, 2}, {2, 1}), none;
    const ops::Attrs adds{{"accumulate", true}}, least{{"largest", false}}, greatest{{"largest", true}};
    expect_same("scatter_nd", {x, sample({4, 4, 6}, dtype, 2), i}, adds, 0);
    expect_same("scatter_nd", {x, sample({2, 4, 4}, dtype, 2), i, none, j}, adds, 0);
    expect_same("scatter_nd_extreme", {x, sample({4, 4, 6}, dtype, 2), i}, least, 0);
    expect_same("scatter_nd_extreme", {x, sample({5, 4, 6}, dtype, 2), none, i}, greatest, 0);
  }
  // More values than a block sorts.
  const Tensor many =
      ops::call1("remainder", {sample({5000}, DType::I64, 3), Tensor::full({}, Scalar(7), DType::I64)});
  expect_same("scatter_add", {sample({7}, DType::F32), many, sample({5000}, DType::F32, 2)}, along(0), 0);
  expect_same("scatter_nd", {sample({7}, DType::C64), sample({5000}, DType::C64, 2), many},
              {{"accumulate", false}}, 0);
  const Tensor outside = ops::call1("scatter_add",
                                    {sample({3}, DType::F32).to(kThere), Tensor::of<int64_t>({3}).to(kThere),
                                     sample({1}, DType::F32).to(kThere)},
                                    along(0));
  EXPECT_THAT(error_of([&] { outside.to(Device()); }),
              HasSubstr("scatter_add: an index names no element: expected one in [-3, 3)"));
}

TEST(SelectionsOnGpu, EqualTheHost) {
  for (const int64_t n : {1, 7, 64, 65, 3000}) {
    for (const DType dtype : {DType::F32, DType::I8, DType::Bool, DType::F64}) {
      SCOPED_TRACE(fmt::format("{} {}", n, name(dtype)));
      const Tensor x = repeating({n, 2}, dtype), mask = sample({n, 1}, DType::Bool, 2);
      expect_same("nonzero", {x}, {}, 0);
      expect_same("masked_select", {x, mask}, {}, 0);
      expect_same(
          "unique", {x},
          {{"sorted", true}, {"return_inverse", true}, {"return_counts", true}, {"return_index", true}}, 0);
    }
    const Tensor numbers = add(sample({n}, DType::I64), Tensor::scalar(Scalar(4), DType::I64));
    expect_same("bincount", {numbers, Tensor()}, {{"minlength", Sym(0)}}, 0);
    expect_same("bincount", {numbers, sample({n}, DType::F64, 2)}, {{"minlength", Sym(12)}}, 1e-12, 100);
  }
  EXPECT_THAT(error_of([] {
                ops::call(ops::get_op("bincount"),
                          {{Tensor::of<int64_t>({1, -1}).to(kThere), Tensor()}, {{"minlength", Sym(0)}}});
              }),
              HasSubstr("expected non-negative integers, got -1 at position 1"));
}

}  // namespace
}  // namespace weft
