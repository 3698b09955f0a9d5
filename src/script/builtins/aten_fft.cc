// Fourier transforms.
#include <fmt/format.h>

#include <numeric>

#include "script/builtins/aten.h"

namespace weft::jit::aten::transforms {
namespace {

using OptionalString = std::optional<std::string>;

// What the operators divide by: n^(norm / 2).
int64_t norm_number(const OptionalString& norm, bool is_forward) {
  const std::string name = norm.value_or("backward");
  WEFT_CHECK(name == "backward" || name == "ortho" || name == "forward",
             fmt::format("fft: norm is 'backward', 'ortho' or 'forward', got '{}'", name));
  if (name == "ortho") return 1;
  return (name == "forward") == is_forward ? 2 : 0;
}

Tensor floating(const Tensor& x) {
  return is_floating(x.dtype()) || is_complex(x.dtype()) ? x : cast(x, DType::F32);
}
Tensor as_complex(const Tensor& x) {
  const Tensor y = floating(x);
  if (is_complex(y.dtype())) return y;
  return cast(y, y.dtype() == DType::F64 ? DType::C128 : DType::C64);
}
Tensor conjugate(const Tensor& x) { return call(op<"conj">(), {x}); }

int64_t length_along(const Tensor& x, int64_t dim, OptionalInt n) {
  const int64_t length = n.value_or(x.size(wrap_dim("fft", dim, x.dim())));
  WEFT_CHECK(length > 0,
             fmt::format("fft: expected at least one point, got {}\n  self: {}", length, describe(x)));
  return length;
}

Tensor complex_to_complex(const Tensor& x, OptionalInt n, int64_t dim, int64_t norm, bool inverse) {
  return call(op<"fft_c2c">(), {as_complex(x)},
              {{"n", number(length_along(x, dim, n))},
               {"dim", number(dim)},
               {"norm", number(norm)},
               {"inverse", inverse}});
}
Tensor real_to_complex(const Tensor& x, OptionalInt n, int64_t dim, int64_t norm, bool onesided = true) {
  WEFT_CHECK_TYPE(!is_complex(x.dtype()), fmt::format("rfft: expected real numbers, got {}", describe(x)));
  return call(op<"fft_r2c">(), {floating(x)},
              {{"n", number(length_along(x, dim, n))},
               {"dim", number(dim)},
               {"norm", number(norm)},
               {"onesided", onesided}});
}
Tensor complex_to_real(const Tensor& x, OptionalInt n, int64_t dim, int64_t norm) {
  const int64_t half = x.size(wrap_dim("fft", dim, x.dim()));
  return call(op<"fft_c2r">(), {as_complex(x)},
              {{"n", number(length_along(x, dim, n.value_or(2 * (half - 1))))},
               {"dim", number(dim)},
               {"norm", number(norm)}});
}

// The dimensions of a transform over several, and how many points along each; of the last one none where it
// follows from the input.
struct Dimensions {
  Ints dims;
  std::vector<OptionalInt> lengths;
};
Dimensions dimensions(const Tensor& x, const OptionalInts& lengths, const OptionalInts& dims) {
  Dimensions result;
  if (dims) {
    result.dims = *dims;
  } else {
    const int64_t count = lengths ? static_cast<int64_t>(lengths->size()) : x.dim();
    WEFT_CHECK(count <= x.dim(), fmt::format("fft: {} lengths for {}", count, describe(x)));
    result.dims.resize(static_cast<size_t>(count));
    std::iota(result.dims.begin(), result.dims.end(), x.dim() - count);
  }
  for (int64_t& dim : result.dims) dim = wrap_dim("fft", dim, x.dim());
  WEFT_CHECK(!lengths || lengths->size() == result.dims.size(),
             fmt::format("fft: expected as many lengths as dimensions, got {} and {}",
                         lengths ? lengths->size() : 0, result.dims.size()));
  for (size_t i = 0; i < result.dims.size(); ++i) {
    const bool is_given = lengths && (*lengths)[i] != -1;
    result.lengths.push_back(is_given ? OptionalInt((*lengths)[i]) : OptionalInt());
  }
  return result;
}

Tensor complex_over(Tensor x, const Dimensions& over, size_t count, int64_t norm, bool inverse) {
  for (size_t i = 0; i < count; ++i) x = complex_to_complex(x, over.lengths[i], over.dims[i], norm, inverse);
  return x;
}
void require_dimensions(const Dimensions& over) {
  WEFT_CHECK(!over.dims.empty(), "fft: a transform of real numbers needs at least one dimension");
}

Tensor fftn(const Tensor& x, const OptionalInts& lengths, const OptionalInts& dims,
            const OptionalString& norm, bool inverse) {
  const Dimensions over = dimensions(x, lengths, dims);
  return complex_over(as_complex(x), over, over.dims.size(), norm_number(norm, !inverse), inverse);
}
// Of real numbers; `inverse`: ihfftn, whose last transform is the conjugate.
Tensor rfftn(const Tensor& x, const OptionalInts& lengths, const OptionalInts& dims,
             const OptionalString& norm, bool inverse = false) {
  const Dimensions over = dimensions(x, lengths, dims);
  require_dimensions(over);
  const int64_t number = norm_number(norm, !inverse);
  Tensor half = real_to_complex(x, over.lengths.back(), over.dims.back(), number);
  if (inverse) half = conjugate(half);
  return complex_over(half, over, over.dims.size() - 1, number, inverse);
}
// To real numbers; unless `inverse`, hfftn.
Tensor irfftn(const Tensor& x, const OptionalInts& lengths, const OptionalInts& dims,
              const OptionalString& norm, bool inverse = true) {
  const Dimensions over = dimensions(x, lengths, dims);
  require_dimensions(over);
  const int64_t number = norm_number(norm, !inverse);
  const Tensor half = complex_over(as_complex(x), over, over.dims.size() - 1, number, inverse);
  return complex_to_real(inverse ? half : conjugate(half), over.lengths.back(), over.dims.back(), number);
}

// Cyclic shifts by half of each dimension.
Tensor shift(const Tensor& x, const OptionalInts& dims, bool inverse) {
  Ints all(static_cast<size_t>(x.dim()));
  std::iota(all.begin(), all.end(), 0);
  Ints over = dims.value_or(all), by;
  for (int64_t& dim : over) {
    dim = wrap_dim("fftshift", dim, x.dim());
    by.push_back(inverse ? (x.size(dim) + 1) / 2 : x.size(dim) / 2);
  }
  if (over.empty()) return x.clone();
  return call(op<"roll">(), {x}, {{"shifts", sizes(by)}, {"dims", sizes(over)}});
}

// 0, 1, …, and where both signs are wanted the negative ones, over n * d.
Tensor frequencies(int64_t n, double d, OptionalDType dtype, bool both) {
  const DType result = dtype.value_or(DType::F32);
  const auto count = [&](int64_t start, int64_t stop) {
    return call(op<"arange">(), {}, {{"start", Scalar(start)}, {"stop", Scalar(stop)}});
  };
  const int64_t positive = both ? (n + 1) / 2 : n / 2 + 1;
  Tensor numbers = count(0, positive);
  if (both) numbers = call(op<"concatenate">(), {numbers, count(positive - n, 0)}, {{"dim", number(0)}});
  return mul(cast(numbers, result), Scalar(1.0 / (static_cast<double>(n) * d)));
}

template <class F>
void transform(const char* name, F function) {
  define(fmt::format("fft_{}(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor", name),
         function);
}
template <class F>
void transform_over(const std::string& name, F function) {
  define(fmt::format("fft_{}2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
                     name),
         function);
  define(
      fmt::format("fft_{}n(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", name),
      function);
}

using N = OptionalInt;
using S = OptionalString;
using L = OptionalInts;

[[maybe_unused]] const bool kTransforms = [] {
  transform("fft", [](const Tensor& x, N n, int64_t dim, const S& norm) {
    return complex_to_complex(x, n, dim, norm_number(norm, true), false);
  });
  transform("ifft", [](const Tensor& x, N n, int64_t dim, const S& norm) {
    return complex_to_complex(x, n, dim, norm_number(norm, false), true);
  });
  transform("rfft", [](const Tensor& x, N n, int64_t dim, const S& norm) {
    return real_to_complex(x, n, dim, norm_number(norm, true));
  });
  transform("irfft", [](const Tensor& x, N n, int64_t dim, const S& norm) {
    return complex_to_real(x, n, dim, norm_number(norm, false));
  });
  transform("hfft", [](const Tensor& x, N n, int64_t dim, const S& norm) {
    return complex_to_real(conjugate(as_complex(x)), n, dim, norm_number(norm, true));
  });
  transform("ihfft", [](const Tensor& x, N n, int64_t dim, const S& norm) {
    return conjugate(real_to_complex(x, n, dim, norm_number(norm, false)));
  });
  transform_over("fft", [](const Tensor& x, const L& s, const L& dim, const S& norm) {
    return fftn(x, s, dim, norm, false);
  });
  transform_over("ifft", [](const Tensor& x, const L& s, const L& dim, const S& norm) {
    return fftn(x, s, dim, norm, true);
  });
  transform_over("rfft", [](const Tensor& x, const L& s, const L& dim, const S& norm) {
    return rfftn(x, s, dim, norm);
  });
  transform_over("irfft", [](const Tensor& x, const L& s, const L& dim, const S& norm) {
    return irfftn(x, s, dim, norm);
  });
  transform_over("hfft", [](const Tensor& x, const L& s, const L& dim, const S& norm) {
    return irfftn(x, s, dim, norm, false);
  });
  transform_over("ihfft", [](const Tensor& x, const L& s, const L& dim, const S& norm) {
    return rfftn(x, s, dim, norm, true);
  });
  define("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor",
         [](const Tensor& x, const L& dim) { return shift(x, dim, false); });
  define("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor",
         [](const Tensor& x, const L& dim) { return shift(x, dim, true); });
  for (const bool both : {true, false}) {
    const std::string schema = fmt::format(
        "fft_{}fftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? "
        "device=None, bool? "
        "pin_memory=None) -> Tensor",
        both ? "" : "r");
    if (both)
      define(schema, [](int64_t n, double d, OptionalDType dtype, const IValue&, const IValue&,
                        const IValue&) { return frequencies(n, d, dtype, true); });
    else
      define(schema, [](int64_t n, double d, OptionalDType dtype, const IValue&, const IValue&,
                        const IValue&) { return frequencies(n, d, dtype, false); });
  }
  // Normalization 0 is none, 1 by the root of the number of points, 2 by the number.
  define("_fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor",
         [](const Tensor& x, const Ints& dims, int64_t norm, bool forward) {
           return complex_over(x, dimensions(x, {}, dims), dims.size(), norm, !forward);
         });
  define("_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
         [](const Tensor& x, const Ints& dims, int64_t norm, bool onesided) {
           const Dimensions over = dimensions(x, {}, dims);
           require_dimensions(over);
           return complex_over(real_to_complex(x, {}, over.dims.back(), norm, onesided), over,
                               dims.size() - 1, norm, false);
         });
  define("_fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor",
         [](const Tensor& x, const Ints& dims, int64_t norm, int64_t size) {
           const Dimensions over = dimensions(x, {}, dims);
           require_dimensions(over);
           return complex_to_real(complex_over(x, over, dims.size() - 1, norm, true), size, over.dims.back(),
                                  norm);
         });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten::transforms
