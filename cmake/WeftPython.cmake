# Finds Python and nanobind for the extension module, and lays out ${WEFT_PYTHON_DIR}/weft: the extension beside
# links to the package's sources, so that one entry on sys.path runs the build without installing it.

if(NOT Python_EXECUTABLE AND EXISTS "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  set(Python_EXECUTABLE "${PROJECT_SOURCE_DIR}/.venv/bin/python" CACHE FILEPATH "Python to build for")
endif()
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)

execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE weft_nanobind_missing)
if(weft_nanobind_missing)
  message(FATAL_ERROR "${Python_EXECUTABLE} has no nanobind: run scripts/setup, or pip install nanobind")
endif()
find_package(nanobind CONFIG REQUIRED)
if(nanobind_VERSION VERSION_LESS 2.4)
  message(FATAL_ERROR "nanobind 2.4 or newer is needed, found ${nanobind_VERSION}")
endif()

set(WEFT_PYTHON_DIR "${PROJECT_BINARY_DIR}/python")
file(GLOB_RECURSE weft_python_sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/python"
  "${PROJECT_SOURCE_DIR}/python/weft/*.py" "${PROJECT_SOURCE_DIR}/python/weft/*.pyi"
  "${PROJECT_SOURCE_DIR}/python/weft/py.typed")
# A link whose source has gone must not stay importable.
file(GLOB_RECURSE weft_python_links "${WEFT_PYTHON_DIR}/weft/*.py*")
foreach(link IN LISTS weft_python_links)
  if(IS_SYMLINK "${link}")
    file(REMOVE "${link}")
  endif()
endforeach()
foreach(source IN LISTS weft_python_sources)
  get_filename_component(folder "${WEFT_PYTHON_DIR}/${source}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/python/${source}" "${WEFT_PYTHON_DIR}/${source}" SYMBOLIC)
endforeach()
# `python -m weft` runs the command of this build.
file(CREATE_LINK "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}" "${WEFT_PYTHON_DIR}/weft/bin" SYMBOLIC)
