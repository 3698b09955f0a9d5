// The calls that a thread is in, and their registers.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "script/code.h"

namespace weft::jit {

struct Frame {
  const Code& code;
  const Instruction* at;
  IValue* registers;
  size_t size;
  Frame* caller;
};

// Registers of nested calls, in chunks that stay where they are. All that are not in use hold None.
class FrameStack {
 public:
  static FrameStack& current();
  Frame* top() const { return top_; }

 private:
  friend class FrameScope;
  IValue* push(size_t size);
  void pop(size_t size);
  static constexpr size_t kChunk = 4096;
  struct Chunk {
    std::unique_ptr<IValue[]> values;
    size_t size, used;
  };
  std::vector<Chunk> chunks_;
  size_t chunk_ = 0;
  Frame* top_ = nullptr;
  int depth_ = 0;
};

class FrameScope {
 public:
  explicit FrameScope(const Code& code);
  ~FrameScope();
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;
  Frame& frame() { return frame_; }

 private:
  FrameStack& stack_;
  Frame frame_;
};

// "Traceback of TorchScript …", a line for each call that this thread is in.
std::string traceback();

}  // namespace weft::jit
