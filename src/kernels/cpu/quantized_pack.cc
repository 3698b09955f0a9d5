// Rows of weights to panels of 64 outputs; quantized_kernels.h has their layout.
#include <algorithm>
#include <cstring>

#include "core/rounding.h"
#include "kernels/cpu/quantized_matrix.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

// Inputs that are packed together; those past the end are zeros.
int64_t packed_together(WeightFormat format, int64_t group, const GroupLayout& layout) {
  switch (format) {
    case WeightFormat::Int8: return 16;
    case WeightFormat::Int4: return group;
    case WeightFormat::Groups: return layout.block;
    default: return 1;
  }
}

// Elements of a row to every 64th element.
template <class T>
void scatter(const uint8_t* row, int64_t count, uint8_t* to) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * kPanel * static_cast<int64_t>(sizeof(T)), row + i * static_cast<int64_t>(sizeof(T)),
                sizeof(T));
}

// The same for as many rows as elements are in 16 bytes, which lie side by side in the panel: their
// transpose.
template <class T>
struct Square;

template <>
struct Square<uint16_t> {
  static constexpr int kSize = 8;
  typedef uint16_t Row __attribute__((vector_size(16)));
  static void transpose(Row (&x)[8]) {
    for (int pass = 0; pass < 3; ++pass) {
      Row y[8];
      for (int i = 0; i < 4; ++i) {
        y[2 * i] = __builtin_shufflevector(x[i], x[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
        y[2 * i + 1] = __builtin_shufflevector(x[i], x[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
      }
      std::copy_n(y, 8, x);
    }
  }
};

template <>
struct Square<uint32_t> {
  static constexpr int kSize = 4;
  typedef uint32_t Row __attribute__((vector_size(16)));
  static void transpose(Row (&x)[4]) {
    for (int pass = 0; pass < 2; ++pass) {
      Row y[4];
      for (int i = 0; i < 2; ++i) {
        y[2 * i] = __builtin_shufflevector(x[i], x[i + 2], 0, 4, 1, 5);
        y[2 * i + 1] = __builtin_shufflevector(x[i], x[i + 2], 2, 6, 3, 7);
      }
      std::copy_n(y, 4, x);
    }
  }
};

// `count` elements of each of kSize rows, a multiple of kSize, `row_bytes` apart. convert: applied to four
// bytes or two, in vectors.
template <class T, class F>
void transpose_rows(const uint8_t* row, int64_t row_bytes, int64_t count, uint8_t* to, F&& convert) {
  constexpr int64_t kSize = Square<T>::kSize, kItem = sizeof(T);
  for (int64_t k = 0; k < count; k += kSize, row += 16, to += kSize * kItem * kPanel) {
    typename Square<T>::Row square[kSize];
    for (int64_t i = 0; i < kSize; ++i) std::memcpy(&square[i], row + i * row_bytes, 16);
    Square<T>::transpose(square);
    for (int64_t i = 0; i < kSize; ++i) {
      const typename Square<T>::Row converted = convert(square[i]);
      std::memcpy(to + i * kItem * kPanel, &converted, 16);
    }
  }
}

// Four bytes of eight numbers q, the first in the high bits of the first, in the order of a panel.
template <class T>  // uint32_t or a vector of it
T reorder_int4(T bytes) {
  const T even = bytes >> 4 & 0x0f0f0f0fu,
          odd = bytes & 0x0f0f0f0fu;  // inputs 0, 2, 4, 6 and 1, 3, 5, 7
  const T even_pairs = even | even >> 12,
          odd_pairs = odd | odd >> 12;  // 0 and 4, 2 and 6 in the low bytes; 1 and 5, 3 and 7
  return (even_pairs & 0xffu) | (odd_pairs & 0xffu) << 8 | (even_pairs & 0xff00u) << 8 |
         (odd_pairs & 0xff00u) << 16;
}

// One output of a panel: a row of one of the matrices.
struct Source {
  const WeightRows* weights = nullptr;  // null: the panel is wider than the matrix
  int64_t row = 0;

  const uint8_t* bytes(int64_t row_bytes) const {
    return static_cast<const uint8_t*>(weights->values) + row * row_bytes;
  }
};

// Inputs [k, end) of one output, to where its weights of input k lie.
void pack_int8(const uint8_t* row, int64_t k, int64_t end, uint8_t* to) {
  const int64_t whole = (end - k) / 4;
  for (int64_t i = 0; i < whole; ++i, to += 4 * kPanel) {
    uint32_t four;
    std::memcpy(&four, row + k + 4 * i, 4);
    four ^= 0x80808080u;
    std::memcpy(to, &four, 4);
  }
  for (int64_t i = 0; i < (end - k) % 4; ++i) to[i] = row[k + 4 * whole + i] ^ 0x80;
}

void pack_int4(const Source& source, int64_t k, int64_t end, uint8_t* to, int64_t lane) {
  const int64_t group = source.weights->group, in = source.weights->in;
  const uint8_t* const row = source.bytes(in / 2);
  for (; k < end; k += group) {
    to += 4 * kPanel;
    for (int64_t i = k; i < k + group; i += 8, to += 4 * kPanel) {
      uint32_t bytes = 0x88888888u;  // past the end: zero
      if (i + 8 <= in)
        std::memcpy(&bytes, row + i / 2, 4);
      else if (i < in)
        std::memcpy(&bytes, row + i / 2, static_cast<size_t>((in - i) / 2));
      bytes = reorder_int4(bytes);
      std::memcpy(to + 4 * lane, &bytes, 4);
    }
  }
}

void pack_int4_scales(const Source& source, int64_t k, int64_t end, uint8_t* to, int64_t lane) {
  const int64_t group = source.weights->group, stride = 2 * source.weights->out;
  const auto* scales =
      static_cast<const uint16_t*>(source.weights->scales) + k / group * stride + 2 * source.row;
  for (; k < end; k += group, scales += stride, to += 4 * kPanel + group / 2 * kPanel) {
    std::memcpy(to + 2 * lane, scales, 2);
    std::memcpy(to + 2 * kPanel + 2 * lane, scales + 1, 2);
  }
}

// Inputs [k, end) of outputs from `lane` on, as many as a square of 16 bytes' elements has; whole squares.
void pack_squares(WeightFormat format, const Source& source, int64_t k, int64_t end, uint8_t* to,
                  int64_t lane) {
  const int64_t in = source.weights->in, count = end - k;
  const auto same = [](auto row) { return row; };
  switch (format) {
    case WeightFormat::F32:
      return transpose_rows<uint32_t>(source.bytes(4 * in) + 4 * k, 4 * in, count, to + 4 * lane, same);
    case WeightFormat::F16:
    case WeightFormat::BF16:
      return transpose_rows<uint16_t>(source.bytes(2 * in) + 2 * k, 2 * in, count, to + 2 * lane, same);
    case WeightFormat::Int8:
      return transpose_rows<uint32_t>(source.bytes(in) + k, in, count / 4, to + 4 * lane,
                                      [](auto row) { return row ^ 0x80808080u; });
    case WeightFormat::Int4:
    case WeightFormat::Groups: break;
  }
  const int64_t group = source.weights->group;
  for (; k < end; k += group, to += 4 * kPanel + group / 2 * kPanel)
    transpose_rows<uint32_t>(source.bytes(in / 2) + k / 2, in / 2, group / 8, to + 4 * kPanel + 4 * lane,
                             [](auto row) { return reorder_int4(row); });
}

// Where the outputs of a panel come from; gated: the gate's to the first half, up's to the other.
std::vector<Source> sources_of(int64_t panel, const std::vector<WeightRows>& weights, bool gated) {
  std::vector<Source> sources(kPanel);
  constexpr int64_t kHalf = kPanel / 2;
  for (int64_t lane = 0; lane < kPanel; ++lane) {
    size_t part = gated ? static_cast<size_t>(lane / kHalf) : 0;
    int64_t row = gated ? panel * kHalf + lane % kHalf : panel * kPanel + lane;
    while (!gated && part < weights.size() && row >= weights[part].out) row -= weights[part++].out;
    if (part < weights.size() && row < weights[part].out)
      sources[static_cast<size_t>(lane)] = {&weights[part], row};
  }
  return sources;
}

// How many outputs from `lane` on pack_squares takes, 0 if it does not.
int64_t square_at(const std::vector<Source>& sources, int64_t lane, WeightFormat format, int64_t inputs,
                  int64_t group) {
  const bool halves = format == WeightFormat::F16 || format == WeightFormat::BF16;
  const int64_t size = halves ? 8 : 4;
  const int64_t together = halves                         ? 8
                           : format == WeightFormat::F32  ? 4
                           : format == WeightFormat::Int8 ? 16
                                                          : group;
  if (lane % size != 0 || inputs % together != 0) return 0;
  const Source &first = sources[static_cast<size_t>(lane)],
               &last = sources[static_cast<size_t>(lane + size - 1)];
  return first.weights && first.weights == last.weights && last.row - first.row == size - 1 ? size : 0;
}

}  // namespace

PackedMatrix::PackedMatrix(const std::vector<WeightRows>& weights, bool gated)
    : format_(weights[0].format),
      gated_(gated),
      in_(weights[0].in),
      group_(weights[0].group),
      layout_(weights[0].layout) {
  if (format_ == WeightFormat::Groups) group_ = layout_.group;
  bool has_bias = false;
  for (const WeightRows& part : weights) {
    out_ += part.out;
    has_bias = has_bias || part.bias != nullptr;
  }
  packed_in_ = round_up(in_, packed_together(format_, group_, layout_));
  panels_ = gated_ ? (out_ / 2 + kPanel / 2 - 1) / (kPanel / 2) : (out_ + kPanel - 1) / kPanel;
  panel_bytes_ = offset_of(packed_in_);
  weights_ = Storage::allocate(static_cast<size_t>(std::max<int64_t>(1, panels_ * panel_bytes_)));
  if (format_ == WeightFormat::Int8) scales_ = FloatBuffer(panels_ * kPanel);
  if (has_bias) bias_ = FloatBuffer(panels_ * kPanel);
  parallel_for(0, panels_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) pack_panel(panel, weights);
  });
}

void PackedMatrix::pack_panel(int64_t panel, const std::vector<WeightRows>& weights) {
  constexpr int64_t kBlock = 256;  // inputs: their part of a panel stays in the first-level cache
  uint8_t* const to = static_cast<uint8_t*>(weights_->data()) + panel * panel_bytes_;
  const std::vector<Source> sources = sources_of(panel, weights, gated_);
  const bool full = packed_in_ == in_ && std::all_of(sources.begin(), sources.end(),
                                                     [](const Source& source) { return source.weights; });
  if (!full) std::memset(to, 0, static_cast<size_t>(panel_bytes_));
  for (int64_t lane = 0; lane < kPanel; ++lane) {
    const auto& [rows, row] = sources[static_cast<size_t>(lane)];
    const int64_t index = panel * kPanel + lane;
    if (scales_.data()) scales_.data()[index] = rows ? static_cast<const float*>(rows->scales)[row] : 0.0f;
    if (bias_.data()) bias_.data()[index] = rows && rows->bias ? rows->bias[row] : 0.0f;
  }
  if (format_ == WeightFormat::Groups) {
    for (int64_t lane = 0; lane < kPanel; ++lane)
      if (const Source& source = sources[static_cast<size_t>(lane)]; source.weights)
        pack_groups(*source.weights, source.row, to, lane);
    return;
  }
  for (int64_t k = 0; k < in_; k += kBlock) {
    const int64_t end = std::min(in_, k + kBlock);
    uint8_t* const at = to + offset_of(k);
    for (int64_t lane = 0; lane < kPanel; ++lane) {
      const Source& source = sources[static_cast<size_t>(lane)];
      if (source.weights && format_ == WeightFormat::Int4) pack_int4_scales(source, k, end, at, lane);
    }
    for (int64_t lane = 0, taken = 1; lane < kPanel; lane += taken) {
      const Source& source = sources[static_cast<size_t>(lane)];
      taken = square_at(sources, lane, format_, end - k, group_);
      if (taken > 0) {
        pack_squares(format_, source, k, end, at, lane);
        continue;
      }
      taken = 1;
      if (!source.weights) continue;
      switch (format_) {
        case WeightFormat::F32:
          scatter<uint32_t>(source.bytes(4 * in_) + 4 * k, end - k, at + 4 * lane);
          break;
        case WeightFormat::F16:
        case WeightFormat::BF16:
          scatter<uint16_t>(source.bytes(2 * in_) + 2 * k, end - k, at + 2 * lane);
          break;
        case WeightFormat::Int8: pack_int8(source.bytes(in_), k, end, at + 4 * lane); break;
        case WeightFormat::Int4: pack_int4(source, k, end, at, lane); break;
        case WeightFormat::Groups: break;
      }
    }
    if (format_ == WeightFormat::BF16 && !all_finite(at, end - k)) is_finite_ = false;
  }
}

// Of `count` inputs' bfloat16 weights in a panel.
bool PackedMatrix::all_finite(const uint8_t* panel, int64_t count) {
  constexpr uint16_t kExponent = 0x7f80;
  uint16_t found = 0;
  for (int64_t i = 0; i < count * kPanel; ++i) {
    uint16_t bits;
    std::memcpy(&bits, panel + 2 * i, sizeof bits);
    found |= static_cast<uint16_t>((bits & kExponent) == kExponent);
  }
  return found == 0;
}

int64_t PackedMatrix::bytes() const { return panels_ * (panel_bytes_ + (scales_.data() ? kPanel * 4 : 0)); }

}  // namespace weft::kernels
