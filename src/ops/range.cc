#include "ops/range.h"

#include <cmath>

#include "ops/build.h"
#include "weft/detail/visit_dtype.h"
#include "weft/parallel.h"

namespace weft::ops {

namespace {

constexpr int64_t kRunBytes = 32, kRunsAtATime = 2;

// Digits of the significand, with the one that is not stored.
int digits(DType dtype) {
  switch (dtype) {
    case DType::F64: return 53;
    case DType::F32: return 24;
    case DType::F16: return 11;
    default: return 8;
  }
}

bool is_whole(double x) { return std::floor(x) == x; }

// Every number of the range has few enough digits that nothing is rounded, in whichever order it is computed.
bool is_exact(int64_t count, double start, double step, DType dtype) {
  const double largest = std::abs(start) + std::abs(step) * static_cast<double>(count);
  const int bits = digits(dtype) - 1;
  if (!(largest > 0 && largest < 0x1p60)) return largest == 0 && !std::signbit(start);
  const int unit = std::ilogb(largest) - bits;  // what the last digit of the largest counts
  return unit > (dtype == DType::F16 ? -24 : -120) && is_whole(std::ldexp(start, -unit)) &&
         is_whole(std::ldexp(step, -unit));
}

template <class T, class Compute>
void fill(T* out, int64_t count, Compute start, Compute step) {
  constexpr int64_t run = kRunBytes / static_cast<int64_t>(sizeof(T));
  const int64_t whole = count - count % (run * kRunsAtATime);
  parallel_for(0, whole / run, 1 << 12, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const auto first = static_cast<Compute>(T(std::fma(static_cast<Compute>(r * run), step, start)));
      for (int64_t i = 0; i < run; ++i) out[r * run + i] = T(std::fma(static_cast<Compute>(i), step, first));
    }
  });
  for (int64_t i = whole; i < count; ++i) out[i] = T(std::fma(static_cast<Compute>(i), step, start));
}

Tensor eager(int64_t count, double start, double step, DType dtype) {
  Tensor result = Tensor::empty({count}, dtype);
  if (count == 0) return result;
  switch (dtype) {
    case DType::F64: fill(result.data_as<double>(), count, start, step); break;
    case DType::F32: fill(result.data_as<float>(), count, start, step); break;
    case DType::F16:
      fill(result.data_as<Half>(), count, static_cast<float>(start), static_cast<float>(step));
      break;
    default: fill(result.data_as<BFloat16>(), count, static_cast<float>(start), static_cast<float>(step));
  }
  return result;
}

}  // namespace

Sym whole_runs(const Sym& count, DType dtype) {
  const Sym at_a_time(kRunBytes / itemsize(dtype) * kRunsAtATime);
  return floor_div(count, at_a_time) * at_a_time;
}

bool is_rounded_in_runs(DType dtype) {
  return dtype == DType::F64 || dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
}

Tensor range_in_runs(const Sym& count, const Operand& whole, const Operand& start, const Operand& step,
                     DType dtype, Device device) {
  const DType compute = dtype == DType::F64 || dtype == DType::F32 ? DType::F64 : DType::F32;
  const auto number = [&](const Operand& value, DType in) {
    const Tensor* tensor = std::get_if<Tensor>(&value);
    return tensor ? build::cast(*tensor, in) : build::full({}, std::get<Scalar>(value), in, device);
  };
  const Tensor position = build::iota(count, Scalar(0), Scalar(1), DType::I64, device);
  const Tensor in_run =
      invoke("bitwise_and", {position, Scalar(kRunBytes / static_cast<int64_t>(itemsize(dtype)) - 1)});
  // Behind the last whole runs every number is the first of a run.
  const Tensor is_behind = invoke("ge", {position, number(whole, DType::I64)});
  const Tensor lane = invoke("where", {is_behind, number(Scalar(0), DType::I64), in_run});
  const Tensor width = number(step, compute);
  const auto away = [&](const Tensor& steps, const Tensor& from) {
    return invoke("fused_multiply_add", {build::cast(steps, compute), width, from});
  };
  const Tensor first = build::cast(away(build::sub(position, lane), number(start, compute)), dtype);
  return build::cast(away(lane, build::cast(first, compute)), dtype);
}

Tensor torch_range(int64_t count, Scalar start, Scalar step, DType dtype, Device device) {
  if (!is_rounded_in_runs(dtype) || is_exact(count, start.to_double(), step.to_double(), dtype))
    return build::iota(Sym(count), start, step, dtype, device);
  static const OpDef& iota = get_op("iota");
  if (device == Device() && !is_recorded(iota, {}))
    return eager(count, start.to_double(), step.to_double(), dtype);
  return range_in_runs(Sym(count), Scalar(whole_runs(Sym(count), dtype).constant()), start, step, dtype,
                       device);
}

}  // namespace weft::ops
