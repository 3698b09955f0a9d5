#include "device/cuda/products.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <optional>

#include "device/cuda/driver.h"
#include "device/cuda/product_choice.h"
#include "device/cuda/wgmma.h"
#include "device/cuda/written_kernel.h"
#include "nest/grid.h"
#include "ops/arguments.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

constexpr int64_t kMostThinRows = 16;

bool is_half(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }

bool is_number(DType dtype) {
  return dtype != DType::Bool && !is_complex(dtype) &&
         (is_integral(dtype) || is_half(dtype) || dtype == DType::F32 || dtype == DType::F64);
}

// What sums are, of numbers of these types.
DType sum_dtype(DType left, DType right) {
  if (left == DType::F64) return DType::F64;
  if (is_floating(left) || is_floating(right)) return DType::F32;
  if (itemsize(left) == 8) return left;
  return left == DType::U8 || left == DType::U16 || left == DType::U32 ? DType::U32 : DType::I32;
}

enum class Reading : uint8_t { Along, Across, Anywhere };

bool is_multiple(int64_t value, int64_t unit) { return value % unit == 0; }

// Whether chunks of 16 bytes can be read, and which way.
Reading reading_of(const ProductSide& side, int64_t chunk_bytes = 16) {
  const int64_t unit = chunk_bytes / itemsize(side.array.dtype());
  const bool is_aligned =
      is_multiple(static_cast<int64_t>(reinterpret_cast<uintptr_t>(side.array.data()) & 0xffff),
                  chunk_bytes) &&
      std::all_of(side.batch_steps.begin(), side.batch_steps.end(),
                  [&](int64_t step) { return is_multiple(step, unit); });
  if (is_aligned && side.depth_step == 1 && is_multiple(side.row_step, unit)) return Reading::Along;
  if (is_aligned && side.row_step == 1 && is_multiple(side.depth_step, unit)) return Reading::Across;
  return Reading::Anywhere;
}

const char* name_of(Reading reading) {
  return reading == Reading::Along ? "kAlong" : reading == Reading::Across ? "kAcross" : "kAnywhere";
}

// Down and Across of the kernels' text.
struct TileShape {
  int64_t rows, columns;
  std::string arguments;
  int64_t shared;
};

TileShape threads_tile(DType sum, bool large) {
  const int64_t each = large ? 8 : 4, side = 16 * each;
  return {side, side, fmt::format("{}, {}, {}", type_in_kernels(sum), each, each),
          2 * 16 * 2 * (side + 4) * itemsize(sum)};
}
TileShape warps_tile(DType type, bool large) {
  const int64_t side = large ? 128 : 64;
  const std::string name = type == DType::F32 ? "tf32" : type_in_kernels(type);
  return {side, side, fmt::format("{}, 2, {}", name, large ? "4, 4" : "2, 2"), 2 * 2 * side * 20 * 4};
}

std::string activation_name(const std::string& activation) {
  static const auto& names = *new std::map<std::string, std::string>{{"none", "kNone"},
                                                                     {"relu", "kRelu"},
                                                                     {"relu6", "kRelu6"},
                                                                     {"hardswish", "kHardSwish"},
                                                                     {"hardsigmoid", "kHardSigmoid"},
                                                                     {"silu", "kSilu"},
                                                                     {"gelu_erf", "kGeluErf"},
                                                                     {"gelu_tanh", "kGeluTanh"}};
  const auto found = names.find(activation);
  WEFT_ASSERT(found != names.end(), "an activation that has been checked");
  return found->second;
}

std::atomic<bool> tf32_is_allowed = false;

// One product's kernel on its way.
class Maker {
 public:
  explicit Maker(const Product& product)
      : p_(product), device_(product.end.out.device().index), kernel_("product", device_) {}

