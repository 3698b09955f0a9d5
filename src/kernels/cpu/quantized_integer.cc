// Products of rows that are rounded to integers, of 16 or 8 bits, with int8 and int4 weights.
#include <algorithm>

#include "kernels/cpu/quantized_matrix.h"

namespace weft::kernels {
namespace {

constexpr int64_t kChunk = 1024;     // inputs, whose weights of a panel stay in the second-level cache
constexpr int64_t kUnpacked = 512;   // inputs whose int4 weights are unpacked at once
constexpr int64_t kInt8Group = 128;  // inputs with one scale where the weights have no groups

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

// x as [chunks of inputs][rows][planes][kChunk] bytes, and what belongs to each group of inputs:
// [rows][groups].
struct PackedMatrix::Integers {
  int planes;
  int64_t group, groups;
  float *scales, *sums;
  int32_t* starts;
  int8_t* values;
};

struct PackedMatrix::IntegerRows {
  const PackedMatrix& matrix;
  const ProductArgs& args;
  Integers x;

  IntegerRows(const PackedMatrix& matrix, const ProductArgs& args, int planes, Scratch& scratch)
      : matrix(matrix), args(args) {
    x.planes = planes;
    x.group = matrix.format_ == WeightFormat::Int4 ? matrix.group_ : kInt8Group;
    x.groups = ceil_div(matrix.packed_in_, x.group);
    const int64_t groups = args.rows * x.groups,
                  bytes = args.rows * planes * ceil_div(matrix.packed_in_, kChunk) * kChunk;
    x.scales = scratch.floats(3 * groups + bytes / 4);
    x.sums = x.scales + groups;
    x.starts = reinterpret_cast<int32_t*>(x.sums + groups);
    x.values = reinterpret_cast<int8_t*>(x.starts + groups);
  }

  static void round(void* context, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) static_cast<const IntegerRows*>(context)->round_row(i);
  }

  void round_row(int64_t i) const {
    alignas(64) float copy[kChunk];
    const bool in_place = args.x.dtype == DType::F32 && matrix.packed_in_ == matrix.in_;
    for (int64_t k = 0; k < matrix.packed_in_; k += kChunk) {
      const int64_t count = std::min(kChunk, matrix.packed_in_ - k);
      if (!in_place) to_floats(args.x, i, 1, k, std::min(count, matrix.in_ - k), count, copy, kChunk);
      const int64_t group = i * x.groups + k / x.group;
      quantized_kernels().quantize_row(
          {.x = in_place ? static_cast<const float*>(args.x.data) + i * args.x.stride + k : copy,
           .k = count,
           .plane = kChunk,
           .group = x.group,
           .planes = x.planes,
           .offset = matrix.format_ == WeightFormat::Int4 ? 8 : 128,
           .values = x.values + k * args.rows * x.planes + i * x.planes * kChunk,
           .scales = x.scales + group,
           .sums = x.sums + group,
           .starts = x.starts + group});
    }
  }

  static void run(void* context, int64_t begin, int64_t end) {
    thread_local Scratch scratch;
    const IntegerRows& self = *static_cast<const IntegerRows*>(context);
    const bool many = self.args.rows > kMaxSmallBatch;
    const bool unpack = many && self.matrix.format_ == WeightFormat::Int4 && self.x.planes == 1;
    const int64_t at_once = many ? kPanelsAtOnce : 1, sums = at_once * self.args.rows * kPanel;
    float* const floats =
        scratch.floats(sums + (unpack ? kUnpacked * kPanel / 4 + kUnpacked / 32 * 2 * kPanel : 0));
    for (int64_t panel = begin; panel < end; panel += at_once)
      self.run_panels(panel, std::min(at_once, end - panel), floats, unpack ? floats + sums : nullptr);
  }

  // sums: [panels][rows][64]; unpacked: room for the weights of kUnpacked inputs, or null.
  void run_panels(int64_t first, int64_t panels, float* sums, float* unpacked) const {
    std::fill(sums, sums + panels * args.rows * kPanel, 0.0f);
    const int64_t step = unpacked ? kUnpacked : kChunk;
    for (int64_t k = 0; k < matrix.packed_in_; k += step)
      for (int64_t i = 0; i < panels; ++i)
        add_products(first + i, k, std::min(step, matrix.packed_in_ - k), sums + i * args.rows * kPanel,
                     unpacked);
    for (int64_t i = 0; i < panels; ++i) matrix.finish(args, first + i, sums + i * args.rows * kPanel);
  }

  void add_products(int64_t panel, int64_t k, int64_t count, float* sums, float* unpacked) const {
    const QuantizedKernels& kernels = quantized_kernels();
    const DotFn* dot = kernels.dot[matrix.format_ == WeightFormat::Int4][x.planes - 1];
    int64_t most = kernels.dot_rows[x.planes - 1];
    const uint8_t* weights = matrix.panel(panel) + matrix.offset_of(k);
    if (unpacked) {
      auto* const bytes = reinterpret_cast<uint8_t*>(unpacked + kUnpacked / 32 * 2 * kPanel);
      kernels.unpack_int4(weights, count, x.group, bytes, unpacked);
      weights = bytes, dot = kernels.dot_unpacked, most = kernels.unpacked_rows;
    }
    const int64_t parts = ceil_div(args.rows, most), chunk = k / kChunk * kChunk;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t first = part * args.rows / parts, rows = (part + 1) * args.rows / parts - first;
      const int64_t group = first * x.groups + k / x.group;
      dot[rows]({.x = x.values + chunk * args.rows * x.planes + first * x.planes * kChunk + k - chunk,
                 .x_stride = x.planes * kChunk,
                 .x_plane = kChunk,
                 .x_scales = x.scales + group,
                 .x_sums = x.sums + group,
                 .x_starts = x.starts + group,
                 .groups_stride = x.groups,
                 .k = count,
                 .group = x.group,
                 .weights = weights,
                 .scales = unpacked,
                 .y = sums + first * kPanel});
    }
  }
};

void PackedMatrix::multiply_integers(const ProductArgs& args, int planes) const {
  thread_local Scratch scratch;
  IntegerRows rows(*this, args, planes, scratch);
  parallel_for_raw(0, args.rows, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, packed_in_)),
                   IntegerRows::round, &rows);
  for_each_panel(IntegerRows::run, &rows);
}

}  // namespace weft::kernels
