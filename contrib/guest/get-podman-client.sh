#!/bin/bash
# get-podman-client.sh DIR [SUITE]
#
# Unpacks Debian's remote podman client below DIR and makes DIR/podman, which runs it with its
# own C library: nothing is installed, it needs no root to run, and the host's ssh, home and
# configuration are used. Without SUITE the newest that can be had: experimental, else sid, else
# trixie. The suite and version got are in DIR/version.
#
# Environment: MIRROR (http://deb.debian.org/debian)
set -euo pipefail

die() { echo "get-podman-client.sh: $*" >&2; exit 1; }
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
case ${1:-} in
  -h | --help) usage; exit 0 ;;
  '' | -*) usage >&2; exit 2 ;;
esac
mirror=${MIRROR:-http://deb.debian.org/debian}
command -v mmdebstrap >/dev/null || die "mmdebstrap not found: apt install mmdebstrap"
[ "$(id -u)" = 0 ] || die "must be root, to unpack packages with mmdebstrap"
case $(dpkg --print-architecture) in
  amd64) loader=x86_64-linux-gnu/ld-linux-x86-64.so.2 ;;
  arm64) loader=aarch64-linux-gnu/ld-linux-aarch64.so.1 ;;
  *) die "only amd64 and arm64 hosts" ;;
esac
mkdir -p "$1"
dir=$(cd "$1" && pwd)
if [ $# -gt 1 ]; then suites=("$2"); else suites=(experimental sid trixie); fi
new=$(mktemp -d "$dir/.new.XXXXXX")
trap 'rm -rf --one-file-system "$new"' EXIT

unpack() { # SUITE: the package and what it depends on, into $new/root; runs nothing of it
  local base=$1 sources=("deb $mirror $1 main") options=()
  if [ "$1" = experimental ]; then
    # incomplete by itself, and by default only taken from when asked for by name
    base=sid
    sources=("deb $mirror sid main" "deb $mirror experimental main")
    options=(--aptopt='APT::Default-Release "experimental"')
  fi
  rm -rf --one-file-system "$new/root"
  mmdebstrap --mode=root --variant=extract --quiet --include=podman-remote \
    --aptopt='APT::Install-Recommends "false"' \
    --aptopt='Acquire::Check-Valid-Until "false"' \
    "${options[@]}" "$base" "$new/root" "${sources[@]}" >&2
}

for suite in "${suites[@]}"; do
  unpack "$suite" || { echo "get-podman-client.sh: nothing from $suite" >&2; continue; }
  rm -rf "${new:?}"/root/{dev,etc,var} "$new"/root/usr/share/{doc,man,locale,bash-completion,fish,zsh}
  cat > "$new/podman" <<E
#!/bin/sh
# Made by get-podman-client.sh: podman's remote client of Debian $suite with its own C library.
l=\$(dirname "\$(readlink -f "\$0")")/$suite/usr/lib
exec "\$l/$loader" --argv0 podman --library-path "\$l/${loader%/*}" "\$l/../bin/podman-remote" "\$@"
E
  chmod 755 "$new/podman"
  mv "$new/root" "$new/$suite"
  chmod 755 "$new/$suite"
  version=$("$new/podman" --version) || { echo "get-podman-client.sh: $suite does not run" >&2; continue; }
  rm -rf --one-file-system "${dir:?}/$suite"
  mv "$new/$suite" "$dir/$suite"
  mv "$new/podman" "$dir/podman"
  echo "$suite: $version" | tee "$dir/version"
  exit 0
done
die "no podman client could be had from: ${suites[*]}"
