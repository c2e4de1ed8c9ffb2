# Interface target with the compile and link flags of all targets.
add_library(pyrometer_flags INTERFACE)
target_compile_options(pyrometer_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-Wall>
  $<$<COMPILE_LANGUAGE:C>:-Wextra>
  $<$<AND:$<COMPILE_LANGUAGE:C>,$<BOOL:${PYRO_WERROR}>>:-Werror>)
target_compile_definitions(pyrometer_flags INTERFACE _GNU_SOURCE)

if(PYRO_SANITIZE)
  set(sanitizers ${PYRO_SANITIZE})
  if(PYRO_FUZZ)
    set(sanitizers "${sanitizers},fuzzer-no-link")
  endif()
  target_compile_options(pyrometer_flags INTERFACE
    -fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(sanitizers STREQUAL "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # It does not follow fences, and says so; the recorder's tail has one. Beside it GCC 12 sees
    # overflows in report/trace/work.c that are none.
    target_compile_options(pyrometer_flags INTERFACE -Wno-tsan -Wno-stringop-overflow)
  endif()
  target_link_options(pyrometer_flags INTERFACE
    -fsanitize=${sanitizers} -fno-sanitize-recover=all)
endif()
