#include "distributed/collective_watch.h"

#include <fmt/format.h>

#include <utility>

#include "weft/distributed.h"

namespace weft::distributed {
namespace {

constexpr auto kBetweenQuestions = std::chrono::milliseconds(20);

}  // namespace

CollectiveWatch::CollectiveWatch(std::string rank, double timeout)
    : rank_(std::move(rank)), timeout_(timeout), thread_([this] { run(); }) {}

CollectiveWatch::~CollectiveWatch() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CollectiveWatch::add(const char* what, std::function<bool()> is_done) {
  {
    const std::lock_guard lock(mutex_);
    pending_.push_back({what, std::move(is_done), Clock::now()});
  }
  changed_.notify_all();
}

void CollectiveWatch::run() {
  std::unique_lock lock(mutex_);
  while (!has_ended_) {
    if (pending_.empty()) {
      changed_.wait(lock);
    } else if (pending_.front().is_done()) {
      pending_.pop_front();
    } else if (Clock::now() - pending_.front().begun > std::chrono::duration<double>(timeout_)) {
      fmt::print(stderr,
                 "weft.distributed: {}: {}: waited {} s for the other ranks; one has ended, or is in another "
                 "call. All ranks end.\n",
                 rank_, pending_.front().what, timeout_);
      abort_process_group(1);
    } else {
      changed_.wait_for(lock, kBetweenQuestions);
    }
  }
}

}  // namespace weft::distributed