  // `chooses`: whether it is by wgmma, and by which tile; otherwise it is where there is a tile.
  void run(bool chooses, std::optional<WgmmaTile> tile_of_wgmma = std::nullopt) {
    left_ = p_.left.array.dtype(), right_ = p_.right.array.dtype();
    const bool is_int4 = p_.group_scales.defined();
    sum_ = sum_dtype(left_, is_int4 ? DType::F32 : right_);
    batches_ = p_.batches[0] * p_.batches[1] * p_.batches[2];
    if (is_thin()) return run_thin();
    if (chooses) tile_of_wgmma = warpgroups_tile();
    if (tile_of_wgmma) return run_warpgroups(*tile_of_wgmma);
    const std::optional<DType> warps = warps_type();
    const auto tile_of = [&](bool large) {
      return warps ? warps_tile(*warps, large) : threads_tile(sum_, large);
    };
    const auto tiles = [&](const TileShape& tile) {
      return batches_ * ((p_.rows + tile.rows - 1) / tile.rows) *
             ((p_.columns + tile.columns - 1) / tile.columns);
    };
    TileShape tile = tile_of(true);
    const bool can_be_large = warps || sum_ == DType::F32;
    if (!can_be_large || tiles(tile) < driver().facts(device_).multiprocessors) tile = tile_of(false);
    const std::string operands = fmt::format("{}, depth, {}, {}, {}", batches(), left(), right(), end());
    kernel_.shared(tile.shared).with(Text::Operands).with(Text::Products);
    kernel_.called(fmt::format("{}_product_{}_{}_{}", warps ? "warps" : "threads", types(), tile.rows,
                               p_.patches == nullptr    ? "plain"
                               : p_.patches->transposed ? "reached"
                                                        : "patches"));
    launch(fmt::format("{}_product<{}>({});", warps ? "warps" : "threads", tile.arguments, operands),
           tiles(tile));
  }

 private:
  const Product& p_;
  const int device_;
  WrittenKernel kernel_;
  DType left_{}, right_{}, sum_{};
  int64_t batches_ = 1;

  std::string types() const {
    return type_in_kernels(left_) + "_" + (p_.group_scales.defined() ? "int4" : type_in_kernels(right_));
  }

  // Numbers of 16 bits or bytes that the GPU multiplies by the matrix; F32: as TF32.
  std::optional<DType> warps_type() const {
    const DeviceFacts& facts = driver().facts(device_);
    if (facts.major < 8) return std::nullopt;
    if (left_ == DType::I8 && right_ == DType::I8) return DType::I8;
    const bool is_plain = p_.patches == nullptr && p_.rows > kMostThinRows;
    if (left_ == DType::F32 && right_ == DType::F32 && is_plain && allows_tf32()) return DType::F32;
    if (is_half(left_) && (right_ == left_ || right_ == DType::I8 || p_.group_scales.defined())) return left_;
    return std::nullopt;
  }

  // Operands of one kind, both read in chunks of 16 bytes; bytes along depth, as wgmma wants them.
  std::optional<WgmmaTile> warpgroups_tile() const {
    const std::optional<DType> kind = warps_type();
    if (p_.patches != nullptr || left_ != right_ || !kind || kind == DType::F32) return std::nullopt;
    const Reading left = reading_of(p_.left), right = reading_of(p_.right);
    if (left == Reading::Anywhere || right == Reading::Anywhere) return std::nullopt;
    const bool left_along = left == Reading::Along, right_along = right == Reading::Along;
    if (left_ == DType::I8 && !(left_along && right_along)) return std::nullopt;
    return wgmma_tile({device_, left_, left_along, right_along, p_.rows, p_.columns, p_.depth, batches_});
  }

  void run_warpgroups(const WgmmaTile& tile) {
    const std::string operands = fmt::format("{}, depth, {}, {}, {}", batches(), left(), right(), end());
    kernel_.launch_shared(tile.shared());
    kernel_.called(fmt::format("warpgroups_product_{}_{}_{}", types(), tile.rows, tile.columns));
    kernel_.with(Text::Operands).with(Text::Products).with(Text::Wgmma).with(Text::WgmmaProducts);
    launch(fmt::format("warpgroups_product<{}, {}, {}, {}>({});", type_in_kernels(left_), tile.across,
                       tile.down, tile.stages, operands),
           batches_ * ((p_.rows + tile.rows - 1) / tile.rows) *
               ((p_.columns + tile.columns - 1) / tile.columns));
  }

