// The generators of random numbers that native loops draw from: NumPy's Generator and RandomState, Python's
// random.Random.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/objects/py.h"

namespace weft::capture {

enum class GeneratorKind : uint8_t { None, Generator, RandomState, Random };

// Of objects of exactly these classes.
GeneratorKind generator_kind(PyTypeObject* type);
inline GeneratorKind generator_kind(PyObject* object) { return generator_kind(Py_TYPE(object)); }
// The generator that a bound method, or a function of numpy.random or random, draws from; null: none.
PyObject* generator_of_method(PyObject* callable);

// An attribute of a module, where that has been imported; null: there is none.
Ref imported(const char* module, const char* name);

// What a draw reads and changes.
enum class GeneratorPart : uint8_t {
  Bits,   // NumPy's bitgen_t
  Gauss,  // LegacyGauss, of a RandomState
  Object  // the random.Random itself
};
// Where it lies now. Null where Python has to draw: another thread draws without the interpreter's lock, or
// the object does not look as expected. Valid until the interpreter's lock is let go of.
void* generator_part(PyObject* generator, GeneratorPart part);

// One draw: what computes it, of the address of a part and up to two numbers.
struct DrawParameter {
  enum class Limit : uint8_t { None, NotNegative, Positive };
  const char* name;
  double initial;  // NaN: it has to be given
  Limit limit;     // others are errors
};
struct Draw {
  std::string name;
  GeneratorPart part = GeneratorPart::Bits;
  const void* address = nullptr;
  std::vector<DrawParameter> parameters;  // floats
};
// Draws of floats; nothing where the method is none of them.
std::optional<Draw> find_draw(GeneratorKind kind, const std::string& method);

constexpr int64_t kIntNotDrawn = INT64_MIN;  // for want of memory

// Other draws, of the address of the part that `integer_part` names. `last` is not less than `first`.
GeneratorPart integer_part(GeneratorKind kind);
int64_t draw_integer(int64_t generator, int64_t first, int64_t last);         // Generator
int64_t draw_masked_integer(int64_t bits, int64_t first, int64_t last);       // RandomState
int64_t draw_python_integer(int64_t generator, int64_t first, int64_t last);  // random.Random
int64_t draw_bits(int64_t generator, int64_t count);                          // of random.Random, up to 63
int64_t draw_poisson(int64_t bits, double rate);                              // NumPy
int64_t draw_binomial(int64_t bits, int64_t count, double probability);       // Generator
// Does NumPy have what draws integers?
bool has_numpy_draws();

}  // namespace weft::capture
