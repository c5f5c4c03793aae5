# cmake -Dobjdump=... -Dlibrary=... -P without_mmx.cmake: fails when the library uses MMX registers.
execute_process(
  COMMAND "${objdump}" -d --no-show-raw-insn "${library}"
  COMMAND grep -m 1 -E "%mm[0-7]"
  OUTPUT_VARIABLE found
  RESULT_VARIABLE status)
if(NOT found STREQUAL "")
  message(FATAL_ERROR "${library} uses MMX: ${found}")
endif()
