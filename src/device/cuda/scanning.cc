#include "device/cuda/scanning.h"

#include <fmt/format.h>

#include "device/cuda/parts.h"
#include "device/cuda/products.h"
#include "device/cuda/rows.h"
#include "device/cuda/written_kernel.h"
#include "nest/grid.h"
#include "ops/arguments.h"

namespace weft::cuda {
namespace {

// So many runs occupy a GPU with a thread each; so short ones are none for a block. Fewer rows than the last
// are cut into parts.
constexpr int64_t kManyLanes = 16384, kShort = 64, kFewRows = 512;

const char* running_text(const ops::OpDef& op) {
  if (op.name == "cumsum") return "RunningSum<{}>";
  if (op.name == "cumprod") return "RunningProduct<{}>";
  if (op.name == "logcumsumexp") return "RunningLogOfSum<{}>";
  return op.name == "cummax" ? "RunningExtreme<{}, true>" : "RunningExtreme<{}, false>";
}

WrittenKernel kernel_for(const ops::OpDef& op, const char* name, const Tensor& x) {
  WrittenKernel kernel(fmt::format("{}_{}_{}", name, op.name, short_name(x.dtype())), x.device().index);
  kernel.with(Text::Operands).with(Text::Scanning);
  if (op.name == "logcumsumexp")
    kernel.calls_elementary({scalar::Prim::Exp, scalar::Prim::Erf, scalar::Prim::Tanh, scalar::Prim::Log1p});
  return kernel;
}

void scan_lanes(const ops::OpDef& op, const std::string& how, const Tensor& x, int64_t dim,
                const std::vector<Tensor>& results) {
  const Tensor dense = x.contiguous();
  const int64_t length = x.size(dim), lanes = x.numel() / length;
  WrittenKernel kernel = kernel_for(op, "scan_lanes", x);
  kernel.writes("out", results[0]);
  kernel.address("positions", results.size() > 1 ? results[1].data() : nullptr);
  kernel.reads("from", dense).number("lanes", lanes).number("length", length);
  kernel.number("inner", contiguous_strides(x.shape())[static_cast<size_t>(dim)]);
  kernel.launch(fmt::format("scan_lanes<{}>(out, (i64*)positions, from, lanes, length, inner);", how),
                blocks_of_items(lanes, x.device().index));
}

void scan_rows(const ops::OpDef& op, const std::string& how, const Tensor& x, int64_t dim,
               const std::vector<Tensor>& results) {
  const Rows rows = rows_of(x, dim);
  const bool has_positions = results.size() > 1;
  const Tensor out = room_for_rows(results[0], dim);
  const Tensor positions = has_positions ? room_for_rows(results[1], dim) : Tensor();
  const int64_t parts = rows.count < kFewRows ? nest::parts_of_blocks(rows.length) : 1;
  const int device = x.device().index;
  const int64_t blocks = blocks_of_items(rows.count * parts * nest::kGridThreads, device);
  Tensor totals, at;
  if (parts > 1) {
    const bool is_half = x.dtype() == DType::F16 || x.dtype() == DType::BF16;
    totals = Tensor::empty({rows.count, parts}, is_half ? DType::F32 : x.dtype(), x.device());
    if (has_positions) at = Tensor::empty({rows.count, parts}, DType::I64, x.device());
  }
  const auto launch = [&](const char* name, const std::string& body, int64_t of_blocks, bool waits) {
    WrittenKernel kernel = kernel_for(op, name, x);
    kernel.writes("out", out).address("positions", has_positions ? positions.data() : nullptr);
    kernel.reads("from", rows.dense).reads_if("totals", totals, DType::F32);
    kernel.address("at", at.defined() ? at.data() : nullptr);
    kernel.number("rows", rows.count).number("length", rows.length).number("parts", parts);
    if (waits) kernel.waits();
    kernel.launch(body, of_blocks);
  };
  const std::string held = fmt::format("{}::A", how);
  if (parts > 1) {
    launch("total_parts",
           fmt::format("total_parts<{}>(({}*)totals, (i64*)at, from, rows, length, parts);", how, held),
           blocks, true);
    launch("carry_over", fmt::format("carry_over<{}>(({}*)totals, (i64*)at, rows, parts);", how, held),
           blocks_of_items(rows.count, device), false);
  }
  launch("scan_parts",
         fmt::format("scan_parts<{}>(out, (i64*)positions, from, (const {}*)totals, (const i64*)at, rows, "
                     "length, parts);",
                     how, held),
         blocks, true);
  put_rows(results[0], dim, out);
  if (has_positions) put_rows(results[1], dim, positions);
}

}  // namespace

std::vector<Tensor> run_scan(const ops::OpDef& op, std::span<const Tensor> operands,
                             const ops::Attrs& attrs) {
  if (operands[0].dim() == 0) return {};
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  const DType dtype = results[0].dtype();
  if (is_complex(dtype) && op.name == "cumsum") return run_complex_cumsum(op, operands, attrs);
  if (is_complex(dtype) || (op.name == "logcumsumexp" && !is_floating(dtype))) return {};
  const Tensor x = operands[0].to(dtype);
  if (x.numel() == 0) return results;
  const int64_t dim = ops::normalize_dim(op.name, ops::int_arg(attrs, "dim"), x.dim());
  const std::string how = fmt::format(fmt::runtime(running_text(op)), type_in_kernels(dtype));
  const int64_t length = x.size(dim);
  if (length <= kShort || x.numel() / length >= kManyLanes)
    scan_lanes(op, how, x, dim, results);
  else
    scan_rows(op, how, x, dim, results);
  return results;
}

}  // namespace weft::cuda
