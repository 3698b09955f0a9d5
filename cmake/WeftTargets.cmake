# weft_collect(VAR DIR...): every .cc below the directories, so that a new file needs no list.
function(weft_collect out)
  set(found)
  foreach(dir IN LISTS ARGN)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS "${dir}/*.cc")
    list(APPEND found ${files})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# weft_compile_together(TARGET COUNT FILE...): up to COUNT files of one folder become one translation unit, since most of
# a file's time is its headers'. So names in anonymous namespaces are unique in such a folder. The target's other files,
# and those with compile options of their own, are compiled one by one.
function(weft_compile_together target count)
  if(NOT WEFT_JOIN_SOURCES)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(file IN LISTS ARGN)
    get_filename_component(folder "${file}" DIRECTORY)
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${folder}")
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    math(EXPR group "${${folder}_files} + 0")
    math(EXPR ${folder}_files "${group} + 1")
    math(EXPR group "${group} / ${count}")
    set_source_files_properties(${file} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${folder}_${group})
  endforeach()
endfunction()
