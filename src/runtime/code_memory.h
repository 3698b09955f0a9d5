// Memory for machine code that many small kernels share: a process may have some 65,000 mappings, and the
// system's loader takes three or four for each library.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace weft::runtime {

// Whole pages of executable memory; given back as it ends.
class CodeBlock {
 public:
  ~CodeBlock();
  CodeBlock(const CodeBlock&) = delete;
  CodeBlock& operator=(const CodeBlock&) = delete;
  char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  friend std::unique_ptr<CodeBlock> make_code(size_t, const std::function<void(char*)>&);
  CodeBlock(char* data, size_t size) : data_(data), size_(size) {}
  char* data_;
  size_t size_;
};

// A block of `nbytes` at least, zero but for what `fill` writes into it, which is called before anything of
// it can be executed. Null where the system refuses such memory; errno tells why.
std::unique_ptr<CodeBlock> make_code(size_t nbytes, const std::function<void(char*)>& fill);

struct CodeMemoryStats {
  size_t regions = 0;  // mappings
  size_t used = 0;     // bytes of blocks
};
CodeMemoryStats code_memory_stats();

}  // namespace weft::runtime
