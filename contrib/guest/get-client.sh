#!/bin/bash
# get-client.sh podman|docker DIR [SUITE]
#
# Unpacks a client of Debian's below DIR and makes DIR/podman or DIR/docker, which runs it with its
# own C library: nothing is installed, it needs no root to run, and the host's ssh, home and
# configuration are used. It cannot be moved: DIR is written into the program. Without SUITE the
# newest that can be had: experimental, else sid, else trixie. The suite and version got are in
# DIR/version.
#
# podman is the remote client; where a suite has none of its own (bookworm: podman 4.3), it is
# podman itself with --remote.
#
# Environment: MIRROR (http://deb.debian.org/debian)
set -euo pipefail

die() { echo "get-client.sh: $*" >&2; exit 1; }
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
case ${1:-} in
  -h | --help) usage; exit 0 ;;
  podman | docker) ;;
  *) usage >&2; exit 2 ;;
esac
case ${2:-} in '' | -*) usage >&2; exit 2 ;; esac
what=$1
mirror=${MIRROR:-http://deb.debian.org/debian}
command -v mmdebstrap >/dev/null || die "mmdebstrap not found: apt install mmdebstrap"
command -v patchelf >/dev/null || die "patchelf not found: apt install patchelf"
[ "$(id -u)" = 0 ] || die "must be root, to unpack packages with mmdebstrap"
case $(dpkg --print-architecture) in
  amd64) loader=x86_64-linux-gnu/ld-linux-x86-64.so.2 ;;
  arm64) loader=aarch64-linux-gnu/ld-linux-aarch64.so.1 ;;
  *) die "only amd64 and arm64 hosts" ;;
esac
mkdir -p "$2"
dir=$(cd "$2" && pwd)
if [ $# -gt 2 ]; then suites=("$3"); else suites=(experimental sid trixie); fi
new=$(mktemp -d "$dir/.new.XXXXXX")
trap 'rm -rf --one-file-system "$new"' EXIT

# choose SUITE: the package, its program and what is always said to it
choose() {
  option=''
  case $what:$1 in
    podman:bookworm) package=podman program=podman option=--remote ;;
    podman:*) package=podman-remote program=podman-remote ;;
    docker:bookworm) package=docker.io program=docker ;;
    docker:*) package=docker-cli program=docker ;;
  esac
}

unpack() { # SUITE: the package and what it depends on, into $new/root; runs nothing of it
  local base=$1 sources=("deb $mirror $1 main") options=()
  if [ "$1" = experimental ]; then
    # incomplete by itself, and by default only taken from when asked for by name
    base=sid
    sources=("deb $mirror sid main" "deb $mirror experimental main")
    options=(--aptopt='APT::Default-Release "experimental"')
  fi
  rm -rf --one-file-system "$new/root"
  mmdebstrap --mode=root --variant=extract --quiet --include="$package" \
    --aptopt='APT::Install-Recommends "false"' \
    --aptopt='Acquire::Check-Valid-Until "false"' \
    "${options[@]}" "$base" "$new/root" "${sources[@]}" >&2
}

# The program starts itself anew by the name that the kernel has for it (`podman cp` does), which
# is the loader's if that is called for it: hence not by a wrapper alone.
own_library() { # SUITE
  local root=$dir/$1 top=/usr/lib
  # /lib is not yet a link to /usr/lib in bookworm's packages.
  [ -e "$root$top/$loader" ] || top=/lib
  patchelf --set-interpreter "$root$top/$loader" --force-rpath \
    --set-rpath "$root/lib/${loader%/*}:$root/usr/lib/${loader%/*}" "$root/usr/bin/$program"
}

for suite in "${suites[@]}"; do
  choose "$suite"
  unpack "$suite" || { echo "get-client.sh: nothing from $suite" >&2; continue; }
  rm -rf "${new:?}"/root/{dev,etc,var} "$new"/root/usr/share/{doc,man,locale,bash-completion,fish,zsh}
  rm -rf --one-file-system "${dir:?}/$suite"
  mv "$new/root" "$dir/$suite"
  chmod 755 "$dir/$suite"
  own_library "$suite"
  cat > "$new/$what" <<E
#!/bin/bash
# Made by get-client.sh: $package of Debian $suite with its own C library.
exec -a $what "$dir/$suite/usr/bin/$program" $option "\$@"
E
  chmod 755 "$new/$what"
  version=$("$new/$what" --version) || { echo "get-client.sh: $suite does not run" >&2; continue; }
  mv "$new/$what" "$dir/$what"
  echo "$suite: $version" | tee "$dir/version"
  exit 0
done
die "no $what client could be had from: ${suites[*]}"
