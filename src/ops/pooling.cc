// Pooling: the largest element, the mean or the p-norm of windows of the trailing dimensions.
#include "kernels/cpu/pooling.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/window.h"

namespace weft::ops {
namespace {

using Tensors = std::vector<Tensor>;
using ResultTypes = std::vector<TensorType>;

// ---- windows of a fixed size
// ---------------------------------------------------------------------------------
struct Windows {
  std::vector<int64_t> kernel, stride, padding, dilation;
  bool ceil_mode;

  Windows(const OpDef& op, const Attrs& attrs, size_t rank)
      : kernel(spatial_arg(op, attrs, "kernel_size", rank)),
        padding(spatial_arg(op, attrs, "padding", rank)),
        dilation(rank, 1),
        ceil_mode(attrs.get_bool("ceil_mode")) {
    const bool given = !attrs.is_none("stride") && !list_arg(attrs, "stride").empty();
    stride = given ? spatial_arg(op, attrs, "stride", rank) : kernel;
    if (op.find_param("dilation")) dilation = spatial_arg(op, attrs, "dilation", rank);
    check_window(op, "kernel_size", kernel, 1);
    check_window(op, "stride", stride, 1);
    check_window(op, "dilation", dilation, 1);
    check_window(op, "padding", padding, 0);
    for (size_t d = 0; d < rank; ++d) {
      WEFT_CHECK(padding[d] <= kernel[d] / 2,
                 fmt::format("{}: padding may be at most half of kernel_size: got padding {}, kernel_size {}",
                             op.name, weft::str(padding), weft::str(kernel)));
    }
  }

  // Number of windows over `size` elements. With ceil_mode the last one may end outside, if it starts inside.
  Sym count(Sym size, size_t d) const {
    const Sym room =
        size + Sym(2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1 + (ceil_mode ? stride[d] - 1 : 0));
    Sym count = floor_div(room, Sym(stride[d])) + Sym(1);
    if (ceil_mode && sym_ge((count - Sym(1)) * Sym(stride[d]), size + Sym(padding[d])))
      count = count - Sym(1);
    return count;
  }

