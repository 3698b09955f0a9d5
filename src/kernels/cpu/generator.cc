#include "weft/generator.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <random>

#include "kernels/cpu/random.h"
#include "weft/error.h"

namespace weft {

using kernels::MersenneTwister;
using kernels::RandomState;

struct Generator::Impl {
  Impl(int64_t number, uint64_t seed) : id(number), state(seed) {}
  int64_t id;
  std::mutex mutex;
  RandomState state;
};

namespace {

// PyTorch's saved state, byte for byte.
struct SavedState {
  uint64_t seed;
  int32_t left;
  int32_t is_seeded;
  uint64_t next;
  std::array<uint64_t, MersenneTwister::kWords> words;
  double unused_x;
  double next_normal;
  double unused_rho;
  int32_t has_next_normal;
  int32_t unused;
  float next_normal_float;
  bool has_next_normal_float;
};
static_assert(sizeof(SavedState) == Generator::kStateBytes);

uint64_t system_number() {
  std::random_device source;
  const uint64_t upper = source();
  return upper << 32 | source();
}

SavedState saved(const RandomState& state) {
  SavedState result;
  std::memset(&result, 0, sizeof result);
  result.seed = state.words.given_seed;
  result.left = state.words.left;
  result.is_seeded = 1;
  result.next = state.words.next;
  for (size_t i = 0; i < state.words.state.size(); ++i) result.words[i] = state.words.state[i];
  result.next_normal = state.next_normal.value_or(0);
  result.has_next_normal = state.next_normal.has_value();
  result.next_normal_float = state.next_normal_float.value_or(0);
  result.has_next_normal_float = state.next_normal_float.has_value();
  return result;
}

RandomState restored(const SavedState& from) {
  RandomState state(from.seed);
  if (!from.is_seeded || from.left <= 0 || from.left > MersenneTwister::kWords || from.next > MersenneTwister::kWords)
    throw_error(ErrorKind::Runtime, "Generator.set_state: invalid mt19937 state");
  // The words that are left are those behind `next`.
  if (from.left > 1 && from.next + static_cast<uint64_t>(from.left) > MersenneTwister::kWords + 1U)
    throw_error(ErrorKind::Runtime, "Generator.set_state: invalid mt19937 state");
  state.words.left = from.left;
  state.words.next = static_cast<uint32_t>(from.next);
  for (size_t i = 0; i < state.words.state.size(); ++i)
    state.words.state[i] = static_cast<uint32_t>(from.words[i]);
  if (from.has_next_normal) state.next_normal = from.next_normal;
  if (from.has_next_normal_float) state.next_normal_float = from.next_normal_float;
  return state;
}

}  // namespace

// By number, so that operators find the generator that a handle names. Never destroyed: threads may draw to the end.
static std::mutex& table_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}
template <class Impl>
static std::map<int64_t, std::weak_ptr<Impl>>& table() {
  static auto* const generators = new std::map<int64_t, std::weak_ptr<Impl>>;
  return *generators;
}

std::shared_ptr<Generator::Impl> Generator::make(uint64_t seed) {
  static int64_t last = 0;  // the default generator's is 0
  const std::lock_guard lock(table_mutex());
  const int64_t id = ++last;
  const std::shared_ptr<Impl> impl(new Impl(id, seed), [](Impl* gone) {
    const std::lock_guard lock(table_mutex());
    table<Impl>().erase(gone->id);
    delete gone;
  });
  table<Impl>().emplace(id, impl);
  return impl;
}

Generator::Generator() : Generator(make(kDefaultSeed)) {}

const Generator& Generator::default_generator() {
  static const auto* const generator = new Generator(std::make_shared<Impl>(0, system_number()));
  return *generator;
}

Generator::Lock::Lock(const Generator& generator) : impl_(*generator.impl_) { impl_.mutex.lock(); }
Generator::Lock::~Lock() { impl_.mutex.unlock(); }
RandomState& Generator::Lock::state() const { return impl_.state; }

void Generator::manual_seed(uint64_t seed) const {
  draw([&](RandomState& state) { state = RandomState(seed); });
}

uint64_t Generator::seed() const {
  const uint64_t number = system_number();
  manual_seed(number);
  return number;
}

uint64_t Generator::initial_seed() const {
  uint64_t seed = 0;
  draw([&](RandomState& state) { seed = state.words.given_seed; });
  return seed;
}

Tensor Generator::get_state() const {
  const Tensor result = Tensor::empty({kStateBytes}, DType::U8);
  SavedState bytes;
  draw([&](RandomState& state) { bytes = saved(state); });
  std::memcpy(result.data(), &bytes, sizeof bytes);
  return result;
}

void Generator::set_state(const Tensor& state) const {
  WEFT_CHECK_TYPE(state.dtype() == DType::U8,
                  "Generator.set_state: expected a state of dtype uint8, got " + describe(state));
  if (state.numel() != kStateBytes)
    throw_error(ErrorKind::Runtime, fmt::format("Generator.set_state: expected a state of {} bytes, got {}", kStateBytes,
                                                describe(state)));
  SavedState bytes;
  std::memcpy(&bytes, state.to(Device()).contiguous().data(), sizeof bytes);
  const RandomState next = restored(bytes);
  draw([&](RandomState& now) { now = next; });
}

Generator Generator::clone_state() const {
  Generator copy;
  draw([&](RandomState& state) { copy.impl_->state = state; });
  return copy;
}

// Its memory is the generator's own number, and keeps the generator.
Tensor Generator::handle() const {
  return Tensor(Storage::wrap(&impl_->id, sizeof impl_->id, [kept = impl_]() mutable { kept.reset(); }), DType::I64, {}, {});
}

Generator Generator::of_handle(const Tensor& handle) {
  const int64_t id = *handle.data_as<int64_t>();
  if (id == 0) return default_generator();
  const std::lock_guard lock(table_mutex());
  const auto found = table<Impl>().find(id);
  std::shared_ptr<Impl> impl = found == table<Impl>().end() ? nullptr : found->second.lock();
  if (!impl) throw_error(ErrorKind::Runtime, fmt::format("no generator of random numbers has the handle {}", id));
  return Generator(std::move(impl));
}

}  // namespace weft
