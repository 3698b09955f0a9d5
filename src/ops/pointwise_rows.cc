// Pointwise operators over operands that are no contiguous runs: row by row where rows are long enough.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>

#include "core/copy.h"
#include "ops/elements.h"
#include "ops/pointwise_loop.h"
#include "ops/strided_rows.h"
#include "weft/parallel.h"

namespace weft::ops {
namespace {

constexpr int64_t kLine = 64;  // bytes

// An operand along the rows.
struct Source {
  const std::byte* base;
  int64_t stride;              // in elements
  int64_t size;                // of an element
  ConvertFn read;              // into a block
  bool is_direct;              // read where it is
  const void* held = nullptr;  // what the block is full of, where it is one element for all of a row
  int64_t held_count = 0;
};

// Where in two blocks to hold what is read beside `target`: as far into a page. A load whose place in a page
// is that of a store just before waits for it.
std::byte* beside(std::byte* blocks, const std::byte* target) {
  constexpr uintptr_t kPage = 4096;
  static_assert(sizeof(BlockBuffer) >= kPage);
  const uintptr_t ahead = reinterpret_cast<uintptr_t>(target) - reinterpret_cast<uintptr_t>(blocks);
  return blocks + ahead % kPage / kLine * kLine;
}

StridedRows rows_of(std::span<const Tensor> operands, const Tensor& result) {
  std::vector<Strides> strides;
  for (const Tensor& operand : operands) strides.push_back(broadcast_strides(operand, result.shape()));
  strides.push_back(result.strides());
  return StridedRows(result.shape(), strides);
}

// Rows that the kernel reads and writes where they are, each at once.
void run_rows_where_they_are(const kernels::BuiltKernel& kernel, const StridedRows& rows,
                             std::span<const Source> sources, std::byte* out, int64_t out_size) {
  const size_t count = sources.size();
  parallel_for(
      0, rows.count(), std::max<int64_t>(1, kGrain / rows.length()), [&](int64_t begin, int64_t end) {
        rows.for_each_run(
            begin, end,
            [&](int64_t times, const StridedRows::Offsets& offsets, const StridedRows::Offsets& steps) {
              std::array<std::byte*, kMostOperands + 1> first{};
              std::array<int64_t, kMostOperands + 1> bytes{};
              for (size_t i = 0; i <= count; ++i) {
                const int64_t size = i < count ? sources[i].size : out_size;
                first[i] = (i < count ? const_cast<std::byte*>(sources[i].base) : out) + offsets[i] * size;
                bytes[i] = steps[i] * size;
              }
              run_built_repeatedly(kernel, std::span(first).first(count + 1),
                                   std::span(bytes).first(count + 1), times, rows.length());
            });
      });
}

}  // namespace

BlockBuffer* scratch_blocks() {
  thread_local const std::unique_ptr<BlockBuffer[]> blocks(new BlockBuffer[2 * kMostOperands + 1]);
  return blocks.get();
}

Tensor with_dimensions(const Tensor& x, const std::vector<size_t>& order) {
  Shape shape(order.size());
  Strides strides(order.size());
  for (size_t d = 0; d < order.size(); ++d) {
    shape[d] = x.shape()[order[d]];
    strides[d] = x.strides()[order[d]];
  }
  return x.as_strided(std::move(shape), std::move(strides), x.offset());
}

std::vector<Tensor> in_common_order(std::span<const Tensor> operands, const Shape& shape,
                                    std::vector<size_t>& order) {
  const Tensor* first = nullptr;
  for (const Tensor& operand : operands) {
    if (operand.numel() == 1) continue;
    if (operand.shape() != shape) return {};
    if (first == nullptr) {
      if (operand.is_contiguous()) return {};
      first = &operand;
    } else if (operand.strides() != first->strides()) {
      return {};
    }
  }
  if (first == nullptr) return {};
  order.resize(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return first->strides()[a] > first->strides()[b]; });
  if (!with_dimensions(*first, order).is_contiguous()) return {};
  std::vector<Tensor> result;
  for (const Tensor& operand : operands)
    result.push_back(operand.numel() == 1
                         ? Tensor(operand.storage(), operand.dtype(), {}, {}, operand.offset())
                         : with_dimensions(operand, order));
  return result;
}

