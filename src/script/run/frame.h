// The calls that a thread is in, and their registers.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "script/run/code.h"

namespace weft::jit {

struct Frame {
  const Code* code = nullptr;
  const Instruction* at = nullptr;
  IValue* registers = nullptr;
  size_t size = 0;
};

// Frames of nested calls, and their registers in chunks that stay where they are. Registers that are not in
// use hold None.
class FrameStack {
 public:
  static FrameStack& current();
  // RuntimeError when calls are nested too deep.
  Frame& enter(const Code& code);
  void leave();
  // The innermost call, and how many there are.
  Frame& top() { return frames_[depth_ - 1]; }
  size_t depth() const { return depth_; }
  const Frame& frame(size_t index) const { return frames_[index]; }

 private:
  IValue* push(size_t size);
  void pop(size_t size);
  static constexpr size_t kChunk = 4096;
  struct Chunk {
    std::unique_ptr<IValue[]> values;
    size_t size, used;
  };
  std::vector<Chunk> chunks_;
  size_t chunk_ = 0;
  std::unique_ptr<Frame[]> frames_;
  size_t depth_ = 0;
};

// "Traceback of TorchScript …", a line for each call that this thread is in.
std::string traceback();

}  // namespace weft::jit
