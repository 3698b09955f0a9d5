# Installed by `cmake --install`: the library, its headers, the command and a config package.
