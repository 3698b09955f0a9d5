// What the symbolic evaluator knows about a Python object: the abstract values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capture/objects/py.h"
#include "weft/sym.h"
#include "weft/tensor.h"

namespace weft::capture {

// Where a real object is found in the state a segment starts from; a chain of steps. Guards follow it.
struct Source;
using SourceRef = std::shared_ptr<const Source>;
struct Source {
  enum class Step : uint8_t {
    Local,         // slot `index` of frame `frame`
    Stack,         // position `index` of frame `frame`'s stack
    Extra,         // what frame `frame` gives when it returns
    Pinned,        // the object itself, held by the guard
    Global,        // `key` in the dict `object`, or else in the builtins `object2`
    ModuleAttr,    // `key` in the module dict `object`
    Attribute,     // getattr(base, key)
    InstanceDict,  // base.__dict__
    DictItem,      // base[key] of a dict
    TupleItem,
    ListItem,  // base[index]
    CellContents,
    MethodSelf,
    TensorArray,  // base.numpy()
    Size,         // `sym`, an int made of sizes
    Computed,  // operation `index` of the numbers base and `second`, or what the function `object` gives for
               // them
  };
  Step step;
  SourceRef base;
  int frame = 0, index = 0;
  Ref key, object, object2;
  SourceRef second = {};
  Sym sym = {};
  std::string str() const;  // unique among the sources of one segment
};
SourceRef make_source(Source source);
SourceRef pinned_source(PyObject* object);

enum class Kind : uint8_t {
  Lazy,    // a real object nothing has been asked of yet
  Const,   // a real object whose identity or immutable value is known (literal, or pinned by a guard)
  Array,   // an array being computed: `tensor`, `flavor`
  Scalar,  // a Python bool, int or float that depends on data: 0-d `tensor`, `weak`
  SymInt,  // a Python int that is an expression over sizes: `sym`
  Tuple,
  List,
  Dict,      // keys are Const
  Slice,     // items: start, stop, step
  Function,  // made inside: object = code, globals; items: defaults, kwdefaults, annotations, closure
  Method,    // items: self, function
  Bound,     // method `name` of the builtin or array value items[0]
  DictView,  // items[0].name(), name = keys, values or items
  Cell,      // items[0]: contents or null
  Iter,
  Instance,   // of a plain Python class `object_type`; attributes in keys/items as far as known
  Exception,  // of class object_type; items: its args
  Handled,    // the exception that was being handled when the segment began
  Generator,  // not started: items: function, arguments…
  Super,      // super(object_type, items[0])
  Range,      // range(*items) over symbolic ints, about to be iterated over
  Partial,    // functools.partial; items: function, arguments (tuple), keywords (dict)
  Set,        // made inside; object: a real set of its elements, which are known
  Tensor,     // a weft.Tensor; items[0]: the array of its memory
  Traceback,  // that of the exception items[0], which Python alone can make: only its being there is known
  Opaque,     // a real object that no operation is known for
};

enum class Flavor : uint8_t { NdArray, NumpyScalar, Tensor };
// Generator: items: function, arguments…; `suspended` from the first element on, `index` elements given, -1:
// at its end, as that of an iterator over a list, a dict or a set.
enum class IterKind : uint8_t { Sequence, Reversed, Dict, Set, Range, Rows, Enumerate, Zip, Generator };

struct AbstractFrame;
struct Code;
struct Value;
// An instruction of the program.
struct Place {
  const Code* code = nullptr;
  int instruction = -1;
  auto operator<=>(const Place&) const = default;
};
using V = std::shared_ptr<Value>;

struct Value {
  Kind kind = Kind::Opaque;
  Ref object;          // the real object where there is one
  SourceRef source;    // where it comes from; null for literals and what was made inside
  bool dirty = false;  // an outside object was changed: written back at the end of the segment

  Tensor tensor;
  Flavor flavor = Flavor::NdArray;
  WeakKind weak = WeakKind::Float;
  int input = -1;              // graph input this array is
  V view_of;                   // the array whose memory this one is a view of
  V context;                   // Exception: what was being handled when it was raised
  V cause;                     // Exception: what it was raised from
  Place place;                 // Exception: where it was raised; Iter of a generator: where it was begun
  std::vector<V> attributes;   // Exception: values of `keys`, assigned by the program
  V returned;                  // Iter of a generator that has ended: its value
  bool strided = false;        // an argument that is neither in C nor in Fortran order
  bool within = false;         // Dict, List: held by a stand-in of the standard library alone
  bool is_array = false;       // Tensor: an array of weft.numpy
  bool requires_grad = false;  // Tensor made inside: the flag
  bool frozen = false;         // an array: a constant of the graph, by weft.compiler.freeze
  bool of_numpy = false;       // Array of a tensor: NumPy sees its memory, or owns it
  bool read_only = false;      // a view that NumPy lets nobody write through
  std::vector<int64_t>
      order;  // of an array's own memory: axes from the outermost to the innermost; empty: C order
  Sym sym;

  std::vector<V> items;
  std::vector<V> keys;
  Ref globals;                          // Function
  std::string name;                     // Bound, DictView
  PyTypeObject* object_type = nullptr;  // Instance
  std::vector<bool> changed;            // Instance: which attributes were assigned
  IterKind iter = IterKind::Sequence;
  int64_t index = 0;       // Iter: position, or the next count of enumerate
  int64_t length = -1;     // Iter over rows; negative: nobody has asked yet. Over a dict or set: its size
  bool backwards = false;  // Iter over a dict: reversed()
  int64_t version = 0;     // Dict, Set: how often its keys changed inside. Iter over one: its version then
  std::shared_ptr<AbstractFrame> suspended;
  V contents;  // Instance of a subclass of dict: what it holds as a dict, once asked for
  V own_dict;  // Instance: its __dict__, once asked for and, of one from outside, once attributes are set
  std::weak_ptr<Value> holder;  // Dict: the instance of which it is either

  bool is_const() const { return kind == Kind::Const; }
  bool is(PyObject* o) const { return kind == Kind::Const && object.get() == o; }
};

constexpr int64_t kMostDimensions = 64;  // of NumPy's arrays

V make_value(Kind kind);
V const_value(Ref object);
V lazy_value(PyObject* object, SourceRef source);
V tuple_value(std::vector<V> items);
V list_value(std::vector<V> items);
V int_value(int64_t value);
V none_value();
V bool_value(bool value);
V str_value(const std::string& text);
V array_value(Tensor tensor, Flavor flavor = Flavor::NdArray);
V sym_value(Sym sym);

// Thrown by the evaluator's handlers before they change anything: the segment ends before the instruction,
// which is then performed for real.
struct GraphBreak {
  std::string reason;
  bool is_planned =
      false;  // what follows is no array work of Python's: an operator of weft's, a step of a loop
  bool keeps_variables = false;  // what Python performs may look at variables that nothing reads any more
  bool is_last = false;          // so may all that follows: the rest of the call is Python's
};
[[noreturn]] void graph_break(std::string reason);

// Thrown when evaluation raises a Python exception that a handler of the segment's frames will catch.
struct AbstractRaise {
  V exception;
};
}  // namespace weft::capture
