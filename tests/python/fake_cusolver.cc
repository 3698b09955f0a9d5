// A library with the functions of libcusolver that weft calls, for emulated GPUs: LAPACK's on the host.
// FAKE_CUSOLVER names a function that fails ("Sgetrf"). Calls are told on stderr.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

void* the_stream = nullptr;

int status_of(const std::string& function) {
  const char* set = std::getenv("FAKE_CUSOLVER");
  if (set != nullptr && set == function) return 6;
  return the_stream == nullptr ? 1 : 0;
}
int begun(const std::string& function) {
  std::fprintf(stderr, "fake cusolverDn%s\n", function.c_str());
  return status_of(function);
}

// The process's address of memory of an emulated GPU.
template <class T>
T* here(T* there) {
  return there != nullptr ? reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(there) ^ (uintptr_t{1} << 63))
                          : nullptr;
}

void* lapack_function(const std::string& name) {
  static void* const library = [] {
    void* found = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    return found != nullptr ? found : dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
  }();
  void* const function = library != nullptr ? dlsym(library, name.c_str()) : nullptr;
  if (function == nullptr) std::abort();
  return function;
}

// LAPACK's function of this name, for float ("s") or double ("d").
template <class T, class... Arguments>
void lapack(const char* name, Arguments... arguments) {
  const std::string whole = std::string(sizeof(T) == 4 ? "s" : "d") + name + "_";
  reinterpret_cast<void (*)(Arguments...)>(lapack_function(whole))(arguments...);
}

constexpr int kRoom = 77;  // elements that each function asks for
template <class T>
bool is_room(T* room, int elements) {
  if (room == nullptr || elements != kRoom) return false;
  std::memset(here(room), 0x5a, kRoom * sizeof(T));
  return true;
}
const char* half_of(int half) { return half == 0 ? "L" : "U"; }

template <class T>
int potrf(int half, int n, T* a, int leading, T* room, int elements, int* info) {
  if (!is_room(room, elements)) return 3;
  lapack<T>("potrf", half_of(half), &n, here(a), &leading, here(info), size_t{1});
  return 0;
}
template <class T>
int getrf(int m, int n, T* a, int leading, T* room, int* pivots, int* info) {
  if (!is_room(room, kRoom)) return 3;
  lapack<T>("getrf", &m, &n, here(a), &leading, here(pivots), here(info));
  return 0;
}
template <class T>
int getrs(int operation, int n, int columns, const T* a, int leading, const int* pivots, T* b, int b_leading,
          int* info) {
  lapack<T>("getrs", operation == 0 ? "N" : "T", &n, &columns, here(a), &leading, here(pivots), here(b),
            &b_leading, here(info), size_t{1});
  return 0;
}
template <class T>
int syevd(int vectors, int half, int n, T* a, int leading, T* values, T* room, int elements, int* info) {
  if (!is_room(room, elements)) return 3;
  int size = 1 + 6 * n + 2 * n * n, whole = 3 + 5 * n;
  std::vector<T> work(static_cast<size_t>(size));
  std::vector<int> numbers(static_cast<size_t>(whole));
  lapack<T>("syevd", vectors != 0 ? "V" : "N", half_of(half), &n, here(a), &leading, here(values),
            work.data(), &size, numbers.data(), &whole, here(info), size_t{1}, size_t{1});
  return 0;
}
template <class T>
int geqrf(int m, int n, T* a, int leading, T* tau, T* room, int elements, int* info) {
  if (!is_room(room, elements)) return 3;
  int size = 64 * (n + 1);
  std::vector<T> work(static_cast<size_t>(size));
  lapack<T>("geqrf", &m, &n, here(a), &leading, here(tau), work.data(), &size, here(info));
  return 0;
}
template <class T>
int orgqr(int m, int n, int k, T* a, int leading, const T* tau, T* room, int elements, int* info) {
  if (!is_room(room, elements)) return 3;
  int size = 64 * (n + 1);
  std::vector<T> work(static_cast<size_t>(size));
  lapack<T>("orgqr", &m, &n, &k, here(a), &leading, here(tau), work.data(), &size, here(info));
  return 0;
}
template <class T>
int gesvd(signed char u_job, signed char vt_job, int m, int n, T* a, int leading, T* values, T* u,
          int u_leading, T* vt, int vt_leading, T* room, int elements, int* info) {
  if (!is_room(room, elements) || m < n) return 3;
  int size = 64 * (m + n);
  std::vector<T> work(static_cast<size_t>(size));
  const char jobs[] = {static_cast<char>(u_job), static_cast<char>(vt_job)};
  lapack<T>("gesvd", &jobs[0], &jobs[1], &m, &n, here(a), &leading, here(values), here(u), &u_leading,
            here(vt), &vt_leading, work.data(), &size, here(info), size_t{1}, size_t{1});
  return 0;
}

