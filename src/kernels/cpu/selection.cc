// Two passes over the flags: every chunk is counted, then writes where the counts before it end. Eight flags
// are looked at at once, so that stretches where nothing or everything is selected cost little.
#include "kernels/cpu/selection.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <numeric>
#include <vector>

#include "weft/error.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

constexpr int64_t kFlagBlock = 1 << 14;  // flags
constexpr int64_t kWord = sizeof(uint64_t);
constexpr int64_t kMany =
    16;  // flags: those that differ are looked for where they are less than one in so many
constexpr uint64_t kAllTrue = 0x0101010101010101;

// Eight flags as bytes of 0 and 1, whatever stands for true in memory that was something else before.
uint64_t word_at(const bool* flags) {
  constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  uint64_t word;
  std::memcpy(&word, flags, sizeof(word));
  return ((((word & kLow) + kLow) | word) >> 7) & kAllTrue;
}

bool flag_at(const bool* flag) {
  uint8_t byte;
  std::memcpy(&byte, flag, 1);
  return byte != 0;
}

int64_t count_true(const bool* flags, int64_t count) {
  int64_t found = 0, i = 0;
  for (; i + kWord <= count; i += kWord) found += static_cast<int64_t>((word_at(flags + i) * kAllTrue) >> 56);
  for (; i < count; ++i) found += flag_at(flags + i);
  return found;
}

// Calls select(i) for true flags[i] in order; select_word(i) where the eight from i on are true.
template <class Select, class SelectWord>
void for_each_true(const bool* flags, int64_t begin, int64_t end, const Select& select,
                   const SelectWord& select_word) {
  int64_t i = begin;
  for (; i + kWord <= end; i += kWord) {
    const uint64_t word = word_at(flags + i);
    if (word == kAllTrue) {
      select_word(i);
      continue;
    }
    for (uint64_t rest = word; rest != 0; rest &= rest - 1) select(i + __builtin_ctzll(rest) / 8);
  }
  for (; i < end; ++i)
    if (flag_at(flags + i)) select(i);
}

// Where each chunk's selection begins in the result; the last: its size.
std::vector<int64_t> chunk_starts(const bool* flags, int64_t count) {
  const int64_t chunks = (count + kFlagBlock - 1) / kFlagBlock;
  std::vector<int64_t> starts(static_cast<size_t>(chunks) + 1, 0);
  parallel_for(0, chunks, 4, [&](int64_t first, int64_t last) {
    for (int64_t c = first; c < last; ++c)
      starts[static_cast<size_t>(c) + 1] =
          count_true(flags + c * kFlagBlock, std::min(kFlagBlock, count - c * kFlagBlock));
  });
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  return starts;
}

// write(begin, end, first): the flags' range, and the place of its first selected element in the result.
template <class Write>
void for_each_chunk(const std::vector<int64_t>& starts, int64_t count, const Write& write) {
  parallel_for(0, static_cast<int64_t>(starts.size()) - 1, 2, [&](int64_t first, int64_t last) {
    for (int64_t c = first; c < last; ++c) {
      const int64_t at = starts[static_cast<size_t>(c)];
      if (starts[static_cast<size_t>(c) + 1] > at)
        write(c * kFlagBlock, std::min(count, (c + 1) * kFlagBlock), at);
    }
  });
}

// Calls select(i, place) for i of the range in order; what counts is the last call for each of the `count`
// places, which is for a true flag: no branch depends on one.
template <class Select>
void for_each_place(const bool* flags, int64_t begin, int64_t end, int64_t count, const Select& select) {
  int64_t i = begin, place = 0;
  for (; i + kWord <= end && place + kWord <= count; i += kWord) {
    uint64_t word = word_at(flags + i);
    for (int64_t k = 0; k < kWord; ++k, word >>= 8) {
      select(i + k, place);
      place += static_cast<int64_t>(word & 1);
    }
  }
  for (; place < count; ++i)
    if (flag_at(flags + i)) select(i, place++);
}

