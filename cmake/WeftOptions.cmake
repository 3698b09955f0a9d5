# Build options and the compiler settings every target shares.

option(WEFT_BUILD_TESTS "Build the C++ tests" ON)
option(WEFT_BUILD_PYTHON "Build the Python extension module" OFF)
option(WEFT_BUILD_BENCH "Build the benchmark programs" OFF)
option(WEFT_BUILD_CLANG "Build the in-process Clang toolchain plugin" ON)
option(WEFT_MPI "Build libweft_mpi where MPI is found" ON)
option(WEFT_WERROR "Treat warnings as errors" OFF)
option(WEFT_COVERAGE "Instrument for coverage" OFF)
option(WEFT_JOIN_SOURCES "Compile several sources of a folder at a time: quicker as a whole, slower for one" ON)
option(WEFT_FUZZ "Build the libFuzzer targets (clang only)" OFF)
set(WEFT_THREADING "OMP" CACHE STRING "Intra-op thread pool: OMP or TBB")
set_property(CACHE WEFT_THREADING PROPERTY STRINGS OMP TBB)
# The architecture that is built for: the name of its folders in src/.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(WEFT_PROCESSOR x86_64)
  set(weft_arch x86-64-v3)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  set(WEFT_PROCESSOR aarch64)
  set(weft_arch armv8-a)
else()
  message(FATAL_ERROR "weft is not there for the processor '${CMAKE_SYSTEM_PROCESSOR}': docs/HACKING.md says what one needs")
endif()
set(WEFT_ARCH ${weft_arch} CACHE STRING "-march for the library itself (generated kernels use the machine's own)")
set(WEFT_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")

if(NOT WEFT_THREADING MATCHES "^(OMP|TBB)$")
  message(FATAL_ERROR "WEFT_THREADING must be OMP or TBB, got '${WEFT_THREADING}'")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# -O2 also where CMake's own default is -O3, which costs compile time and gains nothing here: the loops that
# matter are generated and compiled with flags of their own. No debug information, for the same reason.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${WEFT_CCACHE}")
endif()
find_program(WEFT_MOLD mold)
if(WEFT_MOLD AND NOT WEFT_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=mold)
endif()

add_library(weft_flags INTERFACE)
# Eager kernels and generated code must round alike: no contraction, no fast-math.
target_compile_options(weft_flags INTERFACE
  -Wall -Wextra -Wno-psabi -ffp-contract=off -fno-math-errno -fno-trapping-math
  $<$<BOOL:${WEFT_WERROR}>:-Werror>
  # g++ collects garbage from 600 MB on, which few files need, and not from 128: a twentieth of its time.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=600000>
  # clang reports std::stable_sort's own buffer, which libstdc++ 12 calls deprecated.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
if(WEFT_ARCH)
  target_compile_options(weft_flags INTERFACE -march=${WEFT_ARCH})
endif()
if(NOT WEFT_PROCESSOR STREQUAL "x86_64")
  # As there: elsewhere a plain char has no sign.
  target_compile_options(weft_flags INTERFACE -fsigned-char)
endif()
if(WEFT_PROCESSOR STREQUAL "aarch64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_definitions(weft_flags INTERFACE _Float16=__fp16)  # of C++ there from 13 on
endif()
if(WEFT_FUZZ AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "WEFT_FUZZ needs clang's libFuzzer; the compiler is ${CMAKE_CXX_COMPILER_ID}")
endif()
if(WEFT_FUZZ)
  target_compile_options(weft_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(WEFT_SANITIZE)
  target_compile_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer -g1)
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()
if(WEFT_COVERAGE)
  target_compile_options(weft_flags INTERFACE --coverage -O0)
  target_link_options(weft_flags INTERFACE --coverage)
endif()
