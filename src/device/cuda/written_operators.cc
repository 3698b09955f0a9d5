#include "device/cuda/written_operators.h"

#include <string_view>
#include <unordered_map>

#include "device/cuda/attention.h"
#include "device/cuda/cufft.h"
#include "device/cuda/cusolver.h"
#include "device/cuda/moving.h"
#include "device/cuda/products.h"
#include "device/cuda/scanning.h"
#include "device/cuda/sorting.h"

namespace weft::cuda {
namespace {

using Run = std::vector<Tensor> (*)(const ops::OpDef&, std::span<const Tensor>, const ops::Attrs&);

const std::unordered_map<std::string_view, Run>& table() {
  static const auto& instance = *new std::unordered_map<std::string_view, Run>{
      {"matmul", run_matmul},
      {"linear_half", run_linear},
      {"linear_fused", run_linear},
      {"linear_packed", run_linear},
      {"linear_int8", run_linear},
      {"_int_mm", run_int_mm},
      {"convolution", run_convolution},
      {"scaled_dot_product_attention", run_attention},
      {"relative_position_attention", run_relative_attention},
      {"attention_with_kv_cache", run_cached_attention},
      {"gather_nd", run_gather_nd},
      {"scatter_nd", run_scatter_nd},
      {"gather", run_gather},
      {"embedding", run_embedding},
      {"join", run_join},
      {"pad", run_pad},
      {"upsample", run_upsample},
      {"cumsum", run_scan},
      {"cumprod", run_scan},
      {"logcumsumexp", run_scan},
      {"cummax", run_scan},
      {"cummin", run_scan},
      {"sort", run_sort},
      {"sort_values", run_sort},
      {"topk", run_sort},
      {"kthvalue", run_sort},
      {"searchsorted_strict", run_searchsorted},
      {"count_between", run_count_between},
      {"scatter", run_scatter},
      {"scatter_add", run_scatter},
      {"scatter_combine", run_scatter},
      {"scatter_nd_extreme", run_scatter_nd},
      {"fft_c2c", run_transform},
      {"fft_r2c", run_transform},
      {"fft_c2r", run_transform},
      {"cholesky", run_linear_algebra},
      {"cholesky_ex", run_linear_algebra},
      {"solve", run_linear_algebra},
      {"lu_factor", run_linear_algebra},
      {"det", run_linear_algebra},
      {"slogdet", run_linear_algebra},
      {"eigvalsh", run_linear_algebra},
      {"eigh", run_linear_algebra},
      {"qr", run_linear_algebra},
      {"svd", run_linear_algebra},
      {"svdvals", run_linear_algebra},
  };
  return instance;
}

}  // namespace

bool has_written(const ops::OpDef& op) { return table().contains(op.name); }

std::optional<std::vector<Tensor>> run_written(const ops::OpDef& op, std::span<const Tensor> operands,
                                               const ops::Attrs& attrs) {
  const auto found = table().find(op.name);
  if (found == table().end()) return std::nullopt;
  std::vector<Tensor> results = found->second(op, operands, attrs);
  if (results.empty()) return std::nullopt;
  return results;
}

}  // namespace weft::cuda
