// The device `meta`: tensors with a shape and a dtype and no elements. Operators infer types.
#include "core/backend.h"

#include <limits>

#include "ops/registry.h"
#include "weft/error.h"

namespace weft {
namespace {

[[noreturn]] void no_elements() { throw_error(ErrorKind::Runtime, "a meta tensor has no elements"); }

class Meta final : public Backend {
 public:
  Meta() : Backend("meta", MemoryKind::None, /*has_kernels=*/false, /*is_numbered=*/false) {}

  size_t total_memory(int) const override { return std::numeric_limits<size_t>::max(); }
  void* allocate(size_t, int, size_t*) const override { no_elements(); }
  void deallocate(void*, size_t, int) const noexcept override {}
  void copy_from_host(void*, const void*, size_t, int) const override { no_elements(); }
  void copy_to_host(void*, const void*, size_t, int) const override { no_elements(); }
  void copy_elements(const StridedPointer&, const StridedPointer&, const Shape&, int) const override {}

  Stream current_stream(int index) const override { return {{DeviceType::Meta, index}, nullptr}; }
  Event record(Stream stream) const override { return {stream.device, nullptr}; }
  void wait(Stream, const Event&) const override {}
  void synchronize(Stream) const override {}
  double elapsed_ms(const Event&, const Event&) const override { return 0; }

  const nest::Vocabulary& vocabulary() const override { no_elements(); }
  std::span<const nest::NestPass> schedule() const override { no_elements(); }
  int vector_bytes() const override { no_elements(); }
  LoadedDeviceKernel load(const nest::LoopNest&, const codegen::PrintedKernel&,
                          std::string_view) const override {
    no_elements();
  }

  bool has_operator(const ops::OpDef&) const override { return true; }
  std::vector<Tensor> run(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs,
                          int index) const override {
    std::vector<ops::TensorType> types;
    for (const Tensor& operand : operands)
      types.push_back(operand.defined() ? ops::type_of(operand) : ops::TensorType{.absent = true});
    std::vector<Tensor> results;
    for (const ops::TensorType& type : ops::infer(op, types, attrs)) {
      Shape shape;
      for (const Sym& size : type.shape) shape.push_back(size.constant());
      results.push_back(Tensor::empty(shape, type.dtype, Device{DeviceType::Meta, index}));
    }
    return results;
  }
};

[[maybe_unused]] const DeviceType registered = register_backend(std::make_unique<Meta>());

}  // namespace
}  // namespace weft