  bool is_thin() const {
    return p_.rows <= kMostThinRows && batches_ == 1 && is_floating(sum_) && p_.patches == nullptr &&
           p_.right.depth_step == 1 && p_.left.depth_step == 1;
  }

  void run_thin() {
    const int64_t rows = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(p_.rows)));
    // As many sums as registers hold beside the chunks.
    const int64_t columns = rows >= 8 || sum_ == DType::F64 ? 1 : 2;
    kernel_.reads("left", p_.left.array).number("left_step", p_.left.row_step);
    const std::string right_text = right();
    kernel_.waits().with(Text::Operands).with(Text::Products);
    kernel_.called(fmt::format("thin_product_{}_{}", types(), rows));
    const int64_t per_block = nest::kGridThreads / nest::kGridWarp * columns;
    launch(fmt::format("thin_product<{}, {}, {}>(depth, left, left_step, {}, {});", type_in_kernels(sum_),
                       rows, columns, right_text, end()),
           (p_.columns + per_block - 1) / per_block);
  }

  void launch(const std::string& body, int64_t blocks) {
    kernel_.number("depth", p_.depth);
    const std::string& activation = p_.end.activation;
    if (activation == "silu" || activation.starts_with("gelu")) kernel_.calls_elementary();
    kernel_.launch(body, blocks);
  }

  std::string strided(const char* name, const ProductSide& side, int64_t rows, int64_t chunk_bytes) {
    kernel_.reads(name, side.array);
    return fmt::format("Strided<{}, {}>{{{}, {}_row, {}_depth, {}, depth}}",
                       type_in_kernels(side.array.dtype()), name_of(reading_of(side, chunk_bytes)), name,
                       name, name, steps(name, side, rows));
  }
  std::string steps(const char* name, const ProductSide& side, int64_t rows) {
    const std::string prefix = name;
    kernel_.number((prefix + "_row").c_str(), side.row_step)
        .number((prefix + "_depth").c_str(), side.depth_step);
    kernel_.number((prefix + "_rows").c_str(), rows);
    return prefix + "_rows";
  }

  std::string left() { return strided("a", p_.left, p_.rows, 16); }
  std::string right() {
    if (p_.patches != nullptr) {
      const Product::Patches& patches = *p_.patches;
      kernel_.reads("b", p_.right.array);
      const std::string list =
          kernel_.numbers("b_steps", {patches.channel_step, patches.y_step, patches.x_step, p_.columns});
      std::string sizes;
      for (size_t k = 0; k < patches.sizes.size(); ++k) {
        const std::string name = fmt::format("b_size_{}", k);
        kernel_.number(name.c_str(), patches.sizes[k]);
        sizes += fmt::format(", (int){}", name);
      }
      return fmt::format("Patches<{}, {}>{{b, {}, depth{}}}", type_in_kernels(right_), patches.transposed,
                         list.substr(1, list.size() - 2), sizes);
    }
    if (!p_.group_scales.defined()) return strided("b", p_.right, p_.columns, 16);
    kernel_.reads("b", p_.right.array).reads("group_scales", p_.group_scales);
    kernel_.number("group_bits", std::countr_zero(static_cast<uint64_t>(p_.group_size)))
        .number("b_rows", p_.columns);
    // Of thin products 16 bytes at a time; of others as much as a tile is deep.
    const int64_t most = is_thin() ? 16 : 8;
    const bool is_aligned =
        (reinterpret_cast<uintptr_t>(p_.right.array.data()) & 15) == 0 && is_multiple(p_.depth / 2, most);
    return fmt::format("Int4<{}>{{b, group_scales, group_bits, b_rows, depth}}", is_aligned ? 2 * most : 2);
  }

  std::string batches() {
    const auto& a = p_.left.batch_steps;
    const auto& b = p_.right.batch_steps;
    const std::string a_text = kernel_.numbers("a_steps", {a[0], a[1], a[2]}),
                      b_text = p_.patches != nullptr ? kernel_.numbers("b_batch_steps", {b[0], b[1], b[2]})
                                                     : kernel_.numbers("b_steps", {b[0], b[1], b[2]});
    kernel_.number("batches", batches_).number("inner", p_.batches[0]).number("middle", p_.batches[1]);
    return fmt::format("Batches{{batches, inner, middle, {}, {}}}", a_text, b_text);
  }

  std::string end() {
    const ProductEnd& end = p_.end;
    const DType out = end.out.dtype(), bias = end.bias.defined() ? end.bias.dtype() : DType::F32;
    kernel_.writes("out", end.out).number("rows", p_.rows).number("columns", p_.columns);
    kernel_.reads_if("row_scales", end.row_scales, DType::F32).reads_if("scales", end.scales, DType::F32);
    kernel_.reads_if("bias", end.bias, bias)
        .reads_if("residual", end.residual, out)
        .number("bias_step", end.bias_step);
    kernel_.number("bias_batches", end.bias_batches);
    return fmt::format(
        "Finish<{}, {}, {}, {}, {}>{{out, rows, columns, row_scales, scales, bias, residual, bias_step, "
        "bias_batches}}",
        type_in_kernels(out), type_in_kernels(bias), activation_name(end.activation), end.residual_first,
        end.bias_by_row);
  }
};

