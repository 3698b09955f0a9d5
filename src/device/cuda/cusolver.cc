#include "device/cuda/cusolver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "device/cuda/cusolver_api.h"
#include "device/cuda/driver.h"
#include "device/cuda/library.h"
#include "device/cuda/products.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/tracer.h"
#include "runtime/log.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

solver::Api load_cusolver() {
  solver::Api api;
  OpenedLibrary library = open_library("cuSOLVER", {"libcusolver.so.12", "libcusolver.so.11"});
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        find_function(library, "cuSOLVER", name));
  };
  find(api.create, "cusolverDnCreate");
  find(api.set_stream, "cusolverDnSetStream");
#define WEFT_CUSOLVER_FIND(NAME, PARAMETERS) \
  find(api.NAME[0], "cusolverDnS" #NAME);    \
  find(api.NAME[1], "cusolverDnD" #NAME);
  WEFT_CUSOLVER_FUNCTIONS(WEFT_CUSOLVER_FIND)
#undef WEFT_CUSOLVER_FIND
  api.problem = library.problem;
  return api;
}

const solver::Api& solver_api() {
  static const solver::Api& instance = *new solver::Api(load_cusolver());
  return instance;
}

// One per device, for the rest of the process.
struct SolverHandles {
  std::mutex mutex;
  std::array<solver::Handle, kMostDevices> made{};
};
SolverHandles& solver_handles() {
  static SolverHandles& instance = *new SolverHandles;
  return instance;
}

// Matrices lie column after column, as the transposed ones do row after row.
Tensor turned(const Tensor& x) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  std::swap(strides[shape.size() - 1], strides[shape.size() - 2]);
  return x.as_strided(shape, strides, x.offset());
}

Tensor copied(const Tensor& x) {
  const Tensor copy = Tensor::empty(x.shape(), x.dtype(), x.device());
  copy.copy_from(x);
  return copy;
}

// The calls for one operator. What one gives is false once something has failed.
class Solving {
 public:
  Solving(const ops::OpDef& op, const Tensor& x, int64_t count)
      : op_(op),
        device_(x.device()),
        dtype_(x.dtype()),
        submission_(driver().submitting(device_.index)),
        info_(Tensor::full({std::max<int64_t>(1, count)}, Scalar(0), DType::I32, device_)) {
    const std::lock_guard<std::mutex> lock(solver_handles().mutex);
    solver::Handle& known = solver_handles().made[static_cast<size_t>(device_.index)];
    solver::Handle made = known;
    if (made == nullptr && !call("cusolverDnCreate", [&] { return solver_api().create(&made); })) return;
    handle_ = known = made;
  }

  bool is_double() const { return dtype_ == DType::F64; }
  Tensor room(const Shape& shape) const { return Tensor::empty(shape, dtype_, device_); }
  // Element `index * elements` of an array.
  void* at(const Tensor& array, int64_t index, int64_t elements) const {
    return static_cast<char*>(array.data()) + index * elements * itemsize(array.dtype());
  }
  int* info(int64_t index) const { return static_cast<int*>(at(info_, index, 1)); }

  // `call` gives a status.
  template <class Call>
  bool call(const char* name, const Call& call) {
    if (failed_) return false;
    const solver::Status status = driver().call_library(
        name,
        [&](void* stream) {
          if (handle_ != nullptr)
            if (const solver::Status set = solver_api().set_stream(handle_, stream)) return set;
          return call();
        },
        device_.index);
    if (status != 0) give_up(fmt::format("{} gives status {}", name, status));
    return !failed_;
  }
  // A workspace of the size that `ask`(handle, elements*) gives.
  template <class Ask>
  Tensor workspace(const char* name, const Ask& ask) {
    elements_ = 0;
    call(name, [&] { return ask(handle_, &elements_); });
    return room({std::max(1, elements_)});
  }
  int elements() const { return elements_; }
  solver::Handle handle() const { return handle_; }

  // That all matrices were such as the operator wants; waits for the device.
  bool succeeded() {
    if (failed_) return false;
    const Tensor told = info_.to(Device());
    const int32_t* const first = told.data_as<int32_t>();
    const int32_t* const bad = std::find_if(first, first + told.numel(), [](int32_t i) { return i != 0; });
    if (bad != first + told.numel())
      give_up(fmt::format("matrix {} has info {} and is the host's", bad - first, *bad));
    return !failed_;
  }

 private:
  void give_up(const std::string& why) {
    failed_ = true;
    if (log::enabled(log::Channel::Syncs))
      log::write(log::Channel::Syncs, fmt::format("{}: {}", op_.name, why));
  }

