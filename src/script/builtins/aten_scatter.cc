// Values combined where they are scattered to; distinct slices; what is counted.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/memory_limit.h"
#include "script/builtins/scattering.h"

namespace weft::jit::aten::scattering {
namespace {

Tensor reshaped(const Tensor& x, const Ints& shape) {
  return call(op<"reshape">(), {x}, {{"shape", sizes(shape)}});
}
Tensor numbers_to(int64_t n) { return call(op<"arange">(), {}, {{"start", Scalar(n)}}); }
Tensor full_of(const Tensor& shaped, Scalar value, DType dtype) {
  return call(op<"full_like">(), {shaped}, {{"value", value}, {"dtype", dtype}});
}

// ---- combinations by index -------------------------------------------------------------------------------
// What the reduction starts from where the element of self does not count.
Scalar neutral(const std::string& reduce, DType dtype) {
  if (reduce == "sum" || reduce == "mean") return Scalar(0);
  if (reduce == "prod") return Scalar(1);
  const bool is_least = reduce == "amax";
  if (is_floating(dtype)) return Scalar(is_least ? -INFINITY : INFINITY);
  if (dtype == DType::Bool) return Scalar(!is_least);
  const int bits = static_cast<int>(itemsize(dtype)) * 8;
  if (!is_signed(dtype)) return is_least ? Scalar(0) : Scalar((int64_t{1} << bits) - 1);
  if (bits == 64)
    return Scalar(is_least ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max());
  return Scalar(is_least ? -(int64_t{1} << (bits - 1)) : (int64_t{1} << (bits - 1)) - 1);
}

Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                      const std::string& reduce, bool include_self) {
  WEFT_CHECK(
      reduce == "sum" || reduce == "mean" || reduce == "prod" || reduce == "amax" || reduce == "amin",
      fmt::format("scatter_reduce: reduce is 'sum', 'mean', 'prod', 'amax' or 'amin', got '{}'", reduce));
  const Attrs along{{"dim", number(dim)}};
  Tensor start = x;
  if (!include_self)
    start = call(op<"scatter">(), {x, index, full_of(index, neutral(reduce, x.dtype()), x.dtype())}, along);
  if (reduce != "sum" && reduce != "mean")
    return call(op<"scatter_combine">(), {start, index, source}, {{"dim", number(dim)}, {"reduce", reduce}});
  const Tensor sums = call(op<"scatter_add">(), {start, index, source}, along);
  if (reduce == "sum") return sums;
  const Tensor ones = full_of(index, Scalar(1), x.dtype());
  Tensor counts = full_of(x, Scalar(1), x.dtype());
  if (!include_self)
    counts = call(op<"scatter">(), {counts, index, full_of(index, Scalar(0), x.dtype())}, along);
  counts = call(op<"scatter_add">(), {counts, index, ones}, along);
  counts = promoted(op<"maximum">(), {counts, Scalar(1)});
  return promoted(is_floating(x.dtype()) ? op<"true_divide">() : op<"floor_divide">(), {sums, counts});
}

// index[i] is the place of source's i-th slice.
Tensor index_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                    const std::string& reduce, bool include_self) {
  WEFT_CHECK(index.dim() <= 1,
             fmt::format("index_reduce: expected a vector of indices, got {}", describe(index)));
  WEFT_CHECK(reduce != "sum", "index_reduce: reduce is 'mean', 'prod', 'amax' or 'amin', got 'sum'");
  WEFT_CHECK(source.dim() == x.dim(), fmt::format("index_reduce: expected a source of {} dimensions, got {}",
                                                  x.dim(), describe(source)));
  const int64_t axis = wrap_dim("index_reduce", dim, x.dim());
  Ints shape(static_cast<size_t>(std::max<int64_t>(source.dim(), 1)), 1);
  shape[static_cast<size_t>(axis)] = index.numel();
  const Tensor places = call(op<"expand">(), {reshaped(index, shape)}, {{"shape", ops::sym_shape(source)}});
  return scatter_reduce(x, axis, cast(places, DType::I64), source, reduce, include_self);
}

Tensor put(const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate) {
  WEFT_CHECK(
      index.numel() == source.numel(),
      fmt::format("put: expected as many values as indices, got {} and {}", source.numel(), index.numel()));
  const Tensor flat =
      call(op<"index_put">(), {reshaped(x, {-1}), reshaped(source, {-1}), reshaped(index, {-1})},
           {{"accumulate", accumulate}});
  return call(op<"reshape">(), {flat}, {{"shape", ops::sym_shape(x)}});
}

