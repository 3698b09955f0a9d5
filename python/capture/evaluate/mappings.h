// Instances of the program's subclasses of dict, and the dicts of attributes.
#pragma once

#include "capture/evaluate/evaluator.h"

namespace weft::capture {

// What an instance of a subclass of dict holds, a Dict; null for any other value.
V contents_of(Evaluator& ev, const V& instance);
// A method of dict's or OrderedDict's own that is found in the instance's class; null for anything else.
V dict_attribute(Evaluator& ev, const V& owner, PyObject* found);
// Is it the __getattribute__ that object has, and dict?
bool searches_plainly(PyObject* found);
// A Dict that is the whole of an object made inside, or its attributes: the program has the object only.
void refuse_apart(const V& value);
// From here on the dict follows what is set in the object, which it belongs to.
void keep_beside(const V& owner, const V& dict);
// The attribute has been set: its dict, where the program has it, is told.
void keep_in_dict(const V& owner, PyObject* name, const V& value);

}  // namespace weft::capture
