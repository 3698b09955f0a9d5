// Tensors whose sizes weft.compiler.mark_dynamic and mark_static have spoken of.
#pragma once

#include "capture/evaluate/settings.h"
#include "capture/objects/py.h"

namespace weft::capture {

// {id of a tensor: {dimension: is dynamic}}, for the process.
void set_marked_sizes(PyObject* marks);
// What holds for this dimension of the object: its mark, or `otherwise`.
Settings::Dynamic marked_size(PyObject* object, int dim, Settings::Dynamic otherwise);

}  // namespace weft::capture
