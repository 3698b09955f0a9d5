// The loss over sequences of labels.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "script/builtins/aten.h"

namespace weft::jit::aten::losses {
namespace {

Tensor in_shape(const Tensor& x, const Ints& shape) {
  return call(op<"reshape">(), {x}, {{"shape", sizes(shape)}});
}

enum Reduction : int64_t { kEach, kMean, kSum };
Tensor reduced(const Tensor& x, int64_t reduction) {
  WEFT_CHECK(reduction >= kEach && reduction <= kSum,
             fmt::format("loss: reduction is 0, 1 or 2, got {}", reduction));
  if (reduction == kEach) return x;
  return call(reduction == kMean ? op<"mean">() : op<"sum">(), {x});
}

// ---- connectionist temporal classification: Graves et al., 2006 ------------------------------------------
double log_sum(double x, double y) {
  const double most = std::max(x, y), least = std::min(x, y);
  return std::isinf(most) ? most : most + std::log1p(std::exp(least - most));
}

// `scores` are the logarithms of the probabilities of each step's classes.
double negative_log_likelihood(const double* scores, int64_t steps, int64_t step_stride,
                               std::span<const int64_t> labels, int64_t blank) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const size_t states = 2 * labels.size() + 1;
  const auto label = [&](size_t s) { return s % 2 ? labels[s / 2] : blank; };
  if (steps == 0) return labels.empty() ? 0.0 : -kNever;
  std::vector<double> now(states, kNever), before;
  now[0] = scores[blank];
  if (states > 1) now[1] = scores[label(1)];
  for (int64_t t = 1; t < steps; ++t) {
    before = now;
    for (size_t s = 0; s < states; ++s) {
      double sum = before[s];
      if (s > 0) sum = log_sum(sum, before[s - 1]);
      // From label to label, where the two differ.
      if (s > 2 && s % 2 && label(s) != label(s - 2)) sum = log_sum(sum, before[s - 2]);
      now[s] = sum + scores[t * step_stride + label(s)];
    }
  }
  return -(states > 1 ? log_sum(now[states - 1], now[states - 2]) : now[0]);
}

Ints integers(const Tensor& x) {
  const Tensor flat = cast(x, DType::I64).contiguous();
  return Ints(flat.data_as<int64_t>(), flat.data_as<int64_t>() + flat.numel());
}

// Losses of the sequences, and the targets' lengths.
std::pair<Tensor, Tensor> ctc_losses(const Tensor& log_probs, const Tensor& targets,
                                     const Ints& input_lengths, const Ints& target_lengths, int64_t blank,
                                     bool zero_infinity) {
  WEFT_CHECK(log_probs.dim() == 2 || log_probs.dim() == 3,
             "ctc_loss: expected log_probs [T, N, C] or [T, C], got " + describe(log_probs));
  const bool is_single = log_probs.dim() == 2;
  const int64_t steps = log_probs.size(0), batch = is_single ? 1 : log_probs.size(1),
                classes = log_probs.size(-1);
  WEFT_CHECK(static_cast<int64_t>(input_lengths.size()) == batch &&
                 static_cast<int64_t>(target_lengths.size()) == batch,
             fmt::format("ctc_loss: expected lengths of {} sequences, got {} and {}", batch,
                         input_lengths.size(), target_lengths.size()));
  WEFT_CHECK(blank >= 0 && blank < classes,
             fmt::format("ctc_loss: blank {} is none of {} classes", blank, classes));
  const Tensor scores = cast(log_probs, DType::F64).contiguous();
  const Ints labels = integers(targets);
  const bool is_padded = targets.dim() == 2;
  const Tensor losses = Tensor::empty({batch}, DType::F64);
  size_t start = 0;
  for (int64_t n = 0; n < batch; ++n) {
    const auto count = static_cast<size_t>(target_lengths[static_cast<size_t>(n)]);
    const int64_t length = input_lengths[static_cast<size_t>(n)];
    const size_t first = is_padded ? static_cast<size_t>(n * targets.size(1)) : start;
    start += count;
    WEFT_CHECK(length >= 0 && length <= steps && first + count <= labels.size() &&
                   (!is_padded || static_cast<int64_t>(count) <= targets.size(1)),
               fmt::format("ctc_loss: lengths {} and {} are more than there is", length, count));
    const std::span<const int64_t> own(labels.data() + first, count);
    for (const int64_t label : own)
      WEFT_CHECK_INDEX(label >= 0 && label < classes,
                       fmt::format("ctc_loss: label {} is none of {} classes", label, classes));
    double loss =
        negative_log_likelihood(scores.data_as<double>() + n * classes, length, batch * classes, own, blank);
    if (zero_infinity && std::isinf(loss)) loss = 0;
    losses.data_as<double>()[n] = loss;
  }
  return {is_single ? in_shape(losses, {}) : losses,
          target_lengths.empty() ? Tensor() : Tensor::of(target_lengths)};
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Ints& input_lengths,
                const Ints& target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) {
  auto [losses, lengths] =
      ctc_losses(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity);
  if (reduction == kMean) {
    const Tensor divisor = cast(promoted(op<"maximum">(), {lengths, Scalar(1)}), DType::F64);
    losses = promoted(op<"true_divide">(), {losses, divisor});
  }
  return cast(reduced(losses, reduction), log_probs.dtype());
}

[[maybe_unused]] const bool kSequenceLosses = [] {
  define(
      "ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int "
      "blank=0, int "
      "reduction=1, bool zero_infinity=False) -> Tensor",
      [](const Tensor& log_probs, const Tensor& targets, const Ints& inputs, const Ints& lengths,
         int64_t blank, int64_t reduction,
         bool zero) { return ctc_loss(log_probs, targets, inputs, lengths, blank, reduction, zero); });
  define(
      "ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int "
      "blank=0, int "
      "reduction=1, bool zero_infinity=False) -> Tensor",
      [](const Tensor& log_probs, const Tensor& targets, const Tensor& inputs, const Tensor& lengths,
         int64_t blank, int64_t reduction, bool zero) {
        return ctc_loss(log_probs, targets, integers(inputs), integers(lengths), blank, reduction, zero);
      });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten::losses
