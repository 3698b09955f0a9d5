# weft_collect(VAR DIR...): every .cc below the directories, so that a new file needs no list.
function(weft_collect out)
  set(found)
  foreach(dir IN LISTS ARGN)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS "${dir}/*.cc")
    list(APPEND found ${files})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()
