#include "device/cuda/resampling.h"

#include <fmt/format.h>

#include "device/cuda/faults.h"
#include "device/cuda/products.h"
#include "device/cuda/written_kernel.h"
#include "ops/arguments.h"
#include "ops/window.h"

namespace weft::cuda {
namespace {

constexpr const char* kScales[] = {"scale_depth", "scale_height", "scale_width"};

double factor_of(const ops::Attrs& attrs, size_t axis) {
  return attrs.is_none(kScales[axis]) ? 0.0 : ops::float_arg(attrs, kScales[axis]);
}

// What positions and weights are computed in, as on the host.
DType sums_in(DType dtype) { return dtype == DType::F64 ? DType::F64 : DType::F32; }

const char* resizing_name(const std::string& mode, bool antialias) {
  if (mode == "nearest") return "kNearest";
  if (mode == "nearest-exact") return "kNearestExact";
  if (mode == "bicubic") return antialias ? "kCubicOfAll" : "kCubic";
  return antialias ? "kLinearOfAll" : "kLinear";
}

// One dimension after another; what lies between is not rounded to the operand's dtype.
Tensor resized_by_axes(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs) {
  Tensor x = operands[0].contiguous();
  const DType dtype = x.dtype(), sums = sums_in(dtype);
  const size_t dims = x.shape().size(), rank = dims - 2;
  const std::string& mode = attrs.get<std::string>("mode");
  const bool moves = mode.starts_with("nearest");
  const Tensor out = empty_results(op, operands, attrs)[0];
  if (out.numel() == 0) return out;
  for (size_t d = 0; d < rank; ++d) {
    const size_t axis = 2 + d;
    Shape shape = x.shape();
    shape[axis] = out.shape()[axis];
    int64_t inner = 1;
    for (size_t k = axis + 1; k < dims; ++k) inner *= shape[k];
    const bool is_last = d + 1 == rank;
    const Tensor to = is_last ? out : Tensor::empty(shape, moves ? dtype : sums, x.device());
    WrittenKernel kernel(fmt::format("resize_axis_{}_{}", short_name(x.dtype()), short_name(to.dtype())),
                         x.device().index);
    kernel.writes("out", to).reads("from", x).number("results", to.numel()).number("inner", inner);
    kernel.number("size", x.shape()[axis]).number("count", shape[axis]);
    kernel.number("align_corners", attrs.get_bool("align_corners"));
    kernel.real("factor", factor_of(attrs, 3 - rank + d));
    kernel.with(Text::Operands).with(Text::Moving).with(Text::Resampling);
    kernel.launch(fmt::format("resize_axis<{}, {}>(out, from, results, inner, Resized{{size, count, "
                              "align_corners != 0, factor}});",
                              resizing_name(mode, attrs.get_bool("antialias")), type_in_kernels(sums)),
                  blocks_of_items(to.numel(), x.device().index));
    x = to;
  }
  return out;
}

}  // namespace

std::vector<Tensor> run_upsample(const ops::OpDef& op, std::span<const Tensor> operands,
                                 const ops::Attrs& attrs) {
  const Tensor x = operands[0].contiguous();
  const std::string& mode = attrs.get<std::string>("mode");
  const bool is_nearest = mode == "nearest" || mode == "nearest-exact";
  if (x.dtype() == DType::U8 && !is_nearest) return {};  // in fixed point
  if (x.dim() > 4 || attrs.get_bool("antialias") || (!is_nearest && mode != "linear" && mode != "bilinear"))
    return {resized_by_axes(op, operands, attrs)};
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  const Tensor& out = results[0];
  if (out.numel() == 0) return results;
  const int device = x.device().index;
  const bool is_line = x.dim() == 3;
  WrittenKernel kernel("resize", device);
  kernel.writes("out", out).reads("from", x).number("planes", x.size(0) * x.size(1));
  kernel.number("height", is_line ? 1 : x.size(2)).number("rows", is_line ? 1 : out.size(2));
  kernel.number("width", x.size(-1)).number("columns", out.size(-1));
  kernel.real("by_y", factor_of(attrs, 1)).real("by_x", factor_of(attrs, 2));
  const bool aligned = attrs.get_bool("align_corners");
  // Where elements lie, in the dtype that the host computes it in.
  kernel.with(Text::Operands).with(Text::Moving);
  kernel.launch(fmt::format("resize_images<{}, {}, {}>(out, from, planes, Resized{{height, rows, {}, by_y}}, "
                            "Resized{{width, columns, "
                            "{}, by_x}}, {});",
                            type_in_kernels(x.dtype()), x.dtype() == DType::F64 ? "f64" : "f32", !is_nearest,
                            aligned, aligned, mode == "nearest-exact"),
                blocks_of_items(out.numel(), device));
  return results;
}

std::vector<Tensor> run_grid_sample(const ops::OpDef& op, std::span<const Tensor> operands,
                                    const ops::Attrs& attrs) {
  const Tensor x = operands[0].contiguous();
  const DType sums = sums_in(x.dtype());
  const Tensor grid = operands[1].to(sums).contiguous();
  const std::vector<Tensor> results = empty_results(op, operands, attrs);
  const Tensor& out = results[0];
  if (out.numel() == 0) return results;
  const size_t rank = x.shape().size() - 2;
  const std::string &mode = attrs.get<std::string>("mode"), &padding = attrs.get<std::string>("padding_mode");
  const char* const outside = padding == "zeros" ? "kZeros" : padding == "border" ? "kBorder" : "kReflection";
  const bool align_corners = !attrs.is_none("align_corners") && attrs.get_bool("align_corners");
  WrittenKernel kernel(fmt::format("sample_at_grid_{}", short_name(x.dtype())), x.device().index);
  kernel.writes("out", out).reads("from", x).reads("grid", grid).number("results", out.numel());
  kernel.number("places", out.numel() / (x.size(0) * x.size(1))).number("channels", x.size(1));
  kernel.number("plane", x.strides()[1]);
  std::string axes;
  for (size_t d = 0; d < rank; ++d) {
    const size_t axis = x.shape().size() - 1 - d;
    const std::string size = fmt::format("size_{}", d), stride = fmt::format("stride_{}", d);
    kernel.number(size.c_str(), x.shape()[axis]).number(stride.c_str(), x.strides()[axis]);
    axes += fmt::format("{}{{{}, {}, {}}}", d > 0 ? ", " : "", size, stride, align_corners);
  }
  kernel.with(Text::Operands).with(Text::Moving).with(Text::Resampling);
  kernel.calls_elementary({scalar::Prim::Exp, scalar::Prim::Erf, scalar::Prim::Tanh, scalar::Prim::Rem});
  kernel.launch(
      fmt::format(
          "const SampledAxis<{0}, {1}> axes[{2}] = {{{3}}}; sample_at_grid<{4}, {2}>(out, from, grid, "
          "results, places, channels, plane, axes);",
          outside, type_in_kernels(sums), rank, axes,
          mode == "bilinear"  ? "kLinearly"
          : mode == "nearest" ? "kNearestOne"
                              : "kCubically"),
      blocks_of_items(out.numel(), x.device().index));
  return results;
}

std::vector<Tensor> run_regions(const ops::OpDef& op, std::span<const Tensor> operands,
                                const ops::Attrs& attrs) {
  const Tensor x = operands[0].contiguous(), regions = operands[1].to(sums_in(x.dtype())).contiguous();
  const std::vector<Tensor> results = empty_results(op, operands, attrs);
  const Tensor& out = results[0];
  if (out.numel() == 0) return results;
  if (x.numel() == 0) return {};
  const int device = x.device().index;
  const bool aligns = op.name == "roi_align";
  WrittenKernel kernel(fmt::format("{}_regions_{}", aligns ? "align" : "pool", short_name(x.dtype())),
                       device);
  kernel.writes("out", out).reads("from", x).reads("regions", regions).number("results", out.numel());
  kernel.number("images", x.size(0)).number("channels", x.size(1));
  kernel.number("height", x.size(2)).number("rows", out.size(2)).number("width", x.size(3));
  kernel.number("columns", out.size(3)).real("scale", ops::float_arg(attrs, "spatial_scale"));
  kernel.address("fault", fault_word(device));
  kernel.number("code", fault_code(fmt::format("{}: boxes[:, 0]: expected images from 0 to {}", op.name,
                                               x.size(0) - 1)));
  kernel.with(Text::Operands).with(Text::Moving).with(Text::Resampling);
  const std::string images =
      "out, from, regions, results, images, channels, Resized{height, rows, false, scale}, "
      "Resized{width, columns, false, scale}, ";
  std::string body;
  if (aligns) {
    kernel.number("ratio", ops::int_arg(attrs, "sampling_ratio"));
    body = fmt::format("align_regions({}ratio, {}, (i64*)fault, code);", images, attrs.get_bool("aligned"));
  } else {
    body = fmt::format("pool_regions({}{}, (i64*)fault, code);", images,
                       sums_in(x.dtype()) == DType::F64 ? "-0x1.fffffffffffffp1023" : "-0x1.fffffep127f");
  }
  kernel.launch(body, blocks_of_items(out.numel(), device));
  return results;
}

}  // namespace weft::cuda
