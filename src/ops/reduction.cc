#include "ops/reduction.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>

#include "kernels/cpu/built.h"
#include "ops/elements.h"
#include "ops/pointwise_loop.h"
#include "ops/reduction_kernels.h"
#include "weft/parallel.h"

namespace weft::ops {
namespace {

constexpr int64_t kChunk = 32 * 1024;  // elements per task; fixed, so that results do not depend on threads

// Combines equal-sized partial results as a binary counter does: pairwise summation without recursion.
class PairwiseStack {
 public:
  // `width` accumulators, which fit into a BlockBuffer.
  PairwiseStack(const ReductionKernels& kernels, int64_t width) : kernels_(kernels), width_(width) {}

  // Where the next partial result goes before push().
  std::byte* next() {
    if (levels_.size() == depth_) levels_.push_back(std::make_unique<BlockBuffer>());
    return level(depth_);
  }
  void push() {
    ++depth_;
    for (int64_t position = ++pushed_; position % 2 == 0; position /= 2) merge_top();
  }
  // The total; at least one partial must have been pushed.
  const void* finish() {
    while (depth_ > 1) merge_top();
    return level(0);
  }

 private:
  std::byte* level(size_t number) { return levels_[number]->bytes; }
  void merge_top() {
    kernels_.combine(level(depth_ - 2), level(depth_ - 1), width_);
    --depth_;
  }

  const ReductionKernels& kernels_;
  const int64_t width_;
  int64_t pushed_ = 0;
  size_t depth_ = 0;
  std::vector<std::unique_ptr<BlockBuffer>> levels_;
};

// Reduces rows that lie equally far apart: what the build has written for it, or the plain loop.
class RowsKernel {
 public:
  // Of elements of `read`, which is `accumulate` but where one is built for a smaller type.
  RowsKernel(ReduceOp op, DType read, DType accumulate)
      : plain_(reduction_kernels(op, accumulate)),
        element_size_(itemsize(read)),
        size_(itemsize(accumulate)),
        built_(find(op, read)) {}
  static bool is_built(ReduceOp op, DType read) { return find(op, read) != nullptr; }
  // Elements of a row that are added up without pairs: some 32 for each lane. They fit into a BlockBuffer.
  int64_t block() const { return built_ ? 2 * kBlock : kBlock; }
  bool is_built() const { return built_ != nullptr; }
  int64_t element_size() const { return element_size_; }
  void operator()(void* results, const void* elements, int64_t rows, int64_t length) const {
    (*this)(results, {static_cast<const std::byte*>(elements), rows, length}, length);
  }
  void operator()(void* results, const ElementReader::Pieces& rows, int64_t length,
                  bool is_parallel = false) const {
    const void* const elements = rows.first;
    if (built_)
      return run_built(*built_, results, std::span(&elements, 1), std::array{rows.count, rows.stride, length},
                       is_parallel);
    for (int64_t row = 0; row < rows.count; ++row)
      plain_.block(static_cast<std::byte*>(results) + row * size_,
                   rows.first + row * rows.stride * element_size_, length);
  }

