// Convolutions as products of the weights with what the kernel meets at each position, which is never in
// memory.
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

}  // namespace

std::vector<Tensor> run_convolution(const ops::OpDef& op, std::span<const Tensor> operands,
                                    const ops::Attrs& attrs) {
  Tensor x = operands[0], weight = operands[1];
  const size_t dims = static_cast<size_t>(weight.dim() - 2);
  if (dims > 2) return {};
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
