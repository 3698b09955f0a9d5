#include "models/model_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/rounding.h"
#include "distributed/group.h"
#include "weft/distributed.h"
#include "weft/error.h"
#include "weft/models/causal_model.h"

namespace weft::models {
namespace {

int64_t intermediate_unit(const std::string& quantize) {
  constexpr int64_t kColumns = 16;  // a vector of float32
  return std::max(kColumns, QuantizationScheme::parse(quantize).group_size);
}

}  // namespace

void check_ranks(const DecoderConfig& config, const std::string& quantize, int ranks) {
  WEFT_CHECK(config.num_heads % ranks == 0 && config.num_kv_heads % ranks == 0,
             fmt::format("tensor parallelism: {} ranks do not divide the model's {} heads and {} key-value "
                         "heads; the number "
                         "of ranks must divide both",
                         ranks, config.num_heads, config.num_kv_heads));
  const int64_t unit = intermediate_unit(quantize);
  const auto check_middle = [&](const char* name, int64_t size) {
    const int64_t units = ceil_div(size, unit);
    WEFT_CHECK(units >= ranks, fmt::format("tensor parallelism: {} {} makes {} parts of {} columns, too few "
                                           "for {} ranks",
                                           name, size, units, unit, ranks));
  };
  check_middle("intermediate_size", config.intermediate_size);
  if (config.experts) check_middle("moe_intermediate_size", config.experts->intermediate_size);
  if (config.experts && config.experts->shared_size > 0)
    check_middle("the shared experts' size", config.experts->shared_size);
  for (int64_t i = 0; i < config.num_layers; ++i)
    WEFT_CHECK(ranks == 1 || !(config.layer(i).is_convolution || config.layer(i).is_delta),
               fmt::format("tensor parallelism: layer {} is a {}, which weft does not divide", i,
                           config.layer(i).is_delta ? "delta rule" : "convolution"));
  WEFT_CHECK(
      vocab_range(config, ranks - 1, ranks).size() > 0,
      fmt::format("tensor parallelism: vocab_size {} is too small for {} ranks", config.vocab_size, ranks));
}

Range intermediate_range(int64_t size, const std::string& quantize, int rank, int ranks) {
  const int64_t unit = intermediate_unit(quantize), units = ceil_div(size, unit);
  const auto begin = [&](int64_t of) {
    return std::min(size, unit * (units / ranks * of + std::min(of, units % ranks)));
  };
  return {begin(rank), begin(rank + 1)};
}

Range vocab_range(const DecoderConfig& config, int rank, int ranks) {
  const int64_t block = ceil_div(config.vocab_size, ranks);
  return {std::min(config.vocab_size, rank * block), std::min(config.vocab_size, (rank + 1) * block)};
}

Share share_of(const DecoderConfig& config, const ModelOptions& options) {
  Share share;
  if (options.tensor_parallel) {
    share.rank = distributed::get_rank();
    share.size = distributed::get_world_size();
    check_ranks(config, options.quantize, share.size);
    // The ranks must mean one model: their sums have one length each.
    const std::vector<int64_t> sizes = {config.hidden_size,       config.num_layers,    config.num_heads,
                                        config.num_kv_heads,      config.head_dim,      config.vocab_size,
                                        config.intermediate_size, options.max_positions};
    const Tensor all = distributed::all_gather(Tensor::of(sizes));
    const int64_t count = static_cast<int64_t>(sizes.size());
    for (int64_t i = 0; i < all.numel(); ++i)
      WEFT_CHECK(all.data_as<int64_t>()[i] == sizes[static_cast<size_t>(i % count)],
                 fmt::format("tensor parallelism: {} and rank {} have models of different sizes",
                             distributed::rank_name(), i / count));
  }
  share.heads = config.num_heads / share.size;
  share.kv_heads = config.num_kv_heads / share.size;
  share.vocab = vocab_range(config, share.rank, share.size).size();
  share.vocab_block = vocab_range(config, 0, share.size).size();
  return share;
}

int CausalModel::num_ranks() const { return share_->size; }

const Tensor* CausalModel::residual(const Tensor& x) const { return share_->rank == 0 ? &x : nullptr; }

void CausalModel::sum_over_ranks(const Tensor& x) const {
  if (share_->size > 1)
    distributed::all_reduce_memory(x.data(), x.numel(), DType::F32, distributed::ReduceOp::Sum);
}

void CausalModel::gather_logits(const Tensor& own, const Tensor& others, const Tensor& logits) const {
  const int64_t rows = own.size(0), block = share_->vocab_block, vocab = config_.vocab_size;
  distributed::all_gather_memory(own.data(), others.data(), own.numel() * itemsize(DType::F32));
  if (logits.data() == others.data()) return;
  for (int64_t rank = 0; rank < share_->size; ++rank) {
    const Range words = vocab_range(config_, static_cast<int>(rank), share_->size);
    const float* from = others.data_as<float>() + rank * rows * block;
    float* to = logits.data_as<float>() + words.begin;
    for (int64_t row = 0; row < rows; ++row, from += block, to += vocab)
      std::memcpy(to, from, static_cast<size_t>(words.size()) * sizeof(float));
  }
}

bool CausalModel::agreed(bool decision) const {
  if (share_->size > 1) distributed::broadcast_memory(&decision, sizeof decision, 0);
  return decision;
}

}  // namespace weft::models