Tensor in_reading_order(const Tensor& x) {
  constexpr int64_t kFew = 256;
  if (x.numel() < kFew || x.is_contiguous()) return x;
  int64_t last = 0, densest = 0;  // strides
  for (size_t d = 0; d < x.shape().size(); ++d) {
    if (x.shape()[d] == 1) continue;
    last = std::abs(x.strides()[d]);
    if (last != 0 && (densest == 0 || last < densest)) densest = last;
  }
  return last > densest && last * itemsize(x.dtype()) >= kLine ? x.contiguous() : x;
}

int64_t row_length(std::span<const Tensor> operands, const Tensor& result) {
  return rows_of(operands, result).length();
}

bool run_beside_repeated_rows(const Loops& loops, std::span<const Tensor> operands, const Tensor& result) {
  const StridedRows rows = rows_of(operands, result);
  const size_t count = operands.size();
  const int64_t length = rows.length();
  // Fewer rows in each block than this are gone along one by one.
  constexpr int64_t kFewest = 4;
  int64_t widest = itemsize(result.dtype());
  for (const Tensor& operand : operands) widest = std::max<int64_t>(widest, itemsize(operand.dtype()));
  const int64_t repeats = kBlock * kMaxElementSize / widest / length;
  if (!rows.has_one_outer() || repeats < kFewest || !rows.is_flat(count)) return false;
  unsigned numbers = 0, repeated = 0;
  for (size_t i = 0; i < count; ++i) {
    if (operands[i].numel() == 1)
      numbers |= 1u << i;
    else if (rows.is_repeated(i))
      repeated |= 1u << i;
    else if (!rows.is_flat(i))
      return false;
  }
  const Loop run = loops.with(numbers);
  const auto as_is = [&](DType dtype) { return run.is_built() || compute_dtype(dtype) == dtype; };
  if (repeated == 0 || (numbers != 0 && !run.is_built()) || !as_is(result.dtype())) return false;
  for (const Tensor& operand : operands)
    if (!as_is(operand.dtype())) return false;
  const int64_t block = repeats * length, size = itemsize(result.dtype()), total = result.numel();
  parallel_for(
      0, (total + block - 1) / block, std::max<int64_t>(1, kGrain / block), [&](int64_t begin, int64_t end) {
        BlockBuffer* const scratch = scratch_blocks();
        std::byte* target = static_cast<std::byte*>(result.data()) + begin * block * size;
        std::array<std::byte*, kMostOperands> held{};
        for (size_t i = 0; i < count; ++i) {
          if ((repeated >> i & 1) == 0) continue;
          held[i] = beside(scratch[2 * i].bytes, target);
          const size_t bytes = static_cast<size_t>(length * itemsize(operands[i].dtype()));
          for (int64_t k = 0; k < repeats; ++k)
            std::memcpy(held[i] + static_cast<size_t>(k) * bytes, operands[i].data(), bytes);
        }
        std::array<const void*, kMostOperands> inputs{};
        std::array<int64_t, kMostOperands> steps{};  // bytes from one block to the next
        for (size_t i = 0; i < count; ++i) {
          const bool is_held = (repeated >> i & 1) != 0;
          if (!is_held && (numbers >> i & 1) == 0) steps[i] = block * itemsize(operands[i].dtype());
          inputs[i] =
              is_held ? held[i] : static_cast<const std::byte*>(operands[i].data()) + begin * steps[i];
        }
        for (int64_t at = begin; at < end; ++at, target += block * size) {
          run(target, inputs, std::min(block, total - at * block));
          for (size_t i = 0; i < count; ++i) inputs[i] = static_cast<const std::byte*>(inputs[i]) + steps[i];
        }
      });
  return true;
}