template <class T>
void select_elements(const Tensor& x, const bool* flags, const std::vector<int64_t>& starts, Tensor& result) {
  const T* from = static_cast<const T*>(x.data());
  T* to = static_cast<T*>(result.data());
  for_each_chunk(starts, x.numel(), [&](int64_t begin, int64_t end, int64_t first) {
    T* const out = to + first;
    const int64_t count = starts[static_cast<size_t>(begin / kFlagBlock) + 1] - first;
    if (std::min(count, end - begin - count) * kMany < end - begin) {
      T* next = out;
      for_each_true(
          flags, begin, end, [&](int64_t i) { *next++ = from[i]; },
          [&](int64_t i) {
            std::memcpy(next, from + i, kWord * sizeof(T));
            next += kWord;
          });
    } else {
      for_each_place(flags, begin, end, count, [&](int64_t i, int64_t place) { out[place] = from[i]; });
    }
  });
}

void write_positions_1d(const bool* flags, int64_t begin, int64_t end, int64_t* out) {
  for_each_true(
      flags, begin, end, [&](int64_t i) { *out++ = i; },
      [&](int64_t i) {
        for (int64_t k = 0; k < kWord; ++k) *out++ = i + k;
      });
}

// Row by row of the last dimension, whose leading positions are the same.
void write_positions(const bool* flags, const Shape& shape, int64_t begin, int64_t end, int64_t* out) {
  const size_t ndim = shape.size(), last = ndim - 1;
  const int64_t width = shape[last];
  std::vector<int64_t> position(ndim);
  int64_t rest = begin;
  for (size_t d = ndim; d-- > 0; rest /= shape[d]) position[d] = rest % shape[d];
  for (int64_t i = begin; i < end;) {
    const int64_t column = position[last], stop = std::min(end, i - column + width), row = i - column;
    const auto select = [&](int64_t k) {
      for (size_t d = 0; d < last; ++d) out[d] = position[d];
      out[last] = k - row;
      out += ndim;
    };
    for_each_true(flags, i, stop, select, [&](int64_t k) {
      for (int64_t j = 0; j < kWord; ++j) select(k + j);
    });
    i = stop;
    position[last] = 0;
    for (size_t d = last; d-- > 0;) {
      if (++position[d] < shape[d]) break;
      position[d] = 0;
    }
  }
}

}  // namespace

Tensor nonzero(const Tensor& x) {
  const Tensor mask = x.to(DType::Bool).contiguous();
  const bool* flags = mask.data_as<bool>();
  const std::vector<int64_t> starts = chunk_starts(flags, mask.numel());
  const int64_t ndim = x.dim();
  Tensor result = Tensor::empty({starts.back(), ndim}, DType::I64, x.device());
  if (ndim == 0) return result;
  int64_t* out = result.data_as<int64_t>();
  for_each_chunk(starts, mask.numel(), [&](int64_t begin, int64_t end, int64_t first) {
    if (ndim == 1)
      write_positions_1d(flags, begin, end, out + first);
    else
      write_positions(flags, x.shape(), begin, end, out + first * ndim);
  });
  return result;
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  WEFT_ASSERT(mask.dtype() == DType::Bool && mask.shape() == x.shape(), "masked_select: a mask of x's shape");
  const Tensor from = x.contiguous(), flags = mask.contiguous();
  const std::vector<int64_t> starts = chunk_starts(flags.data_as<bool>(), flags.numel());
  Tensor result = Tensor::empty({starts.back()}, x.dtype(), x.device());
  switch (itemsize(x.dtype())) {
    case 1: select_elements<uint8_t>(from, flags.data_as<bool>(), starts, result); break;
    case 2: select_elements<uint16_t>(from, flags.data_as<bool>(), starts, result); break;
    case 4: select_elements<uint32_t>(from, flags.data_as<bool>(), starts, result); break;
    case 8: select_elements<uint64_t>(from, flags.data_as<bool>(), starts, result); break;
    default: select_elements<std::complex<double>>(from, flags.data_as<bool>(), starts, result); break;
  }
  return result;
}

}  // namespace weft::kernels
