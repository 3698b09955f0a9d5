#include "distributed/group.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "core/printable.h"
#include "core/profiling.h"
#include "core/suggest.h"
#include "distributed/transport.h"
#include "runtime/launcher.h"
#include "weft/error.h"

namespace weft::distributed {
namespace {

using Clock = std::chrono::steady_clock;

struct Group {
  std::mutex mutex;  // one collective at a time
  InitOptions options;
  std::unique_ptr<Transport> transport;   // of the host's memory
  std::unique_ptr<Transport> of_devices;  // of the GPUs'; null: there is none
  std::atomic<int> rank{0}, size{0};      // size 0: there is no group
  bool has_ended = false;
  std::string name;
  std::string failure;       // the message after which nothing works any more
  std::vector<Tensor> lost;  // of calls that were under way then
  Statistics statistics;
};

// Never destroyed: threads may still wait in it.
Group& group() {
  static Group& instance = *new Group;
  return instance;
}

Group& require_group(const char* what) {
  Group& found = group();
  if (found.size == 0)
    throw_error(ErrorKind::Runtime,
                fmt::format("{}: there is no process group; call init_process_group first", what));
  return found;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown host";
}

// Runs `body` with the transport, of which nobody else has a call; errors say whose they are, and end the
// group.
template <class F>
void guarded(Group& ranks, const char* what, F&& body) {
  if (!ranks.failure.empty()) throw_error(ErrorKind::Runtime, ranks.failure);
  const auto start = Clock::now();
  try {
    body(ranks);
  } catch (const Error& error) {
    ranks.failure = fmt::format("{}: {}: {}", ranks.name, what, error.what());
    throw_error(ErrorKind::Runtime, ranks.failure);
  }
  ranks.statistics.seconds += std::chrono::duration<double>(Clock::now() - start).count();
}

template <class F>
void collective(const char* what, int64_t bytes, F&& body) {
  Group& ranks = require_group(what);
  const std::scoped_lock lock(ranks.mutex);
  const profiling::Span span(what, profiling::Kind::Operator);
  guarded(ranks, what, body);
  ++ranks.statistics.calls;
  ranks.statistics.bytes += bytes;
}

// What the ranks call, as text of one length.
constexpr size_t kCallBytes = 120;
using CallText = std::array<char, kCallBytes>;

// All ranks see all calls, so that all raise the same error and none waits.
void check_calls(Group& ranks, const std::string& call, std::string* mismatch) {
  if (!ranks.options.check) return;
  CallText own{};
  std::memcpy(own.data(), call.data(), std::min(call.size(), kCallBytes - 1));
  std::vector<CallText> all(static_cast<size_t>(ranks.size));
  ranks.transport->wait(ranks.transport->all_gather(own.data(), all.data(), kCallBytes));
  const auto other =
      std::find_if(all.begin(), all.end(), [&](const CallText& text) { return text != all[0]; });
  if (other == all.end()) return;
  *mismatch = fmt::format("{}: the ranks' calls do not belong together: rank 0 calls {}, rank {} calls {}",
                          ranks.name, all[0].data(), other - all.begin(), other->data());
}

// Where the tensor's memory can be moved; an error where it cannot.
Transport& transport_of(Group& ranks, const Tensor& x) {
  if (x.device().type == DeviceType::CPU) return *ranks.transport;
  Transport* const found = ranks.of_devices.get();
  if (found == nullptr || found->device() != x.device())
    throw_error(
        ErrorKind::Runtime,
        found ? fmt::format("{}: the tensor is on {}, and this rank's GPU is {}", ranks.name,
                            x.device().str(), found->device().str())
              : fmt::format("{}: the tensor is on {}, which backend '{}' does not reach; use backend 'nccl'",
                            ranks.name, x.device().str(), ranks.options.backend));
  return *found;
}

// Dtype, sizes and kind of device: ranks have GPUs of different numbers.
std::string text_of(const Tensor& x) {
  const std::string device = x.device().str();
  return fmt::format("{}{} {}", short_name(x.dtype()), weft::str(x.shape()),
                     device.substr(0, device.find(':')));
}

struct Operand {
  Tensor tensor;  // contiguous, of a dtype that transports reduce
  int64_t count;
  DType dtype;
};

Operand reducible(const char* what, const Tensor& x, ReduceOp op) {
  const DType dtype = x.dtype();
  const bool is_order = op == ReduceOp::Min || op == ReduceOp::Max;
  if (is_stored_only(dtype) || (dtype == DType::Bool && !is_order) ||
      (is_complex(dtype) && op != ReduceOp::Sum))
    throw_error(ErrorKind::Type,
                fmt::format("{}: {} cannot be reduced so; expected numbers, bool for min and max, "
                            "complex numbers for sum",
                            what, describe(x)));
  if (dtype == DType::F16 || dtype == DType::BF16)
    return {x.to(DType::F32).contiguous(), x.numel(), DType::F32};
  if (dtype == DType::Bool) return {x.contiguous(), x.numel(), DType::U8};
  // NCCL has no integers of two bytes; sums and products of four end with the same bits.
  if (x.device().type != DeviceType::CPU && (dtype == DType::I16 || dtype == DType::U16))
    return {x.to(DType::I32).contiguous(), x.numel(), DType::I32};
  if (is_complex(dtype))
    return {x.contiguous(), 2 * x.numel(), dtype == DType::C64 ? DType::F32 : DType::F64};
  return {x.contiguous(), x.numel(), dtype};
}

const char* text_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum: return "sum";
    case ReduceOp::Product: return "product";
    case ReduceOp::Min: return "min";
    case ReduceOp::Max: return "max";
  }
  return "";
}