bool run_rows_with_one(const Loops& loops, std::span<const Tensor> operands, const Tensor& result) {
  constexpr int64_t kShortest = 512;  // rows of fewer elements are repeated in a block
  if (operands.size() != 2 || !loops.has_defaults || loops.operand != result.dtype()) return false;
  const StridedRows rows = rows_of(operands, result);
  if (rows.length() < kShortest || !rows.has_one_outer() || !rows.is_flat(2)) return false;
  const bool is_second = rows.is_flat(0) && rows.is_repeated(1);
  if (!is_second && !(rows.is_repeated(0) && rows.is_flat(1))) return false;
  for (const Tensor& operand : operands)
    if (operand.dtype() != result.dtype()) return false;
  const kernels::BuiltKernel* const kernel =
      kernels::find_built({loops.op.name, "_", name(result.dtype()), is_second ? "_nr" : "_rn"});
  if (kernel == nullptr) return false;
  run_built(*kernel, result.data(), std::array<const void*, 2>{operands[0].data(), operands[1].data()},
            is_second ? std::array{rows.count(), rows.length()} : std::array{rows.length(), rows.count()},
            /*is_parallel=*/true);
  return true;
}

void run_along_rows(const Loops& loops, std::span<const Tensor> operands, const Tensor& result,
                    bool is_in_place) {
  const StridedRows rows = rows_of(operands, result);
  const size_t count = operands.size();
  unsigned numbers = 0;
  for (size_t i = 0; i < count; ++i)
    if (rows.length() > 1 && rows.stride(i) == 0) numbers |= 1u << i;
  if (!loops.with(numbers).is_built()) numbers = 0;
  const Loop run = loops.with(numbers);

  const DType stored = result.dtype(), computed = run.is_built() ? stored : compute_dtype(stored);
  int64_t widest = std::max(itemsize(stored), itemsize(computed));
  std::array<Source, kMostOperands> sources{};
  bool is_direct = stored == computed && (rows.stride(count) == 1 || rows.length() == 1) &&
                   (run.is_built() || !is_in_place);
  const bool writes_directly = is_direct;
  for (size_t i = 0; i < count; ++i) {
    const DType dtype = operands[i].dtype(), as = run.is_built() ? dtype : compute_dtype(dtype);
    const bool is_number = (numbers >> i & 1) != 0;
    sources[i] = {static_cast<const std::byte*>(operands[i].data()), rows.stride(i), itemsize(dtype),
                  convert_function(as, dtype),
                  is_number || (dtype == as && (rows.stride(i) == 1 || rows.length() == 1))};
    is_direct = is_direct && sources[i].is_direct;
    widest = std::max<int64_t>({widest, itemsize(dtype), itemsize(as)});
  }
  const int64_t block = kBlock * kMaxElementSize / widest;
  const int64_t piece = std::min(rows.length(), is_direct ? kGrain : block);
  if (is_direct && run.built() != nullptr && rows.pieces_of_row(piece) == 1)
    return run_rows_where_they_are(*run.built(), rows, std::span(sources).first(count),
                                   static_cast<std::byte*>(result.data()), itemsize(stored));
  const ConvertFn write = convert_function(stored, computed);
  std::byte* const out = static_cast<std::byte*>(result.data());
  const int64_t out_size = itemsize(stored), out_stride = rows.stride(count);

  parallel_for(0, rows.count() * rows.pieces_of_row(piece), std::max<int64_t>(1, kGrain / piece),
               [&](int64_t begin, int64_t end) {
                 BlockBuffer* const scratch = scratch_blocks();
                 std::array<Source, kMostOperands> own = sources;
                 std::array<const void*, kMostOperands> inputs{};
                 rows.for_each_piece(
                     piece, begin, end,
                     [&](int64_t first, int64_t last, const StridedRows::Offsets& offsets) {
                       const int64_t n = last - first;
                       for (size_t i = 0; i < count; ++i) {
                         Source& source = own[i];
                         const std::byte* const from =
                             source.base + (offsets[i] + first * source.stride) * source.size;
                         inputs[i] = from;
                         if (source.is_direct) continue;
                         inputs[i] = scratch[2 * i].bytes;
                         if (source.stride == 0 && source.held == from && n <= source.held_count) continue;
                         source.read(scratch[2 * i].bytes, 1, from, source.stride, n);
                         source.held = from;
                         source.held_count = n;
                       }
                       std::byte* const target = out + (offsets[count] + first * out_stride) * out_size;
                       if (writes_directly) return run(target, inputs, n);
                       std::byte* const wide = scratch[2 * count].bytes;
                       run(wide, inputs, n);
                       write(target, out_stride, wide, 1, n);
                     });
               });
}

}  // namespace weft::ops