 private:
  static const kernels::BuiltKernel* find(ReduceOp op, DType dtype) {
    static constexpr std::array<std::string_view, 9> kNames = {"", "sum", "prod", "amin", "amax",
                                                               "", "",    "any",  "all"};
    return kernels::find_built({kNames[static_cast<size_t>(op)], "_rows_", name(dtype)});
  }
  const ReductionKernels plain_;
  const int64_t element_size_, size_;
  const kernels::BuiltKernel* const built_;
};

struct Problem {
  ReduceOp op;
  DType accumulate;
  DType
      read;  // what rows are read as: the operand's dtype, where a kernel is built for it, else `accumulate`
  int64_t kept = 1, reduced = 1;  // numbers of elements
  int64_t inner = 1;              // of the kept ones, those that lie inside the reduced ones
};

// Shape and strides with the kept dimensions outside, the reduced ones inside; with `columns`, kept
// dimensions after the last reduced one stay innermost.
struct Layout {
  std::vector<int64_t> shape, strides;
  bool columns = false;
};

Layout arrange(const Tensor& x, const std::vector<int64_t>& axes, bool may_have_columns, Problem& problem) {
  const int64_t ndim = x.dim();
  const auto is_reduced = [&](int64_t d) { return std::binary_search(axes.begin(), axes.end(), d); };
  int64_t trailing = 1, first_inner = ndim;
  while (first_inner > 0 && !is_reduced(first_inner - 1))
    trailing *= x.shape()[static_cast<size_t>(--first_inner)];
  Layout layout;
  layout.columns = may_have_columns && trailing >= 8 && first_inner > 0;
  const auto add = [&](int64_t d) {
    layout.shape.push_back(x.shape()[static_cast<size_t>(d)]);
    layout.strides.push_back(x.strides()[static_cast<size_t>(d)]);
  };
  const int64_t outer_end = layout.columns ? first_inner : ndim;
  for (int64_t d = 0; d < outer_end; ++d) {
    if (!is_reduced(d)) add(d), problem.kept *= layout.shape.back();
  }
  for (int64_t d : axes) add(d), problem.reduced *= layout.shape.back();
  for (int64_t d = outer_end; d < ndim; ++d) add(d);
  if (layout.columns) problem.inner = trailing;
  problem.kept *= problem.inner;
  return layout;
}

// Reduced elements lie together: `problem.reduced` consecutive elements per result.
void reduce_rows(const Problem& problem, const ElementReader& reader, std::byte* partials) {
  const ReductionKernels kernels = reduction_kernels(problem.op, problem.accumulate);
  const RowsKernel reduce(problem.op, problem.read, problem.accumulate);
  const int64_t size = itemsize(problem.accumulate), length = problem.reduced, block = reduce.block();
  if (length <= block && reduce.is_built()) {
    const ElementReader::Pieces rows = reader.pieces_in_place(0, length, problem.kept);
    if (rows.count == problem.kept) return reduce(partials, rows, length, /*is_parallel=*/true);
  }
  if (length > kBlock / 4 && length <= block) {
    parallel_for(0, problem.kept, std::max<int64_t>(1, kChunk / length), [&](int64_t begin, int64_t end) {
      std::array<BlockBuffer, 2> scratch;
      for (int64_t row = begin; row < end;) {
        ElementReader::Pieces rows = reader.pieces_in_place(row * length, length, end - row);
        if (rows.count == 0)
          rows = {static_cast<const std::byte*>(reader.read(row * length, length, scratch.data())), 1,
                  length};
        reduce(partials + row * size, rows, length);
        row += rows.count;
      }
    });
    return;
  }
  if (length <= kBlock / 2) {
    const int64_t rows_per_block = kBlock / length;
    parallel_for(0, problem.kept, std::max<int64_t>(1, kChunk / length), [&](int64_t begin, int64_t end) {
      std::array<BlockBuffer, 2> scratch;
      for (int64_t row = begin; row < end; row += rows_per_block) {
        const int64_t rows = std::min(rows_per_block, end - row);
        reduce(partials + row * size, reader.read(row * length, rows * length, scratch.data()), rows, length);
      }
    });
    return;
  }
  const bool is_extreme = problem.op == ReduceOp::Min || problem.op == ReduceOp::Max;
  const int64_t chunks = (length + kChunk - 1) / kChunk;
  std::vector<std::byte> chunk_partials(static_cast<size_t>(chunks == 1 ? 0 : problem.kept * chunks * size));
  std::byte* const totals = chunks == 1 ? partials : chunk_partials.data();
  parallel_for(
      0, problem.kept * chunks, std::max<int64_t>(1, kChunk / length), [&](int64_t begin, int64_t end) {
        static_assert(kChunk / kBlock * kMaxElementSize <= sizeof(BlockBuffer));
        std::array<BlockBuffer, 3> scratch;
        std::byte* const of_blocks = scratch[2].bytes;
        for (int64_t task = begin; task < end; ++task) {
          const int64_t start = task / chunks * length, first = task % chunks * kChunk,
                        last = std::min(first + kChunk, length);
          int64_t found = 0;  // blocks
          for (int64_t at = first; at < last;) {
            // Extremes are the same in any order: as many elements as lie together.
            int64_t count = reduce.is_built() && is_extreme ? last - at : std::min(block, last - at);
            ElementReader::Pieces blocks = reader.pieces_in_place(start + at, count, (last - at) / count);
            if (blocks.count == 0 && count > block) {
              count = block;
              blocks = reader.pieces_in_place(start + at, count, (last - at) / count);
            }
            if (blocks.count == 0)
              blocks = {static_cast<const std::byte*>(reader.read(start + at, count, scratch.data())), 1,
                        count};
            reduce(of_blocks + found * size, blocks, count);
            found += blocks.count;
            at += blocks.count * count;
          }
          kernels.combine_pairs(of_blocks, found);
          std::copy_n(of_blocks, size, totals + task * size);
        }
      });
  if (chunks == 1) return;
  for (int64_t row = 0; row < problem.kept; ++row) {
    kernels.combine_pairs(totals + row * chunks * size, chunks);
    std::copy_n(totals + row * chunks * size, size, partials + row * size);
  }
}

// Rows that are columns in memory: they are put one after the other, a few at a time.
void reduce_transposed_rows(const Problem& problem, const ElementReader& reader, std::byte* partials) {
  constexpr int64_t kRows = 32;
  const RowsKernel reduce(problem.op, problem.read, problem.accumulate);
  const int64_t size = itemsize(problem.accumulate), length = problem.reduced;
  const int64_t groups = (problem.kept + kRows - 1) / kRows;
  parallel_for(0, groups, std::max<int64_t>(1, kChunk / (kRows * length)), [&](int64_t begin, int64_t end) {
    std::vector<std::byte> rows(static_cast<size_t>(kRows * length * reduce.element_size()));
    for (int64_t group = begin; group < end; ++group) {
      const int64_t row = group * kRows, count = std::min(kRows, problem.kept - row);
      reader.read_columns(row, count, rows.data());
      reduce(partials + row * size, rows.data(), count, length);
    }
  });
}

// Adds `kAtOnce` rows, one after the other, to sums of the dtype that they are taken in; or takes the
// extremes.
class ColumnSums {
 public:
  static constexpr size_t kAtOnce = 4;
  ColumnSums(ReduceOp op, DType read)
      : is_extreme_(op == ReduceOp::Min || op == ReduceOp::Max), built_(find(op, read)) {}
  bool is_built() const { return built_ != nullptr; }
  // They begin with a row, and what is taken twice changes nothing.
  bool is_extreme() const { return is_extreme_; }
  void start(void* sums, int64_t bytes) const { std::memset(sums, 0, static_cast<size_t>(bytes)); }
  // Rows `first`, `first + step`, … before `stop`, at most so many: read(row, place) has one.
  template <class Read>
  void add(void* sums, int64_t first, int64_t stop, int64_t count, const Read& read, int64_t step = 1) const {
    alignas(64) static constexpr std::array<std::byte, kBlock * kMaxElementSize> kZeros{};
    std::array<const void*, kAtOnce + 1> operands{sums};
    for (size_t k = 0; k < kAtOnce; ++k) {
      const int64_t row = first + static_cast<int64_t>(k) * step;
      operands[k + 1] = row < stop ? read(row, k) : is_extreme_ ? operands[k] : kZeros.data();
    }
    run_built(*built_, sums, operands, std::span(&count, 1), /*is_parallel=*/false);
  }