  const ops::OpDef& op_;
  const Device device_;
  const DType dtype_;
  const std::unique_lock<std::recursive_mutex> submission_;
  const Tensor info_;
  solver::Handle handle_ = nullptr;
  bool failed_ = false;
  int elements_ = 0;
};

int64_t count_of(const Tensor& x) { return x.numel() / (x.size(-1) * x.size(-2)); }

using Results = std::vector<Tensor>;

// Lower factors of rows are upper ones of columns.
Results run_cholesky(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs) {
  const Tensor& x = operands[0];
  const int n = static_cast<int>(x.size(-1));
  const int64_t count = count_of(x);
  Results results = empty_results(op, operands, attrs);
  Solving s(op, x, count);
  const bool d = s.is_double();
  const Tensor a = copied(x);
  const Tensor room = s.workspace("potrf_bufferSize", [&](solver::Handle handle, int* elements) {
    return solver_api().potrf_bufferSize[d](handle, solver::kUpper, n, a.data(), n, elements);
  });
  for (int64_t i = 0; i < count; ++i)
    s.call("potrf", [&] {
      return solver_api().potrf[d](s.handle(), solver::kUpper, n, s.at(a, i, int64_t{n} * n), n, room.data(),
                                   s.elements(), s.info(i));
    });
  if (!s.succeeded()) return {};
  results[0] = ops::call1("tril", {a});
  if (results.size() > 1) results[1] = Tensor::full(results[1].shape(), Scalar(0), DType::I32, x.device());
  return results;
}

struct LuFactors {
  Tensor columns, pivots;  // [count, n, m], int32 [count, min(m, n)]
};

bool factor(Solving& s, const Tensor& x, LuFactors& factors) {
  const int m = static_cast<int>(x.size(-2)), n = static_cast<int>(x.size(-1));
  const int64_t count = count_of(x), least = std::min(m, n);
  const bool d = s.is_double();
  factors.columns = copied(turned(x));
  factors.pivots = Tensor::empty({count, least}, DType::I32, x.device());
  const Tensor room = s.workspace("getrf_bufferSize", [&](solver::Handle handle, int* elements) {
    return solver_api().getrf_bufferSize[d](handle, m, n, factors.columns.data(), m, elements);
  });
  for (int64_t i = 0; i < count; ++i)
    s.call("getrf", [&] {
      return solver_api().getrf[d](s.handle(), m, n, s.at(factors.columns, i, int64_t{m} * n), m, room.data(),
                                   static_cast<int*>(s.at(factors.pivots, i, least)), s.info(i));
    });
  return s.succeeded();
}

Results run_solve(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs) {
  Results results = empty_results(op, operands, attrs);
  const Tensor& result = results[0];
  const bool is_vector = operands[1].dim() == 1;
  const int64_t n = operands[0].size(-1), columns = is_vector ? 1 : operands[1].size(-1);
  // Both operands with the result's batch dimensions.
  SymShape a_shape(result.shape().begin(), result.shape().end() - (is_vector ? 1 : 2)), b_shape = a_shape;
  a_shape.insert(a_shape.end(), {n, n});
  b_shape.insert(b_shape.end(), {n, columns});
  const Tensor a = ops::build::expand(operands[0], a_shape);
  const Tensor b =
      ops::build::expand(is_vector ? ops::build::unsqueeze(operands[1], 1) : operands[1], b_shape);
  Solving s(op, a, count_of(a));
  LuFactors factors;
  if (!factor(s, a, factors)) return {};
  const Tensor right = copied(turned(b));
  const int size = static_cast<int>(n), width = static_cast<int>(columns);
  for (int64_t i = 0; i < count_of(a); ++i)
    s.call("getrs", [&] {
      return solver_api().getrs[s.is_double()](s.handle(), 0, size, width, s.at(factors.columns, i, n * n),
                                               size, static_cast<const int*>(s.at(factors.pivots, i, n)),
                                               s.at(right, i, n * columns), size, s.info(i));
    });
  if (!s.succeeded()) return {};
  (is_vector ? ops::build::unsqueeze(result, result.dim()) : result).copy_from(turned(right));
  return results;
}

Results run_lu_factor(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs) {
  Results results = empty_results(op, operands, attrs);
  Solving s(op, operands[0], count_of(operands[0]));
  LuFactors factors;
  if (!factor(s, operands[0], factors)) return {};
  results[0].copy_from(turned(factors.columns));
  results[1].copy_from(factors.pivots.as_strided(results[1].shape(), results[1].strides(), 0));
  results[2] = Tensor::full(results[2].shape(), Scalar(0), DType::I32, operands[0].device());
  return results;
}

