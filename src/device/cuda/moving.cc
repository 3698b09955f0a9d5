#include "device/cuda/moving.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "device/cuda/driver.h"
#include "device/cuda/faults.h"
#include "device/cuda/products.h"
#include "device/cuda/sorting.h"
#include "device/cuda/written_kernel.h"
#include "kernels/cpu/indexing.h"
#include "nest/grid.h"
#include "ops/arguments.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

constexpr size_t kMostDims = 8, kMostIndices = 4;

// Sizes, and how several arrays are walked through along them; outermost first.
struct Walk {
  Shape sizes;
  std::vector<Strides> steps;  // by array, as many as sizes

  // Without dimensions of size 1, neighbours joined where every array goes on evenly.
  void simplify() {
    Walk simple{{}, std::vector<Strides>(steps.size())};
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 1) continue;
      bool joins = !simple.sizes.empty();
      for (size_t k = 0; joins && k < steps.size(); ++k)
        joins = simple.steps[k].back() == steps[k][d] * sizes[d];
      if (joins) {
        simple.sizes.back() *= sizes[d];
      } else {
        simple.sizes.push_back(sizes[d]);
      }
      for (size_t k = 0; k < steps.size(); ++k) {
        if (joins)
          simple.steps[k].back() = steps[k][d];
        else
          simple.steps[k].push_back(steps[k][d]);
      }
    }
    if (simple.sizes.empty()) {
      simple.sizes.push_back(1);
      for (Strides& list : simple.steps) list.push_back(0);
    }
    *this = std::move(simple);
  }
  size_t dims() const { return sizes.size(); }
};

// Index arrays of one call, broadcast together.
struct Indices {
  std::vector<Tensor> arrays;         // those that there are
  std::vector<int64_t> sizes, steps;  // of the dimensions that they are for
};

std::string indices_text(WrittenKernel& kernel, const Indices& indices, const std::vector<Strides>& steps) {
  std::string text;
  for (size_t k = 0; k < indices.arrays.size(); ++k) {
    const std::string name = fmt::format("index_{}", k);
    kernel.reads(name.c_str(), indices.arrays[k]);
    kernel.number((name + "_size").c_str(), indices.sizes[k])
        .number((name + "_step").c_str(), indices.steps[k]);
    const size_t dims = steps.empty() ? 1 : steps[k].size();
    text += fmt::format(", Indexed<{}>{{{}, {}_size, {}_step, {}}}", dims, name, name, name,
                        steps_text(kernel, name + "_at", steps.empty() ? Strides{0} : steps[k]));
  }
  return text;
}

// x[…] for every element of `walk`, whose steps are the result's, x's, and each index array's.
void move_indexed(const char* what, const Tensor& to, const Tensor& from, bool is_scatter, Walk walk,
                  const Indices& indices, bool from_end) {
  const Tensor& whole = is_scatter ? to : from;
  const int device = whole.device().index;
  walk.simplify();
  const int64_t count = numel(walk.sizes);
  WrittenKernel kernel(is_scatter ? "scatter" : "gather", device);
  kernel.address("to", to.data()).address("from", from.data()).number("count", count);
  kernel.address("fault", fault_word(device));
  kernel.number("code", fault_code(fmt::format("{}: an index names no element: expected one in [{}, {})",
                                               what, from_end ? -indices.sizes[0] : 0, indices.sizes[0])));
  const std::string sizes = steps_text(kernel, "sizes", walk.sizes),
                    own = steps_text(kernel, "own", walk.steps[0]),
                    other = steps_text(kernel, "other", walk.steps[1]);
  const std::string more = indices_text(kernel, indices, {walk.steps.begin() + 2, walk.steps.end()});
  kernel.with(Text::Operands).with(Text::Moving);
  kernel.launch(
      fmt::format("move_indexed<{0}, {1}, {2}>(({0}*)to, (const {0}*)from, count, {3}, {4}, {5}, {6}, "
                  "(i64*)fault, code{7});",
                  word_of(whole.dtype()), is_scatter, walk.dims(), sizes, own, other, from_end, more),
      blocks_of_items(count, device));
}

