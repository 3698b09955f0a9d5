#include "ops/kept_order.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "ops/iteration_order.h"
#include "ops/tracer.h"

namespace weft::ops {
namespace {

enum class Kept : uint8_t {
  Nothing,
  ChannelsLast,  // the memory format of the first operand
  Dense,         // whatever order the first operand's dimensions have
};

Kept kept_by(const OpDef& op) {
  using enum Kept;
  static const auto& table = *new std::unordered_map<std::string_view, Kept>{
      {"group_norm", ChannelsLast},
      {"batch_norm", ChannelsLast},
      {"max_pool2d", ChannelsLast},
      {"max_pool2d_with_indices", ChannelsLast},
      {"max_pool3d", ChannelsLast},
      {"max_pool3d_with_indices", ChannelsLast},
      {"avg_pool2d", ChannelsLast},
      {"adaptive_avg_pool2d", ChannelsLast},
      {"adaptive_max_pool2d", ChannelsLast},
      {"adaptive_max_pool2d_with_indices", ChannelsLast},
      {"max_unpool2d", ChannelsLast},
      {"lp_pool2d", ChannelsLast},
      {"interpolate", ChannelsLast},
      {"upsample", ChannelsLast},
      {"pad", ChannelsLast},
      {"pixel_shuffle", ChannelsLast},
      {"pixel_unshuffle", ChannelsLast},
      {"channel_shuffle", ChannelsLast},
      {"local_response_norm", ChannelsLast},
      {"normalize", Dense},
      {"glu", Dense},
      {"prelu", Dense},
      {"rms_norm", ChannelsLast},
      {"sort", Dense},
      {"argsort", Dense},
      {"roll", ChannelsLast},
      {"complex", Dense},
      {"diff", Dense},
      {"index_fill", Dense},
  };
  const auto found = table.find(op.name);
  return found == table.end() ? Nothing : found->second;
}

bool has_weight(const OpDef& op) {
  return op.name == "conv2d" || op.name == "conv3d" || op.name == "conv_transpose2d" ||
         op.name == "conv_transpose3d";
}

// Some of their ways compute in C order.
bool is_excepted(const OpDef& op, const Attrs& attrs) {
  if (op.name == "pad") return attrs.get<std::string>("mode") == "circular";
  if (op.name == "roll") return attrs.is_none("dims");
  return false;
}

// Empty: C order.
std::vector<int64_t> order_of_results(const OpDef& op, const OpArgs& args) {
  if (args.tensors.empty() || !args.tensors[0].defined()) return {};
  const Tensor& first = args.tensors[0];
  if (has_weight(op)) {
    const Tensor& weight = args.tensors[1];
    const bool lies_so = (!first.is_contiguous() && lies_channels_last(first)) ||
                         (!weight.is_contiguous() && lies_channels_last(weight));
    return lies_so && first.dim() == weight.dim() ? channels_last_order(first.dim()) : std::vector<int64_t>();
  }
  if (first.dim() < 2 || first.is_contiguous()) return {};
  const Kept kept = kept_by(op);
  if (kept == Kept::Nothing || is_excepted(op, args.attrs)) return {};
  if (kept == Kept::ChannelsLast)
    return lies_channels_last(first) ? channels_last_order(first.dim()) : std::vector<int64_t>();
  const Operand operand = first;
  return iteration_order({&operand, 1});
}

}  // namespace

bool lies_channels_last(const Tensor& x) {
  const Shape& shape = x.impl()->shape;
  const Strides& strides = x.impl()->strides;
  if (shape.size() != 4 && shape.size() != 5) return false;
  if (strides[1] == 0) return false;
  int64_t least = 0;
  const std::vector<int64_t> order = channels_last_order(static_cast<int64_t>(shape.size()));
  for (size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    if (shape[d] == 0 || strides[d] < least) return false;
    // [n, 1, 1, 1] lies in C order, too, and so does [n, c, 1, 1].
    if (d == 0 && least == strides[1]) return false;
    least = strides[d] * std::max<int64_t>(shape[d], 1);
  }
  return true;
}

std::vector<int64_t> channels_last_order(int64_t ndim) {
  std::vector<int64_t> order{0};
  for (int64_t d = 2; d < ndim; ++d) order.push_back(d);
  order.push_back(1);
  return order;
}

std::vector<Tensor> call_in_kept_order(const OpDef& op, OpArgs args) {
  const std::vector<int64_t> order = order_of_results(op, args);
  std::vector<Tensor> results = call(op, std::move(args));
  if (order.empty()) return results;
  for (Tensor& result : results) {
    if (!result.defined() || result.dim() != static_cast<int64_t>(order.size())) continue;
    // While traced it only is told: graphs compute in the order that suits them.
    result = result.is_traced()
                 ? current_tracer()->with_strides(result, strides_in(order, result.impl()->shape))
                 : with_order(with_order(result, order).contiguous(), inverse_order(order));
  }
  return results;
}

}  // namespace weft::ops
