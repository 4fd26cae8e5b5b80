#!/bin/bash
# cross-check.sh [--arch arm64|x86_64|both] [BUILDDIR]
#
# Compiles and links the program and all its tests for macOS, on Linux, with warnings as errors
# (one of them: a function newer than the oldest macOS that we support), then checks what was
# built: see check-macho.py. Nothing is run: no macOS is here.
#
# The compiler and Apple's headers are zig's, of the version and the hash in requirements.txt, kept
# in ${XDG_CACHE_HOME:-~/.cache}/podman-machine-vmnet-tests. The libraries are stubs made of this
# machine's: see make-sysroot.sh.
#
# BUILDDIR (build-macos) is kept: the next run builds what changed. Environment: JOBS (as ninja's -j)
# Exit status: 0, 1 for a fault, 77 and "SKIPPED: reason" where zig cannot be had.
set -euo pipefail

minimum=13.0
here=$(dirname "$(realpath "$0")")
root=$(realpath "$here/../..")

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
fail() { echo "cross-check.sh: $*" >&2; exit 1; }
skip() { echo "SKIPPED: $*"; exit 77; }

arches=(arm64 x86_64) build_dir=
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --arch)
      case ${2:-} in
        arm64 | x86_64) arches=("$2") ;;
        both) ;;
        *) usage >&2; exit 2 ;;
      esac
      shift ;;
    -* | '') usage >&2; exit 2 ;;
    *)
      [ -z "$build_dir" ] || { usage >&2; exit 2; }
      build_dir=$1 ;;
  esac
  shift
done
build_dir=$(realpath -m "${build_dir:-$root/build-macos}")

# --- zig ------------------------------------------------------------------------------------------
[ "$(uname -s)" = Linux ] || skip "only for Linux: build natively here"
zig_version=$(sed -n 's/^ziglang==\([0-9.]*\).*/\1/p' "$here/requirements.txt")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/podman-machine-vmnet-tests/zig-$zig_version
zig=$cache/zig
mkdir -p "$cache"

get_zig() {
  [ ! -x "$zig" ] || return 0
  echo "zig $zig_version: into $cache"
  python3 -m venv --clear "$cache/venv" >"$cache/log" 2>&1 ||
    skip "python3 cannot make a virtual environment ($(tail -n 1 "$cache/log"))"
  if ! "$cache/venv/bin/python" -m pip --disable-pip-version-check install --quiet --no-cache-dir \
    --only-binary :all: --require-hashes -r "$here/requirements.txt" >"$cache/log" 2>&1; then
    ! grep -q 'DO NOT MATCH THE HASHES' "$cache/log" || fail "$(cat "$cache/log")"
    skip "zig $zig_version cannot be had from PyPI ($(grep -v '^$' "$cache/log" | tail -n 1))"
  fi
  # Without Python in between, a compilation takes half the time. Last: it marks success.
  local installed=("$cache"/venv/lib/python3*/site-packages/ziglang/zig)
  ln -s "${installed[0]}" "$zig.new"
  mv -T "$zig.new" "$zig"
}
exec 9>"$cache/lock"
flock 9
rm -f "$zig.new"
get_zig
exec 9>&-
export ZIG_GLOBAL_CACHE_DIR=$cache/cache ZIG_LOCAL_CACHE_DIR=$cache/cache

# --- one architecture -----------------------------------------------------------------------------
logged() { # WHAT COMMAND…: its output only if it fails
  local what=$1
  shift
  "$@" >"$dir/log" 2>&1 || {
    tail -n 80 "$dir/log" >&2
    fail "$arch: $what failed"
  }
}

# The check would find nothing if zig, the headers or the stubs were too lenient: each of these
# must be refused, and for the reason that is expected.
refused() { # WORDS NAME SOURCE [ARGUMENT…]
  local words=$1 name=$2 source=$3
  shift 3
  printf '%s\n' "$source" >"$dir/$name.c"
  if "$sysroot/bin/cc" -std=c17 -D_DARWIN_C_SOURCE -Werror -Wunguarded-availability-new \
    "$dir/$name.c" -I"$sysroot/include" -L"$sysroot/lib" "$@" -o "$dir/$name" >"$dir/log" 2>&1; then
    fail "$arch: accepted, but must not be: $source"
  fi
  grep -q "$words" "$dir/log" || { cat "$dir/log" >&2; fail "$arch: not refused for '$words'"; }
}

check_the_checks() {
  local flags commands
  refused 'introduced in macOS 15' newer '#include <string.h>
int main(int argc, char **argv) { return *strchrnul(argv[0], argc); }'
  refused 'undefined symbol' unknown 'void curl_easy_unknown(void);
int main(void) { curl_easy_unknown(); }' -lcurl
  refused 'undeclared function' linux '#include <sys/random.h>
int main(int argc, char **argv) { return (int)getrandom(argv[0], (size_t)argc, 0); }'
  # meson leaves out a flag, without a word, when its own check of the flag fails.
  commands=$(grep -c '"command"' "$dir/build/compile_commands.json")
  flags=$(grep -c -- ' -Werror .*-Wunguarded-availability-new .*-D_DARWIN_C_SOURCE' \
    "$dir/build/compile_commands.json")
  [ "$flags" = "$commands" ] || fail "$arch: $flags of $commands compilations have the flags"
}

check_program() {
  local tbd args=(--arch "$arch" --minimum "$minimum" --imports "$here/imports.txt")
  args+=(--dylib /usr/lib/libSystem.B.dylib)
  for tbd in "$sysroot"/lib/*.tbd; do
    case $tbd in */libcmocka.tbd) continue ;; esac
    args+=(--dylib "$(sed -n "s/^install-name: *'\(.*\)'/\1/p" "$tbd")")
  done
  python3 "$here/check-macho.py" "${args[@]}" "$program" || fail "$arch: $program is not right"
  [ "$arch" = arm64 ] || return 0 # the other is not signed
  cp "$program" "$dir/flipped"
  printf '\377' | dd of="$dir/flipped" bs=1 seek=8192 conv=notrunc status=none
  ! python3 "$here/check-macho.py" "${args[@]}" "$dir/flipped" >"$dir/log" 2>&1 ||
    fail "$arch: check-macho.py does not see a changed byte"
}

check_arch() {
  arch=$1 dir=$build_dir/$1
  sysroot=$dir/sysroot program=$dir/build/cmd/podman-machine-vmnet
  local stamp
  stamp=$(cat "$here/make-sysroot.sh" "$here/requirements.txt" | sha256sum
    echo "$zig"
    pkg-config --modversion jansson libcurl libssh2 libarchive libdeflate libzstd libcrypto cmocka)
  if [ ! -e "$dir/build/build.ninja" ] || [ "$stamp" != "$(cat "$dir/stamp")" ]; then
    rm -rf "${dir:?}"
    mkdir -p "$dir"
    "$here/make-sysroot.sh" "$zig" "$arch" "$minimum" "$sysroot"
    logged "meson setup" meson setup --cross-file "$sysroot/cross.ini" -Dwerror=true \
      "$dir/build" "$root"
    rm -f a.o # a probe of meson's leaves it in the folder that it runs in
    printf '%s\n' "$stamp" >"$dir/stamp"
  fi
  logged "the build" ninja -C "$dir/build" -k 0 ${JOBS:+-j "$JOBS"}
  check_the_checks
  check_program
}

for arch in "${arches[@]}"; do
  check_arch "$arch"
done
echo "cross-check.sh: ${arches[*]}: built and checked with zig $zig_version in $SECONDS s"
