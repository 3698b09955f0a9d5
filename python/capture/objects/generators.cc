#include "capture/objects/generators.h"

#include <dlfcn.h>
#include <numpy/random/distributions.h>  // behind what chooses NumPy's API

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <string_view>
#include <unordered_map>

#include "capture/objects/made_once.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

Ref imported(const char* module, const char* name) {
  const Ref key = checked(PyUnicode_InternFromString(module));
  const Ref found = Ref::steal(PyImport_GetModule(key.get()));
  Ref part = found ? Ref::steal(PyObject_GetAttrString(found.get(), name)) : Ref();
  clear_error();
  return part;
}

namespace {

// What NumPy's RandomState adds to its bits: one of the two normal numbers that are drawn at a time.
struct LegacyGauss {
  bitgen_t* bits;
  int has_gauss;
  double gauss;
};

struct KnownClass {
  GeneratorKind kind;
  const char *module, *name, *type_name;
  PyTypeObject* type = nullptr;  // kept for good once it has been met
};
constinit KnownClass known_classes[] = {
    {GeneratorKind::Generator, "numpy.random._generator", "Generator", "numpy.random._generator.Generator"},
    {GeneratorKind::RandomState, "numpy.random.mtrand", "RandomState", "numpy.random.mtrand.RandomState"},
    {GeneratorKind::Random, "random", "Random", "Random"},
};

// What NumPy's own extension exports; the same computes its draws.
void* numpy_function(const char* name) {
  const Ref path = imported("numpy.random._generator", "__file__");
  void* const library = path ? ::dlopen(utf8(path.get()).c_str(), RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (!library) return nullptr;
  void* const function = ::dlsym(library, name);
  ::dlclose(library);  // Python keeps it
  return function;
}

bitgen_t* bits_of(int64_t address) { return reinterpret_cast<bitgen_t*>(address); }

// ---- RandomState's streams, which NumPy has promised not to change ----

double legacy_gauss(int64_t address) {
  auto* const of = reinterpret_cast<LegacyGauss*>(address);
  if (of->has_gauss) {
    const double kept = of->gauss;
    of->has_gauss = 0;
    of->gauss = 0.0;
    return kept;
  }
  double x = 0, y = 0, square = 0;
  do {
    x = 2.0 * next_double(of->bits) - 1.0;
    y = 2.0 * next_double(of->bits) - 1.0;
    square = x * x + y * y;
  } while (square >= 1.0 || square == 0.0);
  const double factor = std::sqrt(-2.0 * std::log(square) / square);
  of->gauss = factor * x;
  of->has_gauss = 1;
  return factor * y;
}
double legacy_normal(int64_t address, double mean, double deviation) {
  return mean + deviation * legacy_gauss(address);
}
double legacy_standard_exponential(int64_t address) { return -std::log(1.0 - next_double(bits_of(address))); }
double legacy_exponential(int64_t address, double scale) {
  return scale * legacy_standard_exponential(address);
}

// ---- Python's ----

// What cannot be drawn, for want of memory, is NaN or the least int: no exception passes through native code.
constexpr double kNotDrawn = std::numeric_limits<double>::quiet_NaN();

// Of the class that Python's library adds to; `known` keeps it.
PyObject* random_method(const char* name, PyObject*& known) {
  if (known) return known;
  const Ref type = imported("_random", "Random");
  return known = type ? PyObject_GetAttrString(type.get(), name) : nullptr;
}
PyObject* gauss_next() {
  static constinit InternedName name("gauss_next");
  return name;
}

double python_random(int64_t address) {
  static constinit PyObject* method = nullptr;
  PyObject* self = reinterpret_cast<PyObject*>(address);
  const Ref number = Ref::steal(PyObject_Vectorcall(random_method("random", method), &self, 1, nullptr));
  if (!number) return clear_error(), kNotDrawn;
  return PyFloat_AS_DOUBLE(number.get());
}

double python_gauss(int64_t address, double mean, double deviation) {
  PyObject* const self = reinterpret_cast<PyObject*>(address);
  const Ref kept = Ref::steal(PyObject_GetAttr(self, gauss_next()));
  double z = 0;
  Ref next = Ref::borrow(Py_None);
  if (kept && kept.get() != Py_None) {
    z = PyFloat_AS_DOUBLE(kept.get());
  } else {
    const double angle = python_random(address) * (2.0 * std::numbers::pi);
    const double radius = std::sqrt(-2.0 * std::log(1.0 - python_random(address)));
    z = std::cos(angle) * radius;
    next = Ref::steal(PyFloat_FromDouble(std::sin(angle) * radius));
  }
  if (!kept || !next || PyObject_SetAttr(self, gauss_next(), next.get()) < 0) return clear_error(), kNotDrawn;
  return mean + z * deviation;
}

double python_exponential(int64_t address, double rate) {
  return -std::log(1.0 - python_random(address)) / rate;
}

// ---- tables ----

using Limit = DrawParameter::Limit;
constexpr double kRequired = std::numeric_limits<double>::quiet_NaN();
constexpr DrawParameter kLocation{"loc", 0.0, Limit::None}, kScale{"scale", 1.0, Limit::NotNegative};

template <class F>
const void* address_of(F* function) {
  return reinterpret_cast<const void*>(function);
}

using Draws = std::unordered_map<std::string_view, Draw>;

// NumPy's functions of these names; find_draw looks up where they are.
Draw numpy_draw(const char* function, std::vector<DrawParameter> parameters = {}) {
  return {function, GeneratorPart::Bits, nullptr, std::move(parameters)};
}

const Draws& numpy_draws_of_both() {
  static constinit MadeOnce<Draws> made;
  return made.get([] {
    return Draws{
        {"random", numpy_draw("random_standard_uniform")},
        {"laplace", numpy_draw("random_laplace", {kLocation, kScale})},
        {"logistic", numpy_draw("random_logistic", {kLocation, kScale})},
        {"gumbel", numpy_draw("random_gumbel", {kLocation, kScale})},
    };
  });
}

const Draws& generator_draws() {
  static constinit MadeOnce<Draws> made;
  return made.get([] {
    return Draws{
        {"standard_normal", numpy_draw("random_standard_normal")},
        {"normal", numpy_draw("random_normal", {kLocation, kScale})},
        {"standard_exponential", numpy_draw("random_standard_exponential")},
        {"exponential", numpy_draw("random_exponential", {kScale})},
        {"standard_cauchy", numpy_draw("random_standard_cauchy")},
        {"lognormal",
         numpy_draw("random_lognormal", {{"mean", 0.0, Limit::None}, {"sigma", 1.0, Limit::NotNegative}})},
        {"rayleigh", numpy_draw("random_rayleigh", {kScale})},
        {"standard_gamma", numpy_draw("random_standard_gamma", {{"shape", kRequired, Limit::NotNegative}})},
        {"gamma", numpy_draw("random_gamma", {{"shape", kRequired, Limit::NotNegative}, kScale})},
        {"beta",
         numpy_draw("random_beta", {{"a", kRequired, Limit::Positive}, {"b", kRequired, Limit::Positive}})},
        {"chisquare", numpy_draw("random_chisquare", {{"df", kRequired, Limit::Positive}})},
        {"standard_t", numpy_draw("random_standard_t", {{"df", kRequired, Limit::Positive}})},
        {"weibull", numpy_draw("random_weibull", {{"a", kRequired, Limit::NotNegative}})},
        {"pareto", numpy_draw("random_pareto", {{"a", kRequired, Limit::Positive}})},
        {"power", numpy_draw("random_power", {{"a", kRequired, Limit::Positive}})},
    };
  });
}

Draw legacy_draw(const char* name, GeneratorPart part, const void* address,
                 std::vector<DrawParameter> parameters = {}) {
  return {name, part, address, std::move(parameters)};
}

const Draws& random_state_draws() {
  static constinit MadeOnce<Draws> made;
  return made.get([] {
    return Draws{
        {"rand", numpy_draw("random_standard_uniform")},
        {"random_sample", numpy_draw("random_standard_uniform")},
        {"randn", legacy_draw("legacy_gauss", GeneratorPart::Gauss, address_of(legacy_gauss))},
        {"standard_normal", legacy_draw("legacy_gauss", GeneratorPart::Gauss, address_of(legacy_gauss))},
        {"normal",
         legacy_draw("legacy_normal", GeneratorPart::Gauss, address_of(legacy_normal), {kLocation, kScale})},
        {"standard_exponential", legacy_draw("legacy_standard_exponential", GeneratorPart::Bits,
                                             address_of(legacy_standard_exponential))},
        {"exponential",
         legacy_draw("legacy_exponential", GeneratorPart::Bits, address_of(legacy_exponential), {kScale})},
    };
  });
}

const Draws& python_draws() {
  static constinit MadeOnce<Draws> made;
  return made.get([] {
    return Draws{
        {"random", legacy_draw("python_random", GeneratorPart::Object, address_of(python_random))},
        {"gauss", legacy_draw("python_gauss", GeneratorPart::Object, address_of(python_gauss),
                              {{"mu", 0.0, Limit::None}, {"sigma", 1.0, Limit::None}})},
        {"expovariate", legacy_draw("python_exponential", GeneratorPart::Object,
                                    address_of(python_exponential), {{"lambd", kRequired, Limit::Positive}})},
    };
  });
}

// Where a RandomState has its LegacyGauss: found in one whose number is known; 0 where it is not there.
ptrdiff_t find_gauss_offset() {
  const Ref type = imported("numpy.random.mtrand", "RandomState");
  if (!type) return 0;
  const Ref sample = checked(PyObject_CallNoArgs(type.get()));
  constexpr double kNumber = 0.8414709848078965;
  const Ref state = checked(PyObject_CallMethod(sample.get(), "get_state", "O", Py_False));
  const Ref one = checked(PyLong_FromLong(1)), number = checked(PyFloat_FromDouble(kNumber));
  if (!PyDict_Check(state.get()) || PyDict_SetItemString(state.get(), "has_gauss", one.get()) < 0 ||
      PyDict_SetItemString(state.get(), "gauss", number.get()) < 0)
    return clear_error(), 0;
  checked(PyObject_CallMethod(sample.get(), "set_state", "O", state.get()));
  const char* const start = reinterpret_cast<const char*>(sample.get());
  const Py_ssize_t size = Py_TYPE(sample.get())->tp_basicsize;
  for (ptrdiff_t at = sizeof(PyObject); at + static_cast<ptrdiff_t>(sizeof(LegacyGauss)) <= size; at += 8) {
    LegacyGauss found;
    std::memcpy(&found, start + at, sizeof found);
    const auto* const bits = reinterpret_cast<const char*>(found.bits);
    if (bits >= start && bits + sizeof(bitgen_t) <= start + size && found.has_gauss == 1 &&
        found.gauss == kNumber)
      return at;
  }
  return 0;
}

LegacyGauss* gauss_of(PyObject* random_state, const bitgen_t* bits) {
  static constinit ptrdiff_t offset = -1;  // not looked for
  if (offset < 0) offset = find_gauss_offset();
  if (offset == 0) return nullptr;
  auto* const found = reinterpret_cast<LegacyGauss*>(reinterpret_cast<char*>(random_state) + offset);
  return found->bits->state == bits->state && found->bits->next_double == bits->next_double ? found : nullptr;
}

// Its methods are those of the class, and there is nothing but the normal number that it keeps.
bool is_plain_random(PyObject* random) {
  const Ref dict = Ref::steal(PyObject_GenericGetDict(random, nullptr));
  clear_error();
  if (!dict || PyDict_GET_SIZE(dict.get()) > 1) return false;
  PyObject* const kept = PyDict_GetItemWithError(dict.get(), gauss_next());
  return kept && (kept == Py_None || PyFloat_CheckExact(kept));
}

}  // namespace

GeneratorKind generator_kind(PyTypeObject* type) {
  for (KnownClass& known : known_classes) {
    if (type == known.type) return known.kind;
    if (known.type || std::string_view(type->tp_name) != known.type_name) continue;
    Ref own = imported(known.module, known.name);
    if (own.get() != reinterpret_cast<PyObject*>(type)) continue;
    known.type = type;
    Py_INCREF(type);
    return known.kind;
  }
  return GeneratorKind::None;
}

PyObject* generator_of_method(PyObject* callable) {
  PyObject* self = nullptr;
  if (PyMethod_Check(callable)) self = PyMethod_GET_SELF(callable);
  if (PyCFunction_Check(callable)) self = PyCFunction_GET_SELF(callable);
  return self && generator_kind(self) != GeneratorKind::None ? self : nullptr;
}

void* generator_part(PyObject* generator, GeneratorPart part) {
  const GeneratorKind kind = generator_kind(generator);
  if (kind == GeneratorKind::None) return nullptr;
  if (kind == GeneratorKind::Random)
    return part == GeneratorPart::Object && is_plain_random(generator) ? generator : nullptr;
  const char* const name = kind == GeneratorKind::Generator ? "bit_generator" : "_bit_generator";
  const auto get = [](PyObject* object, const char* attribute) {
    return object ? Ref::steal(PyObject_GetAttrString(object, attribute)) : Ref();
  };
  const Ref bit_generator = get(generator, name), lock = get(bit_generator.get(), "lock"),
            capsule = get(bit_generator.get(), "capsule");
  // Whoever draws without the interpreter's lock holds it; with that lock nobody else can take it.
  const Ref is_free = lock ? Ref::steal(PyObject_CallMethod(lock.get(), "acquire", "O", Py_False)) : Ref();
  bitgen_t* bits = nullptr;
  if (is_free.get() == Py_True) {
    const Ref released = Ref::steal(PyObject_CallMethod(lock.get(), "release", nullptr));
    if (released && capsule)
      bits = static_cast<bitgen_t*>(PyCapsule_GetPointer(capsule.get(), "BitGenerator"));
  }
  clear_error();
  if (!bits || part == GeneratorPart::Object) return nullptr;
  return part == GeneratorPart::Bits ? static_cast<void*>(bits) : gauss_of(generator, bits);
}

GeneratorPart integer_part(GeneratorKind kind) {
  return kind == GeneratorKind::Random ? GeneratorPart::Object : GeneratorPart::Bits;
}

std::optional<Draw> find_draw(GeneratorKind kind, const std::string& method) {
  const auto find = [&](const Draws& draws) -> std::optional<Draw> {
    const auto found = draws.find(method);
    if (found == draws.end()) return std::nullopt;
    Draw draw = found->second;
    if (!draw.address) draw.address = numpy_function(draw.name.c_str());
    return draw.address ? std::optional(std::move(draw)) : std::nullopt;
  };
  switch (kind) {
    case GeneratorKind::Generator:
    case GeneratorKind::RandomState:
      if (auto draw = find(numpy_draws_of_both())) return draw;
      return find(kind == GeneratorKind::Generator ? generator_draws() : random_state_draws());
    case GeneratorKind::Random: return find(python_draws());
    default: return std::nullopt;
  }
}

namespace {

// Looked up once, with the interpreter's lock.
template <class F>
F* known_function(const char* name, F*& known) {
  if (!known) known = reinterpret_cast<F*>(numpy_function(name));
  return known;
}
auto* bounded_fill() {
  static constinit decltype(random_bounded_uint64_fill)* known = nullptr;
  return known_function("random_bounded_uint64_fill", known);
}
auto* binomial_draw() {
  static constinit decltype(random_binomial)* known = nullptr;
  return known_function("random_binomial", known);
}
auto* poisson_draw() {
  static constinit decltype(random_poisson)* known = nullptr;
  return known_function("random_poisson", known);
}

int64_t bounded(int64_t bits, int64_t first, int64_t last, bool is_masked) {
  uint64_t result = 0;
  bounded_fill()(bits_of(bits), static_cast<uint64_t>(first),
                 static_cast<uint64_t>(last) - static_cast<uint64_t>(first), 1, is_masked, &result);
  return static_cast<int64_t>(result);
}

}  // namespace

bool has_numpy_draws() { return bounded_fill() && binomial_draw() && poisson_draw(); }

int64_t draw_integer(int64_t generator, int64_t first, int64_t last) {
  return bounded(generator, first, last, false);
}

int64_t draw_masked_integer(int64_t bits, int64_t first, int64_t last) {
  return bounded(bits, first, last, true);
}

int64_t draw_bits(int64_t generator, int64_t count) {
  static constinit PyObject* method = nullptr;
  const Ref number = Ref::steal(PyLong_FromLongLong(count));
  PyObject* const args[] = {reinterpret_cast<PyObject*>(generator), number.get()};
  const Ref drawn =
      number ? Ref::steal(PyObject_Vectorcall(random_method("getrandbits", method), args, 2, nullptr))
             : Ref();
  if (!drawn) return clear_error(), kIntNotDrawn;
  return PyLong_AsLongLong(drawn.get());
}

int64_t draw_python_integer(int64_t generator, int64_t first, int64_t last) {
  const int64_t count = last - first + 1;
  const int bits = std::bit_width(static_cast<uint64_t>(count));
  int64_t drawn = count;
  while (drawn >= count) drawn = draw_bits(generator, bits);
  return drawn == kIntNotDrawn ? drawn : first + drawn;
}

int64_t draw_poisson(int64_t bits, double rate) { return poisson_draw()(bits_of(bits), rate); }

int64_t draw_binomial(int64_t bits, int64_t count, double probability) {
  static constinit thread_local binomial_t known{};  // of the last count and probability
  return binomial_draw()(bits_of(bits), probability, count, &known);
}

}  // namespace weft::capture
