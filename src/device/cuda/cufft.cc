#include "device/cuda/cufft.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <memory>
#include <mutex>

#include "device/cuda/cufft_api.h"
#include "device/cuda/driver.h"
#include "device/cuda/library.h"
#include "device/cuda/memory.h"
#include "device/cuda/products.h"
#include "device/cuda/written_kernel.h"
#include "ops/arguments.h"
#include "runtime/log.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

constexpr size_t kMostPlans = 32;

fft::Api load_cufft() {
  fft::Api api;
  OpenedLibrary library = open_library("cuFFT", {"libcufft.so.12", "libcufft.so.11", "libcufft.so.10"});
#define WEFT_CUFFT_FIND(NAME, PARAMETERS) \
  api.NAME = reinterpret_cast<decltype(api.NAME)>(find_function(library, "cuFFT", #NAME));
  WEFT_CUFFT_FUNCTIONS(WEFT_CUFFT_FIND)
#undef WEFT_CUFFT_FIND
  api.problem = library.problem;
  return api;
}

const fft::Api& fft_api() {
  static const fft::Api& instance = *new fft::Api(load_cufft());
  return instance;
}

// Signals of n points, one after another, that are transformed at once.
struct FftPlanKey {
  int device = 0;
  fft::Kind kind{};
  int64_t n = 0, given = 0, result = 0, count = 0;
  bool operator==(const FftPlanKey&) const = default;
};

class FftPlan {
 public:
  explicit FftPlan(const FftPlanKey& key) : key_(key) {}
  // Behind the device's last use of it. A device that has failed says so to who waits for it next.
  ~FftPlan() {
    if (!is_made_ || is_forked()) return;
    try {
      driver().synchronize(key_.device);
      driver().call_library(
          "cufftDestroy", [&](void*) { return fft_api().cufftDestroy(handle_); }, key_.device);
    } catch (const Error& error) {
      log::write(log::Channel::Syncs, fmt::format("cufftDestroy: {}", error.what()));
    }
  }
  FftPlan(const FftPlan&) = delete;
  FftPlan& operator=(const FftPlan&) = delete;

  const FftPlanKey& key() const { return key_; }
  size_t workspace() const { return workspace_; }
  bool is_kept = false;  // recorded work uses it

  // 0, or the status of what failed.
  fft::Status make(const char** failed) {
    const auto step = [&](const char* what, fft::Status status) {
      if (status != 0) *failed = what;
      return status;
    };
    return driver().call_library(
        "cufftMakePlanMany64",
        [&](void*) {
          if (const int status = step("cufftCreate", fft_api().cufftCreate(&handle_))) return status;
          is_made_ = true;
          if (const int status = step("cufftSetAutoAllocation", fft_api().cufftSetAutoAllocation(handle_, 0)))
            return status;
          long long n = key_.n, given = key_.given, result = key_.result;
          return step("cufftMakePlanMany64",
                      fft_api().cufftMakePlanMany64(handle_, 1, &n, &given, 1, given, &result, 1, result,
                                                    key_.kind, key_.count, &workspace_));
        },
        key_.device);
  }

  fft::Status run(void* from, void* to, bool inverse, void* workspace, void* stream,
                  const char** failed) const {
    const auto step = [&](const char* what, fft::Status status) {
      if (status != 0) *failed = what;
      return status;
    };
    if (const int status = step("cufftSetStream", fft_api().cufftSetStream(handle_, stream))) return status;
    if (workspace != nullptr)
      if (const int status = step("cufftSetWorkArea", fft_api().cufftSetWorkArea(handle_, workspace)))
        return status;
    const int direction = inverse ? fft::kInverse : fft::kForward;
    switch (key_.kind) {
      case fft::kComplexF32:
        return step("cufftExecC2C", fft_api().cufftExecC2C(handle_, from, to, direction));
      case fft::kRealF32: return step("cufftExecR2C", fft_api().cufftExecR2C(handle_, from, to));
      case fft::kToRealF32: return step("cufftExecC2R", fft_api().cufftExecC2R(handle_, from, to));
      case fft::kComplexF64:
        return step("cufftExecZ2Z", fft_api().cufftExecZ2Z(handle_, from, to, direction));
      case fft::kRealF64: return step("cufftExecD2Z", fft_api().cufftExecD2Z(handle_, from, to));
      case fft::kToRealF64: return step("cufftExecZ2D", fft_api().cufftExecZ2D(handle_, from, to));
    }
    return 0;
  }

 private:
  const FftPlanKey key_;
  fft::Handle handle_ = 0;
  bool is_made_ = false;
  size_t workspace_ = 0;
};

// The plans used last, at the end the very last. Those that recorded work uses stay.
struct FftPlans {
  std::mutex mutex;
  std::list<std::shared_ptr<FftPlan>> plans;
};
FftPlans& plans() {
  static FftPlans& instance = *new FftPlans;
  return instance;
}

std::shared_ptr<FftPlan> known_plan(const FftPlanKey& key, bool is_recording) {
  FftPlans& all = plans();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found =
      std::find_if(all.plans.begin(), all.plans.end(), [&](const auto& plan) { return plan->key() == key; });
  if (found == all.plans.end()) return nullptr;
  all.plans.splice(all.plans.end(), all.plans, found);
  (*found)->is_kept |= is_recording;
  return *found;
}

// What has to go for it is gone after the lock.
void keep_plan(const std::shared_ptr<FftPlan>& plan) {
  std::list<std::shared_ptr<FftPlan>> gone;
  FftPlans& all = plans();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.plans.push_back(plan);
  const auto kept =
      std::count_if(all.plans.begin(), all.plans.end(), [](const auto& p) { return p->is_kept; });
  for (auto at = all.plans.begin();
       at != all.plans.end() && all.plans.size() - static_cast<size_t>(kept) > kMostPlans;) {
    const auto next = std::next(at);
    if (!(*at)->is_kept) gone.splice(gone.end(), all.plans, at);
    at = next;
  }
}

void log_failure(const ops::OpDef& op, const char* what, fft::Status status) {
  if (log::enabled(log::Channel::Syncs))
    log::write(log::Channel::Syncs, fmt::format("{}: {} gives status {}", op.name, what, status));
}

// Null where there is none; of a submission that the caller has.
std::shared_ptr<FftPlan> plan_of(const ops::OpDef& op, const FftPlanKey& key) {
  if (auto known = known_plan(key, driver().is_recording(key.device))) return known;
  driver().refuse_recording("a plan of cuFFT", key.device);
  constexpr fft::Status kNoMemory = 2;
  const char* failed = "";
  auto plan = std::make_shared<FftPlan>(key);
  fft::Status status = plan->make(&failed);
  if (status == kNoMemory) {
    release_kept_memory(key.device);  // plans have memory of their own
    plan = std::make_shared<FftPlan>(key);
    status = plan->make(&failed);
  }
  if (status != 0) {
    log_failure(op, failed, status);
    return nullptr;
  }
  keep_plan(plan);
  return plan;
}

struct Transform {
  FftPlanKey key;
  bool to_real, from_real, inverse;
  int64_t inner, given, length;  // elements along the dimension of the operand, and of the result
  double scale;
};

Transform transform_of(const ops::OpDef& op, const Tensor& x, const Tensor& result, const ops::Attrs& attrs) {
  Transform t{.key = {},
              .to_real = op.name == "fft_c2r",
              .from_real = op.name == "fft_r2c",
              .inverse = op.name == "fft_c2c" && attrs.get_bool("inverse"),
              .inner = 1,
              .given = 0,
              .length = 0,
              .scale = 1};
  const int64_t n = ops::int_arg(attrs, "n"), norm = ops::int_arg(attrs, "norm");
  const auto dim = static_cast<size_t>(ops::normalize_dim(op.name, ops::int_arg(attrs, "dim"), x.dim()));
  t.given = x.shape()[dim], t.length = result.shape()[dim];
  for (size_t d = dim + 1; d < result.shape().size(); ++d) t.inner *= result.shape()[d];
  const double size = static_cast<double>(n);
  t.scale = norm == 0 ? 1 : norm == 1 ? 1 / std::sqrt(size) : 1 / size;
  const bool is_single = x.dtype() == DType::F32 || x.dtype() == DType::C64;
  const fft::Kind kind = t.to_real     ? is_single ? fft::kToRealF32 : fft::kToRealF64
                         : t.from_real ? is_single ? fft::kRealF32 : fft::kRealF64
                         : is_single   ? fft::kComplexF32
                                       : fft::kComplexF64;
  t.key = {.device = x.device().index,
           .kind = kind,
           .n = n,
           .given = t.to_real ? n / 2 + 1 : n,
           .result = t.from_real ? n / 2 + 1 : n,
           .count = result.numel() / t.length};
  return t;
}

// The parts of elements as numbers of their own.
Tensor parts_of(const Tensor& dense) {
  if (!is_complex(dense.dtype())) return dense;
  const DType real = dense.dtype() == DType::C64 ? DType::F32 : DType::F64;
  return Tensor(dense.storage(), real, {2 * dense.numel()}, {1}, 2 * dense.offset());
}

WrittenKernel signal_kernel(const char* name, const Tensor& to, const Tensor& from, const Transform& t) {
  WrittenKernel kernel(fmt::format("{}_{}", name, type_in_kernels(to.dtype())), t.key.device);
  kernel.writes("to", to).reads("from", from).number("signals", t.key.count).number("inner", t.inner);
  kernel.with(Text::Transforms);
  return kernel;
}

// What cuFFT reads: where it lies, or a copy. Transforms to real numbers write to what they read.
Tensor signals_of(const Tensor& x, const Transform& t) {
  const Tensor dense = x.contiguous();
  const bool is_aligned = reinterpret_cast<uintptr_t>(dense.data()) % 16 == 0;
  if (t.inner == 1 && t.given == t.key.given && !t.to_real && is_aligned) return dense;
  const Tensor rows = Tensor::empty({t.key.count, t.key.given}, x.dtype(), x.device());
  WrittenKernel kernel = signal_kernel("gather_signals", parts_of(rows), parts_of(dense), t);
  kernel.number("given", t.given).number("length", t.key.given);
  kernel.number("middle", t.to_real && t.key.n % 2 == 0 ? t.key.n / 2 : -1);
  kernel.launch(fmt::format("gather_signals<{}, {}>(to, from, signals, inner, given, length, middle);",
                            t.from_real ? 1 : 2, t.to_real),
                blocks_of_items(rows.numel(), t.key.device));
  return rows;
}

void spread(const Tensor& result, const Tensor& rows, const Transform& t) {
  WrittenKernel kernel = signal_kernel("spread_signals", parts_of(result), parts_of(rows), t);
  kernel.number("have", t.key.result).number("length", t.length).real("scale", t.scale);
  kernel.launch(fmt::format("spread_signals<{}, {}>(to, from, signals, inner, have, length, scale);",
                            t.to_real ? 1 : 2, t.length > t.key.result),
                blocks_of_items(result.numel(), t.key.device));
}

}  // namespace

const std::string& why_no_cufft() { return fft_api().problem; }

std::vector<Tensor> run_transform(const ops::OpDef& op, std::span<const Tensor> operands,
                                  const ops::Attrs& attrs) {
  if (!fft_api().problem.empty()) return {};
  const Tensor& x = operands[0];
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  const Tensor& result = results[0];
  if (result.numel() == 0) return results;
  const Transform t = transform_of(op, x, result, attrs);
  const auto order = driver().submitting(t.key.device);
  const std::shared_ptr<FftPlan> plan = plan_of(op, t.key);
  if (plan == nullptr) return {};
  const Tensor signals = signals_of(x, t);
  const bool is_in_place = t.inner == 1 && t.length == t.key.result;
  const Tensor rows =
      is_in_place ? result : Tensor::empty({t.key.count, t.key.result}, result.dtype(), result.device());
  const Tensor workspace = plan->workspace() > 0 ? Tensor::empty({static_cast<int64_t>(plan->workspace())},
                                                                 DType::U8, result.device())
                                                 : Tensor();
  auto failed = std::make_shared<const char*>("");
  // Recorded on an emulated device, it is called later.
  const fft::Status status = driver().call_library(
      "cufftExec",
      [=, from = signals.data(), to = rows.data(), room = workspace.defined() ? workspace.data() : nullptr,
       inverse = t.inverse](void* stream) {
        return plan->run(from, to, inverse, room, stream, failed.get());
      },
      t.key.device);
  if (status != 0) {
    log_failure(op, *failed, status);
    return {};
  }
  if (!is_in_place || t.scale != 1) spread(result, rows, t);
  return results;
}

}  // namespace weft::cuda
