// Tensors as PyTorch prints them; by default four digits, 80 columns, three edge items of each dimension
// where there are more than 1000 elements.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/backend.h"
#include "core/copy.h"
#include "core/default_dtype.h"
#include "core/print_options.h"
#include "core/quantized.h"
#include "weft/error.h"
#include "weft/tensor.h"

namespace weft {

PrintOptions& print_options() {
  static auto& options = *new PrintOptions;
  return options;
}

namespace {

size_t line_width() { return static_cast<size_t>(std::max<int64_t>(print_options().line_width, 0)); }

// How one column of floating-point numbers is printed: chosen from the numbers shown.
class FloatFormat {
 public:
  void see(double value) {
    if (!std::isfinite(value) || value == 0) return;
    finite_.push_back(value);
    whole_ = whole_ && value == std::ceil(value);
    smallest_ = std::min(smallest_, std::abs(value));
    largest_ = std::max(largest_, std::abs(value));
  }

  void choose() {
    if (finite_.empty()) return;
    scientific_ = print_options().scientific.value_or(largest_ / smallest_ > 1000. || largest_ > 1e8 ||
                                                      (!whole_ && smallest_ < 1e-4));
    for (const double value : finite_) {
      const size_t length = scientific_ ? fmt::format("{:.{}e}", value, precision_).size()
                            : whole_    ? fmt::format("{:.0f}", value).size() + 1
                                        : fmt::format("{:.{}f}", value, precision_).size();
      width_ = std::max(width_, length);
    }
  }

  std::string operator()(double value) const {
    if (std::isnan(value)) return fmt::format("{:>{}}", "nan", width_);
    if (std::isinf(value)) return fmt::format("{:>{}}", value > 0 ? "inf" : "-inf", width_);
    const std::string text = scientific_ ? fmt::format("{:.{}e}", value, precision_)
                             : whole_    ? fmt::format("{:.0f}.", value)
                                         : fmt::format("{:.{}f}", value, precision_);
    return fmt::format("{:>{}}", text, width_);
  }

  size_t width() const { return width_; }

 private:
  std::vector<double> finite_;
  double smallest_ = std::numeric_limits<double>::infinity(), largest_ = 0;
  bool whole_ = true, scientific_ = false;
  int precision_ = print_options().precision;
  size_t width_ = 1;
};

class Printer {
 public:
  explicit Printer(const Tensor& tensor)
      : tensor_(tensor), summarize_(tensor.numel() > print_options().threshold) {
    const bool floating = is_inexact(tensor.dtype());
    visit(0, tensor.data_as<char>(), [&](const char* element) {
      if (floating) {
        const std::complex<double> value = read(element);
        real_.see(value.real());
        imaginary_.see(value.imag());
      } else {
        width_ = std::max(width_, integer(element).size());
      }
    });
    real_.choose();
    imaginary_.choose();
    if (floating) width_ = real_.width();
    if (is_complex(tensor.dtype())) width_ += imaginary_.width() + 1;
  }

  std::string print(size_t indent) const { return print(0, tensor_.data_as<char>(), indent); }

 private:
  int64_t size(size_t d) const { return tensor_.shape()[d]; }
  int64_t step(size_t d) const { return tensor_.strides()[d] * itemsize(tensor_.dtype()); }
  bool cut(size_t d) const { return summarize_ && size(d) > 2 * edge_items_; }

  // Positions shown along dimension d, in order; f(-1) stands for the ellipsis.
  template <class F>
  void positions(size_t d, F&& f) const {
    for (int64_t i = 0; i < size(d); ++i) {
      if (cut(d) && i == edge_items_) {
        f(int64_t{-1});
        i = size(d) - edge_items_;
      }
      f(i);
    }
  }

  void visit(size_t d, const char* data, const std::function<void(const char*)>& f) const {
    if (d == tensor_.shape().size()) return f(data);
    positions(d, [&](int64_t i) {
      if (i >= 0) visit(d + 1, data + i * step(d), f);
    });
  }

  std::complex<double> read(const char* element) const {
    std::complex<double> value;
    convert_function(DType::C128, tensor_.dtype())(&value, 1, element, 1, 1);
    return value;
  }

  std::string integer(const char* element) const {
    if (tensor_.dtype() == DType::Bool) return *element ? "True" : "False";
    if (tensor_.dtype() == DType::U64) return fmt::format("{}", *reinterpret_cast<const uint64_t*>(element));
    int64_t value;
    convert_function(DType::I64, tensor_.dtype())(&value, 1, element, 1, 1);
    return fmt::format("{}", value);
  }

