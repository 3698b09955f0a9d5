// Generators of random numbers: those of PyTorch on the CPU, number for number.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/device.h"
#include "weft/tensor.h"

namespace weft {

namespace kernels {
struct RandomState;
}

// A handle: copies are the same generator. Its methods, and operators that draw from it, may be called by several threads; each
// call draws its numbers in one piece.
class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;
  static constexpr int64_t kStateBytes = 5056;

  Generator();  // a new one, seeded with kDefaultSeed
  // The process's, which operators draw from where none is given. It starts with a seed of the system's.
  static const Generator& default_generator();

  void manual_seed(uint64_t seed) const;
  uint64_t seed() const;  // with a number of the system's, which is returned
  uint64_t initial_seed() const;
  // All it holds, as uint8[kStateBytes], laid out as PyTorch lays it out.
  Tensor get_state() const;
  // RuntimeError for what is no state; TypeError for another dtype.
  void set_state(const Tensor& state) const;
  Generator clone_state() const;  // a new generator that goes on as this one would
  Device device() const { return {}; }

  // What operators are given for it: int64, 0-d.
  Tensor handle() const;
  static Generator of_handle(const Tensor& handle);

  // Runs draw(state) while no other thread draws.
  template <class Draw>
  void draw(Draw draw) const {
    const Lock lock(*this);
    draw(lock.state());
  }

 private:
  struct Impl;
  class Lock {
   public:
    explicit Lock(const Generator& generator);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    kernels::RandomState& state() const;

   private:
    Impl& impl_;
  };
  explicit Generator(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  static std::shared_ptr<Impl> make(uint64_t seed);

  std::shared_ptr<Impl> impl_;
};

}  // namespace weft
