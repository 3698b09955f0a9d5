// Forms of tensors that PyTorch has beside its functions: views by x.view(...), legacy constructors and type names.
#pragma once

#include "bindings.h"

namespace weft::python {

// x.view(2, 3), x.view((2, 3)) and x.view(dtype).
nb::object view(nb::handle self, nb::args args, nb::kwargs named);
// What weft.Tensor(...) makes: Tensor(2, 3) is not initialized, Tensor([1, 2]) holds these numbers.
Tensor of_arguments(nb::args args, nb::handle device);
// "torch.FloatTensor", and the dtype that such a name, such a class or a dtype stands for.
nb::object type_name(const Tensor& tensor);
DType dtype_of_type(nb::handle type);

}  // namespace weft::python
