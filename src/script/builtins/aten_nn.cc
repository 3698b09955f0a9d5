// Layers: convolution, pooling, normalization, softmax, padding, losses, recurrent networks. Weft's operators
// have the names and arguments of torch.nn.functional.
#include <fmt/format.h>

#include "script/builtins/aten.h"

namespace weft::jit::aten {
namespace {

constexpr ops::DTypeSet kLong = ops::dtype_bit(DType::I64);

template <Name kName>
void run_convolution(std::span<IValue> arguments, IValue* results) {
  forward_integers(op<kName>(), kConvolvedIntegers, arguments, results);
}
template <Name kName>
void run_transposed_convolution(std::span<IValue> arguments, IValue* results) {
  forward_integers(op<kName>(), kLong, arguments, results);
}
void run_either_convolution(std::span<IValue> arguments, IValue* results) {
  const bool is_transposed = arguments[6].to_bool();
  forward_integers(op<"convolution">(), is_transposed ? kLong : kConvolvedIntegers, arguments.first(9),
                   results);
}

// The output's size is given; the kernel is the one that gives it.
Tensor unpool(const OpDef& op, const Tensor& x, const Tensor& indices, const Ints& size, const Ints& stride,
              const Ints& padding) {
  WEFT_CHECK(stride.size() == size.size() && padding.size() == size.size(),
             fmt::format("{}: expected as many strides and paddings as sizes, got {}, {} and {}", op.name,
                         str(stride), str(padding), str(size)));
  Ints kernel(size.size(), 1);
  const int64_t first = x.dim() - static_cast<int64_t>(size.size());
  for (size_t d = 0; d < size.size() && first >= 0; ++d) {
    const int64_t length = x.size(first + static_cast<int64_t>(d));
    const Sym taken = Sym(length - 1) * Sym(stride[d]) - Sym(2) * Sym(padding[d]);
    kernel[d] = std::max<int64_t>(1, (Sym(size[d]) - taken).constant());
  }
  return call(op, {x, indices},
              {{"kernel_size", sizes(kernel)},
               {"stride", sizes(stride)},
               {"padding", sizes(padding)},
               {"output_size", sizes(size)}});
}

// An empty stride is the window's.
template <Name kName>
void max_pool(std::string_view schema) {
  define_function(schema, [](std::span<IValue> arguments, IValue* results) {
    if (arguments[2].elements().empty()) arguments[2] = IValue();
    forward(op<kName>(), arguments, results);
  });
}
template <Name kName>
void avg_pool(std::string_view schema) {
  define_function(schema, [](std::span<IValue> arguments, IValue* results) {
    if (arguments[2].elements().empty()) arguments[2] = IValue();
    forward_integers(op<kName>(), kLong, arguments, results);
  });
}

// ---- normalization
// -----------------------------------------------------------------------------------------
Tensor batch_norm(const Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias,
                  const OptionalTensor& mean, const OptionalTensor& variance, bool training, double momentum,
                  double eps) {
  return call(op<"batch_norm">(),
              {x, or_undefined(mean), or_undefined(variance), or_undefined(weight), or_undefined(bias)},
              {{"training", training}, {"momentum", momentum}, {"eps", eps}});
}

Tensor instance_norm(const Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias,
                     const OptionalTensor& mean, const OptionalTensor& variance, bool use_input_stats,
                     double momentum, double eps) {
  return call(op<"instance_norm">(),
              {x, or_undefined(mean), or_undefined(variance), or_undefined(weight), or_undefined(bias)},
              {{"use_input_stats", use_input_stats}, {"momentum", momentum}, {"eps", eps}});
}

Tensor softmax(const Tensor& x, int64_t dim, OptionalDType dtype) {
  return call(op<"softmax">(), {cast(x, dtype)}, {{"dim", number(dim)}});
}
Tensor log_softmax(const Tensor& x, int64_t dim, OptionalDType dtype) {
  return call(op<"log_softmax">(), {cast(x, dtype)}, {{"dim", number(dim)}});
}

// ---- padding
// -----------------------------------------------------------------------------------------------
Tensor pad(const Tensor& x, const Ints& widths, const std::string& mode, double value) {
  return call(op<"pad">(), {x}, {{"pad", sizes(widths)}, {"mode", mode}, {"value", Scalar(value)}});
}

void pad_functions(const std::string& name, std::string_view schema_name) {
  for (const int rank : {1, 2, 3}) {
    const std::string schema =
        fmt::format("{}_pad{}d(Tensor self, int[{}] padding) -> Tensor", schema_name, rank, 2 * rank);
    if (name == "reflect")
      define(schema, [](const Tensor& x, const Ints& widths) { return pad(x, widths, "reflect", 0); });
    else
      define(schema, [](const Tensor& x, const Ints& widths) { return pad(x, widths, "replicate", 0); });
  }
}

// ---- losses
// ------------------------------------------------------------------------------------------------
Attr reduction_name(int64_t reduction) {
  constexpr const char* kNames[] = {"none", "mean", "sum"};
  WEFT_CHECK(reduction >= 0 && reduction < 3,
             fmt::format("reduction must be 0 (none), 1 (mean) or 2 (sum), got {}", reduction));
  return std::string(kNames[reduction]);
}

template <Name kName>
void simple_loss() {
  define(std::string(kName.text) + "(Tensor self, Tensor target, int reduction=1) -> Tensor",
         [](const Tensor& x, const Tensor& target, int64_t reduction) {
           return call(op<kName>(), {x, target}, {{"reduction", reduction_name(reduction)}});
         });
}

Tensor nll_loss(const Tensor& x, const Tensor& target, const OptionalTensor& weight, int64_t reduction,
                int64_t ignore_index) {
  return call(op<"nll_loss">(), {x, target, or_undefined(weight)},
              {{"ignore_index", number(ignore_index)}, {"reduction", reduction_name(reduction)}});
}

[[maybe_unused]] const bool kConvolutions = [] {
  define_function(
      "conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=[1], int[1] padding=[0], "
      "int[1] dilation=[1], int groups=1) -> Tensor",
      &run_convolution<"conv1d">);
  define_function(
      "conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, "
      "int[2] dilation=1, int groups=1) -> Tensor",
      &run_convolution<"conv2d">);
  define_function(
      "conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] padding=0, "
      "int[3] dilation=1, int groups=1) -> Tensor",
      &run_convolution<"conv3d">);
  define_function(
      "conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=[1], str "
      "padding=\"valid\", int[1] dilation=[1], int groups=1) -> Tensor",
      &run_convolution<"conv1d">);
  define_function(
      "conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, str "
      "padding=\"valid\", int[2] dilation=1, int groups=1) -> Tensor",
      &run_convolution<"conv2d">);
  define_function(
      "conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, str "
      "padding=\"valid\", int[3] dilation=1, int groups=1) -> Tensor",
      &run_convolution<"conv3d">);
  define_function(
      "conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=[1], "
      "int[1] padding=[0], int[1] output_padding=[0], int groups=1, int[1] dilation=[1]) -> "
      "Tensor",
      &run_transposed_convolution<"conv_transpose1d">);
  define_function(
      "conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, int[2] "
      "stride=1, int[2] padding=0, int[2] output_padding=0, int groups=1, int[2] "
      "dilation=1) -> Tensor",
      &run_transposed_convolution<"conv_transpose2d">);
  define_function(
      "conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, int[3] "
      "stride=1, int[3] padding=0, int[3] output_padding=0, int groups=1, int[3] "
      "dilation=1) -> Tensor",
      &run_transposed_convolution<"conv_transpose3d">);
  define_function(
      "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] "
      "dilation, bool transposed, int[] output_padding, int groups) -> Tensor",
      &run_either_convolution);
  for (const char* schema :
       {"_convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] "
        "padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool "
        "benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
        "_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, int[] stride, "
        "int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, "
        "bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor"})
    define_function(schema, &run_either_convolution);
  return true;
}();

[[maybe_unused]] const bool kPools = [] {
  max_pool<"max_pool1d">(
      "max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], "
      "int[1] dilation=[1], bool ceil_mode=False) -> Tensor");
  max_pool<"max_pool2d">(
      "max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
      "dilation=1, bool ceil_mode=False) -> Tensor");
  max_pool<"max_pool3d">(
      "max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] "
      "dilation=1, bool ceil_mode=False) -> Tensor");
  max_pool<"max_pool1d_with_indices">(
      "max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] "
      "stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) "
      "-> (Tensor, Tensor)");
  max_pool<"max_pool2d_with_indices">(
      "max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] "
      "stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> "
      "(Tensor, Tensor)");
  max_pool<"max_pool3d_with_indices">(
      "max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] "
      "stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> "
      "(Tensor, Tensor)");
  avg_pool<"avg_pool1d">(
      "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool "
      "ceil_mode=False, bool count_include_pad=True) -> Tensor");
  avg_pool<"avg_pool2d">(
      "avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool "
      "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor");
  avg_pool<"avg_pool3d">(
      "avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool "
      "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor");
  same<"adaptive_avg_pool1d">("adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor");
  same<"adaptive_avg_pool2d">("adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor");
  same<"adaptive_avg_pool3d">("adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor");
  same<"adaptive_avg_pool2d">("_adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor");
  same<"adaptive_max_pool1d_with_indices">(
      "adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, "
      "Tensor)");
  same<"adaptive_max_pool2d_with_indices">(
      "adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, "
      "Tensor)");
  same<"adaptive_max_pool3d_with_indices">(
      "adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, "
      "Tensor)");
  define("max_unpool2d(Tensor self, Tensor indices, int[2] output_size) -> Tensor",
         [](const Tensor& x, const Tensor& indices, const Ints& size) {
           const Ints once = {1, 1}, none = {0, 0};
           return unpool(op<"max_unpool2d">(), x, indices, size, once, none);
         });
  define(
      "max_unpool3d(Tensor self, Tensor indices, int[3] output_size, int[3] stride, int[3] padding) -> "
      "Tensor",
      [](const Tensor& x, const Tensor& indices, const Ints& size, const Ints& stride, const Ints& padding) {
        return unpool(op<"max_unpool3d">(), x, indices, size, stride, padding);
      });
  return true;
}();

[[maybe_unused]] const bool kNormalizations = [] {
  define(
      "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
      "bool "
      "training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
      [](const Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias,
         const OptionalTensor& mean, const OptionalTensor& variance, bool training, double momentum,
         double eps, bool) { return batch_norm(x, weight, bias, mean, variance, training, momentum, eps); });
  define(
      "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
      "bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
      [](const Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias,
         const OptionalTensor& mean, const OptionalTensor& variance, bool use_input_stats, double momentum,
         double eps,
         bool) { return instance_norm(x, weight, bias, mean, variance, use_input_stats, momentum, eps); });
  same<"group_norm">(
      "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float "
      "eps=1e-05, bool cudnn_enabled=True) -> Tensor");
  same<"layer_norm">(
      "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
      "float eps=1e-05, bool cudnn_enable=True) -> Tensor");
  same<"rms_norm">(
      "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> "
      "Tensor");
  define("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
         [](const Tensor& x, int64_t dim, OptionalDType dtype) { return softmax(x, dim, dtype); });
  define("log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
         [](const Tensor& x, int64_t dim, OptionalDType dtype) { return log_softmax(x, dim, dtype); });
  define("_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
         [](const Tensor& x, int64_t dim, bool) { return softmax(x, dim, {}); });
  define("_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
         [](const Tensor& x, int64_t dim, bool) { return log_softmax(x, dim, {}); });
  return true;
}();

[[maybe_unused]] const bool kPadding = [] {
  define("pad(Tensor self, int[] pad, str mode=\"constant\", float? value=None) -> Tensor",
         [](const Tensor& x, const Ints& widths, const std::string& mode, std::optional<double> value) {
           return pad(x, widths, mode, value.value_or(0));
         });
  pad_functions("reflect", "reflection");
  pad_functions("replicate", "replication");
  same<"pixel_shuffle">("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor");
  same<"pixel_unshuffle">("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor");
  same<"channel_shuffle">("channel_shuffle(Tensor self, int groups) -> Tensor");
  same<"channel_shuffle">("native_channel_shuffle(Tensor self, int groups) -> Tensor");
  same<"affine_grid">("affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor");
  return true;
}();

[[maybe_unused]] const bool kRecurrent = [] {
  same<"lstm">(
      "lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float "
      "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)");
  same<"gru">(
      "gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float "
      "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)");
  same<"rnn_tanh">(
      "rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
      "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)");
  same<"rnn_relu">(
      "rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
      "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)");
  same<"lstm_packed">(
      "lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, "
      "int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)");
  same<"gru_packed">(
      "gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int "
      "num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)");
  same<"rnn_tanh_packed">(
      "rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool "
      "has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> "
      "(Tensor, Tensor)");
  same<"rnn_relu_packed">(
      "rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool "
      "has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> "
      "(Tensor, Tensor)");
  same<"lstm_cell">(
      "lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? "
      "b_hh=None) -> (Tensor, Tensor)");
  same<"gru_cell">(
      "gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? "
      "b_hh=None) -> Tensor");
  same<"rnn_tanh_cell">(
      "rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
      "Tensor? b_hh=None) -> Tensor");
  same<"rnn_relu_cell">(
      "rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
      "Tensor? b_hh=None) -> Tensor");
  same<"_pack_padded_sequence">(
      "_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> "
      "(Tensor, Tensor)");
  same<"_pad_packed_sequence">(
      "_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar "
      "padding_value, int total_length) -> (Tensor, Tensor)");
  return true;
}();

[[maybe_unused]] const bool kLosses = [] {
  simple_loss<"mse_loss">();
  simple_loss<"l1_loss">();
  define("smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0) -> Tensor",
         [](const Tensor& x, const Tensor& target, int64_t reduction, double beta) {
           return call(op<"smooth_l1_loss">(), {x, target},
                       {{"reduction", reduction_name(reduction)}, {"beta", beta}});
         });
  define("huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0) -> Tensor",
         [](const Tensor& x, const Tensor& target, int64_t reduction, double delta) {
           return call(op<"huber_loss">(), {x, target},
                       {{"reduction", reduction_name(reduction)}, {"delta", delta}});
         });
  define(
      "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int "
      "ignore_index=-100, float label_smoothing=0.0) -> Tensor",
      [](const Tensor& x, const Tensor& target, const OptionalTensor& weight, int64_t reduction,
         int64_t ignore_index, double smoothing) {
        return call(op<"cross_entropy">(), {x, target, or_undefined(weight)},
                    {{"ignore_index", number(ignore_index)},
                     {"reduction", reduction_name(reduction)},
                     {"label_smoothing", smoothing}});
      });
  define(
      "nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> "
      "Tensor",
      [](const Tensor& x, const Tensor& target, const OptionalTensor& weight, int64_t reduction,
         int64_t ignore) { return nll_loss(x, target, weight, reduction, ignore); });
  define(
      "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) "
      "-> Tensor",
      [](const Tensor& x, const Tensor& target, const OptionalTensor& weight, int64_t reduction,
         int64_t ignore) { return nll_loss(x, target, weight, reduction, ignore); });
  define("binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor",
         [](const Tensor& x, const Tensor& target, const OptionalTensor& weight, int64_t reduction) {
           return call(op<"binary_cross_entropy">(), {x, target, or_undefined(weight)},
                       {{"reduction", reduction_name(reduction)}});
         });
  define(
      "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? "
      "pos_weight=None, int reduction=1) -> Tensor",
      [](const Tensor& x, const Tensor& target, const OptionalTensor& weight, const OptionalTensor& positive,
         int64_t reduction) {
        return call(op<"binary_cross_entropy_with_logits">(),
                    {x, target, or_undefined(weight), or_undefined(positive)},
                    {{"reduction", reduction_name(reduction)}});
      });
  define("kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
         [](const Tensor& x, const Tensor& target, int64_t reduction, bool log_target) {
           return call(op<"kl_div">(), {x, target},
                       {{"reduction", reduction_name(reduction)}, {"log_target", log_target}});
         });
  same<"cosine_similarity">("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor");
  same<"pairwise_distance">(
      "pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool "
      "keepdim=False) -> Tensor");
  same<"bilinear">("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor");
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
