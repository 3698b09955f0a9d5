// What a loop's entry looked like: the next one that looks alike is read without describing it anew.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "capture/loops/loops.h"

namespace weft::capture {

class EntryPattern {
 public:
  // Null where the entry has what is looked at anew each time: lists, objects, cells, functions, iterators of
  // enumerate() and zip(). `most_words`: what the loop's code needs room for.
  static std::shared_ptr<const EntryPattern> of(const Frame& frame, const LoopEntry& entry,
                                                size_t most_words);

  // True where the frame would give an entry with the key that this one had; then `entry` has its words,
  // arrays and array words. `entry` is empty before, and of no use after false.
  bool read(const Frame& frame, LoopEntry& entry) const;
  // The same for the frame of a call of the function with these arguments, its variables in their order, and
  // no others.
  bool read_call(PyObject* function, PyObject* const* args, size_t num_args, LoopEntry& entry) const;

 private:
  // A value, followed by its items.
  struct Expected {
    LoopKind kind;
    DType dtype = DType::F64;
    bool nonnegative = false;  // Int; RangeIter: its next number
    bool ends_nonnegative = false;
    bool is_over_array = false;   // RangeIter, whose item is the array
    bool has_other_step = false;  // RangeIter: its step is a word
    int index = -1;               // Array; RangeIter over one
    int64_t step = 1;             // RangeIter; of one that is a word, the sign
    size_t num_items = 0;         // Tuple
    PyObject* object = nullptr;   // Const; of a NumPy scalar, its type
  };
  struct Array {
    int type_number, dim;
    uint64_t unit;
    bool writable;
  };

  bool expect(PyObject* object, const LoopValue& value);
  bool read(PyObject* object, size_t& at, LoopEntry& entry) const;
  void reserve(LoopEntry& entry) const;
  bool may_not_overlap(const LoopEntry& entry) const;
  bool read_integer(int64_t number, bool nonnegative, LoopEntry& entry) const;
  bool read_iterator(PyObject* object, size_t& at, LoopEntry& entry) const;
  bool read_array(PyObject* object, const Expected& expected, LoopEntry& entry) const;

  PyObject *globals_ = nullptr, *builtins_ = nullptr;
  OnReturn on_return_ = OnReturn::Push;
  std::vector<int> locals_;  // those that are read; in others no cell may be
  std::vector<int> unread_;
  size_t num_locals_ = 0, stack_size_ = 0, most_words_ = 0, num_array_words_ = 0;
  std::vector<Expected> values_;  // of the locals, then of the stack
  std::vector<Array> arrays_;
  std::vector<Ref> kept_;
  bool is_of_one_dtype_ = true;
};

}  // namespace weft::capture
