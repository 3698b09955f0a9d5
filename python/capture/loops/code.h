// What a native loop is built of, and what comes of it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "capture/loops/team.h"
#include "capture/loops/value.h"
#include "capture/objects/generators.h"
#include "scalar/expr.h"

namespace weft::capture {

// An array of the entry, as far as the code depends on it.
struct LoopArray {
  DType dtype = DType::F64;
  int dim = 0;
  uint64_t unit = 0;  // bit d: the stride of dimension d is one element
  bool writable = false;
  std::string name = {};
  bool may_mix = false;    // a list that may become one of items of several types
  std::string place = {};  // of an array that a whole call makes: the instruction
  bool is_counted_in = false;
};

// An attribute of an object of the entry, which the loop holds in a local of the outermost frame behind the
// code's own.
struct LoopAttribute {
  int object = 0;  // of the entry
  Ref name;
  bool is_of_class = false;  // not the object's own
  bool is_stored = false;    // the loop sets it
};

struct LoopObjects {
  std::map<int, Ref> classes;  // by object
  std::vector<LoopAttribute> attributes;
  // Of each list that the loop resizes: the types of its items, at the entry and in the loop. All have
  // equally many leaves.
  std::vector<std::vector<LoopValue>> item_types;
  // Lists that the loop makes, by the instruction that makes them: places in item_types, behind those of the
  // entry.
  using MadeLists = std::map<std::pair<const Code*, int>, int>;
  MadeLists made_lists;
  // Locals that are held as one of two floats where an inner loop begins: code, head, local.
  using EitherLocals = std::set<std::tuple<const Code*, int, size_t>>;
  EitherLocals either_locals;
  std::set<std::string> not_counted_in;  // places of arrays that a whole call makes
  size_t num_entry_lists() const { return item_types.size() - made_lists.size(); }
};

struct LoopExit {
  enum class Kind : uint8_t {
    Leave,        // the loop is done
    Return,       // the function is: on the stack is what it returns
    Perform,      // Python performs the instruction
    Interrupted,  // a signal handler raised (the exception is set), or another thread may have changed
                  // something
  };
  Kind kind;
  std::vector<LoopFrame> frames;  // the types of what the exit's words hold
};

// A name that must still give the object it gave when the loop was built.
struct LoopName {
  Ref dict, builtins, name;
  PyObject* object;
};

// What generated code calls in the library.
struct LibraryFunction {
  std::string name;
  const void* address;
  std::string type;  // of loop_prelude.inc
};
// Of the C library, and of memory.h.
LibraryFunction library_function(const std::string& name);
// One of the library's own, on numbers; the result is of the type of `R`.
template <class R, class... X>
LibraryFunction library_function(const char* name, R (*function)(X...)) {
  std::string types = c_type(dtype_of<R>::value);
  ((types += ", " + c_type(dtype_of<X>::value)), ...);
  return {name, reinterpret_cast<const void*>(function), "NumberFunction<" + types + ">"};
}
// Of math.cc, on one or two numbers, where has_number_function says that there is one.
bool has_number_function(scalar::Prim prim, DType dtype);
LibraryFunction number_function(scalar::Prim prim, DType dtype, size_t num_args);

struct LoopCode {
  std::string name, source, body;
  std::vector<LoopExit> exits;
  std::vector<const void*> functions;
  // What the loop appends to lists, objects of the entry.
  struct Append {
    int list;
    LoopValue value;
    size_t num_words;
  };
  std::vector<Append> appended;
  // Of the generators that it draws from: parts whose addresses are looked up before every run.
  struct DrawnFrom {
    int object;     // of the entry, or -1:
    Ref generator;  // one that a name gives
    GeneratorPart part;
    size_t function;  // the place of the address in `functions`
  };
  std::vector<DrawnFrom> drawn_from;
  std::set<int> stored_cells;                    // objects of the entry, whose contents it sets
  std::set<int> stored_lists;                    // lists of numbers whose elements it sets
  std::vector<std::shared_ptr<LoopSite>> sites;  // of loops whose rounds threads share
  std::vector<LoopName> names;
  std::vector<Ref> kept;
  std::vector<std::string> notes;  // what Python performs: "file:line: reason"
  LoopObjects objects;
  size_t num_words = 0;   // of the largest exit
  int head = 0, end = 0;  // the loop's instructions in the outermost frame
  // Code for a whole call (whole.cc).
  bool is_whole = false;
  bool has_statements = false;  // on arrays: another way is as good where arrays are large
  std::vector<int> array_dims;  // of the entry's arrays and of those that the call makes
  size_t num_array_words = 0;
};

// Thrown by build_loop: why the loop cannot be native.
struct LoopRejected {
  std::string reason;
  int line = 0;
};

// Thrown inside: Python has to perform the instruction.
struct LoopUnsupported {
  std::string reason;
};
[[noreturn]] inline void unsupported(std::string reason) { throw LoopUnsupported{std::move(reason)}; }

// Thrown inside: items of another type get into list `list` that the loop resizes. The loop is built again.
struct LoopItemType {
  int list;
  LoopValue type;
  LoopObjects::MadeLists made_lists;
};

// Thrown inside: the loop is built again with these.
struct LoopEitherLocals {
  LoopObjects::EitherLocals locals;
};

// Thrown inside: the array is not only counted in. The call is built again.
struct LoopNotCountedIn {
  std::string place;
};

// Thrown inside: list of numbers `array` gets items of another type.
struct LoopListMixed {
  int array;
};

// From the state at a loop's head, or at the beginning of a call.
LoopCode build_loop(const std::vector<LoopFrame>& entry, const std::vector<LoopArray>& arrays,
                    LoopObjects objects);

}  // namespace weft::capture
