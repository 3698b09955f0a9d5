#include "device/cuda/sorting.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "device/cuda/faults.h"
#include "device/cuda/products.h"
#include "device/cuda/rows.h"
#include "nest/grid.h"
#include "ops/arguments.h"

namespace weft::cuda {
namespace {

constexpr int64_t kTile = 2048, kShortestRun = 32;  // text/sorting.inc
constexpr int64_t kTileBytes = kTile * (sizeof(uint64_t) + sizeof(int32_t));
constexpr size_t kMostSortedDims = 8;

// The first `kept` of each row from the `first` on.
void take_sorted(const Tensor& from, const Sorted& sorted, int64_t rows, int64_t length, int64_t first,
                 int64_t kept, const Tensor& values, const Tensor& positions) {
  WrittenKernel kernel = sorting_kernel(fmt::format("take_sorted_{}", word_of(from.dtype())), from.device());
  kernel.address("values", values.data())
      .address("positions", positions.defined() ? positions.data() : nullptr);
  kernel.address("from", from.data()).reads("at", sorted.positions, first);
  kernel.number("rows", rows).number("length", length).number("kept", kept);
  kernel.launch(
      fmt::format(
          "take_sorted<{0}>(({0}*)values, (i64*)positions, (const {0}*)from, at, rows, length, kept);",
          word_of(from.dtype())),
      blocks_of_items(rows * kept, from.device().index));
}

}  // namespace

WrittenKernel sorting_kernel(const std::string& name, Device device) {
  WrittenKernel kernel(name, device.index);
  kernel.with(Text::Operands).with(Text::Moving).with(Text::Sorting);
  return kernel;
}

Sorted sorted_by(const std::string& name, Device device, int64_t rows, int64_t length,
                 const std::function<std::string(WrittenKernel&)>& key) {
  const auto room = [&] {
    return Sorted{Tensor::empty({rows, length}, DType::U64, device),
                  Tensor::empty({rows, length}, DType::I64, device)};
  };
  Sorted sorted = room();
  const auto size =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::clamp(length, kShortestRun, kTile))));
  {
    WrittenKernel kernel = sorting_kernel(fmt::format("sort_runs_{}_{}", size, name), device);
    kernel.writes("keys", sorted.keys).writes("positions", sorted.positions);
    kernel.number("rows", rows).number("length", length).shared(kTileBytes);
    const std::string text = key(kernel);
    const int64_t runs = rows * ((length + size - 1) / size), tiles = (runs * size + kTile - 1) / kTile;
    kernel.launch(fmt::format("sort_runs<{}>(keys, positions, rows, length, {});", size, text),
                  blocks_of_items(tiles * nest::kGridThreads, device.index));
  }
  for (int64_t run = size; run < length; run *= 2) {
    const Sorted merged = room();
    WrittenKernel kernel = sorting_kernel("merge_sorted_runs", device);
    kernel.writes("to_keys", merged.keys).writes("to", merged.positions);
    kernel.reads("keys", sorted.keys).reads("from", sorted.positions);
    kernel.number("rows", rows).number("length", length).number("run", run);
    kernel.launch("merge_runs(to_keys, to, keys, from, rows, length, run);",
                  blocks_of_items(rows * length, device.index));
    sorted = merged;
  }
  return sorted;
}

void join_values(const std::string& how, const JoinedBlocks& blocks, const Sorted& targets) {
  const int64_t count = targets.keys.numel(), block = numel(blocks.sizes);
  const Device device = blocks.to.device();
  const bool is_moved = how == "KeepLast";
  const std::string type = is_moved ? word_of(blocks.to.dtype()) : type_in_kernels(blocks.to.dtype());
  WrittenKernel kernel =
      sorting_kernel(fmt::format("join_{}_{}", is_moved ? "last" : "values", type), device);
  kernel.address("to", blocks.to.data()).address("values", blocks.values.data());
  kernel.reads("targets", targets.keys).reads("at", targets.positions);
  kernel.number("count", count).number("block", block);
  const bool is_one = blocks.sizes.empty();
  const std::string sizes = steps_text(kernel, "sizes", is_one ? Shape{1} : blocks.sizes),
                    steps = steps_text(kernel, "steps", is_one ? Strides{0} : blocks.steps);
  kernel.launch(
      fmt::format("join_values<{0}>(({1}*)to, (const {1}*)values, targets, at, count, block, {2}, {3});", how,
                  type, sizes, steps),
      blocks_of_items(count * block, device.index));
}

