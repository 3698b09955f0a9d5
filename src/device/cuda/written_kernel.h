// Kernels that are written by hand (text/*.inc, in the words of codegen/grid_words.inc), put together for the
// types and sizes of a call, compiled when they are first needed and kept.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scalar/expr.h"
#include "weft/tensor.h"

namespace weft::cuda {

enum class Text : uint8_t {
  Operands,
  Products,
  Wgmma,
  WgmmaProducts,
  Attention,
  Moving,
  Sorting,
  Scanning,
  Comparing,
  Transforms,
  Windows,
  Resampling,
  Recurrent
};

// One launch: what the kernel is called, what it has to be told, and the statement that is its body.
class WrittenKernel {
 public:
  WrittenKernel(std::string name, int device) : name_(std::move(name)), device_(device) {}

  WrittenKernel& called(std::string name) {
    name_ = std::move(name);
    return *this;
  }
  // Parameters are known in the body by their names. An array that is not there is null, of another dtype's
  // pointer.
  WrittenKernel& reads(const char* name, const Tensor& array);
  WrittenKernel& reads(const char* name, const Tensor& array, int64_t offset_in_elements);
  WrittenKernel& writes(const char* name, const Tensor& array);
  WrittenKernel& reads_if(const char* name, const Tensor& array, DType otherwise);
  WrittenKernel& address(const char* name, void* data);  // void*
  WrittenKernel& number(const char* name, int64_t value);
  WrittenKernel& real(const char* name, double value);
  // Several numbers as a list in braces, for members of a struct: what the body says in their place.
  std::string numbers(const char* name, std::initializer_list<int64_t> values);

  WrittenKernel& with(Text text);
  WrittenKernel& calls_elementary();  // exp, erf and tanh
  WrittenKernel& calls_elementary(std::set<scalar::Prim> functions);
  WrittenKernel& waits();
  WrittenKernel& shared(int64_t bytes);
  WrittenKernel& launch_shared(int64_t bytes);  // of text/wgmma.inc

  // Blocks are of nest::kGridThreads threads; at least one.
  void launch(const std::string& body, int64_t blocks);

 private:
  struct Parameter {
    std::string type, name;
    uint64_t value;
    bool is_address;
  };
  std::string source(const std::string& body) const;
  void add(std::string type, const char* name, uint64_t value, bool is_address);

  std::string name_;
  int device_;
  std::vector<Parameter> parameters_;
  std::vector<Text> texts_;
  std::set<scalar::Prim> elementary_;
  bool waits_ = false;
  int64_t shared_ = 0, launch_shared_ = 0;
};

// Blocks that take so many items with a thread each: no more than keep a GPU busy.
int64_t blocks_of_items(int64_t items, int device);
// What elements are moved as, whatever they are.
const char* word_of(DType dtype);
// "Steps<D>{{…}}" (text/moving.inc), its numbers being parameters.
std::string steps_text(WrittenKernel& kernel, const std::string& name, const std::vector<int64_t>& values);

// What a dtype is called in kernels.
std::string type_in_kernels(DType dtype);

}  // namespace weft::cuda
