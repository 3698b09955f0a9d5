#include "device/cuda/cublaslt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "device/cuda/driver.h"
#include "device/cuda/library.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

constexpr uint64_t kMostWorkspace = uint64_t{32} << 20;

lt::Api load_cublaslt() {
  lt::Api api;
  OpenedLibrary library =
      open_library("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"});
#define WEFT_CUBLASLT_FIND(NAME, PARAMETERS) \
  api.NAME = reinterpret_cast<decltype(api.NAME)>(find_function(library, "cuBLASLt", #NAME));
  WEFT_CUBLASLT_FUNCTIONS(WEFT_CUBLASLT_FIND)
#undef WEFT_CUBLASLT_FIND
  api.problem = library.problem;
  return api;
}

const lt::Api& lt_api() {
  static const lt::Api& instance = *new lt::Api(load_cublaslt());
  return instance;
}

// One per device, for the rest of the process.
struct LtHandles {
  std::mutex mutex;
  struct Made {
    bool is_tried = false;
    lt::Handle handle = nullptr;
    std::string problem;
  };
  std::array<Made, kMostDevices> made;
};
LtHandles& handles() {
  static LtHandles& instance = *new LtHandles;
  return instance;
}

const LtHandles::Made& handle_of(int device) {
  const auto order = driver().submitting(device);  // before each other lock
  const std::lock_guard<std::mutex> lock(handles().mutex);
  LtHandles::Made& made = handles().made[static_cast<size_t>(device)];
  if (made.is_tried) return made;
  made.is_tried = true;
  made.problem = lt_api().problem;
  if (!made.problem.empty()) return made;
  const lt::Status status = driver().call_library(
      "cublasLtCreate", [&](void*) { return lt_api().cublasLtCreate(&made.handle); }, device);
  if (status != 0) made.problem = fmt::format("cublasLtCreate gives status {}", status);
  return made;
}

std::optional<lt::DataType> lt_type(DType dtype) {
  switch (dtype) {
    case DType::F32: return lt::kF32;
    case DType::F64: return lt::kF64;
    case DType::F16: return lt::kF16;
    case DType::BF16: return lt::kBF16;
    case DType::I8: return lt::kI8;
    case DType::I32: return lt::kI32;
    default: return std::nullopt;
  }
}

lt::ComputeType sums_of(DType dtype) {
  return dtype == DType::F64 ? lt::kSumsF64 : dtype == DType::I8 ? lt::kSumsI32 : lt::kSumsF32;
}

// One and zero, as what scales sums.
const void* scale_of(DType dtype, bool one) {
  static constexpr float kF32[] = {0, 1};
  static constexpr double kF64[] = {0, 1};
  static constexpr int32_t kI32[] = {0, 1};
  if (dtype == DType::F64) return &kF64[one];
  if (dtype == DType::I8) return &kI32[one];
  return &kF32[one];
}

int alignment_of(const Tensor& array) {
  if (!array.defined()) return 0;
  const auto address = reinterpret_cast<uintptr_t>(array.data());
  int alignment = 256;
  while (address % static_cast<uintptr_t>(alignment) != 0) alignment /= 2;
  return alignment;
}

// How a side lies as a matrix by columns whose contiguous dimension is the outer one (rows of the left
// operand, columns of the right) or, else, depth.
struct LtSide {
  bool is_along_depth;
  int64_t leading;
};
std::optional<LtSide> lt_side(const ProductSide& side, int64_t outer, int64_t depth) {
  const auto leading = [](int64_t step, int64_t count, int64_t contiguous) -> std::optional<int64_t> {
    if (count == 1) return contiguous;
    return step >= contiguous ? std::optional(step) : std::nullopt;
  };
  if (side.depth_step == 1 || depth == 1)
    if (const auto step = leading(side.row_step, outer, depth)) return LtSide{true, *step};
  if (side.row_step == 1 || outer == 1)
    if (const auto step = leading(side.depth_step, depth, outer)) return LtSide{false, *step};
  return std::nullopt;
}

std::optional<int> lt_epilogue(const ProductEnd& end) {
  if (end.row_scales.defined() || end.scales.defined()) return std::nullopt;
  int bits = 0;
  if (end.bias.defined()) {
    if (end.bias.dtype() != end.out.dtype() || end.bias_by_row || end.bias_step != 0) return std::nullopt;
    bits |= lt::kBias;
  }
  // Its gelu is the one by tanh.
  if (end.activation == "relu")
    bits |= lt::kRelu;
  else if (end.activation == "gelu_tanh")
    bits |= lt::kGelu;
  else if (end.activation != "none")
    return std::nullopt;
  // What is added is added before the activation.
  if (end.residual.defined() && !end.residual_first && end.activation != "none") return std::nullopt;
  return bits == 0 ? lt::kPlain : bits;
}

}  // namespace