// det and slogdet: the diagonals and pivots come to the host, as what the factorization says of them does.
Results run_determinant(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs) {
  const Tensor& x = operands[0];
  const int64_t n = x.size(-1), count = count_of(x);
  Results results = empty_results(op, operands, attrs);
  Solving s(op, x, count);
  LuFactors factors;
  if (!factor(s, x, factors)) return {};
  const Tensor diagonals =
      factors.columns.as_strided({count, n}, {n * n, n + 1}, 0).to(Device()).to(DType::F64).contiguous();
  const Tensor pivots = factors.pivots.to(Device());
  const Tensor signs = Tensor::empty({count}, DType::F64), logarithms = Tensor::empty({count}, DType::F64);
  for (int64_t i = 0; i < count; ++i) {
    double sign = 1, logarithm = 0;
    for (int64_t k = 0; k < n; ++k) {
      const double value = diagonals.data_as<double>()[i * n + k];
      if (pivots.data_as<int32_t>()[i * n + k] != k + 1) sign = -sign;
      if (std::signbit(value)) sign = -sign;
      logarithm += std::log(std::abs(value));
    }
    const bool is_det = results.size() == 1;
    signs.data_as<double>()[i] = is_det ? sign * std::exp(logarithm) : sign;
    logarithms.data_as<double>()[i] = logarithm;
  }
  for (size_t k = 0; k < results.size(); ++k) {
    const Tensor there = (k == 0 ? signs : logarithms).to(x.dtype()).to(x.device());
    results[k].copy_from(there.as_strided(results[k].shape(), results[k].strides(), 0));
  }
  return results;
}

// The lower half of rows is the upper one of columns.
Results run_symmetric(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs) {
  const Tensor& x = operands[0];
  const int n = static_cast<int>(x.size(-1));
  const int64_t count = count_of(x);
  Results results = empty_results(op, operands, attrs);
  const int half = attrs.get_bool("upper") ? solver::kLower : solver::kUpper,
            vectors = results.size() > 1 ? solver::kAlso : solver::kNone;
  Solving s(op, x, count);
  const bool d = s.is_double();
  const Tensor a = copied(x);
  const Tensor room = s.workspace("syevd_bufferSize", [&](solver::Handle handle, int* elements) {
    return solver_api().syevd_bufferSize[d](handle, vectors, half, n, a.data(), n, results[0].data(),
                                            elements);
  });
  for (int64_t i = 0; i < count; ++i)
    s.call("syevd", [&] {
      return solver_api().syevd[d](s.handle(), vectors, half, n, s.at(a, i, int64_t{n} * n), n,
                                   s.at(results[0], i, n), room.data(), s.elements(), s.info(i));
    });
  if (!s.succeeded()) return {};
  if (results.size() > 1) results[1].copy_from(turned(a));
  return results;
}

Results run_qr(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs) {
  const Tensor& x = operands[0];
  Results results = empty_results(op, operands, attrs);
  const int m = static_cast<int>(x.size(-2)), n = static_cast<int>(x.size(-1)), least = std::min(m, n),
            width = static_cast<int>(results[0].size(-1));
  const int64_t count = count_of(x), most = std::max(n, width), size = most * m;
  Solving s(op, x, count);
  const bool d = s.is_double();
  const Tensor a = s.room({count, most, m}), tau = s.room({count, least});
  const auto columns = [&](int64_t number) { return a.as_strided({count, number, m}, {size, m, 1}, 0); };
  const Tensor dense = x.contiguous();
  columns(n).copy_from(turned(dense.as_strided({count, m, n}, {int64_t{m} * n, n, 1}, dense.offset())));
  const Tensor room = s.workspace("geqrf_bufferSize", [&](solver::Handle handle, int* elements) {
    return solver_api().geqrf_bufferSize[d](handle, m, n, a.data(), m, elements);
  });
  for (int64_t i = 0; i < count; ++i)
    s.call("geqrf", [&] {
      return solver_api().geqrf[d](s.handle(), m, n, s.at(a, i, size), m, s.at(tau, i, least), room.data(),
                                   s.elements(), s.info(i));
    });
  if (!s.succeeded()) return {};
  const Tensor upper = ops::call1("triu", {a.as_strided({count, width, n}, {size, 1, m}, 0)});
  results[1].copy_from(upper.contiguous().as_strided(results[1].shape(), results[1].strides(), 0));
  const Tensor more = s.workspace("orgqr_bufferSize", [&](solver::Handle handle, int* elements) {
    return solver_api().orgqr_bufferSize[d](handle, m, width, least, a.data(), m, tau.data(), elements);
  });
  for (int64_t i = 0; i < count; ++i)
    s.call("orgqr", [&] {
      return solver_api().orgqr[d](s.handle(), m, width, least, s.at(a, i, size), m, s.at(tau, i, least),
                                   more.data(), s.elements(), s.info(i));
    });
  if (!s.succeeded()) return {};
  results[0]
      .as_strided({count, m, width}, {int64_t{m} * width, width, 1}, 0)
      .copy_from(turned(columns(width)));
  return results;
}