int64_t bytes_of(const Tensor& x) { return x.numel() * itemsize(x.dtype()); }

// `body` runs once the ranks agree.
template <class F>
void checked(const char* what, const std::string& call, F&& body, int64_t bytes = 0) {
  std::string mismatch;
  collective(what, bytes, [&](Group& ranks) {
    check_calls(ranks, call, &mismatch);
    if (mismatch.empty()) body(ranks);
  });
  if (!mismatch.empty()) throw_error(ErrorKind::Runtime, mismatch);
}

// What a call moves, and where to.
struct Call {
  const char* what;
  std::string text;  // for the other ranks
  Tensor x, from, result;
  std::function<Requests(Transport&)> begin;
};

Tensor run(const Call& call) {
  Transport& transport = transport_of(require_group(call.what), call.x);
  checked(call.what, call.text, [&](Group&) { transport.wait(call.begin(transport)); }, bytes_of(call.x));
  return call.result.to(call.x.dtype());
}

class UnderWay final : public Begun {
 public:
  explicit UnderWay(Call call)
      : call_(std::move(call)), transport_(transport_of(require_group(call_.what), call_.x)) {
    checked(call_.what, call_.text, [&](Group&) { requests_ = call_.begin(transport_); }, bytes_of(call_.x));
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  // Of a run that has failed: memory may go only when the call is done.
  ~UnderWay() override {
    if (requests_.empty()) return;
    try {
      UnderWay::wait();
    } catch (const Error&) {  // the group's next call says so; the transport may still write there
      Group& ranks = group();
      const std::scoped_lock lock(ranks.mutex);
      ranks.lost.push_back(std::move(call_.from));
      ranks.lost.push_back(std::move(call_.result));
    }
  }

  void advance() override {
    Group& ranks = group();
    const std::unique_lock lock(ranks.mutex, std::try_to_lock);
    if (lock.owns_lock() && !requests_.empty())
      guarded(ranks, call_.what, [&](Group&) { transport_.test(requests_); });
  }
  Tensor wait() override {
    Group& ranks = group();
    const std::scoped_lock lock(ranks.mutex);
    const profiling::Span span(call_.what, profiling::Kind::Operator);
    guarded(ranks, call_.what, [&](Group&) { transport_.wait(requests_); });
    requests_.clear();
    return call_.result.to(call_.x.dtype());
  }

 private:
  Call call_;
  Transport& transport_;
  Requests requests_;
};

void check_root(const char* what, int root) {
  const int size = require_group(what).size;
  WEFT_CHECK(root >= 0 && root < size,
             fmt::format("{}: root must be a rank between 0 and {}, got {}", what, size - 1, root));
}

}  // namespace

ReduceOp reduce_op_from_name(const std::string& name) {
  for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Product, ReduceOp::Min, ReduceOp::Max})
    if (name == text_of(op)) return op;
  const std::vector<std::string> names = {"sum", "product", "min", "max"};
  throw_error(ErrorKind::Value, fmt::format("unknown reduction '{}'; they are sum, product, min and max{}",
                                            printable(name), did_you_mean(name, names)));
}

