# cmake -Dsource=<python/muster> -Dpackage=<build>/python/muster -Dversion=<version> -Dmodules=<files> -P assemble.cmake
#
# Links the package's modules, and those that the extension loads, next to the built extension, and writes the metadata that makes `pip list` and
# importlib.metadata know the package.

file(GLOB entries RELATIVE "${source}" "${source}/*")
list(REMOVE_ITEM entries __pycache__)
foreach(entry IN LISTS entries)
  file(CREATE_LINK "${source}/${entry}" "${package}/${entry}" SYMBOLIC)
endforeach()

foreach(module IN LISTS modules)
  cmake_path(GET module FILENAME name)
  file(CREATE_LINK "${module}" "${package}/${name}" SYMBOLIC)
endforeach()

# A link whose module was renamed or removed would keep the old name importable.
file(GLOB links "${package}/*")
foreach(link IN LISTS links)
  if(IS_SYMLINK "${link}" AND NOT EXISTS "${link}")
    file(REMOVE "${link}")
  endif()
endforeach()

cmake_path(GET package PARENT_PATH folder)
set(metadata "${folder}/muster-${version}.dist-info")
file(WRITE "${metadata}/METADATA" "Metadata-Version: 2.1\nName: muster\nVersion: ${version}\n")
file(WRITE "${metadata}/INSTALLER" "scripts/build\n")
