// What weft.compiler has been told of tensors: mark_dynamic and mark_static of their sizes, freeze of their
// elements.
#pragma once

#include "capture/evaluate/settings.h"
#include "capture/objects/py.h"

namespace weft::capture {

// {id of a tensor: {dimension: is dynamic}}, for the process.
void set_marked_sizes(PyObject* marks);
// What holds for this dimension of the object: its mark, or `otherwise`.
Settings::Dynamic marked_size(PyObject* object, int dim, Settings::Dynamic otherwise);

// {id of a tensor: anything}, for the process: these are constants of graphs.
void set_frozen_tensors(PyObject* frozen);
bool is_frozen(PyObject* tensor);
// A program that writes to it has shown that it does change.
void thaw(PyObject* tensor);

}  // namespace weft::capture