// At least as many rows as columns, as cuSOLVER wants it; else the transposed matrix's, whose vectors change
// places: what lies by columns there lies by rows here.
Results run_svd(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs) {
  const Tensor& x = operands[0];
  Results results = empty_results(op, operands, attrs);
  const bool has_vectors = results.size() > 1, is_tall = x.size(-2) >= x.size(-1);
  const int m = static_cast<int>(std::max(x.size(-2), x.size(-1))),
            n = static_cast<int>(std::min(x.size(-2), x.size(-1)));
  const bool is_full = has_vectors && attrs.get_bool("full_matrices");
  const int width = is_full ? m : n;
  const auto job = static_cast<signed char>(!has_vectors ? 'N' : is_full ? 'A' : 'S');
  const int64_t count = count_of(x);
  Solving s(op, x, count);
  const bool d = s.is_double();
  const Tensor a = copied(is_tall ? turned(x) : x), &values = results[has_vectors ? 1 : 0];
  const Tensor u = s.room(has_vectors ? Shape{count, width, m} : Shape{1}),
               vt = s.room(has_vectors ? Shape{count, n, n} : Shape{1});
  const Tensor room = s.workspace("gesvd_bufferSize", [&](solver::Handle handle, int* elements) {
    return solver_api().gesvd_bufferSize[d](handle, m, n, elements);
  });
  const int64_t u_size = has_vectors ? int64_t{width} * m : 0, vt_size = has_vectors ? int64_t{n} * n : 0;
  for (int64_t i = 0; i < count; ++i)
    s.call("gesvd", [&] {
      return solver_api().gesvd[d](s.handle(), job, job, m, n, s.at(a, i, int64_t{m} * n), m,
                                   s.at(values, i, n), s.at(u, i, u_size), m, s.at(vt, i, vt_size), n,
                                   room.data(), s.elements(), nullptr, s.info(i));
    });
  if (!s.succeeded()) return {};
  if (!has_vectors) return results;
  const auto put = [&](Tensor& result, const Tensor& found) {
    result.as_strided(found.shape(), contiguous_strides(found.shape()), 0).copy_from(found);
  };
  put(results[0], is_tall ? turned(u) : vt);
  put(results[2], is_tall ? turned(vt) : u);
  return results;
}

using RunSolver = Results (*)(const ops::OpDef&, std::span<const Tensor>, const ops::Attrs&);
RunSolver solver_of(std::string_view name) {
  static const auto& table =
      *new std::unordered_map<std::string_view, RunSolver>{{"cholesky", run_cholesky},
                                                           {"cholesky_ex", run_cholesky},
                                                           {"solve", run_solve},
                                                           {"lu_factor", run_lu_factor},
                                                           {"det", run_determinant},
                                                           {"slogdet", run_determinant},
                                                           {"eigvalsh", run_symmetric},
                                                           {"eigh", run_symmetric},
                                                           {"qr", run_qr},
                                                           {"svd", run_svd},
                                                           {"svdvals", run_svd}};
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace

const std::string& why_no_cusolver() { return solver_api().problem; }

bool is_linear_algebra(const ops::OpDef& op, std::span<const Tensor> operands) {
  return solver_of(op.name) != nullptr && !is_complex(operands[0].dtype());
}

std::vector<Tensor> run_linear_algebra(const ops::OpDef& op, std::span<const Tensor> operands,
                                       const ops::Attrs& attrs) {
  if (!is_linear_algebra(op, operands) || !solver_api().problem.empty()) return {};
  for (const Tensor& x : operands)
    if (x.numel() == 0 || x.size(-1) > INT32_MAX) return {};
  if (operands[0].size(-2) > INT32_MAX) return {};
  driver().refuse_recording("linear algebra, whose success is looked at,", operands[0].device().index);
  const ops::TracerScope eager(nullptr);
  return solver_of(op.name)(op, operands, attrs);
}

}  // namespace weft::cuda