std::string LtProblem::str() const {
  std::string text = fmt::format("product {} {} x {} x {}", name(dtype), n, k, m);
  if (batches > 1) text += fmt::format(", {} of them", batches);
  text += fmt::format(", {}{}", b_transposed ? 't' : 'n', a_transposed ? 't' : 'n');
  if ((epilogue & lt::kBias) != 0) text += ", bias";
  if (has_residual) text += ", residual";
  if ((epilogue & lt::kRelu) != 0) text += ", relu";
  if ((epilogue & lt::kGelu) != 0) text += ", gelu";
  return text + fmt::format(", cuda:{}", device);
}

std::optional<LtProblem> lt_problem(const Product& p) {
  const DType dtype = p.left.array.dtype(), out = p.end.out.dtype();
  const bool is_known = dtype == DType::I8 ? out == DType::I32 : out == dtype && is_floating(dtype);
  if (!is_known || p.right.array.dtype() != dtype || !lt_type(dtype)) return std::nullopt;
  if (dtype == DType::F32 && allows_tf32()) return std::nullopt;  // the library is asked for sums of float32
  if (p.patches != nullptr || p.group_scales.defined() || p.depth == 0) return std::nullopt;
  if (p.batches[1] != 1 || p.batches[2] != 1) return std::nullopt;
  LtProblem problem{.device = p.end.out.device().index,
                    .dtype = dtype,
                    .out = out,
                    .m = p.columns,
                    .n = p.rows,
                    .k = p.depth,
                    .batches = p.batches[0]};
  if (std::max({problem.m, problem.n, problem.k, problem.batches}) > INT32_MAX) return std::nullopt;
  const std::optional<LtSide> a = lt_side(p.right, p.columns, p.depth), b = lt_side(p.left, p.rows, p.depth);
  const std::optional<int> epilogue = lt_epilogue(p.end);
  if (!a || !b || !epilogue) return std::nullopt;
  problem.a_transposed = a->is_along_depth, problem.a_leading = a->leading;
  problem.b_transposed = !b->is_along_depth, problem.b_leading = b->leading;
  if (problem.batches > 1) {
    problem.a_step = p.right.batch_steps[0], problem.b_step = p.left.batch_steps[0];
    if (problem.a_step < 0 || problem.b_step < 0) return std::nullopt;
  }
  problem.epilogue = *epilogue;
  problem.has_residual = p.end.residual.defined();
  problem.a_alignment = alignment_of(p.right.array), problem.b_alignment = alignment_of(p.left.array);
  problem.residual_alignment = alignment_of(p.end.residual);
  problem.bias_alignment = alignment_of(p.end.bias), problem.out_alignment = alignment_of(p.end.out);
  if (std::min(problem.a_alignment, problem.b_alignment) < itemsize(dtype)) return std::nullopt;
  return problem;
}

std::string why_no_cublaslt(int device) { return handle_of(device).problem; }

LtProduct::LtProduct(const LtProblem& problem) : problem_(problem) {
  try {
    make();
  } catch (...) {
    end();
    throw;
  }
}

LtProduct::~LtProduct() { end(); }

