#include "serve/module_queue.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/arguments.h"
#include "runtime/log.h"
#include "serve/joined_arguments.h"
#include "serve/metrics_text.h"
#include "serve/moved_values.h"

namespace weft::serve {
namespace {

// Joined calls whose members are computed alone as well: the first ones whose members are not all the same,
// and each so-many-th after these.
constexpr int64_t kComparedFirst = 4, kComparedEach = 64;
constexpr size_t kMostKinds = 1024, kLongestKind = 4096;

}  // namespace

struct ModuleQueue::Call {
  uint64_t number;
  jit::Keywords arguments;
  std::function<void(ModuleAnswer)> told;
  int64_t rows = 0;  // 0: it is joined with none
  std::string shape, kind;
  uint64_t bytes;
  Clock::time_point arrived;
};

ModuleQueue::ModuleQueue(jit::Module module, std::string method, ModuleQueueOptions options)
    : module_(std::move(module)),
      method_(std::move(method)),
      function_(module_.method(method_)),
      options_(options) {}

ModuleQueue::~ModuleQueue() { stop(); }

const jit::Schema& ModuleQueue::schema() const { return function_->schema(); }

// ---- the queue ---------------------------------------------------------------------------------
std::optional<uint64_t> ModuleQueue::submit(jit::Keywords arguments, std::function<void(ModuleAnswer)> told) {
  const auto call = std::make_shared<Call>();
  call->rows = rows_of(arguments).value_or(0);
  call->shape = call->rows > 0 ? shape_key(arguments) : "";
  call->kind = call->rows > 0 ? kind_key(arguments) : "";
  if (call->kind.size() > kLongestKind) call->rows = 0;
  call->bytes = bytes_of(arguments);
  call->arguments = std::move(arguments);
  call->told = std::move(told);
  call->arrived = Clock::now();
  {
    const std::scoped_lock lock(mutex_);
    if (static_cast<int64_t>(waiting_.size()) >= options_.max_queue ||
        waiting_bytes_ + call->bytes > options_.max_bytes) {
      ++counts_.refused;
      return std::nullopt;
    }
    call->number = next_number_++;
    waiting_bytes_ += call->bytes;
    waiting_.push_back(call);
  }
  changed_.notify_one();
  return call->number;
}

void ModuleQueue::cancel(uint64_t number) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const auto& call) { return call->number == number; });
    if (found == waiting_.end()) return;
    ++counts_.cancelled;
    waiting_bytes_ -= (*found)->bytes;
    waiting_.erase(found);
  }
  changed_.notify_one();
}

bool ModuleQueue::may_join(const Call& call) const {
  if (call.rows == 0 || call.rows >= options_.max_rows) return false;
  const auto kind = kinds_.find(call.kind);
  return kind == kinds_.end() || !kind->second.is_apart;
}

// Of the calls that the one at the front is made with.
int64_t ModuleQueue::rows_that_join() const {
  int64_t rows = 0;
  for (const auto& call : waiting_)
    if (call->shape == waiting_.front()->shape) rows += std::min(call->rows, options_.max_rows);
  return rows;
}

// In the order in which they came, as far as there is room.
ModuleQueue::Calls ModuleQueue::take() {
  Calls calls{waiting_.front()};
  waiting_.pop_front();
  if (may_join(*calls.front())) {
    int64_t rows = calls.front()->rows;
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      if ((*at)->shape != calls.front()->shape) {
        ++at;
        continue;
      }
      if ((*at)->rows > options_.max_rows - rows) break;
      rows += (*at)->rows;
      calls.push_back(*at);
      at = waiting_.erase(at);
    }
  }
  for (const auto& call : calls) waiting_bytes_ -= call->bytes;
  counts_.running = static_cast<int64_t>(calls.size());
  return calls;
}

bool ModuleQueue::step() {
  Calls calls;
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.empty()) return false;
    calls = take();
  }
  answer(calls);
  return true;
}

void ModuleQueue::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_stopping_ || !waiting_.empty(); });
    if (is_stopping_) return;
    const uint64_t front = waiting_.front()->number;
    const auto until =
        waiting_.front()->arrived +
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.window_seconds));
    if (may_join(*waiting_.front()))
      changed_.wait_until(lock, until, [&] {
        return is_stopping_ || waiting_.empty() || waiting_.front()->number != front ||
               rows_that_join() >= options_.max_rows;
      });
    if (is_stopping_) return;
    if (waiting_.empty() || waiting_.front()->number != front) continue;
    const Calls calls = take();
    lock.unlock();
    answer(calls);
    lock.lock();
  }
}

void ModuleQueue::start() {
  thread_ = std::thread([this] { run(); });
}

void ModuleQueue::stop() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  const std::scoped_lock lock(mutex_);
  counts_.cancelled += static_cast<int64_t>(waiting_.size());
  waiting_.clear();
  waiting_bytes_ = 0;
}

// ---- calls -------------------------------------------------------------------------------------
NamedValues ModuleQueue::call(const jit::Keywords& given) {
  const Clock::time_point start = Clock::now();
  const bool is_elsewhere = options_.device != Device();
  const jit::Keywords arguments = is_elsewhere ? moved(given, options_.device) : given;
  NamedValues result =
      io::arrays_of_value("out", method_ == "forward" ? module_.forward({}, arguments)
                                                      : module_.run_method(method_, {}, arguments));
  if (is_elsewhere) result = moved(result, Device());
  const std::scoped_lock lock(mutex_);
  ++counts_.calls;
  counts_.call_seconds += seconds_since(start);
  return result;
}