 private:
  static const kernels::BuiltKernel* find(ReduceOp op, DType read) {
    switch (op) {
      case ReduceOp::Sum: return kernels::find_built({"sum_columns_", name(read)});
      case ReduceOp::Min: return kernels::find_built({"amin_columns_", name(read)});
      case ReduceOp::Max: return kernels::find_built({"amax_columns_", name(read)});
      default: return nullptr;
    }
  }

  const bool is_extreme_;
  const kernels::BuiltKernel* const built_;
};

// How many partial sums the kernel for rows keeps: element i of a row is added to number i modulo so many,
// and they are added up by halves (tools/write_kernels.cc, nest/lanes.cc).
int64_t partial_sums(DType accumulate) {
  constexpr int64_t kRegisters = 4, kMost = 64;
  return std::min(kMost, kernels::built_vector_bytes() / itemsize(accumulate) * kRegisters);
}

bool can_sum_beside(const Problem& problem) {
  return problem.op == ReduceOp::Sum && problem.reduced >= 2 * partial_sums(problem.accumulate) &&
         RowsKernel::is_built(problem.op, problem.read) && ColumnSums(problem.op, problem.read).is_built();
}

// Sums of rows that are columns in memory, many beside each other, in the order in which the kernel for rows
// adds them: memory is read as it lies.
void sum_beside(const Problem& problem, const ElementReader& reader, std::byte* sums) {
  const ReductionKernels kernels = reduction_kernels(problem.op, problem.accumulate);
  const ColumnSums add(problem.op, problem.read);
  const int64_t size = itemsize(problem.accumulate), partials = partial_sums(problem.accumulate);
  const int64_t length = problem.reduced, blocks = (problem.kept + kBlock - 1) / kBlock;
  constexpr int64_t kAtOnce = ColumnSums::kAtOnce;
  parallel_for(0, blocks, std::max<int64_t>(1, kChunk / (kBlock * length)), [&](int64_t begin, int64_t end) {
    std::vector<std::byte> held(static_cast<size_t>(partials * kBlock * size));
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kBlock, count = std::min(kBlock, problem.kept - first);
      const auto read = [&](int64_t i, size_t) { return reader.across(first, i); };
      const auto held_at = [&](int64_t part) { return held.data() + part * count * size; };
      for (int64_t part = 0; part < partials; ++part) {
        std::byte* const sum = held_at(part);
        add.start(sum, count * size);
        for (int64_t i = part; i < length; i += kAtOnce * partials)
          add.add(sum, i, length, count, read, partials);
      }
      for (int64_t half = partials / 2; half > 0; half /= 2)
        kernels.combine(held.data(), held_at(half), half * count);
      std::copy_n(held.data(), count * size, sums + first * size);
    }
  });
}

// Reduced elements lie `problem.inner` apart: whole rows are added up, a block of columns at a time.
void reduce_columns(const Problem& problem, const ElementReader& reader, int64_t element_size,
                    std::byte* partials) {
  const ReductionKernels kernels = reduction_kernels(problem.op, problem.accumulate);
  const ColumnSums sums(problem.op, problem.read);
  constexpr int64_t kSequential = 16;  // rows added one after the other before the pairwise stack
  const int64_t size = itemsize(problem.accumulate), outer = problem.kept / problem.inner;
  // As wide as a buffer is, where the threads have something to do each.
  int64_t width = kBlock * kMaxElementSize / std::max(size, element_size);
  while (width > kBlock && outer * ((problem.inner + width - 1) / width) < 4 * get_num_threads()) width /= 2;
  width = std::min(problem.inner, width);
  const int64_t blocks = (problem.inner + width - 1) / width;
  const int64_t grain = std::max<int64_t>(1, kChunk / (problem.reduced * width));
  parallel_for(0, outer * blocks, grain, [&](int64_t begin, int64_t end) {
    std::array<BlockBuffer, 2 * ColumnSums::kAtOnce> scratch;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t group = task / blocks, column = task % blocks * width;
      const int64_t count = std::min(width, problem.inner - column);
      PairwiseStack stack(kernels, count);
      const auto read = [&](int64_t r, size_t place) {
        return reader.read((group * problem.reduced + r) * problem.inner + column, count,
                           &scratch[2 * place]);
      };
      if (sums.is_built() && sums.is_extreme()) {
        std::byte* const to = partials + (group * problem.inner + column) * size;
        std::copy_n(static_cast<const std::byte*>(read(0, 0)), count * size, to);
        for (int64_t r = 1; r < problem.reduced; r += static_cast<int64_t>(ColumnSums::kAtOnce))
          sums.add(to, r, problem.reduced, count, read);
        continue;
      }
      for (int64_t r = 0; r < problem.reduced; stack.push()) {
        std::byte* const sequential = stack.next();
        const int64_t stop = std::min(r + kSequential, problem.reduced);
        if (sums.is_built()) {
          sums.start(sequential, count * size);
          for (; r < stop; r += static_cast<int64_t>(ColumnSums::kAtOnce))
            sums.add(sequential, r, stop, count, read);
          r = stop;
        } else {
          std::copy_n(static_cast<const std::byte*>(read(r++, 0)), count * size, sequential);
          for (; r < stop; ++r) kernels.combine(sequential, read(r, 0), count);
        }
      }
      std::copy_n(static_cast<const std::byte*>(stack.finish()), count * size,
                  partials + (group * problem.inner + column) * size);
    }
  });
}