std::vector<Tensor> run_sort(const ops::OpDef& op, std::span<const Tensor> operands,
                             const ops::Attrs& attrs) {
  const Tensor& x = operands[0];
  if (x.dim() == 0 || is_complex(x.dtype())) return {};
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  if (results[0].numel() == 0) return results;
  const int64_t dim = ops::normalize_dim(op.name, ops::int_arg(attrs, "dim"), x.dim());
  const bool descends =
      op.name == "topk" ? attrs.get_bool("largest") : op.name == "sort" && attrs.get_bool("descending");
  const bool is_choice = op.name == "kthvalue";
  const Rows rows = rows_of(x, dim);
  const std::string type = type_in_kernels(x.dtype());
  const Sorted sorted = sorted_by(
      fmt::format("{}{}_{}", descends ? "down_" : "", op.name == "sort_values" ? "values" : "stable", type),
      x.device(), rows.count, rows.length, [&](WrittenKernel& kernel) {
        kernel.reads("from", rows.dense);
        return fmt::format(
            "[&](i64 row, i64 at) WEFT_HERE {{ return {}order_key<{}>(from[row * length + at]); }}",
            descends ? "~" : "", op.name == "sort_values");
      });
  const auto room = [&](const Tensor& result) { return is_choice ? result : room_for_rows(result, dim); };
  const Tensor values = room(results[0]), positions = results.size() > 1 ? room(results[1]) : Tensor();
  take_sorted(rows.dense, sorted, rows.count, rows.length, is_choice ? ops::int_arg(attrs, "k") - 1 : 0,
              results[0].numel() / rows.count, values, positions);
  if (is_choice) return results;
  put_rows(results[0], dim, values);
  if (positions.defined()) put_rows(results[1], dim, positions);
  return results;
}

std::vector<Tensor> run_searchsorted(const ops::OpDef& op, std::span<const Tensor> operands,
                                     const ops::Attrs& attrs) {
  const Tensor sequence = operands[0].contiguous(), values = operands[1].contiguous();
  if (is_complex(values.dtype())) return {};
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  const int64_t count = values.numel();
  if (count == 0) return results;
  WrittenKernel kernel =
      sorting_kernel(fmt::format("find_places_{}", short_name(values.dtype())), values.device());
  kernel.writes("out", results[0]).reads("sorted", sequence).reads("wanted", values);
  kernel.number("count", count).number("length", sequence.size(-1));
  kernel.number("per_row", sequence.dim() > 1 ? values.size(-1) : count);
  kernel.launch(
      fmt::format("find_places(out, sorted, wanted, count, length, per_row, {});", attrs.get_bool("right")),
      blocks_of_items(count, values.device().index));
  return results;
}

std::vector<Tensor> run_count_between(const ops::OpDef& op, std::span<const Tensor> operands,
                                      const ops::Attrs& attrs) {
  const Tensor x = operands[0].contiguous(), edges = operands[1].contiguous();
  if (edges.numel() < 2) return {};
  const Tensor bins =
      Tensor::full(empty_results(op, operands, attrs)[0].shape(), Scalar(0), DType::I64, x.device());
  if (x.numel() == 0) return {bins};
  WrittenKernel kernel = sorting_kernel(fmt::format("count_between_{}", short_name(x.dtype())), x.device());
  kernel.writes("bins", bins).reads("x", x).reads("edges", edges);
  kernel.number("count", x.numel()).number("length", edges.numel());
  kernel.launch("count_between(bins, x, edges, count, length);",
                blocks_of_items(x.numel(), x.device().index));
  return {bins};
}

std::vector<Tensor> run_scatter(const ops::OpDef& op, std::span<const Tensor> operands,
                                const ops::Attrs& attrs) {
  const Tensor &x = operands[0], &index = operands[1];
  const size_t dims = x.shape().size();
  const bool is_moved = op.name == "scatter";
  if (dims == 0 || dims > kMostSortedDims || x.numel() == 0 || (!is_moved && is_complex(x.dtype())))
    return {};
  const Tensor result = x.clone();
  const int64_t count = index.numel();
  if (count == 0) return {result};
  const size_t dim = static_cast<size_t>(ops::normalize_dim(op.name, ops::int_arg(attrs, "dim"), x.dim()));
  const int64_t size = x.shape()[dim], step = result.strides()[dim];
  Strides steps = result.strides();
  steps[dim] = 0;
  const Tensor numbers = index.contiguous();
  const Tensor values =
      operands[2].as_strided(index.shape(), operands[2].strides(), operands[2].offset()).contiguous();
  const Sorted targets = sorted_by("scatter", x.device(), 1, count, [&](WrittenKernel& kernel) {
    kernel.reads("numbers", numbers).number("size", size).number("step", step);
    kernel.address("fault", fault_word(x.device().index));
    kernel.number("code", fault_code(fmt::format("{}: an index names no element: expected one in [{}, {})",
                                                 op.name, -size, size)));
    const std::string shape = steps_text(kernel, "sizes", index.shape()),
                      places = steps_text(kernel, "steps", steps);
    return fmt::format(
        "[&](i64, i64 at) WEFT_HERE {{ i64 place = checked_number(numbers[at], size, true, (i64*)fault, "
        "code) * step; "
        "const auto places = {}; at_each_dim(at, {}, [&](int d, i64 position) {{ place += position * "
        "places.steps[d]; "
        "}}); return (u64)place; }}",
        places, shape);
  });
  std::string how = is_moved ? "KeepLast" : "Add";
  if (op.name == "scatter_combine") {
    const std::string reduce = attrs.get<std::string>("reduce");
    how = reduce == "prod" ? "Multiply" : reduce == "amin" ? "Extreme<false>" : "Extreme<true>";
  }
  join_values(how, {result, values, {}, {}}, targets);
  return {result};
}

}  // namespace weft::cuda
