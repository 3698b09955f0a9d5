// Fourier transforms, and those of short stretches of a signal.
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

// ---- short-time transforms -------------------------------------------------------------------------------
struct Framing {
  int64_t points, hop, window_length;
  Tensor window;  // of `points` elements, undefined for ones
};

Framing framing(const char* name, int64_t points, OptionalInt hop, OptionalInt window_length,
                const OptionalTensor& window) {
  Framing result{points, hop.value_or(points / 4), window_length.value_or(points), or_undefined(window)};
  WEFT_CHECK(
      points > 0 && result.hop > 0 && result.window_length > 0 && result.window_length <= points,
      fmt::format("{}: expected n_fft > 0, hop_length > 0 and 0 < win_length <= n_fft, got {}, {} and {}",
                  name, points, result.hop, result.window_length));
  if (!result.window.defined()) {
    if (result.window_length == points) return result;
    result.window = Tensor::full({result.window_length}, Scalar(1), DType::F32);
  }
  WEFT_CHECK(result.window.dim() == 1 && result.window.size(0) == result.window_length,
             fmt::format("{}: expected a window of {} elements, got {}", name, result.window_length,
                         describe(result.window)));
  const int64_t left = (points - result.window_length) / 2;
  if (result.window_length < points)
    result.window = call(op<"pad">(), {result.window},
                         {{"pad", sizes(Ints{left, points - result.window_length - left})}});
  return result;
}

Tensor pad_reflected(const Tensor& x, int64_t width, const std::string& mode) {
  return call(op<"pad">(), {x}, {{"pad", sizes(Ints{width, width})}, {"mode", mode}});
}

Tensor stft(const Tensor& signal, const Framing& frames, bool center, const std::string& mode,
            bool normalized, std::optional<bool> onesided, std::optional<bool> return_complex) {
  WEFT_CHECK(signal.dim() == 1 || signal.dim() == 2,
             fmt::format("stft: expected a signal of one or two dimensions, got {}", describe(signal)));
  const bool is_single = signal.dim() == 1;
  const bool has_complex =
      is_complex(signal.dtype()) || (frames.window.defined() && is_complex(frames.window.dtype()));
  WEFT_CHECK(return_complex.has_value() || has_complex, "stft: return_complex must be given for real input");
  Tensor x = is_single ? call(op<"unsqueeze">(), {signal}, {{"dim", sizes(Ints{0})}}) : signal;
  if (center) x = pad_reflected(x, frames.points / 2, mode);
  WEFT_CHECK(x.size(1) >= frames.points,
             fmt::format("stft: a signal of {} elements has no frame of {}", x.size(1), frames.points));
  Tensor pieces = call(op<"unfold">(), {x},
                       {{"dim", number(1)}, {"size", number(frames.points)}, {"step", number(frames.hop)}});
  if (frames.window.defined()) pieces = mul(pieces, frames.window);
  const int64_t norm = normalized ? 1 : 0;
  const bool half = onesided.value_or(!has_complex);
  Tensor result = has_complex ? complex_to_complex(pieces, {}, 2, norm, false)
                              : real_to_complex(pieces, {}, 2, norm, half);
  result = call(op<"transpose">(), {result}, {{"dim0", number(1)}, {"dim1", number(2)}});
  if (is_single) result = call(op<"select">(), {result}, {{"dim", number(0)}, {"index", number(0)}});
  if (return_complex.value_or(true)) return result;
  return call(op<"stack">(), {call(op<"real">(), {result}), call(op<"imag">(), {result})},
              {{"dim", number(-1)}});
}

