// Calls of a TorchScript method that wait for each other: those that come within a short time and agree in
// all but the first dimension of their tensors are one call.
//
//   ModuleQueue queue(module, "forward", {.max_rows = 16});
//   queue.submit(arguments, [](ModuleAnswer answer) { … });
//   while (queue.step()) {}
//
// Nobody says of a module that its rows do not depend on each other, so it is found out. The first joined
// calls, and some later ones, are made for each member alone as well, whose answers are given, and compared.
// Where they differ, where the result has not the rows of the arguments, or where a joined call fails that no
// member's call alone does, calls of that kind are not joined any more.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "serve/metrics.h"
#include "weft/error.h"
#include "weft/jit/module.h"
#include "weft/npz.h"

namespace weft::serve {

struct ModuleQueueOptions {
  int64_t max_rows = 16;                   // of a joined call; 1: none are joined
  double window_seconds = 0.002;           // that a call waits for others at most
  int64_t max_queue = 256;                 // calls that wait
  uint64_t max_bytes = uint64_t{1} << 30;  // of their tensors
  Device device = {};                      // where the module is: arguments go there, results come back
};

// Arrays, named as io::arrays_of_value does, or what went wrong.
struct ModuleAnswer {
  NamedValues arrays = {};
  std::string error = {};
  ErrorKind kind = ErrorKind::Runtime;
};

class ModuleQueue {
 public:
  // ValueError where the module has no such method.
  ModuleQueue(jit::Module module, std::string method, ModuleQueueOptions options = {});
  ~ModuleQueue();
  ModuleQueue(const ModuleQueue&) = delete;
  ModuleQueue& operator=(const ModuleQueue&) = delete;

  const jit::Schema& schema() const;
  const ModuleQueueOptions& options() const { return options_; }
  // The call's number; nothing where the queue is full. `told` is called by the thread that steps. May be
  // called by any thread.
  std::optional<uint64_t> submit(jit::Keywords arguments, std::function<void(ModuleAnswer)> told);
  // A call that still waits is not made. May be called by any thread.
  void cancel(uint64_t number);

  // Makes the call at the front, with those that join it; false where nothing waits. Does not wait for more.
  bool step();
  // A thread that steps, until stop(); what waits then is dropped.
  void start();
  void stop();

  std::string metrics() const;  // in Prometheus' text format

 private:
  using Clock = std::chrono::steady_clock;
  struct Call;
  using Calls = std::vector<std::shared_ptr<Call>>;
  // What is known of calls of one kind.
  struct Kind {
    bool is_apart = false;  // they are not joined any more
    int64_t joined = 0, compared = 0;
  };
  struct Counts {
    int64_t finished = 0, cancelled = 0, failed = 0, refused = 0;
    int64_t calls = 0, joined_calls = 0, compared_calls = 0, kinds_apart = 0, running = 0;
    double call_seconds = 0;
  };

  void run();
  Calls take();
  int64_t rows_that_join() const;
  bool may_join(const Call& call) const;
  NamedValues call(const jit::Keywords& arguments);
  ModuleAnswer call_alone(const Call& call);
  void answer(const Calls& calls);
  std::vector<ModuleAnswer> answers_of(const Calls& calls);
  std::optional<std::vector<NamedValues>> call_joined(const Calls& calls, std::string& error);
  void keep_apart(const std::string& kind);

  jit::Module module_;
  std::string method_;
  std::shared_ptr<jit::Function> function_;
  ModuleQueueOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Call>> waiting_;
  uint64_t waiting_bytes_ = 0, next_number_ = 1;
  std::map<std::string, Kind> kinds_;
  Counts counts_;
  Histogram rows_{{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}};
  Histogram request_seconds_{{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60}};
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace weft::serve