  kernels::PoolDim dim(int64_t size, size_t d, bool count_include_pad) const {
    const int64_t n = count(Sym(size), d).constant();
    kernels::PoolDim dim{.size = size, .step = dilation[d], .begin = {}, .end = {}, .extent = {}};
    for (int64_t i = 0; i < n; ++i) {
      int64_t begin = i * stride[d] - padding[d];
      const int64_t end = begin + dilation[d] * (kernel[d] - 1) + 1;
      const int64_t padded = std::min(end, size + padding[d]) - begin;
      if (begin < 0) begin += (-begin + dilation[d] - 1) / dilation[d] * dilation[d];
      dim.begin.push_back(begin);
      dim.end.push_back(std::min(end, size));
      dim.extent.push_back(count_include_pad ? padded : std::min(end, size) - begin);
    }
    return dim;
  }
};

std::vector<TensorType> infer_windows(const OpDef& op, std::span<const TensorType> operands,
                                      const Attrs& attrs, size_t rank) {
  check_dtype(op, operands);
  check_planes(op, operands, rank);
  const Windows windows(op, attrs, rank);
  TensorType result = operands[0];
  const size_t lead = result.shape.size() - rank;
  for (size_t d = 0; d < rank; ++d) {
    Sym& size = result.shape[lead + d];
    size = windows.count(size, d);
    WEFT_CHECK(
        sym_ge(size, Sym(1)),
        fmt::format("{}: the input is smaller than the window: kernel_size {}, padding {}, dilation {}{}",
                    op.name, weft::str(windows.kernel), weft::str(windows.padding),
                    weft::str(windows.dilation), describe_operands(op, operands)));
  }
  if (op.num_outputs == 1) return {result};
  return {result, {DType::I64, result.shape, result.device}};
}

kernels::PoolDims window_dims(const Windows& windows, const Tensor& x, size_t rank,
                              bool count_include_pad = false) {
  kernels::PoolDims dims;
  const size_t lead = x.shape().size() - rank;
  for (size_t d = 0; d < rank; ++d)
    dims[3 - rank + d] = windows.dim(x.shape()[lead + d], d, count_include_pad);
  return dims;
}

Shape pooled_shape(const Tensor& x, const kernels::PoolDims& dims, size_t rank) {
  Shape shape = x.shape();
  for (size_t d = 0; d < rank; ++d) shape[shape.size() - rank + d] = dims[3 - rank + d].count();
  return shape;
}

// float32[N, C, H, W] whose memory is [N, H, W, C].
bool is_channels_last(const Tensor& x) {
  return x.dtype() == DType::F32 && x.dim() == 4 && !x.is_contiguous() &&
         build::permute(x, {0, 2, 3, 1}).is_contiguous();
}

// Such an input gives such a result.
template <class F>
Tensor pool_in_channels_last(const Tensor& x, const kernels::PoolDims& dims, F pool) {
  const Tensor result = Tensor::empty({x.size(0), dims[1].count(), dims[2].count(), x.size(1)}, DType::F32);
  pool(build::permute(x, {0, 2, 3, 1}), result);
  return build::permute(result, {0, 3, 1, 2});
}

Tensors largest(const Tensor& x, const kernels::PoolDims& dims, size_t rank, bool with_indices) {
  if (rank == 2 && !with_indices && is_channels_last(x)) {
    return {pool_in_channels_last(x, dims, [&](const Tensor& from, const Tensor& to) {
      kernels::max_pool_channels_last(dims, from, to);
    })};
  }
  const Shape shape = pooled_shape(x, dims, rank);
  Tensors results{Tensor()};
  if (with_indices) results.push_back(Tensor::empty(shape, DType::I64));
  results[0] = run_in_compute_dtype(x, shape, [&](const Tensor& input, const Tensor& result) {
    if (with_indices)
      kernels::max_pool_with_indices(dims, input, result, results[1]);
    else
      kernels::max_pool(dims, input, result);
  });
  return results;
}

Tensors average(const Tensor& x, const kernels::PoolDims& dims, size_t rank, int64_t divisor) {
  if (rank == 2 && is_channels_last(x)) {
    return {pool_in_channels_last(x, dims, [&](const Tensor& from, const Tensor& to) {
      kernels::avg_pool_channels_last(dims, divisor, from, to);
    })};
  }
  return {run_in_compute_dtype(
      x, pooled_shape(x, dims, rank),
      [&](const Tensor& input, const Tensor& result) { kernels::avg_pool(dims, divisor, input, result); })};
}

Tensors eager_max_pool(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs, size_t rank) {
  const Windows windows(op, attrs, rank);
  return largest(operands[0], window_dims(windows, operands[0], rank), rank, op.num_outputs == 2);
}

int64_t divisor_arg(const OpDef& op, const Attrs& attrs) {
  if (op.find_param("divisor_override") == nullptr || attrs.is_none("divisor_override")) return 0;
  const int64_t divisor = int_arg(attrs, "divisor_override");
  WEFT_CHECK(divisor != 0, fmt::format("{}: divisor_override must not be zero", op.name));
  return divisor;
}

Tensors eager_avg_pool(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs, size_t rank) {
  const Windows windows(op, attrs, rank);
  const kernels::PoolDims dims = window_dims(windows, operands[0], rank, attrs.get_bool("count_include_pad"));
  return average(operands[0], dims, rank, divisor_arg(op, attrs));
}

// ---- a given number of windows
// -------------------------------------------------------------------------------
ResultTypes infer_adaptive(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs,
                           size_t rank) {
  check_dtype(op, operands);
  check_planes(op, operands, rank);
  TensorType result = operands[0];
  const SymShape sizes = spatial_sizes(op, attrs, "output_size", rank);
  for (size_t d = 0; d < rank; ++d) {
    WEFT_CHECK(sym_ge(sizes[d], Sym(0)),
               fmt::format("{}: output_size must not be negative, got {}", op.name, weft::str(sizes)));
    result.shape[result.shape.size() - rank + d] = sizes[d];
  }
  if (op.num_outputs == 1) return {result};
  return {result, {DType::I64, result.shape, result.device}};
}

// Window i reaches from floor(i * size / count) to ceil((i + 1) * size / count).
kernels::PoolDims adaptive_dims(const OpDef& op, const Attrs& attrs, const Tensor& x, size_t rank) {
  kernels::PoolDims dims;
  const std::vector<int64_t> counts = spatial_arg(op, attrs, "output_size", rank);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t size = x.shape()[x.shape().size() - rank + d], count = counts[d];
    kernels::PoolDim dim{.size = size, .begin = {}, .end = {}, .extent = {}};
    for (int64_t i = 0; i < count; ++i) {
      dim.begin.push_back(i * size / count);
      dim.end.push_back(((i + 1) * size + count - 1) / count);
      dim.extent.push_back(dim.end.back() - dim.begin.back());
    }
    dims[3 - rank + d] = std::move(dim);
  }
  return dims;
}

Tensors eager_adaptive_max(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs,
                           size_t rank) {
  return largest(operands[0], adaptive_dims(op, attrs, operands[0], rank), rank, op.num_outputs == 2);
}
Tensors eager_adaptive_avg(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs,
                           size_t rank) {
  const Tensor& x = operands[0];
  const kernels::PoolDims dims = adaptive_dims(op, attrs, x, rank);
  const bool is_mean =
      std::all_of(dims.begin(), dims.end(), [](const auto& dim) { return dim.count() == 1; });
  const bool is_16_bit = x.dtype() == DType::F16 || x.dtype() == DType::BF16;
  if (rank < 3 || is_mean || !is_16_bit) return average(x, dims, rank, 0);
  return {
      run_in_compute_dtype(x, pooled_shape(x, dims, rank), [&](const Tensor& input, const Tensor& result) {
        kernels::avg_pool_rounded(dims, x.dtype(), input, result);
      })};
}

// ---- images with their channels last
// -----------------------------------------------------------------------------
TensorType channels_first(const TensorType& type) {
  TensorType result = type;
  result.shape = {type.shape[0], type.shape[3], type.shape[1], type.shape[2]};
  return result;
}

template <InferFn::result_type (*kInfer)(const OpDef&, std::span<const TensorType>, const Attrs&, size_t)>
ResultTypes infer_channels_last(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs) {
  WEFT_CHECK(operands[0].shape.size() == 4,
             fmt::format("{}: expected input f32 or bf16 [batch, height, width, channels]{}", op.name,
                         describe_operands(op, operands)));
  const ResultTypes first{channels_first(operands[0])};
  TensorType result = kInfer(op, first, attrs, 2)[0];
  result.shape = {result.shape[0], result.shape[2], result.shape[3], result.shape[1]};
  return {result};
}

// `pool` writes the pooled images, in float32, into a new tensor.
template <class F>
Tensors pool_channels_last(const Tensor& x, const kernels::PoolDims& dims, F pool) {
  const Tensor input = x.to(DType::F32).contiguous();
  const Tensor result =
      Tensor::empty({x.shape()[0], dims[1].count(), dims[2].count(), x.shape()[3]}, DType::F32);
  pool(input, result);
  return {result.to(x.dtype())};
}
Tensor planes_of(const Tensor& x) { return build::permute(x, {0, 3, 1, 2}); }

Tensors eager_max_pool_last(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const kernels::PoolDims dims = window_dims(Windows(op, attrs, 2), planes_of(operands[0]), 2);
  return pool_channels_last(operands[0], dims, [&](const Tensor& x, const Tensor& y) {
    kernels::max_pool_channels_last(dims, x, y);
  });
}
Tensors eager_avg_pool_last(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const kernels::PoolDims dims =
      window_dims(Windows(op, attrs, 2), planes_of(operands[0]), 2, attrs.get_bool("count_include_pad"));
  const int64_t divisor = divisor_arg(op, attrs);
  return pool_channels_last(operands[0], dims, [&](const Tensor& x, const Tensor& y) {
    kernels::avg_pool_channels_last(dims, divisor, x, y);
  });
}
Tensors eager_adaptive_avg_last(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const kernels::PoolDims dims = adaptive_dims(op, attrs, planes_of(operands[0]), 2);
  return pool_channels_last(operands[0], dims, [&](const Tensor& x, const Tensor& y) {
    kernels::avg_pool_channels_last(dims, 0, x, y);
  });
}

// ---- back to where the largest elements were
// -----------------------------------------------------------------
SymShape unpooled_shape(const OpDef& op, const SymShape& input, const Attrs& attrs, size_t rank) {
  const std::vector<int64_t> kernel = spatial_arg(op, attrs, "kernel_size", rank),
                             padding = spatial_arg(op, attrs, "padding", rank);
  const bool strided = !attrs.is_none("stride") && !list_arg(attrs, "stride").empty();
  const std::vector<int64_t> stride = strided ? spatial_arg(op, attrs, "stride", rank) : kernel;
  check_window(op, "kernel_size", kernel, 1);
  check_window(op, "stride", stride, 1);
  check_window(op, "padding", padding, 0);
  SymShape shape = input, given;
  if (!attrs.is_none("output_size")) given = list_arg(attrs, "output_size");
  WEFT_CHECK(
      given.empty() || given.size() == rank || given.size() == shape.size() || given.size() == rank + 2,
      fmt::format("{}: output_size: expected {} sizes, got {}", op.name, rank, weft::str(given)));
  for (size_t d = 0; d < rank; ++d) {
    Sym& size = shape[shape.size() - rank + d];
    const Sym usual = (size - Sym(1)) * Sym(stride[d]) + Sym(kernel[d] - 2 * padding[d]);
    size = given.empty() ? usual : given[given.size() - rank + d];
    WEFT_CHECK(
        given.empty() || (sym_gt(size, usual - Sym(stride[d])) && sym_lt(size, usual + Sym(stride[d]))),
        fmt::format("{}: output_size: expected dimension {} between {} and {} (both excluded), got {}",
                    op.name, d, (usual - Sym(stride[d])).str(), (usual + Sym(stride[d])).str(), size.str()));
  }
  return shape;
}

ResultTypes infer_unpool(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs,
                         size_t rank) {
  check_dtype(op, operands);
  check_planes(op, operands, rank);
  const TensorType &x = operands[0], &indices = operands[1];
  WEFT_CHECK_TYPE(indices.dtype == DType::I64,
                  fmt::format("{}: indices must be int64{}", op.name, describe_operands(op, operands)));
  WEFT_CHECK(
      x.shape.size() == indices.shape.size() &&
          std::equal(x.shape.begin(), x.shape.end(), indices.shape.begin(), sym_eq),
      fmt::format("{}: input and indices must have one shape{}", op.name, describe_operands(op, operands)));
  return {{x.dtype, unpooled_shape(op, x.shape, attrs, rank), x.device}};
}

Tensors eager_unpool(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs, size_t rank) {
  const Shape shape = known_shape(unpooled_shape(op, sym_shape(operands[0]), attrs, rank));
  const int64_t plane = numel(Shape(shape.end() - static_cast<std::ptrdiff_t>(rank), shape.end()));
  const Tensor indices = operands[1].contiguous();
  return {run_in_compute_dtype(operands[0], shape, [&](const Tensor& input, const Tensor& result) {
    kernels::max_unpool(input, indices, plane, result);
  })};
}

// ---- p-norms
// -------------------------------------------------------------------------------------------------
Tensors lp_pool(const OpDef& op, const OpArgs& args, size_t rank) {
  const double order = float_arg(args.attrs, "norm_type");
  double window = 1;
  for (const int64_t size : spatial_arg(op, args.attrs, "kernel_size", rank))
    window *= static_cast<double>(size);
  const Attrs attrs{{"kernel_size", args.attrs.at("kernel_size")},
                    {"stride", args.attrs.at("stride")},
                    {"ceil_mode", args.attrs.at("ceil_mode")}};
  const Tensor powers = invoke("pow", {args.tensors[0], Scalar(order)});
  const Tensor mean = call1(rank == 1   ? "avg_pool1d"
                            : rank == 2 ? "avg_pool2d"
                                        : "avg_pool3d",
                            {powers}, attrs);
  return {invoke("pow", {build::mul(mean, Scalar(window)), Scalar(1 / order)})};
}

// ---- the table
// -----------------------------------------------------------------------------------------------
constexpr const char* kSpatial[] = {"[…, L]", "[…, H, W]", "[…, D, H, W]"};

template <auto kFunction, size_t kRank>
constexpr auto kOfRank = [](const OpDef& op, auto&& operands, const auto&... attrs) {
  return kFunction(op, operands, attrs..., kRank);
};

template <size_t kRank>
void define_max_pools() {
  const std::string suffix = fmt::format("{}d", kRank), shape = kSpatial[kRank - 1];
  const auto define = [&](std::string name, std::string schema, std::string doc, DTypeSet dtypes,
                          InferFn infer, EagerFn eager) {
    register_op({.name = std::move(name),
                 .schema = std::move(schema),
                 .dtypes = dtypes,
                 .doc = std::move(doc),
                 .infer = std::move(infer),
                 .eager = std::move(eager)});
  };
  const std::string windows =
      "(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=[0], int[] dilation=[1], bool "
      "ceil_mode=False) -> ";
  const std::string kMaxDoc = "The largest element of every window of input" + shape +
                              "; NaN where there is one. stride: kernel_size. Padding counts as\n"
                              "-infinity. ceil_mode: a last window may end outside, if it starts inside the "
                              "input or the padding before it.\n";
  const std::string kRaises =
      "dtype:  real. error: exact. raises: ValueError for an empty result, or padding above kernel_size / 2.";
  define("max_pool" + suffix, windows + "Tensor", kMaxDoc + kRaises, kReal, kOfRank<infer_windows, kRank>,
         kOfRank<eager_max_pool, kRank>);
  define("max_pool" + suffix + "_with_indices", windows + "(Tensor, Tensor)",
         kMaxDoc + "Also its int64 position in the plane: of equal elements the first.\n" + kRaises, kReal,
         kOfRank<infer_windows, kRank>, kOfRank<eager_max_pool, kRank>);
  const std::string adaptive = "of output_size windows along every spatial dimension of input" + shape +
                               ": window i reaches from\n"
                               "floor(i * size / count) to ceil((i + 1) * size / count).";
  define("adaptive_max_pool" + suffix, "(Tensor input, int[] output_size) -> Tensor",
         "The largest elements " + adaptive, kReal, kOfRank<infer_adaptive, kRank>,
         kOfRank<eager_adaptive_max, kRank>);
  define("adaptive_max_pool" + suffix + "_with_indices",
         "(Tensor input, int[] output_size) -> (Tensor, Tensor)",
         "The largest elements, and their int64 positions in the plane, " + adaptive, kReal,
         kOfRank<infer_adaptive, kRank>, kOfRank<eager_adaptive_max, kRank>);
  define("adaptive_avg_pool" + suffix, "(Tensor input, int[] output_size) -> Tensor",
         "The means " + adaptive + "\ndtype:  floating.", kFloats, kOfRank<infer_adaptive, kRank>,
         kOfRank<eager_adaptive_avg, kRank>);
  define("max_unpool" + suffix,
         "(Tensor input, Tensor indices, int[] kernel_size, int[]? stride=None, int[] padding=[0], int[]? "
         "output_size=None) -> Tensor",
         "Zeros, with the elements of input" + shape + " at the positions that max_pool" + suffix +
             "_with_indices gave for them. Of several\n"
             "elements for one position the last one stays. raises: ValueError for an index outside of the "
             "plane.",
         kReal, kOfRank<infer_unpool, kRank>, kOfRank<eager_unpool, kRank>);
  define(
      "avg_pool" + suffix,
      std::string(
          "(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=[0], bool ceil_mode=False, ") +
          (kRank == 1 ? "bool count_include_pad=True) -> Tensor"
                      : "bool count_include_pad=True, int? divisor_override=None) -> Tensor"),
      "The sum of every window of input" + shape +
          " over the number of its elements, those of the padding included if\n"
          "count_include_pad" +
          (kRank == 1 ? "." : ", or over divisor_override.") +
          " stride: kernel_size. ceil_mode: as max_pool" + suffix + ".\ndtype:  floating.",
      kFloats, kOfRank<infer_windows, kRank>, kOfRank<eager_avg_pool, kRank>);
  register_op({.name = "lp_pool" + suffix,
               .schema = "(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool "
                         "ceil_mode=False) -> Tensor",
               .kind = OpKind::Composite,
               .doc = "(sum x**norm_type)**(1/norm_type) over every window of input" + shape +
                      "; NaN where that sum is negative and\nthe root is not defined.",
               .composite = kOfRank<lp_pool, kRank>});
}

void define_channels_last() {
  const auto define = [](const char* name, const char* schema, const char* of, InferFn infer, EagerFn eager) {
    register_op(
        {.name = name,
         .schema = schema,
         .dtypes = dtype_bit(DType::F32) | dtype_bit(DType::BF16),
         .doc = fmt::format(
             "{} of input f32 or bf16 [batch, height, width, channels]; compiled graphs have it.", of),
         .infer = std::move(infer),
         .eager = std::move(eager)});
  };
  define("max_pool2d_channels_last",
         "(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=[0], int[] dilation=[1], bool "
         "ceil_mode=False) -> Tensor",
         "max_pool2d", infer_channels_last<infer_windows>, eager_max_pool_last);
  define("avg_pool2d_channels_last",
         "(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=[0], bool ceil_mode=False, "
         "bool count_include_pad=True, "
         "int? divisor_override=None) -> Tensor",
         "avg_pool2d", infer_channels_last<infer_windows>, eager_avg_pool_last);
  define("adaptive_avg_pool2d_channels_last", "(Tensor input, int[] output_size) -> Tensor",
         "adaptive_avg_pool2d", infer_channels_last<infer_adaptive>, eager_adaptive_avg_last);
}

[[maybe_unused]] const bool kPoolingDefined = [] {
  define_channels_last();
  define_max_pools<1>();
  define_max_pools<2>();
  define_max_pools<3>();
  return true;
}();

}  // namespace
}  // namespace weft::ops