// Sums start from 0.0: those of nothing but -0.0 are none.
void start_from_zero(const Problem& problem, std::byte* sums, int64_t count) {
  const int64_t size = itemsize(problem.accumulate);
  const std::vector<std::byte> zeros(static_cast<size_t>(std::min(kBlock, count) * size));
  const ReductionKernels kernels = reduction_kernels(problem.op, problem.accumulate);
  for (int64_t at = 0; at < count; at += kBlock)
    kernels.combine(sums + at * size, zeros.data(), std::min(kBlock, count - at));
}

// Which row has the extreme of each column, a block of columns at a time.
void reduce_arg_columns(const Problem& problem, const ElementReader& reader, int64_t* result) {
  const ArgRows kernel = arg_rows_kernel(problem.op, problem.accumulate);
  const int64_t width = std::min(problem.inner, kBlock), blocks = (problem.inner + width - 1) / width;
  const int64_t outer = problem.kept / problem.inner;
  parallel_for(0, outer * blocks, std::max<int64_t>(1, kChunk / (problem.reduced * width)),
               [&](int64_t begin, int64_t end) {
                 std::array<BlockBuffer, 3> scratch;
                 std::array<int32_t, kBlock> best;
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t group = task / blocks, column = task % blocks * width;
                   const int64_t count = std::min(width, problem.inner - column);
                   for (int64_t r = 0; r < problem.reduced; ++r) {
                     const int64_t start = (group * problem.reduced + r) * problem.inner + column;
                     const void* row = reader.in_place(start, count);
                     if (row == nullptr) row = reader.read(start, count, scratch.data());
                     kernel(scratch[2].bytes, best.data(), row, static_cast<int32_t>(r), count);
                   }
                   std::copy_n(best.data(), count, result + group * problem.inner + column);
                 }
               });
}

