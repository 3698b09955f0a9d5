// A loaded or scripted module: an object with parameters, buffers, sub-modules and methods.
//
//   weft::jit::Module module = weft::jit::load("model.pt");
//   weft::Tensor y = module.forward({x}).to_tensor();
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/ivalue.h"
#include "weft/jit/schema.h"

namespace weft::ir {
class Graph;
}

namespace weft::jit {

class CompilationUnit;
struct FunctionImpl;
using Keywords = std::vector<std::pair<std::string, IValue>>;

// A compiled TorchScript function or method. Calls are thread-safe.
class Function {
 public:
  // `define` makes the graph when it is first needed, so that functions may call each other.
  Function(std::string qualified_name, Schema schema, std::function<std::unique_ptr<ir::Graph>()> define);
  ~Function();
  const std::string& qualified_name() const;  // "__torch__.M.forward"
  const std::string& name() const;            // "forward"
  const Schema& schema() const;
  // The graph as the type checker made it. Compiles the body at the first call; the user's errors are raised
  // then.
  const ir::Graph& graph() const;
  IValue operator()(std::vector<IValue> arguments, const Keywords& keywords = {}) const;
  FunctionImpl& impl() const { return *impl_; }  // src/script/run/function.h

 private:
  std::unique_ptr<FunctionImpl> impl_;
};

struct NamedTensor {
  std::string name;  // "features.0.weight"
  Tensor tensor;
};

// Names and contents of an archive's extra/ folder.
using ExtraFiles = std::map<std::string, std::string>;

class Module {
 public:
  Module() = default;
  Module(std::shared_ptr<Object> object, std::shared_ptr<CompilationUnit> unit)
      : object_(std::move(object)), unit_(std::move(unit)) {}

  IValue forward(std::vector<IValue> inputs, const Keywords& keywords = {}) const;
  IValue run_method(std::string_view name, std::vector<IValue> inputs, const Keywords& keywords = {}) const;
  // ValueError listing the methods there are.
  std::shared_ptr<Function> method(std::string_view name) const;
  std::vector<std::string> method_names() const;
  bool has_method(std::string_view name) const;

  // Compiled code keeps weights packed, and packs them anew where tensors were replaced or written to.
  // Tensors that `attribute`, `named_parameters`, `named_buffers` and `state_dict` give may be written
  // through their addresses: code does not keep those packed from then on. (optimize_for_inference makes
  // constants of all.)
  const IValue& attribute(std::string_view name) const;
  void set_attribute(std::string_view name, IValue value) const;  // TypeError unless of the declared type
  bool has_attribute(std::string_view name) const;
  Module submodule(std::string_view path) const;  // "layer.0.conv"
  std::vector<std::pair<std::string, Module>> named_children() const;
  std::vector<std::pair<std::string, Module>> named_modules() const;  // itself ("") first
  std::vector<NamedTensor> named_parameters(bool recurse = true) const;
  std::vector<NamedTensor> named_buffers(bool recurse = true) const;
  std::vector<NamedTensor> state_dict() const;  // parameters and persistent buffers
  bool is_training() const;
  void train(bool on = true) const;
  void eval() const { train(false); }
  Module clone() const;          // deep: parameters are copied
  void to(DType dtype) const;    // floating point parameters and buffers
  void to(Device device) const;  // all parameters and buffers

  // Writes an archive that PyTorch loads. Never leaves a partial file.
  void save(const std::string& path, const ExtraFiles& extra_files = {}) const;
  std::string save_to_bytes(const ExtraFiles& extra_files = {}) const;
  std::string code() const;  // of forward, as archives write it
  const std::string& type_name() const;

  const std::shared_ptr<Object>& object() const { return object_; }
  const std::shared_ptr<CompilationUnit>& unit() const { return unit_; }
  bool defined() const { return object_ != nullptr; }

 private:
  void replace_tensors(const std::function<Tensor(const Tensor&)>& replace) const;

  std::shared_ptr<Object> object_;
  std::shared_ptr<CompilationUnit> unit_;
};

// Loads an archive written by torch.jit.save or weft.jit.save. Parameters are mapped from the file, not read.
// `extra_files`: names to fetch from the archive's extra/ folder; filled in. `verify`: the whole file is read
// first, and the checksum (CRC-32) of every entry compared, those of mapped tensors too: ValueError names the
// entries that are damaged. `device`: where parameters, buffers and constants are.
Module load(const std::string& path, ExtraFiles* extra_files = nullptr, bool verify = false,
            Device device = {});
Module load_bytes(std::string bytes, ExtraFiles* extra_files = nullptr, bool verify = false);

// Inlines calls, makes attributes constants, removes what eval mode does not need. The module must be in eval
// mode. `preserved`: further methods and attributes to keep.
Module freeze(const Module& module, const std::vector<std::string>& preserved = {});
// freeze, then batch normalization folded into convolutions and linear layers, weights packed, layouts
// chosen. `dtype`, bfloat16 or float16: after folding, float32 constants are rounded to it, float32 inputs of
// the methods are cast to it, and operators that name float32 get it instead, so that results have it, too.
// `mode`: that the module's code is compiled in, as of CompileOptions (weft/compile.h); no archive keeps it.
Module optimize_for_inference(const Module& module, const std::vector<std::string>& preserved = {},
                              std::optional<DType> dtype = std::nullopt, const std::string& mode = "default");

// A computation on the inter-op pool.
class Future : public std::enable_shared_from_this<Future> {
 public:
  explicit Future(TypePtr element);
  ~Future();
  bool done() const;
  // Helps the inter-op pool until the value is there; rethrows the task's error.
  IValue wait();
  const TypePtr& element() const { return element_; }
  void set_value(IValue value);
  void set_error(std::exception_ptr error);
  void then(std::function<void(Future&)> callback);  // called when done, or at once
 private:
  struct State;
  TypePtr element_;
  std::unique_ptr<State> state_;
};

// Is execution of straight-line stretches by compiled code switched on (default: yes)? Per process.
void set_profiling_executor(bool on);
bool profiling_executor();

}  // namespace weft::jit