void init_process_group(const InitOptions& options) {
  const std::vector<std::string> backends = {"mpi", "nccl"};
  WEFT_CHECK(std::find(backends.begin(), backends.end(), options.backend) != backends.end(),
             fmt::format("init_process_group: unknown backend '{}'; they are mpi and nccl{}",
                         printable(options.backend), did_you_mean(options.backend, backends)));
  WEFT_CHECK(options.timeout > 0 && options.timeout <= 1e9,
             fmt::format("init_process_group: timeout must be above 0 seconds, got {}", options.timeout));
  Group& ranks = group();
  const std::scoped_lock lock(ranks.mutex);
  if (ranks.size > 0)
    throw_error(ErrorKind::Runtime,
                fmt::format("init_process_group: there is a process group already: {}", ranks.name));
  if (ranks.has_ended)
    throw_error(
        ErrorKind::Runtime,
        "init_process_group: destroy_process_group has ended the transport, which a process starts once");
  if (options.backend == "mpi") {
    ranks.transport = open_mpi_transport(options.timeout);
  } else {
    ranks.transport = open_host_transport_for_nccl(options.timeout);
    ranks.of_devices = open_nccl_transport(*ranks.transport, options.timeout);
  }
  ranks.options = options;
  ranks.rank = ranks.transport->rank();
  ranks.name =
      fmt::format("rank {} of {} ({})", ranks.transport->rank(), ranks.transport->size(), host_name());
  ranks.statistics = {};
  ranks.size = ranks.transport->size();
}

bool is_initialized() { return group().size > 0; }
bool reaches(Device device) {
  const Group& ranks = group();
  return ranks.size > 0 && ranks.of_devices && ranks.of_devices->device().type == device.type;
}

void destroy_process_group() {
  Group& ranks = require_group("destroy_process_group");
  const std::scoped_lock lock(ranks.mutex);
  if (!ranks.failure.empty()) abort_process_group(1);
  try {
    if (ranks.of_devices) ranks.of_devices->finish();
    ranks.transport->finish();
  } catch (const Error& error) {
    ranks.failure = fmt::format("{}: destroy_process_group: {}", ranks.name, error.what());
    throw_error(ErrorKind::Runtime, ranks.failure);
  }
  ranks.size = 0;
  ranks.has_ended = true;
}

void abort_process_group(int status) {
  Group& ranks = group();
  if (ranks.size > 0) {
    if (ranks.of_devices) ranks.of_devices->abort(status);
    ranks.transport->abort(status);
  }
  std::_Exit(status);
}

int get_rank() { return require_group("get_rank").rank; }
int get_world_size() { return require_group("get_world_size").size; }
std::string get_backend() { return require_group("get_backend").options.backend; }
std::string rank_name() { return is_initialized() ? group().name : ""; }

std::optional<Launch> launch() {
  const std::optional<runtime::Launch> found = runtime::launch();
  if (!found) return std::nullopt;
  return Launch{found->rank, found->world_size, found->local_rank, found->local_size};
}

