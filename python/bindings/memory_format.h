// PyTorch's memory formats: in which order the dimensions of a tensor lie in memory.
#pragma once

#include "bindings.h"

namespace weft::python {

enum class MemoryFormat : uint8_t { Preserve, Contiguous, ChannelsLast, ChannelsLast3d };

// What a memory_format= argument says: an object of weft.torch.memory_format, or None for `otherwise`.
MemoryFormat memory_format(nb::handle object, MemoryFormat otherwise);
// A copy in this order. Preserve: in the one that PyTorch iterates over the tensor in.
Tensor clone_in(const Tensor& tensor, MemoryFormat format);
// The tensor with its dimensions in memory as those of a tensor of its shape; itself where they are so
// already.
Tensor in_order_of(const Tensor& tensor, const Tensor& other);
bool lies_in(const Tensor& tensor, MemoryFormat format);

}  // namespace weft::python
