// Resizing images, and reading them at given positions.
#include "kernels/cpu/resample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/axis_maps.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/window.h"

namespace weft::ops {
namespace {

using Tensors = std::vector<Tensor>;
using kernels::Taps;

// ---- taps of one dimension
// -------------------------------------------------------------------------------------
struct ResizeMode {
  std::string_view name;
  size_t low_rank, high_rank;  // spatial dimensions it is for
  enum Kind : uint8_t { Nearest, NearestExact, Linear, Cubic } kind;
};

constexpr ResizeMode kModes[] = {
    {"nearest", 1, 3, ResizeMode::Nearest},  {"nearest-exact", 1, 3, ResizeMode::NearestExact},
    {"linear", 1, 1, ResizeMode::Linear},    {"bilinear", 2, 2, ResizeMode::Linear},
    {"trilinear", 3, 3, ResizeMode::Linear}, {"bicubic", 2, 2, ResizeMode::Cubic},
};

// From `size` elements to `count`. Positions are computed in T, the dtype of the elements, as PyTorch does:
// which element is the nearest depends on it.
template <class T>
struct Resize {
  int64_t size, count;
  bool align_corners;
  std::optional<double> factor;

  T scale() const {
    if (align_corners) return count > 1 ? static_cast<T>(size - 1) / static_cast<T>(count - 1) : T(0);
    return factor && *factor > 0 ? static_cast<T>(1.0 / *factor)
                                 : static_cast<T>(size) / static_cast<T>(count);
  }
  T position(T scale, int64_t i) const {
    return align_corners ? scale * static_cast<T>(i) : scale * (static_cast<T>(i) + T(0.5)) - T(0.5);
  }
  int64_t clamp(int64_t i) const { return std::clamp<int64_t>(i, 0, size - 1); }

  kernels::AxisMap nearest(bool exact) const {
    kernels::AxisMap map;
    const T by = scale();
    for (int64_t i = 0; i < count; ++i) {
      const T at = exact ? std::max(by * (static_cast<T>(i) + T(0.5)) - T(0.5), T(0)) + T(0.5)
                         : by * static_cast<T>(i);
      map.push_back(std::min(static_cast<int64_t>(std::floor(at)), size - 1));
    }
    return map;
  }

  Taps empty(int64_t number) const {
    Taps taps{.size = size, .count = count, .index = {}, .weight = {}};
    taps.index.resize(static_cast<size_t>(number * count));
    taps.weight.resize(static_cast<size_t>(number * count));
    return taps;
  }
  void set(Taps& taps, int64_t tap, int64_t i, int64_t index, T weight) const {
    taps.index[static_cast<size_t>(tap * count + i)] = clamp(index);
    taps.weight[static_cast<size_t>(tap * count + i)] = static_cast<double>(weight);
  }

  Taps linear() const {
    Taps taps = empty(size == count ? 1 : 2);
    const T by = scale();
    for (int64_t i = 0; i < count; ++i) {
      if (size == count) {
        set(taps, 0, i, i, T(1));
        continue;
      }
      const T at = std::max(position(by, i), T(0));
      const int64_t low = std::min(static_cast<int64_t>(at), size - 1);
      const T weight = std::clamp(at - static_cast<T>(low), T(0), T(1));
      set(taps, 0, i, low, 1 - weight);
      set(taps, 1, i, low + 1, weight);
    }
    return taps;
  }

  Taps cubic() const {
    Taps taps = empty(4);
    const T by = scale();
    for (int64_t i = 0; i < count; ++i) {
      const T at = position(by, i), low = std::floor(at);
      const std::array<T, 4> weights = kernels::cubic_weights(std::clamp(at - low, T(0), T(1)), T(-0.75));
      for (int64_t k = 0; k < 4; ++k)
        set(taps, k, i, static_cast<int64_t>(low) + k - 1, weights[static_cast<size_t>(k)]);
    }
    return taps;
  }

  static T triangle(T x) { return std::max(T(0), 1 - std::abs(x)); }
  static T bump(T x) {
    x = std::abs(x);
    if (x >= 2) return T(0);
    const std::array<T, 4> weights = kernels::cubic_weights(x < 1 ? x : x - 1, T(-0.5));
    return x < 1 ? weights[1] : weights[0];
  }

