#include "device/cuda/written_operators.h"

#include <string_view>
#include <unordered_map>

#include "device/cuda/attention.h"
#include "device/cuda/cufft.h"
#include "device/cuda/cusolver.h"
#include "device/cuda/moving.h"
#include "device/cuda/parts.h"
#include "device/cuda/products.h"
#include "device/cuda/recurrent.h"
#include "device/cuda/resampling.h"
#include "device/cuda/scanning.h"
#include "device/cuda/selecting.h"
#include "device/cuda/sorting.h"
#include "device/cuda/windows.h"

namespace weft::cuda {
namespace {

using Run = std::vector<Tensor> (*)(const ops::OpDef&, std::span<const Tensor>, const ops::Attrs&);

std::vector<Tensor> run_any_matmul(const ops::OpDef& op, std::span<const Tensor> operands,
                                   const ops::Attrs& attrs) {
  std::vector<Tensor> results = run_matmul(op, operands, attrs);
  return results.empty() ? run_matmul_of_parts(op, operands, attrs) : results;
}

const std::unordered_map<std::string_view, Run>& table() {
  static const auto& instance = *new std::unordered_map<std::string_view, Run>{
      {"matmul", run_any_matmul},
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
      {"embedding_bag", run_embedding_bag},
      {"join", run_join},
      {"pad", run_pad},
      {"upsample", run_upsample},
      {"max_pool1d", run_pool},
      {"max_pool1d_with_indices", run_pool},
      {"adaptive_max_pool1d", run_pool},
      {"adaptive_max_pool1d_with_indices", run_pool},
      {"max_pool2d", run_pool},
      {"max_pool2d_with_indices", run_pool},
      {"adaptive_max_pool2d", run_pool},
      {"adaptive_max_pool2d_with_indices", run_pool},
      {"max_pool3d", run_pool},
      {"max_pool3d_with_indices", run_pool},
      {"adaptive_max_pool3d", run_pool},
      {"adaptive_max_pool3d_with_indices", run_pool},
      {"avg_pool1d", run_pool},
      {"adaptive_avg_pool1d", run_pool},
      {"avg_pool2d", run_pool},
      {"adaptive_avg_pool2d", run_pool},
      {"avg_pool3d", run_pool},
      {"adaptive_avg_pool3d", run_pool},
      {"max_unpool1d", run_unpool},
      {"max_unpool2d", run_unpool},
      {"max_unpool3d", run_unpool},
      {"im2col", run_blocks},
      {"col2im", run_blocks},
      {"slice_update", run_as_it_is},
      {"diagonal_update", run_as_it_is},
      {"bitcast", run_bitcast},
      {"complex", run_complex},
      {"require", run_require},
      {"dequantize_int4", run_dequantize},
      {"dequantize_int8", run_dequantize},
      {"sum_between", run_sum_between},
      {"sum", run_complex_reduction},
      {"any", run_complex_reduction},
      {"all", run_complex_reduction},
      {"lstm", run_recurrent},
      {"lstm_packed", run_recurrent},
      {"gru", run_recurrent},
      {"gru_packed", run_recurrent},
      {"rnn_tanh", run_recurrent},
      {"rnn_tanh_packed", run_recurrent},
      {"rnn_relu", run_recurrent},
      {"rnn_relu_packed", run_recurrent},
      {"grid_sample", run_grid_sample},
      {"roi_align", run_regions},
      {"roi_pool", run_regions},
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