void reduce_arg(const Problem& problem, const ElementReader& reader, int64_t* result) {
  const ArgBlock kernel = arg_kernel(problem.op, problem.accumulate);
  const ReduceOp extreme = problem.op == ReduceOp::ArgMax ? ReduceOp::Max : ReduceOp::Min;
  const RowsKernel find_extreme(extreme, problem.accumulate, problem.accumulate);
  const FindFirst find = find_first(problem.accumulate);
  const int64_t length = problem.reduced, block = find_extreme.block();
  parallel_for(0, problem.kept, std::max<int64_t>(1, kChunk / length), [&](int64_t begin, int64_t end) {
    std::array<BlockBuffer, 3> scratch;
    alignas(kMaxElementSize) std::byte best[kMaxElementSize], candidate[kMaxElementSize];
    for (int64_t row = begin; row < end; ++row) {
      // The extreme of a block, which is then looked for where it displaces what was found before.
      for (int64_t at = 0; at < length; at += block) {
        const int64_t count = std::min(block, length - at);
        const void* elements = reader.in_place(row * length + at, count);
        if (elements == nullptr) elements = reader.read(row * length + at, count, scratch.data());
        find_extreme(candidate, elements, 1, count);
        int64_t is_better = 0;
        if (at > 0) kernel(best, &is_better, candidate, 1, 1);
        if (at == 0) std::copy_n(candidate, kMaxElementSize, best);
        if (at == 0 || is_better != 0) result[row] = at + find(elements, candidate, count);
      }
    }
  });
}

DType accumulation_dtype(ReduceOp op, DType operand, DType result) {
  if (op == ReduceOp::Sum || op == ReduceOp::Prod) return compute_dtype(result);
  return op == ReduceOp::Any || op == ReduceOp::All ? DType::Bool : compute_dtype(operand);
}

// What elements are read as: halves as they are, where a kernel is built for them.
DType read_dtype(ReduceOp op, DType dtype, DType accumulate, bool columns) {
  const bool is_half = dtype == DType::F16 || dtype == DType::BF16;
  const bool is_read = is_half && accumulate == DType::F32 &&
                       (columns ? ColumnSums(op, dtype).is_built() : RowsKernel::is_built(op, dtype));
  return is_read ? dtype : accumulate;
}

// Elements of rows that reduce_transposed_rows takes: as many as are added up without pairs.
constexpr int64_t kLongestTransposed = 2 * kBlock;

bool are_rows_transposed(ReduceOp op, const Tensor& x, const std::vector<int64_t>& axes, DType result) {
  if (x.is_contiguous() || x.numel() == 0 || !RowsKernel::is_built(op, x.dtype())) return false;
  const DType accumulate = accumulation_dtype(op, x.dtype(), result);
  Problem problem{op, accumulate, accumulate};
  const Layout layout = arrange(x, axes, /*may_have_columns=*/true, problem);
  if (layout.columns || problem.reduced > kLongestTransposed) return false;
  const DType read = read_dtype(op, x.dtype(), accumulate, /*columns=*/false);
  return ElementReader(x, layout.shape, layout.strides, read).are_columns(problem.reduced);
}

// Dimensions from the one that lies widest in memory to the one that lies densest; those of one element stay
// where they are, and all do where elements are repeated.
std::vector<size_t> axes_in_memory(const Tensor& x) {
  std::vector<size_t> order(x.shape().size()), sorted;
  std::iota(order.begin(), order.end(), size_t{0});
  for (const size_t d : order) {
    if (x.shape()[d] == 1) continue;
    if (x.strides()[d] == 0) return order;
    sorted.push_back(d);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](size_t a, size_t b) { return std::abs(x.strides()[a]) > std::abs(x.strides()[b]); });
  size_t next = 0;
  for (size_t& d : order)
    if (x.shape()[d] != 1) d = sorted[next++];
  return order;
}