namespace {

Call all_reduce_call(const Tensor& x, ReduceOp op) {
  require_group("all_reduce");
  const Operand operand = reducible("all_reduce", x, op);
  const Tensor result = operand.tensor.data() == x.data() ? operand.tensor.clone() : operand.tensor;
  return {"all_reduce",
          fmt::format("all_reduce({}, {})", text_of(x), text_of(op)),
          x,
          result,
          result,
          [=](Transport& transport) {
            return transport.all_reduce(result.data(), operand.count, operand.dtype, op);
          }};
}

Call all_gather_call(const Tensor& x) {
  const int64_t size = require_group("all_gather").size;
  WEFT_CHECK(x.dim() > 0, fmt::format("all_gather: expected at least one dimension, got {}", describe(x)));
  const Tensor from = x.contiguous();
  Shape shape = x.shape();
  shape[0] *= size;
  const Tensor result = Tensor::empty(shape, x.dtype(), x.device());
  return {
      "all_gather", fmt::format("all_gather({})", text_of(x)), x, from, result, [=](Transport& transport) {
        return transport.all_gather(from.data(), result.data(), bytes_of(from));
      }};
}

Call reduce_scatter_call(const Tensor& x, ReduceOp op) {
  const int64_t size = require_group("reduce_scatter").size;
  WEFT_CHECK(x.dim() > 0 && x.size(0) % size == 0,
             fmt::format("reduce_scatter: the first dimension must be a multiple of {} ranks, got {}", size,
                         describe(x)));
  const Operand operand = reducible("reduce_scatter", x, op);
  const Tensor from = operand.tensor.data() == x.data() ? operand.tensor.clone() : operand.tensor;
  Shape shape = x.shape();
  shape[0] /= size;
  const Tensor result = Tensor::empty(shape, from.dtype(), from.device());
  return {"reduce_scatter",
          fmt::format("reduce_scatter({}, {})", text_of(x), text_of(op)),
          x,
          from,
          result,
          [=](Transport& transport) {
            return transport.reduce_scatter(from.data(), result.data(), operand.count / size, operand.dtype,
                                            op);
          }};
}

Call broadcast_call(const Tensor& x, int root) {
  check_root("broadcast", root);
  const Tensor result = x.clone();
  return {"broadcast",
          fmt::format("broadcast({}, root {})", text_of(x), root),
          x,
          result,
          result,
          [=](Transport& transport) { return transport.broadcast(result.data(), bytes_of(result), root); }};
}

}  // namespace

Tensor all_reduce(const Tensor& x, ReduceOp op) { return run(all_reduce_call(x, op)); }
Tensor all_gather(const Tensor& x) { return run(all_gather_call(x)); }
Tensor reduce_scatter(const Tensor& x, ReduceOp op) { return run(reduce_scatter_call(x, op)); }
Tensor broadcast(const Tensor& x, int root) { return run(broadcast_call(x, root)); }

std::unique_ptr<Begun> begin_all_reduce(const Tensor& x, ReduceOp op) {
  return std::make_unique<UnderWay>(all_reduce_call(x, op));
}
std::unique_ptr<Begun> begin_all_gather(const Tensor& x) {
  return std::make_unique<UnderWay>(all_gather_call(x));
}
std::unique_ptr<Begun> begin_reduce_scatter(const Tensor& x, ReduceOp op) {
  return std::make_unique<UnderWay>(reduce_scatter_call(x, op));
}
std::unique_ptr<Begun> begin_broadcast(const Tensor& x, int root) {
  return std::make_unique<UnderWay>(broadcast_call(x, root));
}

void barrier() {
  checked("barrier", "barrier()",
          [](Group& ranks) { (ranks.of_devices ? ranks.of_devices : ranks.transport)->barrier(); });
}

std::string broadcast_bytes(const std::string& bytes, int root) {
  check_root("broadcast_bytes", root);
  std::string result = get_rank() == root ? bytes : "";
  checked("broadcast_bytes", fmt::format("broadcast_bytes(root {})", root), [&](Group& ranks) {
    int64_t size = static_cast<int64_t>(result.size());
    ranks.transport->wait(ranks.transport->broadcast(&size, sizeof size, root));
    result.resize(static_cast<size_t>(size));
    ranks.transport->wait(ranks.transport->broadcast(result.data(), size, root));
  });
  return result;
}

Statistics statistics() {
  Group& ranks = require_group("statistics");
  const std::scoped_lock lock(ranks.mutex);
  return ranks.statistics;
}
void reset_statistics() {
  Group& ranks = require_group("reset_statistics");
  const std::scoped_lock lock(ranks.mutex);
  ranks.statistics = {};
}

void all_reduce_memory(void* data, int64_t count, DType dtype, ReduceOp op) {
  collective("all_reduce", count * itemsize(dtype), [&](Group& ranks) {
    ranks.transport->wait(ranks.transport->all_reduce(data, count, dtype, op));
  });
}
void all_gather_memory(const void* from, void* to, int64_t bytes) {
  collective("all_gather", bytes,
             [&](Group& ranks) { ranks.transport->wait(ranks.transport->all_gather(from, to, bytes)); });
}
void broadcast_memory(void* data, int64_t bytes, int root) {
  collective("broadcast", bytes,
             [&](Group& ranks) { ranks.transport->wait(ranks.transport->broadcast(data, bytes, root)); });
}

}  // namespace weft::distributed