// Steps of an operand's leading dimensions where the result has `batch`.
std::vector<int64_t> batch_steps(const Tensor& x, const Shape& batch) {
  std::vector<int64_t> steps(batch.size(), 0);
  const size_t own = x.dim() > 2 ? static_cast<size_t>(x.dim() - 2) : 0;
  for (size_t d = 0; d < own; ++d)
    if (x.shape()[d] != 1) steps[batch.size() - own + d] = x.strides()[d];
  return steps;
}

// Dimensions that both operands walk through evenly become one; innermost first. False where more than three
// are left.
bool merge_batches(const Tensor& a, const Tensor& b, const Shape& batch, Product& product) {
  const std::vector<int64_t> of_a = batch_steps(a, batch), of_b = batch_steps(b, batch);
  size_t used = 0;
  for (size_t d = batch.size(); d-- > 0;) {
    if (batch[d] == 1) continue;
    if (used > 0) {
      const size_t last = used - 1;
      const int64_t size = product.batches[last];
      if (of_a[d] == product.left.batch_steps[last] * size &&
          of_b[d] == product.right.batch_steps[last] * size) {
        product.batches[last] *= batch[d];
        continue;
      }
    }
    if (used == 3) return false;
    product.batches[used] = batch[d];
    product.left.batch_steps[used] = of_a[d], product.right.batch_steps[used] = of_b[d];
    ++used;
  }
  return true;
}

}  // namespace

std::vector<Tensor> empty_results(const ops::OpDef& op, std::span<const Tensor> operands,
                                  const ops::Attrs& attrs) {
  std::vector<ops::TensorType> types;
  Device device;
  for (const Tensor& operand : operands) {
    types.push_back(operand.defined() ? ops::type_of(operand) : ops::TensorType{.absent = true});
    if (operand.defined()) device = operand.device();
  }
  std::vector<Tensor> results;
  for (const ops::TensorType& type : ops::infer(op, types, attrs)) {
    Shape shape;
    for (const Sym& size : type.shape) shape.push_back(size.constant());
    results.push_back(Tensor::empty(shape, type.dtype, device));
  }
  return results;
}

bool has_product(const Product& product) {
  return is_number(product.left.array.dtype()) && is_number(product.right.array.dtype());
}

void allow_tf32(bool allowed) { tf32_is_allowed = allowed; }
bool allows_tf32() { return tf32_is_allowed; }

void run_own_product(const Product& product) { Maker(product).run(/*chooses=*/true); }
void run_product_by_warps(const Product& product) { Maker(product).run(/*chooses=*/false); }
void run_product_by_warpgroups(const Product& product, const WgmmaTile& tile) {
  Maker(product).run(/*chooses=*/false, tile);
}

void run_product(const Product& product) {
  if (!run_by_library(product)) run_own_product(product);
}

