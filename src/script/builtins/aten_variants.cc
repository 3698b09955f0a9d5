// PyTorch's own names for forms of operators: what its composites call, what a trace of them records; memory
// that is resized or seen with other strides.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "script/builtins/aten.h"

namespace weft::jit::aten::variants {
namespace {

Tensor no_statistics(const Tensor& x) { return Tensor::empty({0}, x.dtype()); }

// In place: self becomes another tensor, elements and all.
void become(const char* name, const Tensor& self, const Tensor& other) {
  WEFT_CHECK_TYPE(!self.is_traced(),
                  fmt::format("{}: a tensor cannot be given another shape while it is traced", name));
  *self.impl() = *other.impl();
}

Tensor resized(const char* name, const Tensor& self, const Shape& shape) {
  if (self.shape() == shape) return self;
  const Tensor other = Tensor::empty(shape, self.dtype());
  const int64_t kept = std::min(self.numel(), other.numel());
  if (kept > 0) {
    const auto first = [&](const Tensor& x) {
      const Tensor flat = call(op<"reshape">(), {x}, {{"shape", sizes(Ints{-1})}});
      return call(op<"slice">(), {flat}, {{"dim", number(0)}, {"start", number(0)}, {"stop", number(kept)}});
    };
    first(other).copy_from(first(self));
  }
  become(name, self, other);
  return self;
}

Tensor strided(const Tensor& x, const Ints& size, const Ints& stride, OptionalInt offset) {
  return call(op<"as_strided">(), {x},
              {{"size", sizes(size)}, {"stride", sizes(stride)}, {"storage_offset", number(offset)}});
}

Tensor convolve(const Tensor& x, const Tensor& weight, const OptionalTensor& bias, const Ints& stride,
                const Ints& padding, const Ints& dilation, int64_t groups) {
  const size_t rank = static_cast<size_t>(weight.dim()) - 2;
  return call_integers(op<"convolution">(), kConvolvedIntegers, {x, weight, or_undefined(bias)},
                       {{"stride", sizes(stride)},
                        {"padding", sizes(padding)},
                        {"dilation", sizes(dilation)},
                        {"transposed", false},
                        {"output_padding", sizes(Ints(rank, 0))},
                        {"groups", number(groups)}});
}
Tensor convolve_named(const Tensor& x, const Tensor& weight, const OptionalTensor& bias, const Ints& stride,
                      const std::string& padding, const Ints& dilation, int64_t groups) {
  const OpDef& conv = weight.dim() == 3   ? op<"conv1d">()
                      : weight.dim() == 4 ? op<"conv2d">()
                                          : op<"conv3d">();
  return call_integers(conv, kConvolvedIntegers, {x, weight, or_undefined(bias)},
                       {{"stride", sizes(stride)},
                        {"padding", padding},
                        {"dilation", sizes(dilation)},
                        {"groups", number(groups)}});
}

Tensor softmax_or_zeros(const Tensor& x, int64_t dim, OptionalDType dtype) {
  const Tensor scores = cast(x, dtype);
  const Tensor none =
      call(op<"all">(), {promoted(op<"eq">(), {scores, Scalar(-std::numeric_limits<double>::infinity())})},
           {{"dim", sizes(Ints{dim})}, {"keepdim", true}});
  return promoted(op<"where">(), {none, Scalar(0), call(op<"softmax">(), {scores}, {{"dim", number(dim)}})});
}

Ints broadcast(const Ints& a, const Ints& b) {
  Ints result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    WEFT_CHECK(x == y || x == 1 || y == 1, fmt::format("sizes {} and {} do not broadcast", str(a), str(b)));
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

Tensor index(const Tensor& x, const IValue& indices) {
  Tensors operands = tensor_list(indices);
  operands.insert(operands.begin(), x);
  return call(op<"index">(), std::move(operands));
}
Tensor index_put(const Tensor& x, const IValue& indices, const Tensor& values, bool accumulate) {
  Tensors operands = tensor_list(indices);
  operands.insert(operands.begin(), {x, cast(values, x.dtype())});
  return call(op<"index_put">(), std::move(operands), {{"accumulate", accumulate}});
}

// ---- fractional max pooling: Graham, 2014 ----------------------------------------------------------------
// Where the windows of one dimension begin, int64[N, C, count], by samples[N, C] in [0, 1).
Tensor window_starts(const Tensor& samples, int64_t size, int64_t count, int64_t window) {
  Shape shape = samples.shape();
  shape.push_back(1);
  const Tensor last = Tensor::full(shape, Scalar(size - window), DType::I64);
  if (count == 1) return last;
  const double alpha = static_cast<double>(size - window) / static_cast<double>(count - 1);
  const Tensor steps = cast(call(op<"arange">(), {}, {{"start", Scalar(count - 1)}}), samples.dtype());
  const Tensor shifted = call(op<"unsqueeze">(), {samples}, {{"dim", sizes(Ints{samples.dim()})}});
  const auto place = [&](const Tensor& at) { return cast(mul(at, Scalar(alpha)), DType::I64); };
  const Tensor begun = promoted(op<"sub">(), {place(add(steps, shifted)), place(shifted)});
  return call(op<"concatenate">(), {begun, last}, {{"dim", number(-1)}});
}

std::tuple<Tensor, Tensor> fractional_max_pool(const Tensor& input, size_t rank, const Ints& windows,
                                               const Ints& counts, const Tensor& samples) {
  const int64_t spatial = static_cast<int64_t>(rank);
  WEFT_CHECK(input.dim() == spatial + 1 || input.dim() == spatial + 2,
             fmt::format("fractional_max_pool{}d: expected {} or {} dimensions, got {}", rank, rank + 1,
                         rank + 2, describe(input)));
  WEFT_CHECK(windows.size() == rank && counts.size() == rank,
             fmt::format("fractional_max_pool{}d: expected {} sizes of windows and results, got {} and {}",
                         rank, rank, windows.size(), counts.size()));
  const bool is_single = input.dim() == spatial + 1;
  const Tensor x = is_single ? call(op<"unsqueeze">(), {input}, {{"dim", sizes(Ints{0})}}) : input;
  WEFT_CHECK(samples.shape() == Shape({x.size(0), x.size(1), spatial}),
             fmt::format("fractional_max_pool{}d: expected random_samples of shape [{}, {}, {}], got {}",
                         rank, x.size(0), x.size(1), spatial, describe(samples)));
  Tensor places;  // of all elements of all windows in their plane: [N, C, counts…, windows…]
  Ints all = {x.size(0), x.size(1)};
  for (size_t d = 0; d < rank; ++d) {
    const int64_t size = x.size(static_cast<int64_t>(d) + 2);
    WEFT_CHECK(windows[d] >= 1 && windows[d] <= size && counts[d] >= 1 && counts[d] <= size - windows[d] + 1,
               fmt::format("fractional_max_pool{}d: {} windows of {} do not fit into {} elements", rank,
                           counts[d], windows[d], size));
    const size_t sample = rank == 3 ? d : rank - 1 - d;  // two dimensions: of the width first
    const Tensor own = call(op<"select">(), {samples},
                            {{"dim", number(2)}, {"index", number(static_cast<int64_t>(sample))}});
    const Tensor starts = window_starts(own, size, counts[d], windows[d]);
    const Tensor at = add(call(op<"unsqueeze">(), {starts}, {{"dim", sizes(Ints{3})}}),
                          call(op<"arange">(), {}, {{"start", Scalar(windows[d])}}));
    Ints shape = {starts.size(0), starts.size(1)};
    shape.resize(2 + 2 * rank, 1);
    shape[2 + d] = counts[d], shape[2 + rank + d] = windows[d];
    const Tensor placed = call(op<"reshape">(), {at}, {{"shape", sizes(shape)}});
    places = d == 0 ? placed : add(mul(places, Scalar(size)), placed);
  }
  all.insert(all.end(), counts.begin(), counts.end());
  all.push_back(-1);
  const Tensor windowed = call(op<"reshape">(), {places}, {{"shape", sizes(all)}});
  const Tensor plane = call(op<"reshape">(), {x}, {{"shape", sizes(Ints{x.size(0), x.size(1), -1})}});
  const Tensor flat = call(op<"reshape">(), {windowed}, {{"shape", sizes(Ints{x.size(0), x.size(1), -1})}});
  const Tensor values = call(op<"reshape">(), {call(op<"gather">(), {plane, flat}, {{"dim", number(2)}})},
                             {{"shape", ops::sym_shape(windowed)}});
  const Tensor best = call(op<"argmax">(), {values}, {{"dim", number(-1)}, {"keepdim", true}});
  const auto chosen = [&](const Tensor& from) {
    const Tensor found = call(op<"squeeze">(), {call(op<"gather">(), {from, best}, {{"dim", number(-1)}})},
                              {{"dim", sizes(Ints{-1})}});
    return is_single ? call(op<"squeeze">(), {found}, {{"dim", sizes(Ints{0})}}) : found;
  };
  return {chosen(values), chosen(windowed)};
}

[[maybe_unused]] const bool kConvolutionForms = [] {
  define(
      "_convolution_mode(Tensor input, Tensor weight, Tensor? bias, int[] stride, str padding, int[] "
      "dilation, int "
      "groups) -> Tensor",
      [](const Tensor& x, const Tensor& weight, const OptionalTensor& bias, const Ints& stride,
         const std::string& padding, const Ints& dilation,
         int64_t groups) { return convolve_named(x, weight, bias, stride, padding, dilation, groups); });
  for (const auto& [name, rank] : {std::pair("thnn_conv2d", 2), std::pair("slow_conv3d", 3)}) {
    define(fmt::format(
               "{0}(Tensor self, Tensor weight, int[{1}] kernel_size, Tensor? bias=None, int[{1}] stride=1, "
               "int[{1}] padding=0) -> Tensor",
               name, rank),
           [](const Tensor& x, const Tensor& weight, const Ints& kernel, const OptionalTensor& bias,
              const Ints& stride, const Ints& padding) {
             return convolve(x, weight, bias, stride, padding, Ints(kernel.size(), 1), 1);
           });
  }
  for (const int rank : {2, 3}) {
    define(fmt::format(
               "slow_conv_dilated{0}d(Tensor self, Tensor weight, int[{0}] kernel_size, Tensor? bias=None, "
               "int[{0}] stride=1, int[{0}] padding=0, int[{0}] dilation=1) -> Tensor",
               rank),
           [](const Tensor& x, const Tensor& weight, const Ints&, const OptionalTensor& bias,
              const Ints& stride, const Ints& padding,
              const Ints& dilation) { return convolve(x, weight, bias, stride, padding, dilation, 1); });
  }
  for (const auto& [name, rank] : {std::pair("_conv_depthwise2d", 2), std::pair("conv_depthwise3d", 3)}) {
    define(
        fmt::format(
            "{0}(Tensor self, Tensor weight, int[{1}] kernel_size, Tensor? bias, int[{1}] stride, int[{1}] "
            "padding, int[{1}] dilation) -> Tensor",
            name, rank),
        [](const Tensor& x, const Tensor& weight, const Ints&, const OptionalTensor& bias, const Ints& stride,
           const Ints& padding,
           const Ints& dilation) { return convolve(x, weight, bias, stride, padding, dilation, x.size(1)); });
  }
  define("_adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor",
         [](const Tensor& x, const Ints& size) {
           return call(op<"adaptive_avg_pool3d">(), {x}, {{"output_size", sizes(size)}});
         });
  define(
      "fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> "
      "(Tensor, "
      "Tensor)",
      [](const Tensor& x, const Ints& window, const Ints& size, const Tensor& samples) {
        return fractional_max_pool(x, 2, window, size, samples);
      });
  define(
      "fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> "
      "(Tensor, "
      "Tensor)",
      [](const Tensor& x, const Ints& window, const Ints& size, const Tensor& samples) {
        return fractional_max_pool(x, 3, window, size, samples);
      });
  define("_pad_circular(Tensor self, int[] pad) -> Tensor", [](const Tensor& x, const Ints& widths) {
    return call(op<"pad">(), {x}, {{"pad", sizes(widths)}, {"mode", std::string("circular")}});
  });
  return true;
}();

[[maybe_unused]] const bool kLayerForms = [] {
  for (const char* schema : {"_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? "
                             "bias, Tensor running_mean, Tensor "
                             "running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)"}) {
    define(schema, [](const Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias,
                      const Tensor& mean, const Tensor& variance, double momentum, double eps) {
      const Tensor result =
          call(op<"batch_norm">(), {x, mean, variance, or_undefined(weight), or_undefined(bias)},
               {{"training", false}, {"momentum", momentum}, {"eps", eps}});
      return std::tuple(result, no_statistics(x), no_statistics(x));
    });
  }
  define("_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
         [](const Tensor& x, int64_t dim, OptionalDType dtype) { return softmax_or_zeros(x, dim, dtype); });
  define(
      "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
      "float "
      "dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool "
      "enable_gqa=False) -> "
      "(Tensor, Tensor)",
      [](const Tensor& q, const Tensor& k, const Tensor& v, const OptionalTensor& mask, double dropout,
         bool causal, const OptionalTensor&, std::optional<double> scale, bool grouped) {
        Attrs attrs{{"dropout_p", dropout}, {"is_causal", causal}, {"enable_gqa", grouped}};
        if (scale) attrs.set("scale", *scale);
        const Tensors found = call_all(op<"scaled_dot_product_attention_math">(),
                                       {q, k, v, or_undefined(mask)}, std::move(attrs));
        return std::tuple(found[0], found[1]);
      });
  define(
      "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float "
      "dropout_p=0., bool "
      "is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
      [](const Tensor& q, const Tensor& k, const Tensor& v, double dropout, bool causal,
         const OptionalTensor& mask, std::optional<double> scale) {
        Attrs attrs{{"dropout_p", dropout}, {"is_causal", causal}};
        if (scale) attrs.set("scale", *scale);
        const Tensor result =
            call(op<"scaled_dot_product_attention">(), {q, k, v, or_undefined(mask)}, std::move(attrs));
        return std::tuple(result, no_statistics(q));
      });
  define("_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
         [](const Tensor& x, const Tensor& y, double p, OptionalInt) {
           return call(op<"cdist">(), {x, y}, {{"p", p}});
         });
  define("_euclidean_dist(Tensor x1, Tensor x2) -> Tensor", [](const Tensor& x, const Tensor& y) {
    return call(op<"cdist">(), {x, y}, {{"p", 2.0}});
  });
  same<"_weight_int8pack_mm">("_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor");
  same<"_weight_int4pack_mm">(
      "_weight_int4pack_mm(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor");
  same<"_convert_weight_to_int4pack">("_convert_weight_to_int4pack(Tensor self, int innerKTiles) -> Tensor");
  same<"_weight_int4pack_mm_for_cpu">(
      "_weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor");
  same<"_convert_weight_to_int4pack_for_cpu">(
      "_convert_weight_to_int4pack_for_cpu(Tensor self, int innerKTiles) -> Tensor");
  return true;
}();

[[maybe_unused]] const bool kElementForms = [] {
  define("_conj(Tensor(a) self) -> Tensor(a)", [](const Tensor& x) { return call(op<"conj">(), {x}); });
  define("_conj_physical(Tensor self) -> Tensor", [](const Tensor& x) { return call(op<"conj">(), {x}); });
  define("_neg_view(Tensor(a) self) -> Tensor(a)", [](const Tensor& x) { return call(op<"neg">(), {x}); });
  define("_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
         [](const Tensor& x, const IValue& indices) { return index(x, indices); });
  define("_unsafe_index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor",
         [](const Tensor& x, const IValue& indices) { return index(x, indices); });
  define("_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
         [](const Tensor& x, const IValue& indices, const Tensor& values, bool accumulate) {
           return index_put(x, indices, values, accumulate);
         });
  define(
      "_unsafe_index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> "
      "Tensor",
      [](const Tensor& x, const IValue& indices, const Tensor& values, bool accumulate) {
        return index_put(x, indices, values, accumulate);
      });
  define("_is_all_true(Tensor self) -> Tensor", [](const Tensor& x) { return call(op<"all">(), {x}); });
  define("_is_any_true(Tensor self) -> Tensor", [](const Tensor& x) { return call(op<"any">(), {x}); });
  define("zero(Tensor self) -> Tensor", [](const Tensor& x) {
    return call(op<"full_like">(), {x}, {{"value", Scalar(0)}, {"dtype", x.dtype()}});
  });
  define("_dim_arange(Tensor like, int dim) -> Tensor", [](const Tensor& x, int64_t dim) {
    return call(op<"arange">(), {}, {{"start", Scalar(x.size(dim))}});
  });
  define("broadcast_shapes(int[] a, int[] b) -> int[]",
         [](const Ints& a, const Ints& b) { return broadcast(a, b); });
  define("_infer_size(int[] a, int[] b) -> int[]",
         [](const Ints& a, const Ints& b) { return broadcast(a, b); });
  builtin("aten::dict() -> Dict(str, Tensor)", [] { return IValue::dict(Type::string(), Type::tensor()); });
  return true;
}();

[[maybe_unused]] const bool kMemory = [] {
  const bool is_pure = false;
  define(
      "resize_(Tensor(a!) self, int[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
      [](const Tensor& x, const Ints& size, const IValue&) {
        return resized("resize_", x, Shape(size.begin(), size.end()));
      },
      is_pure);
  define(
      "resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
      [](const Tensor& x, const Tensor& other, const IValue&) {
        return resized("resize_as_", x, other.shape());
      },
      is_pure);
  define(
      "as_strided_(Tensor(a!) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a!)",
      [](const Tensor& x, const Ints& size, const Ints& stride, OptionalInt offset) {
        become("as_strided_", x, strided(x, size, stride, offset));
        return x;
      },
      is_pure);
  define(
      "as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> "
      "Tensor",
      [](const Tensor& x, const Tensor& source, const Ints& size, const Ints& stride, OptionalInt offset) {
        const Tensor result = x.clone();
        strided(result, size, stride, offset).copy_from(source);
        return result;
      });
  // Tensors are dense, and in no other library's layout.
  define("to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor",
         [](const Tensor& x, OptionalDType dtype, const IValue&) { return cast(x, dtype); });
  define("pin_memory(Tensor(a) self, Device? device=None) -> Tensor(a)",
         [](const Tensor& x, const IValue&) { return x; });
  define("data(Tensor self) -> Tensor", [](const Tensor& x) { return alias(x); });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten::variants
