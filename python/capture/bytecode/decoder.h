// From CPython's instructions to those of bytecode.h, one code object at a time.
#pragma once

#include <opcode.h>

#include <span>
#include <utility>
#include <vector>

#include "capture/bytecode/bytecode.h"

#if PY_VERSION_HEX >= 0x030D0000
#include <opcode_ids.h>
#endif

namespace weft::capture {

// An instruction of CPython's; `after`: the offset behind its inline caches.
struct Raw {
  int opcode, arg, offset = 0, after = 0;
};

// 3.14: do these instructions begin, or end there, what `with` is?
bool is_with(std::span<const Raw> raw, size_t at);
bool ends_with(std::span<const Raw> raw, size_t at);

class Decoder {
 public:
  explicit Decoder(Code& code) : code_(code) {}
  void decode();

 private:
  void emit(Op op, int arg = 0, int arg2 = 0) {
    code_.instructions.push_back({op, arg, arg2, raw_[at_].offset});
  }
  void jump(Op op, int distance) {
    jumps_.push_back({static_cast<int>(code_.instructions.size()), raw_[at_].after + 2 * distance});
    emit(op);
  }
  void load_constant(Ref value) {
    emit(Op::LoadConst, static_cast<int>(code_.constants.size()));
    code_.constants.push_back(std::move(value));
  }
  void unsupported(const char* what) {
    if (code_.unsupported.empty()) code_.unsupported = what;
    emit(Op::Unsupported);
  }
  void lower(int opcode, int arg);
  bool lower_common(int opcode, int arg);
  bool lower_simple(int opcode, int arg);
  bool lower_variables(int opcode, int arg);
  bool lower_control(int opcode, int arg);
  bool lower_calls(int opcode, int arg);
  bool lower_of_3_14(int opcode, int arg);
  bool lower_across_hidden(int opcode, int arg);
  void load_slices(PyObject* value);
  void find_hidden();
  void note_hidden();
  int visible_depth(const Handler& handler) const;

  Code& code_;
  std::vector<Raw> raw_;
  size_t at_ = 0;  // of raw_
  size_t left_of_with_ = 0;  // instructions of a `with`, see python_3_14.cc
  std::vector<std::vector<bool>> hidden_;  // per instruction of raw_, see hidden_slots.cc
  int keyword_names_ = -1;
  std::vector<std::pair<int, int>> jumps_;  // instruction, target offset
};

}  // namespace weft::capture
