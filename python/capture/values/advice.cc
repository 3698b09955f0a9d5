#include "capture/values/advice.h"

#include <algorithm>
#include <initializer_list>

namespace weft::capture {
namespace {

struct Advice {
  std::initializer_list<std::string_view> reasons;  // parts of what is given as the reason
  const char* text;
};

// The first that fits counts.
const Advice kAdvice[] = {
    {{"conditions that depend on the values", "depends on the values of an array",
      "depends on computed numbers", "depends on which float"},
     "compute both sides and choose with numpy.where, or write a loop over the elements, which becomes "
     "native code"},
    {{"an array of a class of its own"}, "make a plain array of it first: numpy.asarray(x)"},
    {{"native loops do not iterate over"},
     "loop over range(), an array, or a list of numbers, and over its elements one at a time"},
    {{"selects by value", "through a mask", "a mask ", "masks in one index"},
     "numpy.where(mask, a, b) keeps the shape and needs no selection"},
    {{"call of print", "call of builtins.print", "call of logging", "logging."},
     "print after the computation, or outside of the function"},
    {{"call of open", "call of input", "call of time", "perf_counter", "call of os.", "call of sys.",
      "call of io.", "call of _io."},
     "do it before or after the function's array work, in its caller"},
    {{"random"}, "draw the numbers before, as an array, and pass it"},
    {{"has a cache"},
     "call it before, and pass what it gives; functools.cache in front of array work costs more than it "
     "saves"},
    {{"with out=", "out= "}, "assign instead: target[...] = function(x)"},
    {{"with casting=", "with dtype=", "may not hold", "cannot hold", "of a smaller kind",
      "that changes the type", "of another type", "of different types"},
     "convert with astype() before, so that both sides have one dtype"},
    {{"array of objects", "dtype object", "an array of dtype", "not aligned", "odd strides",
      "an array of a long list"},
     "make a plain array of it first: numpy.ascontiguousarray(x, dtype=float)"},
    {{"of this dtype", "of this type", "half precision", "of truth values", "of complex", "complex number",
      "signed and unsigned"},
     "convert with astype(numpy.float64), or another dtype of numbers, before"},
    {{"shares memory with"},
     "pass a copy of one of the two arrays, or write the result into an array of its own"},
    {{"read-only array"}, "pass an array that may be written to: x.copy()"},
    {{"was compiled ", "still meets other arguments"},
     "see which argument changes (WEFT_LOGS=recompiles): pass it as an array, or compile with dynamic=True"},
    {{"recursion"}, "write the recursion as a loop"},
    {{"no Python code"}, "weft compiles functions that are written in Python; call this one as it is"},
    {{"much of it runs step by step"},
     "call it for larger arrays, or at once for many of them; for small ones Python is as quick"},
    {{"the size of what", "the order of what"},
     "where the size need not depend on values, numpy.where and arrays with a count beside them keep the "
     "shape"},
    {{"import"}, "import at the top of the file"},
    {{"yield", "generator", "next() of", "iterator", "iterat", "async", "await"},
     "collect what is iterated over in a list or an array first"},
    {{"exception", "handler", "raises", "try", "StopIteration", "a traceback"},
     "test for it with an if before, or catch it in the caller"},
    {{"context manager", "with statement", "a context variable"}, "enter the with statement in the caller"},
    {{"the handling of floating-point errors"}, "set numpy.errstate in the caller"},
    {{"assignment to attribute", "deletion of attribute", "setattr", "attribute '", "the attribute",
      "__dict__", "computed by a descriptor", "a property", "is set"},
     "read attributes into local variables before, compute with these, and store results at the end or in "
     "the caller"},
    {{"_frame", "locals()", "globals()", "exec", "eval", "stack"}, "pass what it would find as an argument"},
    {{"super()", "__new__", "__init__", "metaclass", "class"},
     "make the object in the caller, and pass it or its arrays"},
    {{"closure", "unbound", "is not defined"}, "pass the value as an argument"},
    {{"a long loop", "is very long", "a very long", "the next iteration", "the next round"},
     "put the loop's body into whole-array operations, or into a loop over numbers and arrays only, which "
     "becomes native "
     "code"},
    {{"weft does not know", "unknown", "are not known", "is not known", "not known", "of objects",
      "an object", "is not a number or an array", "no array or number", "not an array", "not a number"},
     "take the arrays and numbers out of it before, and pass these: weft follows arrays, numbers, str, "
     "lists, tuples, dicts "
     "and objects of Python classes"},
    {{"computed", "an index that is not", "slice that is not", "positions that are not integers"},
     "compute it from sizes and arguments that are ints, or index with an array"},
    {{"formatting", "str(", "repr"}, "make the text after the computation, in the caller"},
    {{"list", "dict", "set ", "sequence", "tuple"},
     "keep numbers in an array instead, and build the container in the caller"},
    {{"with keyword",    "with keywords",   "with these arguments", "with where=",     "with order=",
      "with this",       "these axes",      "along an axis",        "along this axis", "with initial=",
      "with kind",       "with an unknown", "with unusual",         "another order",   "with prepend",
      "with sorter",     "equal_nan",       "copy=False",           "with mode=",      "with several",
      "without an axis", "without its",     "of several arguments"},
     "call it with its usual arguments, or write it with plain array operations"},
    {{"a call of", "a call to", "is called", "calls are nested", "the method"},
     "call it in the caller, before or after, and pass what it gives; in a loop it costs as much as in "
     "Python"},
};

constexpr const char* kOtherwise =
    "Python performs this and weft goes on behind it, which costs little unless it is in a loop";

}  // namespace

std::string advice_for(std::string_view reason) {
  for (const Advice& one : kAdvice) {
    const bool fits = std::any_of(one.reasons.begin(), one.reasons.end(), [&](std::string_view part) {
      return reason.find(part) != std::string_view::npos;
    });
    if (fits) return one.text;
  }
  return kOtherwise;
}

}  // namespace weft::capture