  std::string element(const char* data) const {
    if (!is_inexact(tensor_.dtype())) return fmt::format("{:>{}}", integer(data), width_);
    const std::complex<double> value = read(data);
    if (!is_complex(tensor_.dtype())) return real_(value.real());
    std::string imaginary = imaginary_(value.imag()) + "j";
    imaginary.erase(0, imaginary.find_first_not_of(' '));
    return real_(value.real()) + (imaginary[0] == '-' ? "" : "+") + imaginary;
  }

  std::string vector(size_t d, const char* data, size_t indent) const {
    const size_t room = line_width() > indent ? line_width() - indent : 0;
    const size_t per_line = std::max<size_t>(1, room / (width_ + 2));
    std::string text = "[";
    size_t count = 0;
    positions(d, [&](int64_t i) {
      if (count > 0) text += count % per_line == 0 ? ",\n" + std::string(indent + 1, ' ') : ", ";
      text += i < 0 ? " ..." : element(data + i * step(d));
      ++count;
    });
    return text + "]";
  }

  std::string print(size_t d, const char* data, size_t indent) const {
    const size_t left = tensor_.shape().size() - d;
    if (left == 0) return element(data);
    if (left == 1) return vector(d, data, indent);
    std::string text = "[";
    bool first = true;
    positions(d, [&](int64_t i) {
      if (!first) text += "," + std::string(left - 1, '\n') + std::string(indent + 1, ' ');
      first = false;
      text += i < 0 ? "..." : print(d + 1, data + i * step(d), indent + 1);
    });
    return text + "]";
  }

  const Tensor& tensor_;
  bool summarize_;
  int64_t edge_items_ = print_options().edge_items;
  FloatFormat real_, imaginary_;
  size_t width_ = 1;
};

std::string tuple_str(const Shape& shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += fmt::format("{}{}", i ? ", " : "", shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

// "quantization_scheme=torch.per_tensor_affine, scale=0.5, zero_point=3"
void add_quantizer(const Quantizer& quantizer, std::vector<std::string>& suffixes) {
  suffixes.push_back(
      fmt::format("quantization_scheme={}.{}", print_options().module, scheme_name(quantizer)));
  if (!quantizer.is_per_channel()) {
    suffixes.push_back(fmt::format("scale={}", Scalar(quantizer.scales[0]).str()));
    suffixes.push_back(fmt::format("zero_point={}", quantizer.zero_points[0]));
    return;
  }
  const QuantizerTensors tensors = tensors_of(quantizer);
  suffixes.push_back("scale=" + tensors.scales.str());
  suffixes.push_back("zero_point=" + tensors.zero_points.str());
  suffixes.push_back(fmt::format("axis={}", quantizer.axis));
}

}  // namespace

std::string Tensor::str() const { return weft::str(*this, "tensor", false); }

std::string str(const Tensor& tensor, std::string_view kind, bool requires_grad) {
  if (!tensor.defined()) return fmt::format("{}(undefined)", kind);
  if (tensor.is_traced()) return fmt::format("{}(traced {})", kind, describe(tensor));
  const DType dtype = tensor.dtype();
  const Device device = tensor.device();
  const std::string prefix = fmt::format("{}(", kind);
  const std::string dtype_suffix = fmt::format("dtype={}.{}", print_options().module, name(dtype));
  std::string text = prefix;
  std::vector<std::string> suffixes;
  if (device.type != DeviceType::CPU) suffixes.push_back(fmt::format("device='{}'", device.str()));
  const bool has_elements = has_memory(device), quantized = is_quantized(dtype) && tensor.quantizer();
  if (!has_elements || tensor.numel() == 0) {
    text += has_elements ? "[]" : "...";
    if (!has_elements || tensor.dim() != 1) suffixes.push_back("size=" + tuple_str(tensor.shape()));
    if (dtype != default_float()) suffixes.push_back(dtype_suffix);
  } else {
    const Tensor here = tensor.to(Device());
    text += Printer(quantized ? dequantize(here) : here).print(prefix.size());
    if (quantized) suffixes.push_back("size=" + tuple_str(tensor.shape()));
    const bool shown_by_elements =
        dtype == default_float() || dtype == default_complex() || dtype == DType::I64 || dtype == DType::Bool;
    if (!shown_by_elements) suffixes.push_back(dtype_suffix);
  }
  if (quantized) add_quantizer(*tensor.quantizer(), suffixes);
  if (requires_grad) suffixes.emplace_back("requires_grad=True");
  const size_t newline = text.rfind('\n');
  size_t line = text.size() - (newline == std::string::npos ? static_cast<size_t>(-1) : newline) + 1;
  for (const std::string& suffix : suffixes) {
    if (line + suffix.size() + 2 > line_width()) {
      text += ",\n" + std::string(prefix.size(), ' ') + suffix;
      line = prefix.size() + suffix.size();
    } else {
      text += ", " + suffix;
      line += suffix.size() + 2;
    }
  }
  return text + ")";
}

}  // namespace weft