ModuleAnswer ModuleQueue::call_alone(const Call& alone) {
  try {
    return {.arrays = call(alone.arguments)};
  } catch (const Error& error) {
    return {.error = error.what(), .kind = error.kind()};
  } catch (const std::exception& error) {
    return {.error = error.what(), .kind = ErrorKind::Runtime};
  }
}

// Nothing where it raised (`error` says what), or the result has other rows.
std::optional<std::vector<NamedValues>> ModuleQueue::call_joined(const Calls& calls, std::string& error) {
  std::vector<const jit::Keywords*> members;
  std::vector<int64_t> rows;
  for (const auto& member : calls) {
    members.push_back(&member->arguments);
    rows.push_back(member->rows);
  }
  try {
    return split(call(join(members)), rows);
  } catch (const std::exception& raised) {
    error = raised.what();
  }
  return std::nullopt;
}

void ModuleQueue::keep_apart(const std::string& kind) {
  const std::scoped_lock lock(mutex_);
  kinds_[kind].is_apart = true;
  ++counts_.kinds_apart;
}

std::vector<ModuleAnswer> ModuleQueue::answers_of(const Calls& calls) {
  std::vector<ModuleAnswer> answers;
  if (calls.size() == 1) {
    answers.push_back(call_alone(*calls.front()));
    return answers;
  }
  const std::string& name = calls.front()->kind;
  const bool differ = std::any_of(calls.begin() + 1, calls.end(), [&](const auto& member) {
    return !are_same(calls.front()->arguments, member->arguments);
  });
  bool is_compared = false;
  {
    const std::scoped_lock lock(mutex_);
    if (kinds_.size() > kMostKinds) kinds_.clear();
    Kind& kind = kinds_[name];
    is_compared = kind.compared < kComparedFirst || kind.joined % kComparedEach == 0;
    ++kind.joined;
    kind.compared += is_compared && differ;
    ++counts_.joined_calls;
    counts_.compared_calls += is_compared;
  }
  std::string error;
  auto parts = call_joined(calls, error);
  if (parts && !is_compared) {
    for (NamedValues& part : *parts) answers.push_back({.arrays = std::move(part)});
    return answers;
  }
  bool fails = false, is_same = parts.has_value();
  for (size_t i = 0; i < calls.size(); ++i) {
    answers.push_back(call_alone(*calls[i]));
    fails = fails || !answers.back().error.empty();
    is_same =
        is_same && parts && answers.back().error.empty() && are_close((*parts)[i], answers.back().arrays);
  }
  // A joined call that raises because one member does says nothing of the others.
  if (!is_same && (error.empty() || !fails)) keep_apart(name);
  return answers;
}

void ModuleQueue::answer(const Calls& calls) {
  int64_t rows = 0;
  for (const auto& member : calls) rows += std::max<int64_t>(member->rows, 1);
  std::vector<ModuleAnswer> answers;
  try {
    answers = answers_of(calls);
  } catch (const std::exception& failure) {
    log::warning(fmt::format("serve: calls end with an error: {}", failure.what()));
    answers.assign(calls.size(), {.error = failure.what(), .kind = ErrorKind::Runtime});
  }
  {
    const std::scoped_lock lock(mutex_);
    rows_.add(static_cast<double>(rows));
    counts_.running = 0;
    for (size_t i = 0; i < calls.size(); ++i) {
      ++(answers[i].error.empty() ? counts_.finished : counts_.failed);
      request_seconds_.add(seconds_since(calls[i]->arrived));
    }
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    try {
      calls[i]->told(std::move(answers[i]));
    } catch (const std::exception& failure) {
      log::warning(fmt::format("serve: a call could not be told its answer: {}", failure.what()));
    }
  }
}

std::string ModuleQueue::metrics() const {
  const std::scoped_lock lock(mutex_);
  std::string text = metric_header("weft_requests_total", "counter",
                                   "Requests that ended, by how; those refused found the queue full.");
  for (const auto& [outcome, count] : {std::pair{"finished", counts_.finished},
                                       {"cancelled", counts_.cancelled},
                                       {"failed", counts_.failed},
                                       {"refused", counts_.refused}})
    text += fmt::format("weft_requests_total{{outcome=\"{}\"}} {}\n", outcome, count);
  text += gauge("weft_requests_running", "Requests of the call that is being made.", counts_.running);
  text += gauge("weft_requests_waiting", "Requests in the queue.", waiting_.size());
  text += gauge("weft_waiting_bytes", "Of the tensors of requests in the queue.", waiting_bytes_);
  text += counter("weft_calls_total", "Calls of the method.", counts_.calls);
  text += counter("weft_call_seconds_total", "Time in them.", counts_.call_seconds);
  text += counter("weft_joined_calls_total", "Calls for several requests.", counts_.joined_calls);
  text += counter("weft_compared_calls_total", "Of these, whose requests were also computed alone.",
                  counts_.compared_calls);
  text += counter("weft_kinds_apart_total", "Kinds of calls that turned out not to be joinable.",
                  counts_.kinds_apart);
  text += request_seconds_.text("weft_request_seconds", "From a request's arrival to its end.");
  text += rows_.text("weft_call_rows", "First dimension of a call's tensors.");
  return text;
}

}  // namespace weft::serve
