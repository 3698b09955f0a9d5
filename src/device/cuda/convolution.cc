// Convolutions as products of the weights with what the kernel meets at each position, which is never in
// memory.
#include <algorithm>

#include "device/cuda/products.h"
#include "ops/arguments.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

std::vector<int64_t> spatial(const ops::Attrs& attrs, const char* name, size_t dims) {
  std::vector<int64_t> values = attrs.get_ints(name);
  if (values.size() == 1) values.resize(dims, values[0]);
  // Of one dimension: a line of height 1.
  if (dims == 1) values.insert(values.begin(), std::string_view(name) == "padding" ? 0 : 1);
  return values;
}

// A dimension of size 1 before the last.
Tensor as_image(const Tensor& x) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.insert(shape.end() - 1, 1);
  strides.insert(strides.end() - 1, 0);
  return x.as_strided(shape, strides, x.offset());
}

// [in, out / groups, *kernel] as [groups, out / groups, in / groups, *kernel].
Tensor turned_weight(const Tensor& weight, int64_t groups) {
  const Shape& shape = weight.shape();
  const Strides& strides = weight.strides();
  const int64_t inputs = shape[0] / groups;
  return weight
      .as_strided({groups, shape[1], inputs, shape[2], shape[3]},
                  {inputs * strides[0], strides[1], strides[0], strides[2], strides[3]}, weight.offset())
      .contiguous();
}

// Of three dimensions: one of two over images whose channels are (channel, depth of the kernel), of which
// each is a slice of the volume, or nothing.
struct Volume {
  int64_t stride, padding, dilation, taps;  // along the depth
  bool is_transposed;

  // x[batch, channels, depth, height, width] as [batch * slices, channels * taps, height, width]. Slice i has
  // of tap k element i * stride - padding + k * dilation; transposed, what reaches it: the taps are turned
  // around.
  Tensor unfolded(const Tensor& x, int64_t slices) const {
    const int64_t reach = dilation * (taps - 1), step = is_transposed ? stride : 1;
    const int64_t before = is_transposed ? reach - padding : padding;
    const int64_t between = is_transposed ? 1 : stride, length = (slices - 1) * between + reach + 1;
    const Shape& shape = x.shape();
    const Tensor wide =
        Tensor::full({shape[0], shape[1], length, shape[3], shape[4]}, Scalar(0), x.dtype(), x.device());
    // Elements first to last - 1 lie within it.
    const int64_t first = before >= 0 ? 0 : (-before + step - 1) / step;
    const int64_t last = length <= before ? 0 : std::min(shape[2], (length - before + step - 1) / step);
    Strides steps = wide.strides();
    if (last > first) {
      const int64_t offset = wide.offset() + (before + first * step) * steps[2];
      Strides targets = steps;
      targets[2] *= step;
      const Shape part{shape[0], shape[1], last - first, shape[3], shape[4]};
      wide.as_strided(part, targets, offset)
          .copy_from(x.as_strided(part, x.strides(), x.offset() + first * x.strides()[2]));
    }
    const Tensor images =
        wide.as_strided({shape[0], slices, shape[1], taps, shape[3], shape[4]},
                        {steps[0], between * steps[2], steps[1], dilation * steps[2], steps[3], steps[4]},
                        wide.offset())
            .contiguous();
    return images.as_strided({shape[0] * slices, shape[1] * taps, shape[3], shape[4]},
                             contiguous_strides({shape[0] * slices, shape[1] * taps, shape[3], shape[4]}),
                             images.offset());
  }
  // [out, in, taps, height, width] as [out, in * taps, height, width]; transposed, [in, out, taps, …] as
  // [in * taps, out, …] with the taps turned around.
  Tensor weight_of_images(const Tensor& weight) const {
    const Shape& shape = weight.shape();
    const Strides& steps = weight.strides();
    const Shape flat = is_transposed ? Shape{shape[0] * taps, shape[1], shape[3], shape[4]}
                                     : Shape{shape[0], shape[1] * taps, shape[3], shape[4]};
    const Tensor dense = is_transposed ? weight
                                             .as_strided({shape[0], taps, shape[1], shape[3], shape[4]},
                                                         {steps[0], -steps[2], steps[1], steps[3], steps[4]},
                                                         weight.offset() + (taps - 1) * steps[2])
                                             .contiguous()
                                       : weight.contiguous();
    return dense.as_strided(flat, contiguous_strides(flat), dense.offset());
  }
};