  // The filter stretched to what one result covers of the input.
  Taps antialiased(bool is_cubic) const {
    const T by = scale(), stretch = std::max(by, T(1)), support = (is_cubic ? T(2) : T(1)) * stretch;
    Taps taps = empty(static_cast<int64_t>(std::ceil(support)) * 2 + 1);
    for (int64_t i = 0; i < count; ++i) {
      const T centre = by * (static_cast<T>(i) + T(0.5));
      const int64_t low = std::max<int64_t>(static_cast<int64_t>(centre - support + T(0.5)), 0);
      const int64_t number =
          std::min(std::min(static_cast<int64_t>(centre + support + T(0.5)), size) - low, taps.number());
      std::vector<T> weights;
      T total = 0;
      for (int64_t k = 0; k < number; ++k) {
        const T x = (static_cast<T>(k + low) - centre + T(0.5)) / stretch;
        weights.push_back(is_cubic ? bump(x) : triangle(x));
        total += weights.back();
      }
      for (int64_t k = 0; k < taps.number(); ++k)
        set(taps, k, i, low + std::min(k, number - 1),
            k < number && total != 0 ? weights[static_cast<size_t>(k)] / total : T(0));
    }
    return taps;
  }

  Taps taps(ResizeMode::Kind kind, bool antialias) const {
    if (antialias) return antialiased(kind == ResizeMode::Cubic);
    return kind == ResizeMode::Cubic ? cubic() : linear();
  }
};

// ---- upsample: the kernel operator
// -----------------------------------------------------------------------------
ResizeMode mode_of(const OpDef& op, const Attrs& attrs, size_t rank) {
  const std::string& given = attrs.get<std::string>("mode");
  for (const ResizeMode& mode : kModes) {
    if (given == mode.name && rank >= mode.low_rank && rank <= mode.high_rank) return mode;
  }
  throw_error(
      ErrorKind::NotImplemented,
      fmt::format("{}: mode '{}' of an input of {} dimensions: expected 'nearest' or 'nearest-exact' (3 to 5 "
                  "dimensions), "
                  "'linear' (3), 'bilinear' or 'bicubic' (4), 'trilinear' (5), or interpolate's 'area'",
                  op.name, given, rank + 2));
}

std::vector<TensorType> infer_upsample(const OpDef& op, std::span<const TensorType> operands,
                                       const Attrs& attrs) {
  TensorType result = operands[0];
  const auto got = [&] { return describe_operands(op, operands); };
  WEFT_CHECK(result.shape.size() >= 3 && result.shape.size() <= 5,
             fmt::format("{}: expected an input of 3 to 5 dimensions{}", op.name, got()));
  const size_t rank = result.shape.size() - 2;
  const ResizeMode mode = mode_of(op, attrs, rank);
  const bool nearest = mode.kind <= ResizeMode::NearestExact;
  const bool are_bytes = result.dtype == DType::U8 && rank == 2;
  WEFT_CHECK_TYPE(is_floating(result.dtype) || are_bytes || (nearest && !is_complex(result.dtype)),
                  fmt::format("{}: dtype not supported: expected floating (any real one for 'nearest', uint8 "
                              "for 'bilinear' and 'bicubic'), got {}{}",
                              op.name, name(result.dtype), got()));
  WEFT_CHECK(
      !attrs.get_bool("antialias") || mode.name == "bilinear" || mode.name == "bicubic",
      fmt::format("{}: antialias is for modes 'bilinear' and 'bicubic', got '{}'", op.name, mode.name));
  const SymShape size = spatial_sizes(op, attrs, "size", rank);
  for (size_t d = 0; d < rank; ++d) {
    WEFT_CHECK(sym_gt(result.shape[2 + d], Sym(0)) && sym_gt(size[d], Sym(0)),
               fmt::format("{}: input and output sizes must be positive: got size {}{}", op.name,
                           weft::str(size), got()));
    result.shape[2 + d] = size[d];
  }
  return {result};
}

template <class T>
Resize<T> resize_of(const Attrs& attrs, const Tensor& x, const std::vector<int64_t>& size, size_t d) {
  constexpr std::string_view kScales[] = {"scale_depth", "scale_height", "scale_width"};
  const std::string_view scale = kScales[3 - size.size() + d];
  std::optional<double> factor;
  if (!attrs.is_none(scale)) factor = float_arg(attrs, scale);
  return {x.shape()[2 + d], size[d], attrs.get_bool("align_corners"), factor};
}

// Modes 'linear' and 'trilinear' have the weights of 16-bit inputs in 16 bits, as PyTorch's; 'bilinear' has
// float32's.
void round_weights(Taps& taps, DType dtype) {
  if (taps.number() != 2) return;
  const auto rounded = [dtype](double weight) {
    const float x = static_cast<float>(weight);
    return static_cast<double>(dtype == DType::F16 ? static_cast<float>(Half(x))
                                                   : static_cast<float>(BFloat16(x)));
  };
  for (size_t i = 0; i < static_cast<size_t>(taps.count); ++i) {
    double& high = taps.weight[static_cast<size_t>(taps.count) + i];
    high = rounded(high);
    taps.weight[i] = rounded(1 - high);
  }
}

template <class T>
Tensor upsample_as(const OpDef& op, const Tensor& x, const Attrs& attrs) {
  const size_t rank = x.shape().size() - 2;
  const std::vector<int64_t> size = spatial_arg(op, attrs, "size", rank);
  const ResizeMode mode = mode_of(op, attrs, rank);
  if (mode.kind <= ResizeMode::NearestExact) {
    std::vector<kernels::AxisMap> maps(x.shape().size());
    for (size_t d = 0; d < rank; ++d)
      maps[2 + d] = resize_of<T>(attrs, x, size, d).nearest(mode.kind == ResizeMode::NearestExact);
    return kernels::read_through(x, maps);
  }
  const bool is_16_bit = x.dtype() == DType::F16 || x.dtype() == DType::BF16;
  kernels::TapDims dims;
  Shape shape(x.shape().begin(), x.shape().begin() + 2);
  for (size_t d = 0; d < rank; ++d) {
    Taps& taps = dims[3 - rank + d];
    taps = resize_of<T>(attrs, x, size, d).taps(mode.kind, attrs.get_bool("antialias"));
    if (is_16_bit && mode.kind == ResizeMode::Linear && rank != 2) round_weights(taps, x.dtype());
    shape.push_back(size[d]);
  }
  return run_in_compute_dtype(x, shape, [&](const Tensor& input, const Tensor& result) {
    kernels::interpolate(dims, input, result);
  });
}

// Rows become as long as the result's, then there are as many as it has: bytes after each of the two.
Tensor upsample_bytes(const OpDef& op, const Tensor& x, const Attrs& attrs) {
  const std::vector<int64_t> size = spatial_arg(op, attrs, "size", 2);
  const ResizeMode mode = mode_of(op, attrs, 2);
  Tensor from = x.contiguous();
  for (const size_t d : {1, 0}) {
    Shape shape = from.shape();
    if (shape[2 + d] == size[d]) continue;
    const kernels::ByteTaps taps = kernels::byte_taps(
        resize_of<double>(attrs, from, size, d).taps(mode.kind, attrs.get_bool("antialias")));
    const int64_t rows = shape[0] * shape[1] * (d == 1 ? shape[2] : 1), inner = d == 1 ? 1 : shape[3];
    shape[2 + d] = size[d];
    const Tensor to = Tensor::empty(shape, DType::U8);
    kernels::resize_bytes(taps, from.data_as<uint8_t>(), to.data_as<uint8_t>(), rows, inner);
    from = to;
  }
  return from.impl() == x.impl() ? x.clone() : from;
}

Tensors eager_upsample(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor& x = operands[0];
  const bool moves = attrs.get<std::string>("mode").starts_with("nearest");
  if (x.dtype() == DType::U8 && !moves) return {upsample_bytes(op, x, attrs)};
  return {x.dtype() == DType::F64 ? upsample_as<double>(op, x, attrs) : upsample_as<float>(op, x, attrs)};
}

// ---- interpolate: PyTorch's arguments
// -------------------------------------------------------------------------- floor(size * factor), symbolic
// where the factor or its inverse is an integer.
Sym scaled_size(const Sym& size, double factor) {
  if (size.is_constant() || factor <= 0)
    return Sym(static_cast<int64_t>(std::floor(static_cast<double>(sym_specialize(size)) * factor)));
  if (factor == std::floor(factor)) return size * Sym(static_cast<int64_t>(factor));
  if (1 / factor == std::floor(1 / factor)) return floor_div(size, Sym(static_cast<int64_t>(1 / factor)));
  return Sym(static_cast<int64_t>(std::floor(static_cast<double>(sym_specialize(size)) * factor)));
}

bool flag_arg(const Attrs& attrs, const char* name) { return !attrs.is_none(name) && attrs.get_bool(name); }

Tensors interpolate(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const Attrs& attrs = args.attrs;
  const std::string& mode = attrs.get<std::string>("mode");
  const bool by_size = !attrs.is_none("size"), by_scale = !attrs.is_none("scale_factor");
  WEFT_CHECK(by_size != by_scale, fmt::format("{}: expected either size or scale_factor, got {}", op.name,
                                              by_size ? "both" : "neither"));
  WEFT_CHECK(x.dim() >= 3 && x.dim() <= 5,
             fmt::format("{}: expected an input of 3 to 5 dimensions, got {}", op.name, type_of(x).str()));
  WEFT_CHECK(
      attrs.is_none("align_corners") || (mode != "nearest" && mode != "nearest-exact" && mode != "area"),
      fmt::format("{}: align_corners is for modes 'linear', 'bilinear', 'bicubic' and 'trilinear', got '{}'",
                  op.name, mode));
  const bool recompute = flag_arg(attrs, "recompute_scale_factor");
  WEFT_CHECK(!recompute || by_scale,
             fmt::format("{}: recompute_scale_factor is not meaningful with an explicit size", op.name));
  const size_t rank = static_cast<size_t>(x.dim()) - 2;
  SymShape size;
  if (by_size) {
    size = spatial_sizes(op, attrs, "size", rank);
  } else {
    const SymShape shape = sym_shape(x);
    for (size_t d = 0; d < rank; ++d)
      size.push_back(scaled_size(shape[2 + d], float_arg(attrs, "scale_factor")));
  }
  if (mode == "area") {
    WEFT_CHECK(!attrs.get_bool("antialias"),
               fmt::format("{}: antialias is for modes 'bilinear' and 'bicubic', got 'area'", op.name));
    return {call1(fmt::format("adaptive_avg_pool{}d", rank), {x}, {{"output_size", size}})};
  }
  const Attr scale = by_scale && !recompute ? attrs.at("scale_factor") : Attr{};
  return {call1("upsample", {x},
                {{"size", size},
                 {"mode", mode},
                 {"align_corners", flag_arg(attrs, "align_corners")},
                 {"scale_depth", scale},
                 {"scale_height", scale},
                 {"scale_width", scale},
                 {"antialias", attrs.get_bool("antialias")}})};
}

// ---- grid_sample
// -----------------------------------------------------------------------------------------------
template <class E, size_t N>
E named(const OpDef& op, const Attrs& attrs, const char* what,
        const std::pair<std::string_view, E> (&names)[N], const char* expected) {
  const std::string& given = attrs.get<std::string>(what);
  for (const auto& [name, value] : names) {
    if (given == name) return value;
  }
  throw_error(ErrorKind::Value, fmt::format("{}: {}: expected {}, got '{}'", op.name, what, expected, given));
}

kernels::SampleMode sample_mode(const OpDef& op, const Attrs& attrs) {
  using enum kernels::SampleMode;
  return named<kernels::SampleMode>(op, attrs, "mode",
                                    {{"bilinear", Linear}, {"nearest", Nearest}, {"bicubic", Cubic}},
                                    "'bilinear', 'nearest' or 'bicubic'");
}

kernels::SamplePadding sample_padding(const OpDef& op, const Attrs& attrs) {
  using enum kernels::SamplePadding;
  return named<kernels::SamplePadding>(op, attrs, "padding_mode",
                                       {{"zeros", Zeros}, {"border", Border}, {"reflection", Reflection}},
                                       "'zeros', 'border' or 'reflection'");
}

std::vector<TensorType> infer_grid_sample(const OpDef& op, std::span<const TensorType> operands,
                                          const Attrs& attrs) {
  check_dtype(op, operands);
  const TensorType &x = operands[0], &grid = operands[1];
  const auto got = [&] { return describe_operands(op, operands); };
  WEFT_CHECK_TYPE(x.dtype == grid.dtype,
                  fmt::format("{}: input and grid must have one dtype{}", op.name, got()));
  const size_t ndim = x.shape.size();
  const bool fits = (ndim == 4 || ndim == 5) && grid.shape.size() == ndim &&
                    sym_eq(grid.shape[0], x.shape[0]) &&
                    sym_eq(grid.shape.back(), Sym(static_cast<int64_t>(ndim) - 2));
  WEFT_CHECK(fits, fmt::format("{}: expected input[N, C, H, W] and grid[N, *, *, 2], or input[N, C, D, H, W] "
                               "and grid[N, *, *, *, 3]{}",
                               op.name, got()));
  for (size_t d = 2; d < ndim; ++d)
    WEFT_CHECK(sym_gt(x.shape[d], Sym(0)),
               fmt::format("{}: expected an input whose spatial dimensions are not empty{}", op.name, got()));
  sample_padding(op, attrs);
  sample_mode(op, attrs);
  TensorType result{x.dtype, {x.shape[0], x.shape[1]}, x.device};
  result.shape.insert(result.shape.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
  return {result};
}

Tensors eager_grid_sample(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor &x = operands[0], &grid = operands[1];
  Shape shape{x.size(0), x.size(1)};
  shape.insert(shape.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
  const Tensor result = Tensor::empty(shape, x.dtype());
  kernels::sample(x.contiguous(), grid.contiguous(), sample_mode(op, attrs), sample_padding(op, attrs),
                  flag_arg(attrs, "align_corners"), result);
  return {result};
}

[[maybe_unused]] const OpDef* const kResampleOps[] = {
    &register_op(
        {.name = "upsample",
         .schema = "(Tensor input, int[] size, str mode='nearest', bool align_corners=False, float? "
                   "scale_depth=None, "
                   "float? scale_height=None, float? scale_width=None, bool antialias=False) -> Tensor",
         .doc = "What interpolate is written over: input[N, C, …] resized to `size` along its 1 to "
                "3 spatial dimensions. Positions\n"
                "are scaled by 1 / scale where it is given, else by the ratio of the sizes.\n"
                "dtype:  floating; any real one for 'nearest' and 'nearest-exact'; uint8 for 'bilinear' and "
                "'bicubic', rows first, then\n"
                "columns, with weights of 16 bits, as PyTorch has it.",
         .infer = infer_upsample,
         .eager = eager_upsample}),
    &define_composite(
        "interpolate",
        "(Tensor input, int[]? size=None, float? scale_factor=None, str mode='nearest', bool? "
        "align_corners=None, "
        "bool? recompute_scale_factor=None, bool antialias=False) -> Tensor",
        "input[N, C, …] resized to `size`, or by scale_factor, along its 1 to 3 spatial dimensions. mode: "
        "'nearest',\n"
        "'nearest-exact', 'linear', 'bilinear', 'trilinear', 'bicubic' or 'area' (adaptive_avg_pool). "
        "align_corners: the centres\n"
        "of the outermost elements stay where they are, else their edges. antialias: 'bilinear' and "
        "'bicubic' read all that\n"
        "a smaller result covers.\n"
        "raises: ValueError unless one of size and scale_factor is given. source: Keys 1981 for 'bicubic'.",
        "", interpolate),
    &register_op({.name = "grid_sample",
                  .schema = "(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', "
                            "bool? align_corners=None) -> Tensor",
                  .dtypes = kFloats,
                  .doc = "input[N, C, H, W] (or [N, C, D, H, W]) at the positions grid[N, *, *, 2] (or [N, "
                         "*, *, *, 3]; x first), which are -1\n"
                         "and 1 at the input's edges, or with align_corners at the centres of its outermost "
                         "elements. mode: 'bilinear', 'nearest'\n"
                         "or 'bicubic' (of volumes tricubic); padding_mode: 'zeros' outside, the 'border', "
                         "or its 'reflection'. "
                         "source: Jaderberg et al. 2015.",
                  .infer = infer_grid_sample,
                  .eager = eager_grid_sample}),
};

}  // namespace
}  // namespace weft::ops
