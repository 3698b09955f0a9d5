# Builds for 64-bit ARM Linux on another machine, by Debian's cross compiler, and runs what it built in an emulator. The
# libraries are those that scripts/aarch64_root unpacks.
get_filename_component(weft_top ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(weft_root ${weft_top}/build/aarch64-root)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)
set(CMAKE_SYSROOT ${weft_root})
# Programs are the machine's own, everything else is the other's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${weft_root})
set(ENV{PKG_CONFIG_LIBDIR} ${weft_root}/usr/lib/aarch64-linux-gnu/pkgconfig:${weft_root}/usr/share/pkgconfig)
set(CMAKE_CROSSCOMPILING_EMULATOR ${weft_top}/scripts/aarch64_run)