// The same reduction of a tensor seen in memory's order.
Tensor reduce_in_order(ReduceOp op, const Tensor& x, const std::vector<int64_t>& axes, const Shape& shape,
                       DType result, const std::vector<size_t>& order) {
  std::vector<int64_t> reduced;
  std::vector<size_t> kept;  // dimensions of x in the result's order
  for (size_t d = 0; d < order.size(); ++d) {
    if (std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(order[d])))
      reduced.push_back(static_cast<int64_t>(d));
    else
      kept.push_back(order[d]);
  }
  const Tensor found = run_reduction(op, with_dimensions(x, order), reduced, /*keepdim=*/false, result);
  std::vector<size_t> back(kept.size());
  std::iota(back.begin(), back.end(), size_t{0});
  std::sort(back.begin(), back.end(), [&](size_t a, size_t b) { return kept[a] < kept[b]; });
  const Tensor in_order = with_dimensions(found, back).contiguous();
  return Tensor(in_order.storage(), result, shape, contiguous_strides(shape), in_order.offset());
}

}  // namespace

Tensor run_reduction(ReduceOp op, const Tensor& given, const std::vector<int64_t>& axes, bool keepdim,
                     DType result) {
  const bool is_arg = op == ReduceOp::ArgMin || op == ReduceOp::ArgMax;
  const bool is_rounded = (op == ReduceOp::Sum || op == ReduceOp::Prod) && is_inexact(result);
  // Rounded sums do not depend on the layout: they are taken in C order.
  const Tensor x =
      is_rounded && !are_rows_transposed(op, given, axes, result) ? in_reading_order(given) : given;
  Shape shape;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (!std::binary_search(axes.begin(), axes.end(), d))
      shape.push_back(x.shape()[static_cast<size_t>(d)]);
    else if (keepdim)
      shape.push_back(1);
  }
  if (weft::numel(shape) == 0) return Tensor::empty(shape, result);
  // Positions count along the reduced dimensions as they are.
  const std::vector<size_t> order = axes_in_memory(x);
  if (!is_rounded && !std::is_sorted(order.begin(), order.end()) && x.numel() > 0 &&
      (!is_arg || axes.size() == 1))
    return reduce_in_order(op, x, axes, shape, result, order);
  const Tensor out = Tensor::empty(shape, result);

  const DType accumulate = accumulation_dtype(op, x.dtype(), result);
  Problem problem{op, accumulate, accumulate};
  // Rows are counted in 32 bits.
  const Layout layout =
      arrange(x, axes, !is_arg || x.numel() <= std::numeric_limits<int32_t>::max(), problem);
  const int64_t size = itemsize(problem.accumulate);
  if (problem.reduced == 0) {
    std::byte identity[kMaxElementSize];
    reduction_kernels(op, problem.accumulate).identity(identity);
    for (int64_t i = 0; i < out.numel(); ++i)
      convert_block(result, static_cast<std::byte*>(out.data()) + i * itemsize(result), problem.accumulate,
                    identity, 1);
    return out;
  }
  if (!is_arg) problem.read = read_dtype(op, x.dtype(), accumulate, layout.columns);
  const ElementReader reader(x, layout.shape, layout.strides, problem.read);
  if (is_arg) {
    if (layout.columns)
      reduce_arg_columns(problem, reader, out.data_as<int64_t>());
    else
      reduce_arg(problem, reader, out.data_as<int64_t>());
    return out;
  }
  const bool direct = result == problem.accumulate;
  std::vector<std::byte> converted(direct ? 0 : static_cast<size_t>(out.numel() * size));
  std::byte* partials = direct ? static_cast<std::byte*>(out.data()) : converted.data();
  if (layout.columns)
    reduce_columns(problem, reader, itemsize(x.dtype()), partials);
  else if (is_rounded && reader.are_columns(problem.reduced) && problem.reduced <= kLongestTransposed)
    (can_sum_beside(problem) ? sum_beside : reduce_transposed_rows)(problem, reader, partials);
  else
    reduce_rows(problem, reader, partials);
  if (op == ReduceOp::Sum && is_inexact(problem.accumulate)) start_from_zero(problem, partials, out.numel());
  if (!direct) convert_block(result, out.data(), problem.accumulate, partials, out.numel());
  return out;
}

}  // namespace weft::ops