// How the elements of x[indices] are walked through: sizes of the result, and the steps of x and of each
// array.
struct IndexedWalk {
  Walk walk;  // steps: the result's (contiguous), x's, each array's
  Indices indices;
  Shape common;
  std::vector<bool> is_common;  // dimensions of the result
};

Shape common_shape(std::span<const Tensor> given) {
  Shape common;
  for (const Tensor& index : given) {
    if (!index.defined()) continue;
    const Shape& shape = index.shape();
    if (shape.size() > common.size()) common.insert(common.begin(), shape.size() - common.size(), 1);
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t& size = common[common.size() - shape.size() + d];
      if (shape[d] != 1) size = shape[d];
    }
  }
  return common;
}

std::optional<IndexedWalk> walk_of(const Tensor& x, std::span<const Tensor> given) {
  IndexedWalk result;
  std::vector<bool> present(static_cast<size_t>(x.dim()), false);
  for (size_t d = 0; d < given.size(); ++d) {
    if (!given[d].defined()) continue;
    present[d] = true;
    result.indices.arrays.push_back(given[d]);
    result.indices.sizes.push_back(x.shape()[d]);
    result.indices.steps.push_back(x.strides()[d]);
  }
  const size_t number = result.indices.arrays.size();
  if (number == 0 || number > kMostIndices) return std::nullopt;
  result.common = common_shape(given);
  const kernels::IndexPlan plan = kernels::plan_index(present);
  Walk& walk = result.walk;
  walk.steps.resize(2 + number);
  const auto add_kept = [&](size_t k) {
    const size_t d = plan.kept[k];
    walk.sizes.push_back(x.shape()[d]);
    walk.steps[1].push_back(x.strides()[d]);
    for (size_t j = 0; j < number; ++j) walk.steps[2 + j].push_back(0);
    result.is_common.push_back(false);
  };
  for (size_t k = 0; k < plan.position; ++k) add_kept(k);
  for (size_t d = 0; d < result.common.size(); ++d) {
    walk.sizes.push_back(result.common[d]);
    walk.steps[1].push_back(0);
    for (size_t j = 0; j < number; ++j) {
      const Tensor& index = result.indices.arrays[j];
      const size_t missing = result.common.size() - index.shape().size();
      walk.steps[2 + j].push_back(
          d < missing || index.shape()[d - missing] == 1 ? 0 : index.strides()[d - missing]);
    }
    result.is_common.push_back(true);
  }
  for (size_t k = plan.position; k < plan.kept.size(); ++k) add_kept(k);
  walk.steps[0] = contiguous_strides(walk.sizes);
  if (walk.sizes.size() > kMostDims) return std::nullopt;
  return result;
}

// The index arrays in one piece each, of one shape.
Indices spread(const IndexedWalk& walk) {
  Indices result = walk.indices;
  for (Tensor& index : result.arrays) {
    const size_t missing = walk.common.size() - index.shape().size();
    Strides strides;
    for (size_t d = 0; d < walk.common.size(); ++d)
      strides.push_back(d < missing || index.shape()[d - missing] == 1 ? 0 : index.strides()[d - missing]);
    index = index.as_strided(walk.common, strides, index.offset()).contiguous();
  }
  return result;
}

