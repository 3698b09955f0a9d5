// The loop-nest form of one kernel: a tree of scopes (loops), each with values, reductions and stores.
//
// Values are a hash-consed DAG; each belongs to the outermost scope that binds every loop variable it depends
// on, so loop-invariant work is hoisted by construction. order_statements() orders what each scope holds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "nest/index.h"
#include "scalar/expr.h"

namespace weft::nest {

using NodeId = int;
using ScopeId = int;

struct KernelNode {
  enum class Kind : uint8_t {
    Constant,
    Load,      // buffer[index]
    Position,  // the value of `index`, an integer
    Apply,     // prim(args)
    Reduced,   // result of accumulator `accumulator` of the loop `loop`; part 1 is the position (argmin)
    Take,      // argmin/argmax over few candidates: does candidate args[0] displace best args[1]?
  };
  Kind kind;
  DType dtype;  // of the value held: f16 and bf16 are held in float registers, rounded
  scalar::Prim prim = scalar::Prim::Arg;
  std::vector<NodeId> args;
  Scalar value;
  int buffer = -1;
  Index index;
  ScopeId loop = -1;
  int accumulator = -1;
  int part = 0;
  bool through_root = false;  // Take, on squares of what is compared
  bool largest = false;       // Take, argmax
  ScopeId scope = 0;
  bool varying = false;  // one value per lane of the scope's vector
};

// Their result is a position.
inline bool is_arg_reduction(ops::ReduceOp op) {
  return op == ops::ReduceOp::ArgMin || op == ops::ReduceOp::ArgMax;
}

struct Accumulator {
  ops::ReduceOp op;
  DType dtype;  // of the accumulator
  NodeId operand;
  Index position;  // argmin, argmax: flat position in the reduced dimensions
  bool through_root = false;
};

struct Statement {
  enum class Kind : uint8_t { Let, LoadGroup, Child, Update, Store };
  Kind kind;
  int id;  // node, load group, scope, accumulator, or index into `stores`
};

struct Store {
  int buffer;
  Index index;
  NodeId value;
  // Values for the positions that follow: stored interleaved where lanes are that many positions apart.
  std::vector<NodeId> more = {};
};

// A ring that a loop runs along. The loop is split where the ring ends; `offset` is the atom that is then
// added to the loop's variable.
struct RingOfLoop {
  int ring;
  int offset;
};

struct Scope {
  enum class Kind : uint8_t {
    Function,
    Parallel,        // flattened over its loops; the kernel's outer dimensions
    Vector,          // lanes along its one loop
    Serial,          // reduction; nested loops
    VectorReduce,    // reduction; nested loops, lanes along the last
    ParallelReduce,  // the same, split into chunks that run in parallel
  };
  Kind kind = Kind::Function;
  ScopeId parent = -1;
  std::vector<int> loops;
  int lanes = 1;
  std::vector<Accumulator> accumulators;
  std::vector<Store> stores;
  std::vector<ScopeId> children;      // map scopes, in order
  std::vector<Statement> statements;  // filled by order_statements()
  std::map<std::string, NodeId> nodes;
  std::vector<const ir::Value*> hosted;  // reductions evaluated in this loop
  std::vector<RingOfLoop> rings;         // of the loop with lanes
  bool is_reduction() const { return kind >= Kind::Serial; }
};

struct Buffer {
  const ir::Value* value;
  std::string name;
  DType dtype;  // of the parts, where elements are complex
  bool written = false;
  Sym count;  // of that dtype, of written ones
};

// All `stride` residues of a strided access are read: one contiguous load, deinterleaved.
struct LoadGroup {
  int buffer;
  Index base;
  int stride;
  ScopeId scope;
  std::vector<NodeId> members;  // by residue
};

struct LoopNest {
  std::string name;
  std::vector<std::string> comments;
  Device device;  // that runs it
  IndexSpace space;
  std::vector<Buffer> buffers;
  std::vector<KernelNode> nodes;
  std::vector<Scope> scopes;
  std::vector<LoadGroup> groups;
  std::vector<int> group_of;  // per node, -1 if none
  int vector_bytes = 64;
  ScopeId innermost = 0;        // of the outer loops
  double cost_per_element = 1;  // nanoseconds of one thread, for the grain
  bool is_read_later = false;   // by the plan it belongs to: what is written should stay in the caches
  bool may_stream = false;

  KernelNode& node(NodeId id) { return nodes[static_cast<size_t>(id)]; }
  const KernelNode& node(NodeId id) const { return nodes[static_cast<size_t>(id)]; }
  Scope& scope(ScopeId id) { return scopes[static_cast<size_t>(id)]; }
  const Scope& scope(ScopeId id) const { return scopes[static_cast<size_t>(id)]; }
  int depth(ScopeId id) const;
  // True if `outer` is `inner` or encloses it.
  bool encloses(ScopeId outer, ScopeId inner) const;
  // The loop variable that runs along the lanes at `scope`; -1 if none.
  int vector_loop(ScopeId scope) const;
};

}  // namespace weft::nest