// ---- distinct slices -------------------------------------------------------------------------------------
Tensor rows_along(const Tensor& x, int64_t dim) {
  const Tensor first =
      call(op<"movedim">(), {x}, {{"source", sizes(Ints{dim})}, {"destination", sizes(Ints{0})}});
  const int64_t count = first.size(0);
  return reshaped(first, {count, count == 0 ? 0 : first.numel() / count});
}

struct Runs {
  Tensor numbers, first, lengths;  // of each row its run, of each run its first row and its length
};
Runs runs_of(const Tensor& rows) {
  const int64_t count = rows.size(0);
  const Tensor empty = Tensor::empty({0}, DType::I64);
  if (count == 0) return {empty, empty, empty};
  const auto part = [&](int64_t start, int64_t stop) {
    return call(op<"slice">(), {rows},
                {{"dim", number(0)}, {"start", number(start)}, {"stop", number(stop)}});
  };
  const Tensor differs = call(op<"any">(), {promoted(op<"ne">(), {part(1, count), part(0, count - 1)})},
                              {{"dim", sizes(Ints{1})}});
  const Tensor starts = call(op<"concatenate">(), {Tensor::full({1}, Scalar(true), DType::Bool), differs},
                             {{"dim", number(0)}});
  const Tensor numbers = promoted(
      op<"sub">(), {call(op<"cumsum">(), {cast(starts, DType::I64)}, {{"dim", number(0)}}), Scalar(1)});
  return {numbers, reshaped(call(op<"nonzero">(), {starts}), {-1}), call(op<"bincount">(), {numbers})};
}

std::tuple<Tensor, Tensor, Tensor> chosen(Tensor values, Tensor inverse, Tensor counts, bool with_inverse,
                                          bool with_counts) {
  const Tensor empty = Tensor::empty({0}, DType::I64);
  return {std::move(values), with_inverse ? inverse : empty, with_counts ? counts : empty};
}

std::tuple<Tensor, Tensor, Tensor> unique_slices(const Tensor& x, int64_t dim, bool inverse, bool counts) {
  const int64_t axis = wrap_dim("unique", dim, x.dim());
  const Tensor rows = rows_along(x, axis);
  Tensor order = numbers_to(rows.size(0));
  // Sorted by the last column first: what is equal keeps its order.
  for (int64_t c = rows.size(1); c-- > 0;) {
    const Tensor column = call(op<"select">(), {rows}, {{"dim", number(1)}, {"index", number(c)}});
    const Tensor sorted =
        call(op<"argsort">(), {call(op<"take">(), {column, order})}, {{"dim", number(0)}, {"stable", true}});
    order = call(op<"take">(), {order, sorted});
  }
  const Runs runs = runs_of(call(op<"index_select">(), {rows, order}, {{"dim", number(0)}}));
  const Tensor places =
      rows.size(0) == 0 ? order
                        : call(op<"scatter">(), {full_of(order, Scalar(0), DType::I64), order, runs.numbers},
                               {{"dim", number(0)}});
  const Tensor values =
      call(op<"index_select">(), {x, call(op<"take">(), {order, runs.first})}, {{"dim", number(axis)}});
  return chosen(values, places, runs.lengths, inverse, counts);
}

// ---- counts ----------------------------------------------------------------------------------------------
std::tuple<Tensor, Tensor> histogram(const Tensor& x, const Tensor& edges, const OptionalTensor& weight,
                                     bool density) {
  const int64_t bins = edges.numel() - 1;
  WEFT_CHECK(bins >= 1, "histogram: expected at least one bin");
  Tensor values = reshaped(x, {-1});
  const Tensor last = call(op<"select">(), {edges}, {{"dim", number(0)}, {"index", number(bins)}});
  const Tensor first = call(op<"select">(), {edges}, {{"dim", number(0)}, {"index", number(0)}});
  Tensor bin =
      promoted(op<"sub">(), {call(op<"searchsorted">(), {edges, values}, {{"right", true}}), Scalar(1)});
  bin = promoted(op<"where">(), {promoted(op<"eq">(), {values, last}), Scalar(bins - 1), bin});
  const Tensor inside = call(op<"logical_and">(),
                             {promoted(op<"ge">(), {values, first}), promoted(op<"le">(), {values, last})});
  const Tensor weights = weight ? reshaped(*weight, {-1}) : full_of(values, Scalar(1), x.dtype());
  const Tensor counted = promoted(op<"where">(), {inside, weights, Scalar(0)});
  const Tensor place = promoted(op<"where">(), {inside, bin, Scalar(0)});
  Tensor counts =
      call(op<"index_add">(), {Tensor::full({bins}, Scalar(0), x.dtype()), place, cast(counted, x.dtype())},
           {{"dim", number(0)}});
  if (density) {
    const Tensor widths = call(op<"diff">(), {edges}, {{"n", number(1)}, {"dim", number(-1)}});
    counts = promoted(op<"true_divide">(), {counts, mul(widths, call(op<"sum">(), {counts}))});
  }
  return {counts, edges};
}