// Values where the indices say: of several for one element the last stays, or all are joined with it, in
// their order.
void join_indexed(const char* what, const std::string& how, const Tensor& base, const Tensor& values,
                  const IndexedWalk& indexed) {
  const Indices indices = spread(indexed);
  JoinedBlocks blocks{base, {}, {}, {}};
  Shape order;
  Strides strides;
  for (const bool is_common : {true, false})
    for (size_t d = 0; d < indexed.walk.sizes.size(); ++d) {
      if (indexed.is_common[d] != is_common) continue;
      order.push_back(indexed.walk.sizes[d]);
      strides.push_back(indexed.walk.steps[0][d]);
      if (is_common) continue;
      blocks.sizes.push_back(indexed.walk.sizes[d]);
      blocks.steps.push_back(indexed.walk.steps[1][d]);
    }
  blocks.values = values.as_strided(order, strides, values.offset()).contiguous();
  const int device = base.device().index;
  const Sorted targets = sorted_by(
      fmt::format("index_{}", indices.arrays.size()), base.device(), 1, numel(indexed.common),
      [&](WrittenKernel& kernel) {
        kernel.address("fault", fault_word(device));
        kernel.number("code",
                      fault_code(fmt::format("{}: an index names no element: expected one in [{}, {})", what,
                                             -indices.sizes[0], indices.sizes[0])));
        std::string place = "(i64)0";
        for (size_t k = 0; k < indices.arrays.size(); ++k) {
          const std::string name = fmt::format("index_{}", k);
          kernel.reads(name.c_str(), indices.arrays[k]);
          kernel.number((name + "_size").c_str(), indices.sizes[k])
              .number((name + "_step").c_str(), indices.steps[k]);
          place +=
              fmt::format(" + checked_number({0}[at], {0}_size, true, (i64*)fault, code) * {0}_step", name);
        }
        return fmt::format("[&](i64, i64 at) WEFT_HERE {{ return (u64)({}); }}", place);
      });
  join_values(how, blocks, targets);
}

}  // namespace

void move_elements(const StridedPointer& to, const StridedPointer& from, const Shape& shape, int device) {
  Walk walk{shape, {to.strides, from.strides}};
  walk.simplify();
  const int64_t count = numel(walk.sizes);
  WrittenKernel kernel("copy_strided", device);
  kernel.address("to", to.data).address("from", from.data);
  kernel.number("count", count);
  const std::string sizes = steps_text(kernel, "sizes", walk.sizes),
                    own = steps_text(kernel, "own", walk.steps[0]),
                    other = steps_text(kernel, "other", walk.steps[1]);
  kernel.with(Text::Operands).with(Text::Moving);
  kernel.launch(fmt::format("move_elements<{0}, {1}>(({0}*)to, (const {0}*)from, count, {2}, {3}, {4});",
                            word_of(to.dtype), walk.dims(), sizes, own, other),
                blocks_of_items(count, device));
}

std::vector<Tensor> run_gather_nd(const ops::OpDef& op, std::span<const Tensor> operands,
                                  const ops::Attrs& attrs) {
  const Tensor& x = operands[0];
  const std::optional<IndexedWalk> indexed = walk_of(x, operands.subspan(1));
  if (!indexed || x.numel() == 0) return {};
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  if (results[0].numel() > 0)
    move_indexed("gather_nd", results[0], x, false, indexed->walk, indexed->indices, true);
  return results;
}

bool put_indexed(const Tensor& base, const std::vector<Tensor>& given, const Tensor& values) {
  const std::optional<IndexedWalk> indexed = walk_of(base, given);
  if (!indexed || base.numel() == 0) return false;
  if (values.numel() == 0) return true;
  const Tensor dense = values.contiguous();
  if (numel(indexed->common) == 1)
    move_indexed("scatter_nd", base, dense, true, indexed->walk, indexed->indices, true);
  else
    join_indexed("scatter_nd", "KeepLast", base, dense, *indexed);
  return true;
}

std::vector<Tensor> run_scatter_nd(const ops::OpDef& op, std::span<const Tensor> operands,
                                   const ops::Attrs& attrs) {
  const std::vector<Tensor> indices(operands.begin() + 2, operands.end());
  const Tensor result = operands[0].clone();
  const bool is_extreme = op.name == "scatter_nd_extreme";
  if (!is_extreme && !attrs.get_bool("accumulate")) {
    if (!put_indexed(result, indices, operands[1])) return {};
    return {result};
  }
  const std::optional<IndexedWalk> indexed = walk_of(result, indices);
  if (!indexed || result.numel() == 0 || is_complex(result.dtype())) return {};
  const std::string how = !is_extreme                 ? "Add"
                          : attrs.get_bool("largest") ? "Extreme<true>"
                                                      : "Extreme<false>";
  if (operands[1].numel() > 0) join_indexed(op.name.c_str(), how, result, operands[1].contiguous(), *indexed);
  return {result};
}

