// Resizing images, reading them at positions, and their blocks as columns.
#include <fmt/format.h>

#include <cmath>

#include "script/builtins/aten.h"

namespace weft::jit::aten {
namespace {

using OptionalDouble = std::optional<double>;
using Doubles = std::vector<double>;

struct Resize {
  std::string mode;
  bool align_corners = false;
  bool antialias = false;
};

// Scales are of the last spatial dimensions; without them, positions follow from the sizes.
Tensor upsample(const Tensor& x, const Resize& resize, const Attr& size,
                const std::vector<OptionalDouble>& scales) {
  Attrs attrs{{"size", size},
              {"mode", resize.mode},
              {"align_corners", resize.align_corners},
              {"antialias", resize.antialias}};
  constexpr std::string_view kScales[] = {"scale_depth", "scale_height", "scale_width"};
  for (size_t i = 0; i < scales.size(); ++i) {
    if (scales[i]) attrs.set(kScales[3 - scales.size() + i], *scales[i]);
  }
  return call(op<"upsample">(), {x}, std::move(attrs));
}

Tensor upsample_by(const Tensor& x, const Resize& resize, const OptionalInts& size, const Doubles& factors,
                   bool recompute) {
  WEFT_CHECK(size.has_value() == factors.empty(),
             fmt::format("interpolate: expected either size or scale_factor\n  input: {}", describe(x)));
  const int64_t rank = x.dim() - 2;
  WEFT_CHECK(rank >= 1 && rank <= 3,
             fmt::format("interpolate: expected an input of 3 to 5 dimensions, got {}", describe(x)));
  if (size)
    return upsample(x, resize,
                    sizes(size->size() == 1 ? Ints(static_cast<size_t>(rank), size->front()) : *size), {});
  const bool one = factors.size() == 1;
  WEFT_CHECK(one || static_cast<int64_t>(factors.size()) == rank,
             fmt::format("interpolate: expected {} scale factors, got {}\n  input: {}", rank, factors.size(),
                         describe(x)));
  Ints result;
  std::vector<OptionalDouble> scales;
  for (int64_t d = 0; d < rank; ++d) {
    const double factor = factors[one ? 0 : static_cast<size_t>(d)];
    result.push_back(static_cast<int64_t>(std::floor(static_cast<double>(x.size(d + 2)) * factor)));
    scales.push_back(recompute ? OptionalDouble() : OptionalDouble(factor));
  }
  return upsample(x, resize, sizes(result), scales);
}

Doubles factors_of(const IValue& value) {
  if (value.is_none()) return {};
  return value.is_list() ? value.to_double_list() : Doubles{value.to_double()};
}
OptionalInts sizes_of(const IValue& value) {
  if (value.is_none()) return {};
  return value.is_list() ? value.to_int_list() : Ints{value.to_int()};
}

Tensor interpolate(const Tensor& x, const IValue& size, const IValue& factor, const Resize& resize,
                   bool recompute) {
  if (resize.mode != "area") return upsample_by(x, resize, sizes_of(size), factors_of(factor), recompute);
  OptionalInts target = sizes_of(size);
  const int64_t rank = x.dim() - 2;
  const Doubles factors = factors_of(factor);
  WEFT_CHECK(
      target.has_value() == factors.empty() && rank >= 1 && rank <= 3,
      fmt::format("interpolate: expected 3 to 5 dimensions, and either size or scale_factor\n  input: {}",
                  describe(x)));
  if (!target) {
    target.emplace();
    for (int64_t d = 0; d < rank; ++d) {
      const double by = factors[factors.size() == 1 ? 0 : static_cast<size_t>(d)];
      target->push_back(static_cast<int64_t>(std::floor(static_cast<double>(x.size(d + 2)) * by)));
    }
  }
  if (target->size() == 1) target->resize(static_cast<size_t>(rank), target->front());
  const OpDef& pool = rank == 1   ? op<"adaptive_avg_pool1d">()
                      : rank == 2 ? op<"adaptive_avg_pool2d">()
                                  : op<"adaptive_avg_pool3d">();
  return call(pool, {x}, {{"output_size", sizes(*target)}});
}

// ---- definitions: NAME by size and scales, NAME.vec by size or scales ------------------------------------
std::string_view mode_of(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kModes[] = {
      {"nearest_exact", "nearest-exact"}, {"nearest", "nearest"},     {"linear1d", "linear"},
      {"bilinear", "bilinear"},           {"trilinear", "trilinear"}, {"bicubic", "bicubic"}};
  for (const auto& [part, mode] : kModes) {
    if (name.find(part) != std::string_view::npos) return mode;
  }
  return "nearest";
}

template <Name kName>
Resize resize_of(bool align_corners) {
  constexpr std::string_view name(kName.text);
  return {std::string(mode_of(name)), align_corners, name.ends_with("_aa")};
}

// Arguments: input, size, align_corners unless the mode is nearest, scales….
template <Name kName, bool kHasCorners>
void run_by_size(std::span<IValue> arguments, IValue* results) {
  constexpr size_t kFirst = kHasCorners ? 3 : 2;
  const Ints size = arguments[1].to_int_list();
  std::vector<OptionalDouble> scales;
  for (const IValue& scale : arguments.subspan(kFirst))
    scales.push_back(scale.is_none() ? OptionalDouble() : scale.to_double());
  const Resize resize = resize_of<kName>(kHasCorners && arguments[2].to_bool());
  results[0] = IValue(upsample(arguments[0].to_tensor(), resize, sizes(size), scales));
}

template <Name kName, bool kHasCorners>
void run_by_either(std::span<IValue> arguments, IValue* results) {
  const Resize resize = resize_of<kName>(kHasCorners && arguments[2].to_bool());
  const IValue& factors = arguments[kHasCorners ? 3 : 2];
  results[0] = IValue(
      upsample_by(arguments[0].to_tensor(), resize, sizes_of(arguments[1]), factors_of(factors), false));
}

template <Name kName, int kRank, bool kHasCorners>
void upsample_function() {
  constexpr const char* kScales[] = {"float? scales=None", "float? scales_h=None, float? scales_w=None",
                                     "float? scales_d=None, float? scales_h=None, float? scales_w=None"};
  const char* corners = kHasCorners ? ", bool align_corners" : "";
  define_function(fmt::format("{}(Tensor self, int[{}] output_size{}, {}) -> Tensor", kName.text, kRank,
                              corners, kScales[kRank - 1]),
                  &run_by_size<kName, kHasCorners>);
  define_function(fmt::format("{}.vec(Tensor input, int[]? output_size{}, float[]? scale_factors) -> Tensor",
                              kName.text, corners),
                  &run_by_either<kName, kHasCorners>);
}

// torch.nn.functional.interpolate, which scripted code calls by this name.
void interpolate_function(const char* overload, const char* size, const char* factor) {
  define(fmt::format(
             "__interpolate{}(Tensor input, {}? size=None, {}? scale_factor=None, str mode=\"nearest\", "
             "bool? align_corners=None, bool? recompute_scale_factor=None, bool antialias=False) -> Tensor",
             overload, size, factor),
         [](const Tensor& x, const IValue& size, const IValue& factor, const std::string& mode,
            std::optional<bool> align_corners, std::optional<bool> recompute, bool antialias) {
           return interpolate(x, size, factor, {mode, align_corners.value_or(false), antialias},
                              recompute.value_or(false));
         });
}

// ---- grid_sampler ----------------------------------------------------------------------------------------
Tensor grid_sampler(const Tensor& x, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners) {
  constexpr const char* kModes[] = {"bilinear", "nearest", "bicubic"};
  constexpr const char* kPaddings[] = {"zeros", "border", "reflection"};
  WEFT_CHECK(mode >= 0 && mode < 3 && padding >= 0 && padding < 3,
             fmt::format("grid_sampler: modes are 0 to 2, got interpolation_mode={} and padding_mode={}",
                         mode, padding));
  return call(op<"grid_sample">(), {x, grid},
              {{"mode", std::string(kModes[mode])},
               {"padding_mode", std::string(kPaddings[padding])},
               {"align_corners", align_corners}});
}

[[maybe_unused]] const bool kResizing = [] {
  upsample_function<"upsample_nearest1d", 1, false>();
  upsample_function<"upsample_nearest2d", 2, false>();
  upsample_function<"upsample_nearest3d", 3, false>();
  upsample_function<"_upsample_nearest_exact1d", 1, false>();
  upsample_function<"_upsample_nearest_exact2d", 2, false>();
  upsample_function<"_upsample_nearest_exact3d", 3, false>();
  upsample_function<"upsample_linear1d", 1, true>();
  upsample_function<"upsample_bilinear2d", 2, true>();
  upsample_function<"upsample_trilinear3d", 3, true>();
  upsample_function<"upsample_bicubic2d", 2, true>();
  upsample_function<"_upsample_bilinear2d_aa", 2, true>();
  upsample_function<"_upsample_bicubic2d_aa", 2, true>();
  interpolate_function("", "int", "float");
  interpolate_function(".size_list", "int[]", "float");
  interpolate_function(".scale_list", "int", "float[]");
  interpolate_function(".size_list_scale_list", "int[]", "float[]");
  return true;
}();

[[maybe_unused]] const bool kSampling = [] {
  for (const char* name : {"grid_sampler", "grid_sampler_2d", "grid_sampler_3d"}) {
    define(fmt::format("{}(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
                       "align_corners) -> Tensor",
                       name),
           [](const Tensor& x, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners) {
             return grid_sampler(x, grid, mode, padding, align_corners);
           });
  }
  same<"im2col">(
      "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor");
  same<"col2im">(
      "col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] "
      "stride) -> Tensor");
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
