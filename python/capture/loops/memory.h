// Memory of native loops: the arrays that a loop makes, and what it calls in the library.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "capture/objects/py.h"
#include "weft/tensor.h"

namespace weft::capture {

// A list that a loop resizes, as in loop_prelude.inc: items are words, tags tell their types apart.
struct ResizedList {
  ResizedList() = default;
  ~ResizedList();
  ResizedList(const ResizedList&) = delete;
  ResizedList& operator=(const ResizedList&) = delete;

  int64_t* items = nullptr;
  uint8_t* tags = nullptr;  // where items are of several types
  int64_t size = 0, capacity = 0;
};

// The arrays and lists one run of a loop has made. A block is used again as soon as no view points into it.
class LoopMemory {
 public:
  // Becomes the memory of the loop that this thread runs, until it ends.
  LoopMemory();
  ~LoopMemory();
  LoopMemory(const LoopMemory&) = delete;
  LoopMemory& operator=(const LoopMemory&) = delete;

  // What the arrays of the run's entry are, and behind them those that a whole call makes.
  void holds_arrays(std::vector<Ref>& arrays) { arrays_ = &arrays; }
  // Makes array `index`, and sets its words: address, sizes and strides. False: out of memory.
  bool new_array(int64_t index, DType dtype, int64_t dim, const int64_t* sizes, bool is_zero, int64_t* words);

  void* allocate(int64_t count, DType dtype, const void* const* live, int64_t num_live);
  // The block that the address points into is not used again: a list will hold an array in it. False: out of
  // memory.
  bool keep(const void* address);
  // A list made at place `site` of the code. Lists that are not among the live ones may be used again at
  // their place. Null: out of memory.
  ResizedList* new_list(int64_t site, const void* const* live, int64_t num_live);
  // The list is not used again. False: out of memory.
  bool keep_list(const void* list);
  // Notes down what a list is to be appended: where its words go.
  int64_t* append(int64_t what, int64_t num_words);
  const std::vector<int64_t>& appended() const { return appended_; }
  // The block that the address points into; undefined where it is none.
  Tensor block(const void* address) const;

 private:
  static constexpr size_t kFewLists = 8;

  // A tensor of one dimension; beside it what is asked for with every new array.
  struct Block {
    const char *begin, *end;
    DType dtype;
    int64_t numel;
    Tensor tensor;
    bool holds(const void* address) const { return address >= begin && address < end; }
  };
  std::vector<Block> blocks_;
  std::map<const void*, Tensor> kept_;  // by where they begin
  std::vector<int64_t> appended_;
  struct MadeList {
    int64_t site;
    std::unique_ptr<ResizedList> list;
  };
  std::vector<MadeList> lists_, spare_lists_, kept_lists_;
  size_t most_lists_ = kFewLists;  // before those that nothing refers to are looked for
  std::vector<Ref>* arrays_ = nullptr;
  LoopMemory* outer_;
};

// NumPy's loop of the ufunc over so many operands of the dtype, as `UfuncLoop` in loop_prelude.inc; null
// where there is none.
const void* ufunc_loop(const std::string& ufunc, DType dtype, size_t num_operands);

// What generated code calls, by name; null for other names. Each has a type `NAME_function` in
// loop_prelude.inc.
const void* loop_library_function(const std::string& name);

}  // namespace weft::capture