std::vector<Tensor> run_gather(const ops::OpDef& op, std::span<const Tensor> operands,
                               const ops::Attrs& attrs) {
  const Tensor &x = operands[0], &index = operands[1];
  if (x.dim() == 0 || x.numel() == 0 || x.shape().size() > kMostDims) return {};
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  if (results[0].numel() == 0) return results;
  const size_t dim = static_cast<size_t>(ops::normalize_dim(op.name, ops::int_arg(attrs, "dim"), x.dim()));
  Walk walk{index.shape(), {contiguous_strides(index.shape()), x.strides(), index.strides()}};
  walk.steps[1][dim] = 0;
  move_indexed("gather", results[0], x, false, walk, {{index}, {x.shape()[dim]}, {x.strides()[dim]}}, true);
  return results;
}

std::vector<Tensor> run_embedding(const ops::OpDef& op, std::span<const Tensor> operands,
                                  const ops::Attrs& attrs) {
  const Tensor numbers = operands[0].to(DType::I64), &weight = operands[1];
  if (weight.numel() == 0 || numbers.shape().size() + 1 > kMostDims) return {};
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  if (results[0].numel() == 0) return results;
  Walk walk{results[0].shape(),
            {results[0].strides(), Strides(numbers.shape().size(), 0), numbers.strides()}};
  walk.steps[1].push_back(weight.strides()[1]), walk.steps[2].push_back(0);
  move_indexed("embedding", results[0], weight, false, walk,
               {{numbers}, {weight.size(0)}, {weight.strides()[0]}}, false);
  return results;
}

std::vector<Tensor> run_embedding_bag(const ops::OpDef& op, std::span<const Tensor> operands,
                                      const ops::Attrs& attrs) {
  const Tensor numbers = operands[0].to(DType::I64).contiguous(), weight = operands[1].contiguous();
  const Tensor offsets = operands[2].defined() ? operands[2].to(DType::I64).contiguous() : Tensor();
  const Tensor factors = operands[3].defined() ? operands[3].contiguous() : Tensor();
  const std::vector<Tensor> results = empty_results(op, operands, attrs);
  const Tensor& out = results[0];
  if (out.numel() == 0) return results;
  const int64_t rows = weight.size(0);
  int64_t padding = -1;
  if (!attrs.is_none("padding_idx")) {
    padding = ops::int_arg(attrs, "padding_idx");
    if (padding < -rows || padding >= rows) return {};  // the host says what is wrong with it
    if (padding < 0) padding += rows;
  }
  const std::string& mode = attrs.get<std::string>("mode");
  const char* const how = mode == "sum" ? "kSumOfBag" : mode == "mean" ? "kMeanOfBag" : "kLargestOfBag";
  const int device = weight.device().index;
  WrittenKernel kernel(fmt::format("join_bags_{}", short_name(weight.dtype())), device);
  kernel.writes("out", out).reads("weight", weight).reads("numbers", numbers);
  kernel.reads_if("offsets", offsets, DType::I64).reads_if("factors", factors, weight.dtype());
  kernel.number("bags", out.size(0)).number("dim", out.size(1)).number("rows", rows);
  kernel.number("row_step", weight.strides()[0]).number("size", numbers.dim() == 2 ? numbers.size(1) : 0);
  kernel.number("total", numbers.numel()).number("padding", padding);
  kernel.address("fault", fault_word(device));
  kernel.number("code", fault_code(fmt::format("{}: an index names no element: expected one in [0, {})",
                                               op.name, rows)));
  kernel.number("bounds_code",
                fault_code(fmt::format("{}: offsets must begin with 0, and not decrease, nor exceed the "
                                       "input's length {}",
                                       op.name, numbers.numel())));
  kernel.with(Text::Operands).with(Text::Moving);
  kernel.launch(
      fmt::format(
          "join_bags<{}, {}>(out, weight, numbers, offsets, factors, bags, dim, rows, row_step, size, "
          "total, {}, padding, (i64*)fault, code, bounds_code);",
          how, weight.dtype() == DType::F64 ? "f64" : "f32", attrs.get_bool("include_last_offset")),
      blocks_of_items(out.numel(), device));
  return results;
}

