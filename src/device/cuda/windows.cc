#include "device/cuda/windows.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "device/cuda/products.h"
#include "device/cuda/written_kernel.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/window.h"
#include "weft/detail/visit_dtype.h"

namespace weft::cuda {
namespace {

// As text/windows.inc's Windows, along one dimension.
struct Windows {
  int64_t size = 1, count = 1, kernel = 1, stride = 1, padding = 0, step = 1;
};
using Dims = std::array<Windows, 3>;

Dims dims_of(const ops::OpDef& op, const ops::Attrs& attrs, const Tensor& x, const Tensor& out, size_t rank) {
  Dims dims;
  const bool is_adaptive = op.find_param("kernel_size") == nullptr;
  std::vector<int64_t> kernel(rank, 0), stride(rank, 1), padding(rank, 0), dilation(rank, 1);
  if (!is_adaptive) {
    stride = kernel = ops::spatial_arg(op, attrs, "kernel_size", rank);
    if (!attrs.is_none("stride") && !ops::list_arg(attrs, "stride").empty())
      stride = ops::spatial_arg(op, attrs, "stride", rank);
    padding = ops::spatial_arg(op, attrs, "padding", rank);
    if (op.find_param("dilation")) dilation = ops::spatial_arg(op, attrs, "dilation", rank);
  }
  for (size_t d = 0; d < rank; ++d) {
    const size_t axis = x.shape().size() - rank + d;
    dims[3 - rank + d] = {x.shape()[axis], out.shape()[axis], kernel[d], stride[d], padding[d], dilation[d]};
  }
  return dims;
}

std::string text_of(WrittenKernel& kernel, const std::string& name, const Windows& w) {
  return "Windows" + kernel.numbers(name.c_str(), {w.size, w.count, w.kernel, w.stride, w.padding, w.step});
}

// What is smaller than all numbers of a dtype, or zero, as the kernels compute it.
std::string start_text(DType dtype, bool largest) {
  if (!largest) return dtype == DType::F64 ? "(f64)0" : "(f32)0";
  if (is_floating(dtype)) return dtype == DType::F64 ? "-__builtin_inf()" : "-__builtin_inff()";
  return visit_dtype(dtype, [&]<class T>(std::type_identity<T>) -> std::string {
    if constexpr (std::is_integral_v<T>) {
      const std::string type = type_in_kernels(dtype);
      if (std::is_unsigned_v<T>) return fmt::format("({})0", type);
      return fmt::format("({})((u64)1 << {})", type, std::numeric_limits<T>::digits);
    }
    return {};
  });
}

// The mean of whole planes, each of which one thread would add up: a reduction.
Tensor mean_of_planes(const Tensor& x, size_t rank, int64_t divisor) {
  SymShape axes;
  int64_t count = 1;
  for (size_t axis = x.shape().size() - rank; axis < x.shape().size(); ++axis) {
    axes.push_back(Sym(static_cast<int64_t>(axis)));
    count *= x.shape()[axis];
  }
  const Tensor wide = x.to(compute_dtype(x.dtype()));
  const Tensor sum = ops::call1("sum", {wide}, {{"dim", axes}, {"keepdim", true}});
  return ops::invoke("true_divide", {sum, Scalar(static_cast<double>(divisor != 0 ? divisor : count))})
      .to(x.dtype());
}

bool are_whole(const Dims& dims) {
  for (const Windows& w : dims)
    if (w.count != 1 || w.padding != 0 || (w.kernel != 0 && (w.kernel != w.size || w.step != 1)))
      return false;
  return true;
}

}  // namespace

std::vector<Tensor> run_pool(const ops::OpDef& op, std::span<const Tensor> operands,
                             const ops::Attrs& attrs) {
  const size_t rank = static_cast<size_t>(op.name[op.name.find("pool") + 4] - '0');
  const Tensor x = operands[0].contiguous();
  const std::vector<Tensor> results = empty_results(op, operands, attrs);
  const Tensor& out = results[0];
  if (out.numel() == 0) return results;
  if (x.numel() == 0) return {};
  const bool largest = op.name.find("max") != std::string::npos, has_positions = results.size() > 1;
  const Dims dims = dims_of(op, attrs, x, out, rank);
  int64_t divisor = 0;
  if (op.find_param("divisor_override") && !attrs.is_none("divisor_override")) {
    divisor = ops::int_arg(attrs, "divisor_override");
    if (divisor == 0) return {};  // the host says what is wrong with it
  }
  if (!largest && are_whole(dims)) return {mean_of_planes(x, rank, divisor)};
  WrittenKernel kernel(fmt::format("{}_{}", largest ? "max_pool" : "avg_pool", short_name(x.dtype())),
                       x.device().index);
  kernel.with(Text::Operands).with(Text::Windows);
  kernel.writes("out", out).reads("from", x).number("results", out.numel());
  if (has_positions) kernel.writes("positions", results[1]);
  std::string windows;
  for (size_t d = 0; d < 3; ++d)
    windows += ", " + text_of(kernel, std::string(1, "dhw"[d]) + "_window", dims[d]);
  const std::string start = start_text(x.dtype(), largest);
  std::string body;
  if (has_positions) {
    kernel.called(fmt::format("max_pool_positions_{}", short_name(x.dtype())));
    body = fmt::format("pool_with_positions(out, positions, from, results, {}{});", start, windows);
  } else {
    const bool counts = op.find_param("count_include_pad") && attrs.get_bool("count_include_pad");
    kernel.number("divisor", divisor);
    body = fmt::format("pool_windows<{}>(out, from, results, {}{}, {}, divisor);", largest, start, windows,
                       counts);
  }
  kernel.launch(body, blocks_of_items(out.numel(), x.device().index));
  return results;
}

std::vector<Tensor> run_unpool(const ops::OpDef& op, std::span<const Tensor> operands,
                               const ops::Attrs& attrs) {
  const size_t rank = static_cast<size_t>(op.name[op.name.find("pool") + 4] - '0');
  const std::vector<Tensor> results = empty_results(op, operands, attrs);
  const Tensor& out = results[0];
  if (out.numel() == 0 || operands[0].numel() == 0) return {};
  int64_t plane = 1;
  for (size_t d = 0; d < rank; ++d) plane *= out.shape()[out.shape().size() - 1 - d];
  const int64_t planes = out.numel() / plane, count = operands[0].numel() / planes;
  const auto rows = [&](const Tensor& x) { return ops::build::reshape(x, {Sym(planes), Sym(count)}); };
  const Tensor zeros = Tensor::full({planes, plane}, Scalar(0), out.dtype(), out.device());
  const Tensor filled =
      ops::call1("scatter", {zeros, rows(operands[1]), rows(operands[0])}, {{"dim", Sym(1)}});
  return {ops::build::reshape(filled, ops::sym_shape(out))};
}

std::vector<Tensor> run_blocks(const ops::OpDef& op, std::span<const Tensor> operands,
                               const ops::Attrs& attrs) {
  const Tensor x = operands[0].contiguous();
  const std::vector<Tensor> results = empty_results(op, operands, attrs);
  const Tensor& out = results[0];
  if (out.numel() == 0) return results;
  if (x.numel() == 0) return {};
  const bool is_back = op.name == "col2im";
  const Tensor& image = is_back ? out : x;
  const auto of = [&](const char* name) { return ops::spatial_arg(op, attrs, name, 2); };
  const std::vector<int64_t> taps = of("kernel_size"), dilation = of("dilation"), padding = of("padding"),
                             stride = of("stride");
  const auto blocks = [&](size_t d) {
    return (image.size(static_cast<int64_t>(d) - 2) + 2 * padding[d] - dilation[d] * (taps[d] - 1) - 1) /
               stride[d] +
           1;
  };
  const std::string type = is_back ? type_in_kernels(x.dtype()) : word_of(x.dtype());
  WrittenKernel kernel(fmt::format("{}_{}", op.name, type), x.device().index);
  kernel.with(Text::Operands).with(Text::Windows).with(Text::Moving);
  kernel.address("out", out.data()).address("from", x.data()).number("results", out.numel());
  const std::string numbers =
      kernel.numbers("b", {image.size(-2), image.size(-1), blocks(0), blocks(1), taps[0], taps[1],
                           dilation[0], dilation[1], padding[0], padding[1], stride[0], stride[1]});
  kernel.launch(
      fmt::format("{0}(({1}*)out, (const {1}*)from, results, Blocks{2});",
                  is_back ? fmt::format("columns_as_blocks<{}>", x.dtype() == DType::F64 ? "f64" : "f32")
                          : "blocks_as_columns",
                  type, numbers),
      blocks_of_items(out.numel(), x.device().index));
  return results;
}

}  // namespace weft::cuda
