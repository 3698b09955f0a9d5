// Programs that torch.export.save wrote (.pt2), loaded and run without PyTorch.
//
//   weft::exported::Program program = weft::exported::load("model.pt2");
//   weft::Tensor y = program({x}).to_tensor();
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/jit/module.h"

namespace weft::exported {

// How arguments or results nest. Leaves are tensors, numbers, strings, and None.
struct Tree {
  enum class Kind : uint8_t { Leaf, Tuple, List, Dict, Named };
  Kind kind = Kind::Leaf;
  // Named: the qualified name that the class was registered by; "collections.OrderedDict", "collections.defaultdict",
  // "collections.deque" of a Dict or List that is one.
  std::string type;
  std::string context;            // of a type: what makes one beside its children, as the file's JSON
  std::vector<std::string> keys;  // Dict, Named: of the children
  std::vector<bool> is_number;    // Dict: the key is an integer
  std::vector<Tree> children;

  size_t num_leaves() const;
};

// The values that a size which is no constant may have.
struct SizeRange {
  std::string symbol;  // "s10"
  int64_t min = 0;
  std::optional<int64_t> max;
};

// A leaf of the arguments.
struct Input {
  std::string name;   // of the graph: "x", "kwargs_mask"
  std::string place;  // for messages: "*args[0]", "**kwargs['mask'][1]"
  bool is_tensor = false;
  DType dtype = DType::F32;        // of a tensor
  std::vector<std::string> sizes;  // of a tensor: "4", "s10", "2*s10"
  bool is_constant = false;        // neither a tensor nor a symbolic number
  IValue constant;                 // what it was when the program was exported, and has to be
};

// A program's tensors by their names: "layer.0.weight".
using Tensors = std::map<std::string, Tensor>;

class Program {
 public:
  // Arguments as the exported module's forward took them. Sizes are held to the program's ranges first.
  // raises: ValueError naming the argument, the dimension and what was expected; TypeError where the arguments
  // nest otherwise.
  IValue operator()(const std::vector<IValue>& arguments, const jit::Keywords& keywords = {}) const;
  // The same on leaves in order, checked likewise.
  std::vector<IValue> run_leaves(std::vector<IValue> leaves) const;

  // forward over the leaves that are no constants, by their names; its result is the only leaf, or a tuple. Sizes
  // are checked there, too.
  const jit::Module& module() const;
  const std::vector<Input>& inputs() const;
  const Tree& arguments() const;  // a tuple of positional arguments' tuple and keywords' dictionary
  const Tree& results() const;
  const std::vector<SizeRange>& ranges() const;
  // As the file has it: the schema's JSON; parameters and persistent buffers; other buffers and constants.
  std::string text() const;
  // For reading; module() gives tensors that may be written through their addresses.
  const Tensors& weights() const;
  const Tensors& constants() const;

  // jit::optimize_for_inference of the module; the checks stay.
  Program optimize_for_inference(std::optional<DType> dtype = std::nullopt,
                                 const std::string& mode = "default") const;

  struct Impl;
  explicit Program(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

// Weights are mapped from the file, not read. `verify`: the checksum of every entry is compared first.
// raises: ValueError for a file that is none, is damaged, or is of a schema's major version other than 8;
// NotImplementedError listing the operators that weft does not have.
Program load(const std::string& path, bool verify = false);
Program load_bytes(std::string bytes, bool verify = false);
// A program of the schema's JSON, over these tensors; raises as load does.
Program make_program(std::string json, Tensors weights, Tensors constants);
// The module of an exported program, or of a TorchScript archive: what can be called by names of arguments.
jit::Module load_module(const std::string& path, Device device = {});
// Does the file look like one? By its entries; false for what is no zip file.
bool is_program(const std::string& path);

}  // namespace weft::exported