std::vector<Tensor> run_matmul(const ops::OpDef& op, std::span<const Tensor> operands,
                               const ops::Attrs& attrs) {
  Tensor a = operands[0];
  const Tensor& b = operands[1];
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  const Tensor& out = results[0];
  if (out.numel() == 0) return results;
  const bool is_row = a.dim() == 1, is_column = b.dim() == 1;
  const int64_t depth = a.size(-1);
  Product product{.rows = is_row ? 1 : a.size(-2),
                  .columns = is_column ? 1 : b.size(-1),
                  .depth = depth,
                  .left = {a, is_row ? 0 : a.strides()[static_cast<size_t>(a.dim() - 2)], a.strides().back()},
                  .right = {b, is_column ? 0 : b.strides().back(),
                            b.strides()[static_cast<size_t>(is_column ? 0 : b.dim() - 2)]},
                  .end = {.out = out}};
  if (!has_product(product)) return {};
  const size_t batch_dims = out.shape().size() - (is_row ? 0 : 1) - (is_column ? 0 : 1);
  const Shape batch(out.shape().begin(), out.shape().begin() + static_cast<long>(batch_dims));
  if (depth > 0 && b.dim() <= 2 && a.dim() > 2 && a.is_contiguous()) {
    product.rows = a.numel() / depth;  // rows of the whole stack
    product.left.row_step = depth;
  } else if (!merge_batches(a, b, batch, product)) {
    return {};
  }
  if (depth == 0) product.left.array = product.right.array = out;  // nothing is read
  if (product.columns == 1 && product.rows > 1) {
    // One column is one row of the product turned over, which lies in memory as it does.
    std::swap(product.left, product.right);
    std::swap(product.rows, product.columns);
  }
  run_product(product);
  return results;
}

std::vector<Tensor> run_linear(const ops::OpDef& op, std::span<const Tensor> operands,
                               const ops::Attrs& attrs) {
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  const Tensor& out = results[0];
  if (out.numel() == 0) return results;
  const bool is_packed = op.name == "linear_packed", is_bytes = op.name == "linear_int8",
             is_fused = op.name == "linear_fused";
  const Tensor x = operands[0].contiguous(), weight = operands[is_bytes ? 2 : 1].contiguous();
  const bool is_int4 = is_packed && weight.dtype() == DType::U8;
  const auto dense = [](const Tensor& t) { return t.defined() ? t.contiguous() : t; };
  const int64_t depth = x.size(-1), columns = weight.size(0);
  Product product{.rows = depth > 0 ? x.numel() / depth : out.numel() / columns,
                  .columns = columns,
                  .depth = depth,
                  .left = {x, depth, 1},
                  .right = {weight, is_int4 ? depth / 2 : depth, 1},
                  .end = {.out = out}};
  ProductEnd& end = product.end;
  if (is_packed || is_bytes) {
    const Tensor scales = dense(operands[is_bytes ? 3 : 2]);
    if (is_int4) {
      product.group_scales = scales;
      product.group_size = ops::int_arg(attrs, "group_size");
    } else {
      end.scales = scales;
    }
    if (is_bytes) end.row_scales = dense(operands[1]);
    end.bias = dense(operands[is_bytes ? 4 : 3]), end.residual = dense(operands[is_bytes ? 5 : 4]);
    end.activation = attrs.get<std::string>("activation");
  } else {
    end.bias = dense(operands[2]);
    if (is_fused) {
      end.residual = dense(operands[3]);
      end.activation = attrs.get<std::string>("activation");
      end.residual_first = true;
    }
  }
  if (depth == 0) product.left.array = product.right.array = out;
  run_product(product);
  return results;
}

std::vector<Tensor> run_int_mm(const ops::OpDef& op, std::span<const Tensor> operands,
                               const ops::Attrs& attrs) {
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  const Tensor &a = operands[0], &b = operands[1], &out = results[0];
  if (out.numel() == 0) return results;
  Product product{.rows = a.size(0),
                  .columns = b.size(1),
                  .depth = a.size(1),
                  .left = {a, a.strides()[0], a.strides()[1]},
                  .right = {b, b.strides()[1], b.strides()[0]},
                  .end = {.out = out}};
  if (product.depth == 0) product.left.array = product.right.array = out;
  run_product(product);
  return results;
}

}  // namespace weft::cuda
