#include "capture/loops/team.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "capture/perform/state.h"
#include "weft/parallel.h"

namespace weft::capture {

namespace {

using Clock = std::chrono::steady_clock;
using Words = std::vector<int64_t>;

constexpr double kProbe_ns = 20e3;          // rounds that are measured first take this long
constexpr double kWorthwhile_ns = 40e3;     // less is not shared
constexpr double kPiece_ns = 100e3;         // one piece
constexpr int64_t kSavedBytes = 192 << 10;  // of one piece: stays in the cache
constexpr double kSaving_ns = 0.1;          // of a byte
constexpr double kSavingPiece_ns = 4;       // of what lies in one piece
constexpr double kCounting_ns = 50;         // one element of counts must be worth this much of all rounds
constexpr double kLeastCounted_ns = 300e3;  // rounds that count and take less are not shared
constexpr int64_t kFewCounts = 4096;        // so many are worth a try in any case
constexpr int64_t kNever = int64_t{1} << 62;
constexpr int64_t kSumLimit = int64_t{1} << 62;
constexpr auto kLeaveWithin = std::chrono::milliseconds(50);
constexpr auto kPollEvery = std::chrono::milliseconds(10);

bool is_far_from_limit(int64_t sum) { return sum >= -kSumLimit && sum < kSumLimit; }

double since_ns(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// A block of an array: part of each dimension.
struct Slab {
  char* data;
  int dim, item_size;
  Words strides, low, length;

  int64_t bytes() const {
    int64_t count = item_size;
    for (const int64_t n : length) count *= n;
    return count;
  }
  // Blocks that lie in one piece.
  int64_t pieces() const {
    int64_t count = 1;
    for (int d = 0; d + 1 < dim; ++d) count *= length[static_cast<size_t>(d)];
    return count;
  }
  // Dimensions of which all is in the block, and which lie in one piece, become one with that around them.
  void merge(Words sizes) {
    while (dim > 1) {
      const auto last = static_cast<size_t>(dim - 1);
      const int64_t size = sizes[last];
      if (strides[last] != 1 || low[last] != 0 || length[last] != size || strides[last - 1] != size) return;
      for (Words* words : {&strides, &low, &length, &sizes}) words->pop_back();
      strides.back() = 1;
      for (Words* words : {&low, &length, &sizes}) words->back() *= size;
      --dim;
    }
  }
  // Copies all elements from or to `memory`, which moves on.
  void copy(char*& memory, bool save, int d = 0, int64_t offset = 0) const {
    if (d == dim) {
      std::memcpy(save ? memory : data + offset, save ? data + offset : memory,
                  static_cast<size_t>(item_size));
      memory += item_size;
      return;
    }
    const int64_t stride = strides[static_cast<size_t>(d)] * item_size;
    offset += low[static_cast<size_t>(d)] * stride;
    const int64_t n = length[static_cast<size_t>(d)];
    if (d + 1 == dim && stride == item_size) {
      const auto size = static_cast<size_t>(n * item_size);
      std::memcpy(save ? memory : data + offset, save ? data + offset : memory, size);
      memory += size;
      return;
    }
    for (int64_t i = 0; i < n; ++i) copy(memory, save, d + 1, offset + i * stride);
  }
};

// [low, high] of what an array covers, in bytes; does no element have two indices?
struct Extent {
  intptr_t low, high;
  bool injective;
};

Extent extent(const LoopSite::Array& array, const int64_t* words) {
  const int64_t *sizes = words + 1, *strides = sizes + array.dim;
  Extent result{words[0], words[0] + array.item_size - 1, true};
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (int d = 0; d < array.dim; ++d) {
    if (sizes[d] == 0) return {0, -1, true};
    if (sizes[d] == 1) continue;
    const int64_t reach = (sizes[d] - 1) * strides[d] * array.item_size;
    (reach < 0 ? result.low : result.high) += reach;
    dims.emplace_back(std::abs(strides[d]), sizes[d]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) result.injective = false;
    reach += stride * (size - 1);
  }
  return result;
}

class Team;
thread_local Team* current_team = nullptr;
thread_local int64_t current_piece = 0;
constinit thread_local Clock::time_point last_look{};  // for signals

class Team {
 public:
  Team(LoopSite& site, LoopRounds body, int64_t* job, int64_t* state, const int64_t* arrays,
       const void* const* functions, int64_t (*poll)())
      : site_(site),
        body_(body),
        job_(*reinterpret_cast<LoopJob*>(job)),
        slabs_(job + sizeof(LoopJob) / sizeof(int64_t)),
        state_(state),
        start_(state, state + site.state_words),
        arrays_(arrays),
        functions_(functions),
        poll_(poll),
        caller_(std::this_thread::get_id()) {}

  // Are the rounds independent with these arrays?
  bool is_independent() const {
    std::vector<Extent> extents;
    for (const LoopSite::Array& array : site_.arrays) extents.push_back(extent(array, arrays_ + array.words));
    for (size_t a = 0; a < extents.size(); ++a) {
      if (site_.arrays[a].counted && !lies_in_one_piece(site_.arrays[a])) return false;
      if (!site_.arrays[a].stored && !site_.arrays[a].counted) continue;
      if (!extents[a].injective) return false;
      for (size_t b = 0; b < extents.size(); ++b)
        if (a != b && extents[a].low <= extents[b].high && extents[b].low <= extents[a].high) return false;
    }
    return true;
  }

  // In C order, without gaps?
  bool lies_in_one_piece(const LoopSite::Array& array) const {
    const int64_t *sizes = arrays_ + array.words + 1, *strides = sizes + array.dim;
    int64_t size = 1;
    for (int d = array.dim; d-- > 0; size *= sizes[d])
      if (sizes[d] != 1 && strides[d] != size) return false;
    return true;
  }

  int64_t num_elements(const LoopSite::Array& array) const {
    int64_t count = 1;
    for (int d = 0; d < array.dim; ++d) count *= arrays_[array.words + 1 + d];
    return count;
  }

  int64_t num_counts() const {
    int64_t count = 0;
    for (const LoopSite::Array& array : site_.arrays)
      if (array.counted) count += num_elements(array);
    return count;
  }

  LoopEnding run() {
    const int threads = get_num_threads();
    const int64_t rounds = job_.rounds;
    job_.rounds = 0;
    if (threads == 1 || in_parallel_region() || !is_independent()) return kRoundsStopped;
    if (num_counts() > std::max(kFewCounts, rounds / 16)) return kRoundsStopped;
    double round_ns = site_.round_ns.load(std::memory_order_relaxed);
    if (round_ns == 0) {
      round_ns = probe(rounds);
      if (failed_ != kNever || leaving_) return ending();
      if (round_ns == 0) {  // too few to tell: twice as many are looked at again
        site_.least_rounds.store(2 * rounds, std::memory_order_relaxed);
        return kRoundsDone;
      }
    }
    const int64_t left = rounds - job_.rounds;
    const double saved_ns = saving_ns(rounds) / static_cast<double>(rounds);
    site_.least_rounds.store(least_rounds(round_ns, saved_ns), std::memory_order_relaxed);
    if (left == 0) return kRoundsDone;
    if (left < site_.least_rounds.load(std::memory_order_relaxed)) return kRoundsLeft;
    const auto num_counted = static_cast<double>(num_counts());
    if (num_counted > 0 &&
        std::max(kLeastCounted_ns, kCounting_ns * num_counted) > round_ns * static_cast<double>(left))
      return kRoundsStopped;
    share(left, round_ns, threads);
    return ending();
  }

  static int64_t poll_piece() { return current_team->poll(); }

 private:
  enum class State : uint8_t { Free, Saved, Done };
  struct Slot {
    State state = State::Free;
    int64_t piece = 0;
    std::unique_ptr<char[]> memory;
    size_t capacity = 0;
    Words carried, counts;
  };

  static int64_t least_rounds(double round_ns, double saving_ns) {
    if (saving_ns > 0.4 * round_ns) return kNever;
    return static_cast<int64_t>(kWorthwhile_ns / round_ns) + 2;
  }

  // Rounds in turn until they have taken long enough; nanoseconds of one, 0 where they never did.
  double probe(int64_t rounds) {
    slots_.resize(1);
    double best = 1e30;
    for (int64_t count = 1; job_.rounds < rounds; count *= 2) {
      const int64_t piece = std::min(count, rounds - job_.rounds);
      piece_rounds_ = piece;
      total_rounds_ = job_.rounds + piece;
      base_ = job_.rounds;
      next_ = 1;
      committed_ = 0;
      const Clock::time_point start = Clock::now();
      run_piece(0);
      if (failed_ != kNever) {
        undo();
        return 0;
      }
      job_.rounds += piece;
      const double taken = since_ns(start);
      best = std::min(best, taken / static_cast<double>(piece));
      if (leaving_) return 0;
      if (taken > kProbe_ns) {
        site_.round_ns.store(best, std::memory_order_relaxed);
        return best;
      }
    }
    return 0;
  }

  void share(int64_t left, double round_ns, int threads) {
    base_ = job_.rounds;
    total_rounds_ = base_ + left;
    next_ = committed_ = 0;
    piece_rounds_ = std::clamp<int64_t>(static_cast<int64_t>(kPiece_ns / round_ns), 1,
                                        std::max<int64_t>(1, left / (4 * threads)));
    while (piece_rounds_ > 1 && saved_bytes(base_, piece_rounds_) > kSavedBytes) piece_rounds_ /= 2;
    pieces_ = (left + piece_rounds_ - 1) / piece_rounds_;
    slots_.clear();
    slots_.resize(static_cast<size_t>(2 * threads + 2));
    const Clock::time_point start = Clock::now();
    parallel_for_raw(
        0, threads, 1, [](void* team, int64_t, int64_t) { static_cast<Team*>(team)->work(); }, this);
    const bool complete = committed_ == pieces_;
    job_.rounds = complete ? total_rounds_ : base_ + committed_ * piece_rounds_;
    if (!complete) return undo();
    const double now_ns = since_ns(start) * threads / static_cast<double>(left);
    // Only ever less: where cores are busy with something else, pieces would become smaller and smaller.
    site_.round_ns.store(std::min(round_ns, 0.75 * round_ns + 0.25 * now_ns), std::memory_order_relaxed);
  }

  LoopEnding ending() const {
    return leaving_ ? kRoundsInterrupted : failed_ == kNever ? kRoundsDone : kRoundsStopped;
  }

  bool is_caller() const { return std::this_thread::get_id() == caller_; }

  // Nonzero: the piece is to be left.
  int64_t poll() {
    if (is_caller()) look_for_signals();
    return failed_ < current_piece;
  }

  // A handler that raised ends all pieces. For Python's other threads, no further piece begins.
  void look_for_signals() {
    if (interrupted_ || poll_() == 0) return;
    const bool is_first = !leaving_.exchange(true);
    if (is_first) left_ = Clock::now();
    if (!PyErr_Occurred() && Clock::now() - left_ < kLeaveWithin) return;
    interrupted_ = true;
    failed_ = -1;
  }

  void work() {
    while (true) {
      int64_t piece;
      {
        const std::lock_guard lock(mutex_);
        if (next_ >= pieces_ || next_ > failed_ || leaving_) break;
        piece = next_++;
        ++active_;
      }
      if (wait_for_slot(piece)) run_piece(piece);
      --active_;
      // Rounds of short pieces do not, nor does the loop around a loop that is shared again and again.
      if (!is_caller() || Clock::now() - last_look < kPollEvery) continue;
      last_look = Clock::now();
      look_for_signals();
    }
    if (is_caller()) wait_until([&] { return active_ == 0; });
  }

  // The caller looks for signals while it waits.
  template <class Condition>
  void wait_until(const Condition& condition) {
    Clock::time_point last = Clock::now();
    for (int spins = 0; !condition(); ++spins) {
      if (spins < 64) continue;
      std::this_thread::yield();
      if (!is_caller() || Clock::now() - last < kPollEvery) continue;
      last = Clock::now();
      look_for_signals();
    }
  }

  bool wait_for_slot(int64_t piece) {
    const auto window = static_cast<int64_t>(slots_.size());
    wait_until([&] { return piece < committed_ + window || failed_ < piece; });
    return piece < committed_ + window && failed_ >= piece;
  }

  // The arrays' words as the piece is given them.
  const int64_t* with_own_counts(Slot& slot) {
    const int64_t count = num_counts();
    if (count == 0) return arrays_;
    slot.counts.assign(static_cast<size_t>(count + site_.array_words), 0);
    int64_t *words = slot.counts.data() + count, *own = slot.counts.data();
    std::copy_n(arrays_, site_.array_words, words);
    for (const LoopSite::Array& array : site_.arrays) {
      if (!array.counted) continue;
      words[array.words] = reinterpret_cast<int64_t>(own);
      own += num_elements(array);
    }
    return words;
  }

  // Adds the piece's counts. False where one in turn might have met its limit; nothing is added then.
  bool add_counts(const Slot& slot) {
    for (const bool store : {false, true}) {
      const int64_t* own = slot.counts.data();
      for (const LoopSite::Array& array : site_.arrays) {
        if (!array.counted) continue;
        auto* totals = reinterpret_cast<int64_t*>(arrays_[array.words]);
        const int64_t count = num_elements(array);
        for (int64_t i = 0; i < count; ++i) {
          if (store)
            totals[i] += own[i];
          else if (own[i] != 0 && (!is_far_from_limit(own[i]) || !is_far_from_limit(totals[i])))
            return false;
        }
        own += count;
      }
    }
    return true;
  }

  int64_t first_round(int64_t piece) const { return base_ + piece * piece_rounds_; }
  int64_t end_round(int64_t piece) const { return std::min(total_rounds_, first_round(piece + 1)); }

  void run_piece(int64_t piece) {
    Slot& slot = slots_[static_cast<size_t>(piece) % slots_.size()];
    slot.piece = piece;
    bool done = false;
    try {
      save(slot);
      Words io = start_;
      io.resize(static_cast<size_t>(site_.io_words) + 1);
      for (const LoopSite::Carried& carried : site_.carried)
        if (carried.combine == LoopSite::Combine::Sum) io[static_cast<size_t>(carried.word)] = 0;
      io[static_cast<size_t>(site_.counter)] = job_.first + first_round(piece) * job_.step;
      io[static_cast<size_t>(site_.stop)] = job_.first + end_round(piece) * job_.step;
      Team* const outer_team = std::exchange(current_team, this);
      const int64_t outer_piece = std::exchange(current_piece, piece);
      done = body_(io.data(), with_own_counts(slot), functions_, poll_piece) < 0;
      current_team = outer_team;
      current_piece = outer_piece;
      slot.carried.clear();
      for (const LoopSite::Carried& carried : site_.carried)
        slot.carried.push_back(io[static_cast<size_t>(carried.word)]);
    } catch (const std::bad_alloc&) {
      done = false;
    }
    const std::lock_guard lock(mutex_);
    if (done)
      slot.state = State::Done;
    else
      failed_ = std::min(failed_.load(), piece);
    commit();
  }

  // Takes in the results of pieces in their order.
  void commit() {
    while (committed_ < next_ && committed_ < failed_) {
      Slot& slot = slots_[static_cast<size_t>(committed_) % slots_.size()];
      if (slot.state != State::Done || slot.piece != committed_) return;
      if (!combine(slot)) {
        failed_ = std::min(failed_.load(), committed_.load());
        return;
      }
      slot.state = State::Free;
      ++committed_;
    }
  }

  // False where a sum in turn might have met its limit.
  bool combine(const Slot& slot) {
    for (const bool store : {false, true}) {
      if (store && !slot.counts.empty() && !add_counts(slot)) return false;
      for (size_t k = 0; k < slot.carried.size(); ++k) {
        int64_t& total = state_[site_.carried[k].word];
        const bool is_sum = site_.carried[k].combine == LoopSite::Combine::Sum;
        if (is_sum && !is_far_from_limit(total)) return false;
        if (store) total = is_sum ? total + slot.carried[k] : slot.carried[k];
      }
    }
    return true;
  }

  std::vector<Slab> slabs(int64_t first, int64_t end) const {
    std::vector<Slab> result;
    const int64_t* dims = slabs_;
    const int64_t x = job_.first + first * job_.step, y = job_.first + (end - 1) * job_.step;
    for (const LoopSite::Array& array : site_.arrays) {
      if (!array.stored) continue;
      const int64_t *words = arrays_ + array.words, *sizes = words + 1;
      const int64_t* strides = sizes + array.dim;
      Slab slab{reinterpret_cast<char*>(words[0]), array.dim, array.item_size,
                {strides, strides + array.dim},    {},        {}};
      for (int d = 0; d < array.dim; ++d, dims += 3) {
        const int64_t a = dims[0] * x, b = dims[0] * y;
        const int64_t low = std::max<int64_t>(0, std::min(a, b) + dims[1]),
                      high = std::min(sizes[d] - 1, std::max(a, b) + dims[2]);
        slab.low.push_back(low);
        slab.length.push_back(std::max<int64_t>(0, high - low + 1));
      }
      slab.merge({sizes, sizes + array.dim});
      result.push_back(std::move(slab));
    }
    return result;
  }

  double saving_ns(int64_t rounds) const {
    double ns = 0;
    for (const Slab& slab : slabs(0, rounds))
      ns += kSaving_ns * static_cast<double>(slab.bytes()) +
            kSavingPiece_ns * static_cast<double>(slab.pieces());
    return ns;
  }

  int64_t saved_bytes(int64_t first, int64_t rounds) const {
    int64_t bytes = 0;
    if (rounds > 0)
      for (const Slab& slab : slabs(first, first + rounds)) bytes += slab.bytes();
    return bytes;
  }

  void save(Slot& slot) {
    const std::vector<Slab> parts = slabs(first_round(slot.piece), end_round(slot.piece));
    size_t bytes = 0;
    for (const Slab& slab : parts) bytes += static_cast<size_t>(slab.bytes());
    if (slot.capacity < bytes) {
      slot.memory.reset(new char[bytes]);
      slot.capacity = bytes;
    }
    char* memory = slot.memory.get();
    for (const Slab& slab : parts) slab.copy(memory, true);
    slot.state = State::Saved;
  }

  // What is not part of the state before the first piece that is not done.
  void undo() {
    for (Slot& slot : slots_) {
      if (slot.state == State::Free) continue;
      char* memory = slot.memory.get();
      for (const Slab& slab : slabs(first_round(slot.piece), end_round(slot.piece))) slab.copy(memory, false);
      slot.state = State::Free;
    }
  }

  LoopSite& site_;
  LoopRounds body_;
  LoopJob& job_;
  const int64_t* slabs_;
  int64_t* state_;  // carried words; guarded by mutex_
  const Words start_;
  const int64_t* arrays_;
  const void* const* functions_;
  int64_t (*poll_)();
  const std::thread::id caller_;

  int64_t base_ = 0, total_rounds_ = 0, piece_rounds_ = 1, pieces_ = 1;
  std::mutex mutex_;
  int64_t next_ = 0;  // guarded by mutex_
  std::atomic<int64_t> committed_{0};
  std::atomic<int64_t> failed_{kNever};  // no later piece counts
  std::atomic<int> active_{0};
  std::atomic<bool> interrupted_{false}, leaving_{false};
  Clock::time_point left_;
  std::vector<Slot> slots_;
};

}  // namespace

int64_t run_rounds(LoopSite* site, LoopRounds body, int64_t* job, int64_t* state, const int64_t* arrays,
                   const void* const* functions, int64_t (*poll)()) {
  return Team(*site, body, job, state, arrays, functions, poll).run();
}

}  // namespace weft::capture