std::vector<Tensor> convolve_volume(const ops::OpDef& op, std::span<const Tensor> operands,
                                    const ops::Attrs& attrs) {
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  const Tensor& out = results[0];
  const Tensor& given = operands[0];
  if (out.numel() == 0) return results;
  if (given.numel() == 0 || operands[1].numel() == 0) return {};
  Tensor x = given;
  if (x.dim() == 4) {
    Shape shape = x.shape();
    Strides strides = x.strides();
    shape.insert(shape.begin(), 1), strides.insert(strides.begin(), 0);
    x = x.as_strided(shape, strides, x.offset());
  }
  std::vector<int64_t> stride = spatial(attrs, "stride", 3), padding = spatial(attrs, "padding", 3),
                       dilation = spatial(attrs, "dilation", 3), more = spatial(attrs, "output_padding", 3);
  const Volume volume{stride[0], padding[0], dilation[0], operands[1].size(2), attrs.get_bool("transposed")};
  const int64_t slices = out.size(-3), batch = x.size(0), channels = out.size(-4);
  const auto of_images = [](const std::vector<int64_t>& values) {
    return SymShape{Sym(values[1]), Sym(values[2])};
  };
  ops::Attrs flat = attrs;
  flat.set("stride", of_images(stride));
  flat.set("padding", of_images(padding));
  flat.set("dilation", of_images(dilation));
  flat.set("output_padding", of_images(more));
  const Tensor images[] = {volume.unfolded(x, slices), volume.weight_of_images(operands[1]), operands[2]};
  const std::vector<Tensor> convolved = run_convolution(op, images, flat);
  if (convolved.empty()) return {};
  const Tensor& slice_by_slice = convolved[0];  // [batch * slices, channels, height, width]
  const int64_t area = out.size(-2) * out.size(-1);
  const Tensor turned =
      slice_by_slice
          .as_strided({batch, channels, slices, area}, {slices * channels * area, area, channels * area, 1},
                      slice_by_slice.offset())
          .contiguous();
  return {turned.as_strided(out.shape(), out.strides(), turned.offset())};
}

}  // namespace

std::vector<Tensor> run_convolution(const ops::OpDef& op, std::span<const Tensor> operands,
                                    const ops::Attrs& attrs) {
  Tensor x = operands[0], weight = operands[1];
  const size_t dims = static_cast<size_t>(weight.dim() - 2);
  if (dims > 3) return {};
  if (dims == 3) return convolve_volume(op, operands, attrs);
  const Tensor bias = operands[2].defined() ? operands[2].contiguous() : Tensor();
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  const Tensor& out = results[0];
  if (out.numel() == 0) return results;
  const bool is_transposed = attrs.get_bool("transposed");
  const int64_t groups = ops::int_arg(attrs, "groups"), result_width = out.size(-1),
                result_height = dims == 1 ? 1 : out.size(-2);
  if (dims == 1) x = as_image(x), weight = as_image(weight);
  const bool has_batch = x.dim() == 4;
  const int64_t images = has_batch ? x.size(0) : 1, channels = x.size(-3) / groups;
  const int64_t kernel = weight.size(2) * weight.size(3), depth = channels * kernel;
  const int64_t outputs = (is_transposed ? weight.size(1) : weight.size(0) / groups);
  constexpr int64_t kMost = int64_t{1} << 31;
  if (result_height * result_width >= kMost || depth >= kMost || x.numel() == 0 || depth == 0) return {};
  weight = is_transposed ? turned_weight(weight, groups) : weight.contiguous();

  const Strides& steps = x.strides();
  const size_t last = steps.size() - 1;
  const std::vector<int64_t> stride = spatial(attrs, "stride", dims),
                             padding = spatial(attrs, "padding", dims),
                             dilation = spatial(attrs, "dilation", dims);
  const Product::Patches patches{is_transposed,
                                 steps[last - 2],
                                 steps[last - 1],
                                 steps[last],
                                 {x.size(-2), x.size(-1), result_width, weight.size(-2), weight.size(-1),
                                  stride[0], stride[1], padding[0], padding[1], dilation[0], dilation[1]}};
  Product product{
      .rows = outputs,
      .columns = result_height * result_width,
      .depth = depth,
      .batches = {groups, images, 1},
      .left = {weight, depth, 1, {outputs * depth, 0, 0}},
      .right = {x, 0, 0, {channels * steps[last - 2], has_batch ? steps[0] : 0, 0}},
      .end = {.out = out, .bias = bias, .bias_by_row = true, .bias_step = outputs, .bias_batches = groups},
      .patches = &patches};
  if (!has_product(product)) return {};
  run_product(product);
  return results;
}

}  // namespace weft::cuda