std::vector<Tensor> run_join(const ops::OpDef& op, std::span<const Tensor> operands,
                             const ops::Attrs& attrs) {
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  const Tensor& out = results[0];
  const size_t dim = static_cast<size_t>(ops::normalize_dim(op.name, ops::int_arg(attrs, "dim"), out.dim()));
  int64_t begin = 0;
  for (const Tensor& operand : operands) {
    if (operand.numel() > 0)
      out.as_strided(operand.shape(), out.strides(), out.offset() + begin * out.strides()[dim])
          .copy_from(operand);
    begin += operand.shape()[dim];
  }
  return results;
}

namespace {

// What negative padding leaves of x, wherever it lies; `pad` is what is to be added then.
Tensor cropped(const Tensor& x, std::vector<int64_t>& pad) {
  Shape shape = x.shape();
  int64_t offset = x.offset();
  for (size_t k = 0; k < pad.size(); ++k) {
    const size_t axis = shape.size() - 1 - k / 2;
    if (pad[k] >= 0) continue;
    if (k % 2 == 0) offset -= pad[k] * x.strides()[axis];
    shape[axis] = std::max<int64_t>(0, shape[axis] + pad[k]);
    pad[k] = 0;
  }
  return x.as_strided(shape, x.strides(), numel(shape) == 0 ? x.offset() : offset);
}

}  // namespace

std::vector<Tensor> run_pad(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs) {
  const std::string& mode = attrs.get<std::string>("mode");
  std::vector<int64_t> pad = attrs.get_ints("pad");
  const Tensor shape_of = empty_results(op, operands, attrs)[0];
  if (mode != "constant") {
    const Tensor& x = operands[0];
    const size_t dims = x.shape().size();
    if (shape_of.numel() == 0) return {shape_of};
    std::vector<int64_t> before(dims, 0), after(dims, 0);
    for (size_t k = 0; 2 * k < pad.size(); ++k)
      before[dims - 1 - k] = pad[2 * k], after[dims - 1 - k] = pad[2 * k + 1];
    WrittenKernel kernel("pad_" + mode, x.device().index);
    kernel.address("to", shape_of.data()).address("from", x.data()).number("count", shape_of.numel());
    const std::string sizes = steps_text(kernel, "sizes", shape_of.shape()),
                      own = steps_text(kernel, "own", x.shape()),
                      steps = steps_text(kernel, "steps", x.strides()),
                      first = steps_text(kernel, "before", before), last = steps_text(kernel, "after", after);
    kernel.with(Text::Operands).with(Text::Moving);
    kernel.launch(
        fmt::format("pad_elements<{0}, {1}>(({2}*)to, (const {2}*)from, count, {3}, {4}, {5}, {6}, {7});",
                    mode == "reflect"     ? "kReflect"
                    : mode == "replicate" ? "kReplicate"
                                          : "kCircular",
                    dims, word_of(x.dtype()), sizes, own, steps, first, last),
        blocks_of_items(shape_of.numel(), x.device().index));
    return {shape_of};
  }
  const Tensor x = cropped(operands[0], pad);
  const Scalar value = attrs.is_none("value") ? Scalar(0) : attrs.get<Scalar>("value");
  const Tensor out = Tensor::full(shape_of.shape(), value, x.dtype(), x.device());
  int64_t offset = 0;
  // The last dimension's come first.
  for (size_t k = 0; 2 * k < pad.size(); ++k)
    offset += pad[2 * k] * out.strides()[out.strides().size() - 1 - k];
  if (x.numel() > 0) out.as_strided(x.shape(), out.strides(), out.offset() + offset).copy_from(x);
  return {out};
}

}  // namespace weft::cuda
