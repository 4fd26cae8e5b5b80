#!/bin/bash
# make-sysroot.sh ZIG ARCH MINIMUM DIR
#
# Makes what `meson setup --cross-file DIR/cross.ini` needs to build this project for macOS on
# Linux:
#   DIR/bin       zig's compiler and archiver for ARCH (arm64 or x86_64) and macOS MINIMUM (13.0)
#   DIR/include   the headers of our dependencies, and of nothing else, from this machine
#   DIR/lib       for each dependency a text stub for the linker: the functions that this machine's
#                 library has, under the name of Homebrew's dylib; and its .pc file
# With a stub a program links, and a function that the library lacks is an error; nothing can run.
# The versions are those of this machine.
set -euo pipefail

die() { echo "make-sysroot.sh: $*" >&2; exit 1; }
[ $# = 4 ] || die "usage: make-sysroot.sh ZIG ARCH MINIMUM DIR"
zig=$(realpath "$1") arch=$2 minimum=$3
case $arch in
  arm64) cpu=aarch64 homebrew=/opt/homebrew ;;
  x86_64) cpu=x86_64 homebrew=/usr/local ;;
  *) die "unknown architecture '$arch'" ;;
esac
rm -rf "${4:?}"
mkdir -p "$4"/{bin,include,lib/pkgconfig}
dir=$(realpath "$4")

# Apple's driver, as meson knows it. It asks for the linker's name with -Wl,--version and -Wl,-v,
# and its function checks pass -Wl,-no_weak_imports, which zig refuses: every check would say no.
# With -O2, zig defines NDEBUG by itself.
cat > "$dir/bin/cc" <<W
#!/bin/sh
for arg; do
  shift
  case \$arg in
    -Wl,--version) echo "ld: unknown option: --version" >&2; exit 1 ;;
    -Wl,-v) echo "@(#)PROGRAM:ld  PROJECT:ld64-820.1" >&2; exit 0 ;;
    -Wl,-no_weak_imports) continue ;;
  esac
  set -- "\$@" "\$arg"
done
exec "$zig" cc -target $cpu-macos.$minimum -fno-sanitize=undefined -UNDEBUG "\$@"
W
cat > "$dir/bin/ar" <<W
#!/bin/sh
exec "$zig" ar "\$@"
W
chmod +x "$dir"/bin/*

cat > "$dir/cross.ini" <<I
[binaries]
c = '$dir/bin/cc'
ar = '$dir/bin/ar'
pkgconfig = 'pkg-config'

[properties]
pkg_config_libdir = '$dir/lib/pkgconfig'
needs_exe_wrapper = true

[host_machine]
system = 'darwin'
cpu_family = '$cpu'
cpu = '$cpu'
endian = 'little'
I

native=${CC:-cc}
include_dirs=(/usr/include "/usr/include/$($native -print-multiarch)")

headers() { # NAME…: files and folders, from each of the folders that has them
  local name from found
  for name; do
    found=
    for from in "${include_dirs[@]}"; do
      if [ -e "$from/$name" ]; then
        cp -rL "$from/$name" "$dir/include/"
        found=1
      fi
    done
    [ -n "$found" ] || die "no header $name: install the development package"
  done
}

stub() { # LIBRARY DYLIB VERSION
  local so symbols
  so=$($native -print-file-name="lib$1.so")
  [ -e "$so" ] || die "no lib$1.so: install the development package"
  symbols=$(nm -D --defined-only "$so" |
    awk '$2 ~ /^[TDBRVWi]$/ { sub(/@.*/, "", $3); print "_" $3 }' | LC_ALL=C sort -u | paste -sd,)
  [ -n "$symbols" ] || die "no symbols in $so"
  cat > "$dir/lib/lib$1.tbd" <<T
--- !tapi-tbd
tbd-version:     4
targets:         [ $arch-macos ]
install-name:    '$homebrew/opt/$2'
current-version: $3
compatibility-version: 1
exports:
  - targets:         [ $arch-macos ]
    symbols:         [ $symbols ]
...
T
}

dependency() { # PKG-CONFIG-NAME LIBRARY DYLIB HEADER…
  local package=$1 library=$2 dylib=$3 version
  shift 3
  version=$(pkg-config --modversion "$package") || die "no $package: install the development package"
  headers "$@"
  stub "$library" "$dylib" "$version"
  cat > "$dir/lib/pkgconfig/$package.pc" <<P
Name: $package
Description: stub of $package
Version: $version
Libs: -L$dir/lib -l$library
Cflags: -I$dir/include
P
}

dependency jansson jansson jansson/lib/libjansson.4.dylib jansson.h jansson_config.h
dependency libcurl curl curl/lib/libcurl.4.dylib curl
dependency libssh2 ssh2 libssh2/lib/libssh2.1.dylib libssh2.h
dependency libarchive archive libarchive/lib/libarchive.13.dylib archive.h archive_entry.h
dependency libdeflate deflate libdeflate/lib/libdeflate.0.dylib libdeflate.h
dependency libzstd zstd zstd/lib/libzstd.1.dylib zstd.h zstd_errors.h
dependency libcrypto crypto openssl@3/lib/libcrypto.3.dylib openssl
dependency cmocka cmocka cmocka/lib/libcmocka.0.dylib cmocka.h