namespace {

void require(lt::Status status, const char* what) {
  if (status != 0) throw_error(ErrorKind::Runtime, fmt::format("cuda: {} gives status {}", what, status));
}

lt::Layout layout_of(DType dtype, int64_t rows, int64_t columns, int64_t leading) {
  lt::Layout layout = nullptr;
  require(lt_api().cublasLtMatrixLayoutCreate(&layout, *lt_type(dtype), static_cast<uint64_t>(rows),
                                              static_cast<uint64_t>(columns), leading),
          "cublasLtMatrixLayoutCreate");
  return layout;
}

void set_batches(lt::Layout layout, int64_t count, int64_t step) {
  const auto batches = static_cast<int32_t>(count);
  require(lt_api().cublasLtMatrixLayoutSetAttribute(layout, lt::kBatchCount, &batches, sizeof batches),
          "cublasLtMatrixLayoutSetAttribute");
  require(lt_api().cublasLtMatrixLayoutSetAttribute(layout, lt::kBatchStep, &step, sizeof step),
          "cublasLtMatrixLayoutSetAttribute");
}

template <class T>
void set(lt::Description description, int attribute, T value) {
  require(lt_api().cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
}

}  // namespace

void LtProduct::make() {
  const LtProblem& p = problem_;
  const DType sums = p.dtype == DType::F64 ? DType::F64 : p.dtype == DType::I8 ? DType::I32 : DType::F32;
  require(lt_api().cublasLtMatmulDescCreate(&description_, sums_of(p.dtype), *lt_type(sums)),
          "cublasLtMatmulDescCreate");
  set<int32_t>(description_, lt::kTransA, p.a_transposed ? lt::kTransposed : lt::kAsIs);
  set<int32_t>(description_, lt::kTransB, p.b_transposed ? lt::kTransposed : lt::kAsIs);
  set<int32_t>(description_, lt::kEpilogue, p.epilogue);
  a_ = layout_of(p.dtype, p.a_transposed ? p.k : p.m, p.a_transposed ? p.m : p.k, p.a_leading);
  b_ = layout_of(p.dtype, p.b_transposed ? p.n : p.k, p.b_transposed ? p.k : p.n, p.b_leading);
  d_ = layout_of(p.out, p.m, p.n, p.m);
  if (p.batches == 1) return;
  set_batches(a_, p.batches, p.a_step);
  set_batches(b_, p.batches, p.b_step);
  set_batches(d_, p.batches, p.m * p.n);
}

void LtProduct::end() {
  if (is_forked()) return;
  if (description_ != nullptr) lt_api().cublasLtMatmulDescDestroy(description_);
  for (const lt::Layout layout : {a_, b_, d_})
    if (layout != nullptr) lt_api().cublasLtMatrixLayoutDestroy(layout);
}

std::vector<lt::Heuristic> LtProduct::algorithms(const Product& product, int most) const {
  const lt::Handle handle = handle_of(problem_.device).handle;
  if (product.end.bias.defined()) set<const void*>(description_, lt::kBiasPointer, product.end.bias.data());
  lt::Preference preference = nullptr;
  require(lt_api().cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  const auto destroy = [](void* p) { lt_api().cublasLtMatmulPreferenceDestroy(p); };
  const std::unique_ptr<void, decltype(destroy)> owner(preference, destroy);
  const auto prefer = [&](int attribute, auto value) {
    require(lt_api().cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
            "cublasLtMatmulPreferenceSetAttribute");
  };
  prefer(lt::kMostWorkspace, kMostWorkspace);
  prefer(lt::kReductions, lt::kReductionsOfSums);
  const int residual = problem_.has_residual ? problem_.residual_alignment : problem_.out_alignment;
  int attribute = lt::kAlignmentA;
  for (const int alignment : {problem_.a_alignment, problem_.b_alignment, residual, problem_.out_alignment})
    prefer(attribute++, static_cast<uint32_t>(alignment));
  std::vector<lt::Heuristic> found(static_cast<size_t>(most));
  int count = 0;
  // Not supported: there is none.
  const lt::Status status = driver().call_library(
      "cublasLtMatmulAlgoGetHeuristic",
      [&](void*) {
        return lt_api().cublasLtMatmulAlgoGetHeuristic(handle, description_, a_, b_, d_, d_, preference, most,
                                                       found.data(), &count);
      },
      problem_.device);
  found.resize(status == 0 ? static_cast<size_t>(std::clamp(count, 0, most)) : 0);
  std::erase_if(found, [](const lt::Heuristic& h) { return h.state != 0 || h.workspace > kMostWorkspace; });
  return found;
}

lt::Status LtProduct::run(const Product& product, const lt::Heuristic& by) const {
  const Device device{DeviceType::CUDA, problem_.device};
  const Tensor workspace =
      by.workspace > 0 ? Tensor::empty({static_cast<int64_t>(by.workspace)}, DType::U8, device) : Tensor();
  const ProductEnd& end = product.end;
  const auto address = [](const Tensor& array) { return array.defined() ? array.data() : nullptr; };
  // Reached from recorded work too, which makes this call when it is repeated.
  const auto call = [self = shared_from_this(), handle = handle_of(problem_.device).handle, by,
                     a = address(product.right.array), b = address(product.left.array),
                     bias = address(end.bias), residual = address(end.residual), out = address(end.out),
                     room = address(workspace)](void* stream) -> lt::Status {
    if (bias != nullptr)
      if (const lt::Status status = lt_api().cublasLtMatmulDescSetAttribute(
              self->description_, lt::kBiasPointer, &bias, sizeof bias))
        return status;
    return lt_api().cublasLtMatmul(handle, self->description_, scale_of(self->problem_.dtype, true), a,
                                   self->a_, b, self->b_, scale_of(self->problem_.dtype, residual != nullptr),
                                   residual != nullptr ? residual : out, self->d_, out, self->d_,
                                   &by.algorithm, room, by.workspace, stream);
  };
  return driver().call_library("cublasLtMatmul", call, problem_.device);
}

}  // namespace weft::cuda
