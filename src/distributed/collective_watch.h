// Collectives that a GPU has been given and that nobody waits for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace weft::distributed {

// Ends the process, and so all ranks, with a line on stderr where one is not done in time: what was to be its
// result is not there, and the work behind it would wait for ever.
class CollectiveWatch {
 public:
  // `rank`: for the message. `timeout`: seconds.
  CollectiveWatch(std::string rank, double timeout);
  ~CollectiveWatch();
  CollectiveWatch(const CollectiveWatch&) = delete;
  CollectiveWatch& operator=(const CollectiveWatch&) = delete;

  // `is_done` is asked by the watch's thread, until it says so. Collectives are done in the order of the
  // calls.
  void add(const char* what, std::function<bool()> is_done);

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    const char* what;
    std::function<bool()> is_done;
    Clock::time_point begun;
  };

  void run();

  const std::string rank_;
  const double timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Pending> pending_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace weft::distributed
