# `cmake --install`: the library with its headers, the toolchain plugin, the command and a config package, so
# that another project says find_package(weft) and links weft::weft. A wheel (SKBUILD) holds the same library,
# plugin and command below weft/, beside the Python sources; the wheel weft-compiler (python/compiler) holds the plugin.
include(CMakePackageConfigHelpers)

if(SKBUILD)
  set(weft_libdir weft/lib)
  set(weft_bindir weft/bin)
  # Wheels hold no symbolic links: the library is one file, under the name that programs load.
  set_target_properties(weft PROPERTIES VERSION 0 SOVERSION 0)
else()
  set(weft_libdir ${CMAKE_INSTALL_LIBDIR})
  set(weft_bindir ${CMAKE_INSTALL_BINDIR})
endif()

set_target_properties(weft PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS weft EXPORT weftTargets LIBRARY DESTINATION ${weft_libdir} NAMELINK_COMPONENT development)
if(SKBUILD)
  set_target_properties(weft_models PROPERTIES VERSION 0 SOVERSION 0)
endif()
set_target_properties(weft_models PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS weft_models EXPORT weftTargets LIBRARY DESTINATION ${weft_libdir} NAMELINK_COMPONENT development)
if(TARGET weft_mpi AND NOT SKBUILD)
  install(TARGETS weft_mpi LIBRARY DESTINATION ${weft_libdir})
endif()
if(TARGET weft_clang_plugin)
  set(weft_compilerdir ${weft_libdir})
  if(SKBUILD_PROJECT_NAME STREQUAL "weft_compiler")
    set(weft_compilerdir weft_compiler)
  endif()
  set_target_properties(weft_clang_plugin PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS weft_clang_plugin LIBRARY DESTINATION ${weft_compilerdir} COMPONENT compiler)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/lib/ DESTINATION ${weft_compilerdir} COMPONENT compiler
    FILES_MATCHING PATTERN "weft_prelude_*.pch")
endif()
if(TARGET weft_command)
  set_target_properties(weft_command weft_parallel_info PROPERTIES INSTALL_RPATH "$ORIGIN/../lib:$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS weft_command weft_parallel_info RUNTIME DESTINATION ${weft_bindir})
endif()
if(TARGET weft_python AND SKBUILD)
  set_target_properties(weft_python weft_python_models PROPERTIES INSTALL_RPATH "$ORIGIN/lib")
  install(TARGETS weft_python weft_python_models LIBRARY DESTINATION weft COMPONENT python)
  if(TARGET weft_torch_stubs)
    install(FILES "${WEFT_PYTHON_DIR}/weft/torch/__init__.pyi" DESTINATION weft/torch COMPONENT python)
  endif()
endif()

if(NOT SKBUILD)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${PROJECT_BINARY_DIR}/include/
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h")
  install(FILES ${PROJECT_BINARY_DIR}/include/weft/ops.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft COMPONENT development)
  install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft COMPONENT development)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  file(WRITE ${PROJECT_BINARY_DIR}/weftConfig.cmake
    "include(\"\${CMAKE_CURRENT_LIST_DIR}/weftTargets.cmake\")\n")
  install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft COMPONENT development)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
endif()