Tensor histogram_edges(const Tensor& x, int64_t bins, const IValue& range) {
  double low = 0, high = 0;
  if (!range.is_none()) {
    const std::vector<double> ends = range.to_double_list();
    WEFT_CHECK(ends.size() == 2 && ends[0] <= ends[1], "histogram: range must be (least, largest)");
    low = ends[0], high = ends[1];
  } else if (x.numel() > 0) {
    low = call(op<"min">(), {x}).item().to_double(), high = call(op<"max">(), {x}).item().to_double();
  }
  if (low == high) low -= 0.5, high += 0.5;
  return call(
      op<"linspace">(), {},
      {{"start", Scalar(low)}, {"end", Scalar(high)}, {"steps", number(bins + 1)}, {"dtype", x.dtype()}});
}

// The positions of all choices of r of n elements, in lexical order, one after another.
Ints choices(int64_t n, int64_t r, bool again) {
  Ints result, now(static_cast<size_t>(r));
  const auto step = [&](auto&& self, size_t at, int64_t from) -> void {
    if (at == now.size()) {
      result.insert(result.end(), now.begin(), now.end());
      return;
    }
    for (int64_t i = from; i < n; ++i) {
      now[at] = i;
      self(self, at + 1, again ? i : i + 1);
    }
  };
  step(step, 0, 0);
  return result;
}

Tensor taken(const Tensor& x, const Ints& positions) {
  return call(op<"index_select">(),
              {x, positions.empty() ? Tensor::empty({0}, DType::I64) : Tensor::of(positions)},
              {{"dim", number(0)}});
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> unique_neighbours(const Tensor& x, int64_t dim, bool inverse,
                                                     bool counts) {
  const int64_t axis = wrap_dim("unique_consecutive", dim, x.dim());
  const Runs runs = runs_of(rows_along(x, axis));
  return chosen(call(op<"index_select">(), {x, runs.first}, {{"dim", number(axis)}}), runs.numbers,
                runs.lengths, inverse, counts);
}

namespace {

[[maybe_unused]] const bool kCombining = [] {
  with_inplace(
      "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
      "include_self=True) -> "
      "Tensor",
      [](const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce,
         bool include) { return scatter_reduce(x, dim, index, source, reduce, include); });
  with_inplace(
      "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool "
      "include_self=True) -> "
      "Tensor",
      [](const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce,
         bool include) { return index_reduce(x, dim, index, source, reduce, include); });
  with_inplace("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
               [](const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate) {
                 return put(x, index, source, accumulate);
               });
  return true;
}();

[[maybe_unused]] const bool kDistinct = [] {
  define(
      "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool "
      "return_counts=False) -> "
      "(Tensor, Tensor, Tensor)",
      [](const Tensor& x, int64_t dim, bool, bool inverse, bool counts) {
        return unique_slices(x, dim, inverse, counts);
      });
  define(
      "unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> "
      "(Tensor, "
      "Tensor, Tensor)",
      [](const Tensor& x, int64_t dim, bool inverse, bool counts) {
        return unique_neighbours(x, dim, inverse, counts);
      });
  define(
      "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool "
      "density=False) "
      "-> (Tensor hist, Tensor bin_edges)",
      [](const Tensor& x, int64_t bins, const IValue& range, const OptionalTensor& weight, bool density) {
        return histogram(x, histogram_edges(x, bins, range), weight, density);
      });
  define(
      "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> "
      "(Tensor hist, "
      "Tensor bin_edges)",
      [](const Tensor& x, const Tensor& edges, const OptionalTensor& weight, bool density) {
        return histogram(x, edges, weight, density);
      });
  define("combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
         [](const Tensor& x, int64_t r, bool again) {
           WEFT_CHECK(x.dim() == 1 && r >= 0,
                      "combinations: expected a vector and r >= 0, got " + describe(x));
           check_list_fits_memory("combinations", r, sizeof(int64_t));
           if (r == 0) return Tensor::empty({0}, x.dtype());
           return reshaped(taken(x, choices(x.size(0), r, again)), {-1, r});
         });
  define("pdist(Tensor self, float p=2.) -> Tensor", [](const Tensor& x, double p) {
    const int64_t rows = x.size(0);
    Ints places = choices(rows, 2, false), flat;
    for (size_t i = 0; i + 1 < places.size(); i += 2) flat.push_back(places[i] * rows + places[i + 1]);
    return taken(reshaped(call(op<"cdist">(), {x, x}, {{"p", p}}), {-1}), flat);
  });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten::scattering