int asked(const char* function, int* elements) { return *elements = kRoom, status_of(function); }

}  // namespace

extern "C" {
int weft_emulated_device = 1;

int cusolverDnCreate(void** made) {
  static int one;
  the_stream = &one;  // until it is set
  return *made = &one, status_of("Create");
}
int cusolverDnSetStream(void*, void* stream) { return the_stream = stream, status_of("SetStream"); }

#define FAKE(LETTER, T)                                                                                      \
  int cusolverDn##LETTER##potrf_bufferSize(void*, int, int, T*, int, int* elements) {                        \
    return asked(#LETTER "potrf_bufferSize", elements);                                                      \
  }                                                                                                          \
  int cusolverDn##LETTER##potrf(void*, int half, int n, T* a, int leading, T* room, int elements,            \
                                int* info) {                                                                 \
    const int status = begun(#LETTER "potrf");                                                               \
    return status != 0 ? status : potrf(half, n, a, leading, room, elements, info);                          \
  }                                                                                                          \
  int cusolverDn##LETTER##getrf_bufferSize(void*, int, int, T*, int, int* elements) {                        \
    return asked(#LETTER "getrf_bufferSize", elements);                                                      \
  }                                                                                                          \
  int cusolverDn##LETTER##getrf(void*, int m, int n, T* a, int leading, T* room, int* pivots, int* info) {   \
    const int status = begun(#LETTER "getrf");                                                               \
    return status != 0 ? status : getrf(m, n, a, leading, room, pivots, info);                               \
  }                                                                                                          \
  int cusolverDn##LETTER##getrs(void*, int operation, int n, int columns, const T* a, int leading,           \
                                const int* pivots, T* b, int b_leading, int* info) {                         \
    const int status = begun(#LETTER "getrs");                                                               \
    return status != 0 ? status : getrs(operation, n, columns, a, leading, pivots, b, b_leading, info);      \
  }                                                                                                          \
  int cusolverDn##LETTER##syevd_bufferSize(void*, int, int, int, const T*, int, const T*, int* elements) {   \
    return asked(#LETTER "syevd_bufferSize", elements);                                                      \
  }                                                                                                          \
  int cusolverDn##LETTER##syevd(void*, int vectors, int half, int n, T* a, int leading, T* values, T* room,  \
                                int elements, int* info) {                                                   \
    const int status = begun(#LETTER "syevd");                                                               \
    return status != 0 ? status : syevd(vectors, half, n, a, leading, values, room, elements, info);         \
  }                                                                                                          \
  int cusolverDn##LETTER##geqrf_bufferSize(void*, int, int, T*, int, int* elements) {                        \
    return asked(#LETTER "geqrf_bufferSize", elements);                                                      \
  }                                                                                                          \
  int cusolverDn##LETTER##geqrf(void*, int m, int n, T* a, int leading, T* tau, T* room, int elements,       \
                                int* info) {                                                                 \
    const int status = begun(#LETTER "geqrf");                                                               \
    return status != 0 ? status : geqrf(m, n, a, leading, tau, room, elements, info);                        \
  }                                                                                                          \
  int cusolverDn##LETTER##orgqr_bufferSize(void*, int, int, int, const T*, int, const T*, int* elements) {   \
    return asked(#LETTER "orgqr_bufferSize", elements);                                                      \
  }                                                                                                          \
  int cusolverDn##LETTER##orgqr(void*, int m, int n, int k, T* a, int leading, const T* tau, T* room,        \
                                int elements, int* info) {                                                   \
    const int status = begun(#LETTER "orgqr");                                                               \
    return status != 0 ? status : orgqr(m, n, k, a, leading, tau, room, elements, info);                     \
  }                                                                                                          \
  int cusolverDn##LETTER##gesvd_bufferSize(void*, int, int, int* elements) {                                 \
    return asked(#LETTER "gesvd_bufferSize", elements);                                                      \
  }                                                                                                          \
  int cusolverDn##LETTER##gesvd(void*, signed char u_job, signed char vt_job, int m, int n, T* a,            \
                                int leading, T* values, T* u, int u_leading, T* vt, int vt_leading, T* room, \
                                int elements, T*, int* info) {                                               \
    const int status = begun(#LETTER "gesvd");                                                               \
    return status != 0 ? status                                                                              \
                       : gesvd(u_job, vt_job, m, n, a, leading, values, u, u_leading, vt, vt_leading, room,  \
                               elements, info);                                                              \
  }
FAKE(S, float)
FAKE(D, double)
}