Tensor istft(const Tensor& spectrum, const Framing& frames, bool center, bool normalized,
             std::optional<bool> onesided, OptionalInt length, bool return_complex) {
  WEFT_CHECK_TYPE(is_complex(spectrum.dtype()),
                  "istft: expected a complex spectrum, got " + describe(spectrum));
  WEFT_CHECK(spectrum.dim() == 2 || spectrum.dim() == 3,
             "istft: expected two or three dimensions, got " + describe(spectrum));
  const bool is_single = spectrum.dim() == 2;
  Tensor x = is_single ? call(op<"unsqueeze">(), {spectrum}, {{"dim", sizes(Ints{0})}}) : spectrum;
  const bool half = onesided.value_or(x.size(1) != frames.points);
  x = call(op<"transpose">(), {x}, {{"dim0", number(1)}, {"dim1", number(2)}});
  const int64_t norm = normalized ? 1 : 2, count = x.size(1), batch = x.size(0);
  Tensor pieces = return_complex ? complex_to_complex(x, {}, 2, norm, true)
                  : half         ? complex_to_real(x, frames.points, 2, norm)
                                 : call(op<"real">(), {complex_to_complex(x, {}, 2, norm, true)});
  const DType real = pieces.dtype() == DType::F64 || pieces.dtype() == DType::C128 ? DType::F64 : DType::F32;
  const Tensor window =
      frames.window.defined() ? frames.window : Tensor::full({frames.points}, Scalar(1), real);
  pieces = mul(pieces, window);
  const int64_t total = frames.points + frames.hop * (count - 1);
  // Where element j of frame i goes.
  const auto numbers = [](int64_t n) { return call(op<"arange">(), {}, {{"start", Scalar(n)}}); };
  const Tensor starts =
      call(op<"reshape">(), {mul(numbers(count), Scalar(frames.hop))}, {{"shape", sizes(Ints{count, 1})}});
  const Tensor places =
      call(op<"reshape">(), {add(starts, numbers(frames.points))}, {{"shape", sizes(Ints{-1})}});
  const auto overlap = [&](const Tensor& values, int64_t rows) {
    return call(op<"index_add">(),
                {Tensor::full({rows, total}, Scalar(0), values.dtype()), places,
                 call(op<"reshape">(), {values}, {{"shape", sizes(Ints{rows, count * frames.points})}})},
                {{"dim", number(1)}});
  };
  Tensor result = overlap(pieces, batch);
  const Tensor squares = mul(window, window);
  const Tensor envelope =
      overlap(call(op<"expand">(), {squares}, {{"shape", sizes(Ints{count, frames.points})}}), 1);
  const int64_t start = center ? frames.points / 2 : 0;
  const int64_t stop = length ? start + *length : center ? total - frames.points / 2 : total;
  const int64_t end = std::min(stop, total);
  const auto cut = [&](const Tensor& y) {
    return call(op<"slice">(), {y}, {{"dim", number(1)}, {"start", number(start)}, {"stop", number(end)}});
  };
  const Tensor divisor = cut(envelope);
  if (!divisor.is_traced()) {
    const Tensor least = call(op<"amin">(), {call(op<"abs">(), {divisor})});
    WEFT_CHECK(least.item().to_double() > 1e-11, "istft: the windows that overlap are zero somewhere");
  }
  result = promoted(op<"true_divide">(), {cut(result), divisor});
  if (length && stop > end) result = call(op<"pad">(), {result}, {{"pad", sizes(Ints{0, stop - end})}});
  return is_single ? call(op<"select">(), {result}, {{"dim", number(0)}, {"index", number(0)}}) : result;
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

[[maybe_unused]] const bool kShortTime = [] {
  define(
      "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool "
      "normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> "
      "Tensor",
      [](const Tensor& x, int64_t points, N hop, N length, const OptionalTensor& window, bool normalized,
         std::optional<bool> onesided, std::optional<bool> as_complex_numbers, std::optional<bool>) {
        return stft(x, framing("stft", points, hop, length, window), false, "", normalized, onesided,
                    as_complex_numbers);
      });
  define(
      "stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
      "bool "
      "center=True, str pad_mode=\"reflect\", bool normalized=False, bool? onesided=None, bool? "
      "return_complex=None, bool? align_to_window=None) -> Tensor",
      [](const Tensor& x, int64_t points, N hop, N length, const OptionalTensor& window, bool center,
         const std::string& mode, bool normalized, std::optional<bool> onesided,
         std::optional<bool> as_complex_numbers, std::optional<bool>) {
        return stft(x, framing("stft", points, hop, length, window), center, mode, normalized, onesided,
                    as_complex_numbers);
      });
  define(
      "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool "
      "center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) "
      "-> "
      "Tensor",
      [](const Tensor& x, int64_t points, N hop, N window_length, const OptionalTensor& window, bool center,
         bool normalized, std::optional<bool> onesided, N length, bool as_complex_numbers) {
        return istft(x, framing("istft", points, hop, window_length, window), center, normalized, onesided,
                     length, as_complex_numbers);
      });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten::transforms
