// torchaudio's operators that its filters call in place of loops in Python.
#include <fmt/format.h>

#include <array>
#include <span>

#include "core/memory_watch.h"
#include "script/builtins/aten.h"

namespace weft::jit::aten::audio {
namespace {

void check_operands(const char* name, std::span<const Tensor* const> operands) {
  const DType dtype = operands[0]->dtype();
  WEFT_CHECK_TYPE(dtype == DType::F32 || dtype == DType::F64,
                  fmt::format("{}: expected float32 or float64, got {}", name, describe(*operands[0])));
  for (const Tensor* one : operands) {
    WEFT_CHECK_TYPE(one->dtype() == dtype, fmt::format("{}: expected {} as the first operand is, got {}",
                                                       name, weft::name(dtype), describe(*one)));
    WEFT_CHECK(one->device() == Device(),
               fmt::format("{}: computes on the CPU, got {}", name, describe(*one)));
  }
}

void check_shape(const char* name, const char* what, const Tensor& x, const Shape& expected) {
  WEFT_CHECK(x.shape() == expected,
             fmt::format("{}: expected {} of shape {}, got {}", name, what, str(expected), describe(x)));
}

// Of windows[batch, channels, samples] the recursive filter of coefficients[channels, order], the last of
// which is the newest sample's; result[batch, channels, samples + order - 1] begins with order - 1 samples
// that came before.
template <class T>
void lfilter_into(const Tensor& windows, const Tensor& coefficients, const Tensor& result) {
  const int64_t samples = windows.size(2), order = coefficients.size(1), channels = windows.size(1);
  const T* input = windows.data_as<T>();
  T* output = result.data_as<T>();
  for (int64_t row = 0; row < windows.size(0) * channels; ++row, input += samples) {
    const T* factors = coefficients.data_as<T>() + row % channels * order;
    for (int64_t i = 0; i < samples; ++i) {
      T value = input[i];
      for (int64_t j = 0; j < order; ++j) value -= output[i + j] * factors[j];
      output[i + order - 1] = value;
    }
    output += samples + order - 1;
  }
}

void lfilter(const Tensor& windows, const Tensor& coefficients, const Tensor& result) {
  constexpr const char* kName = "_lfilter_core_loop";
  check_operands(kName, std::array{&windows, &coefficients, &result});
  WEFT_CHECK(
      windows.dim() == 3 && coefficients.dim() == 2 && coefficients.size(0) == windows.size(1) &&
          coefficients.size(1) > 0,
      fmt::format("{}: expected windows [batch, channels, samples] and coefficients [channels, order], "
                  "got {} and {}",
                  kName, describe(windows), describe(coefficients)));
  check_shape(kName, "a result", result,
              {windows.size(0), windows.size(1), windows.size(2) + coefficients.size(1) - 1});
  WEFT_CHECK(result.is_contiguous(), fmt::format("{}: the result must be contiguous", kName));
  if (windows.dtype() == DType::F32)
    lfilter_into<float>(windows.contiguous(), coefficients.contiguous(), result);
  else
    lfilter_into<double>(windows.contiguous(), coefficients.contiguous(), result);
  note_write(*result.storage());
}

// The high-pass filter and the mixture of sox's overdrive: rows[channels, samples].
template <class T>
void overdrive_into(const Tensor& waveform, const Tensor& driven, const Tensor& last_in,
                    const Tensor& last_out, const Tensor& result) {
  const int64_t samples = waveform.size(1);
  const T *clean = waveform.data_as<T>(), *given = driven.data_as<T>();
  T *before = last_in.data_as<T>(), *after = last_out.data_as<T>(), *mixed = result.data_as<T>();
  for (int64_t row = 0; row < waveform.size(0); ++row, ++before, ++after) {
    for (int64_t i = 0; i < samples; ++i, ++clean, ++given, ++mixed) {
      *after = *given - *before + T(0.995) * *after;
      *before = *given;
      *mixed = *clean * T(0.5) + *after * T(0.75);
    }
  }
}

void overdrive(const Tensor& waveform, const Tensor& driven, const Tensor& last_in, const Tensor& last_out,
               const Tensor& result) {
  constexpr const char* kName = "_overdrive_core_loop";
  check_operands(kName, std::array{&waveform, &driven, &last_in, &last_out, &result});
  WEFT_CHECK(waveform.dim() == 2,
             fmt::format("{}: expected [channels, samples], got {}", kName, describe(waveform)));
  check_shape(kName, "driven samples", driven, waveform.shape());
  check_shape(kName, "a result", result, waveform.shape());
  for (const Tensor* last : {&last_in, &last_out}) {
    check_shape(kName, "last samples", *last, {waveform.size(0)});
    WEFT_CHECK(last->is_contiguous(), fmt::format("{}: last samples must be contiguous", kName));
  }
  WEFT_CHECK(result.is_contiguous(), fmt::format("{}: the result must be contiguous", kName));
  if (waveform.dtype() == DType::F32)
    overdrive_into<float>(waveform.contiguous(), driven.contiguous(), last_in, last_out, result);
  else
    overdrive_into<double>(waveform.contiguous(), driven.contiguous(), last_in, last_out, result);
  for (const Tensor* written : {&last_in, &last_out, &result}) note_write(*written->storage());
}

[[maybe_unused]] const bool kFilters = [] {
  builtin(
      "torchaudio::_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) "
      "padded_output_waveform) -> ()",
      [](const Tensor& windows, const Tensor& coefficients, const Tensor& result) {
        lfilter(windows, coefficients, result);
      });
  builtin(
      "torchaudio::_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) "
      "last_out, "
      "Tensor(c!) output_waveform) -> ()",
      [](const Tensor& waveform, const Tensor& driven, const Tensor& last_in, const Tensor& last_out,
         const Tensor& result) { overdrive(waveform, driven, last_in, last_out, result); });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten::audio
