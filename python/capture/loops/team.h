// Runs the rounds of a native loop on the intra-op threads, with the state after it as if they had run in
// turn.
//
// The rounds are cut into pieces, which threads claim in order. What a piece may write is saved before it
// runs. Where the native code of one leaves (an element out of range, a division by zero, a signal), no later
// piece begins, the pieces behind it and its own part are undone, and the loop goes on in turn from that
// piece's first round.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace weft::capture {

// Runs rounds of a loop: negative when all are done. `io`: the state at the loop's head; what is carried
// comes back in it.
using LoopRounds = int64_t (*)(int64_t* io, const int64_t* arrays, const void* const* functions,
                               int64_t (*poll)());

// One loop in one native code: what is known when it is built, and what was measured.
struct LoopSite {
  // Generated code reads it: with fewer rounds than this, threads are not worth while.
  std::atomic<int64_t> least_rounds{4};

  struct Array {
    int64_t words;  // where its address, sizes and strides begin in `arrays`
    int dim, item_size;
    bool stored;   // each round has elements of its own
    bool counted;  // int64 elements are added to; pieces do so in arrays of their own
  };
  enum class Combine : uint8_t { Sum, Last };  // Last: the last round's value, which every round sets
  struct Carried {
    int64_t word;  // of the state
    Combine combine;
  };
  std::vector<Array> arrays;  // that the loop uses
  std::vector<Carried> carried;
  int64_t counter = 0, stop = 0;  // words of the state
  int64_t state_words = 0, io_words = 0, array_words = 0;
  std::atomic<double> round_ns{0};  // 0: not measured yet
};

// What the generated code says of one run: these words, then three for each dimension of each stored array.
// With x the counter, the rounds store between the indices factor * x + low and factor * x + high.
struct LoopJob {
  int64_t first, step, rounds;  // `rounds`: afterwards those that were done
};

enum LoopEnding : int64_t {
  kRoundsDone,
  kRoundsLeft,         // too few for threads
  kRoundsStopped,      // at one that has to run in turn, or none was begun
  kRoundsInterrupted,  // a signal handler raised, or other threads of Python wait
};

// In generated code; `state`: words at the loop's head, carried ones are updated.
int64_t run_rounds(LoopSite* site, LoopRounds body, int64_t* job, int64_t* state, const int64_t* arrays,
                   const void* const* functions, int64_t (*poll)());

}  // namespace weft::capture
