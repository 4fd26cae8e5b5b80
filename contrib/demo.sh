#!/bin/bash
# demo.sh [--clean]
#
# From a fresh clone to a container in a machine of your own: installs what is missing (apt or
# Homebrew), builds, makes and starts a machine called vmnet-demo, shows that podman reaches it
# and runs a container in it. Run again, it goes on where it was. Other machines, and the default
# connection if there is one, are left alone.
#
#   --clean   remove the machine and what the demo keeps in ~/.cache/podman-machine-vmnet-demo
#
# The image is Fedora's cloud image; where that cannot be downloaded, on Debian, a guest built
# from Debian packages.
set -euo pipefail

name=vmnet-demo
cd "$(dirname "$0")/.."
keep=${XDG_CACHE_HOME:-$HOME/.cache}/podman-machine-vmnet-demo
program=$PWD/build-demo/cmd/podman-machine-vmnet

die() { echo "demo.sh: $*" >&2; exit 1; }
step() { printf '\n=== %s\n' "$*"; }
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
on_mac() { [ "$(uname -s)" = Darwin ]; }

[ $# -le 1 ] || { usage >&2; exit 2; }
case ${1:-} in
  '') ;;
  --clean)
    [ -x "$program" ] || program=$(command -v podman-machine-vmnet) ||
      die "there is no build-demo here to remove the machine with: run contrib/demo.sh, or build the program"
    if "$program" inspect "$name" >/dev/null 2>&1; then
      "$program" rm --force "$name"
      echo "Removed machine $name"
    fi
    as_root rm -rf "$keep" build-demo
    echo "Removed $keep and build-demo"
    exit 0
    ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac

step "What building and running need"
contrib/install-deps.sh build run

step "Build"
[ -f build-demo/build.ninja ] || meson setup build-demo --buildtype=release -Dtests=false
meson compile -C build-demo
mkdir -p "$keep"

# A QEMU that runs two-processor guests reliably under emulation, should it come to that.
if ! on_mac; then
  if [ ! -s "$keep/qemu-path" ]; then
    contrib/install-deps.sh guest
    as_root contrib/guest/get-qemu.sh "$keep/qemu" >"$keep/qemu-path"
  fi
  # Its guest's kernel has no 9p, so volumes need virtiofsd.
  if [ ! -s "$keep/virtiofsd-path" ]; then
    contrib/install-deps.sh guest
    as_root contrib/guest/get-virtiofsd.sh "$keep/virtiofsd" >"$keep/virtiofsd-path"
  fi
  PATH=$(dirname "$(cat "$keep/qemu-path")"):$(dirname "$(cat "$keep/virtiofsd-path")"):$PATH
  export PATH
fi

# podman 5 or later: before, connections were kept elsewhere.
client=$(command -v podman || true)
version=$([ -z "$client" ] || "$client" --version | sed 's/.* //; s/\..*//')
if [ "${version:-0}" -lt 5 ]; then
  ! on_mac || die "no podman client of version 5 or later: brew install podman"
  step "A podman client, since ${client:-there is none here}${client:+ is too old}"
  client=$keep/client/podman
  if [ ! -x "$client" ]; then
    contrib/install-deps.sh guest
    as_root contrib/guest/get-client.sh podman "$keep/client"
  fi
fi

if ! "$program" inspect "$name" >/dev/null 2>&1; then
  image=()
  if ! curl -fsSIL --max-time 15 -o /dev/null https://download.fedoraproject.org/pub/fedora/; then
    ! on_mac || die "cannot reach download.fedoraproject.org"
    step "Fedora's image cannot be downloaded here: building a Debian guest"
    contrib/install-deps.sh guest
    as_root contrib/guest/build-guest-image.sh --flavour fast "$keep/guest"
    image=(--image "$keep/guest/guest.qcow2" --disk-size 10)
  fi
  step "podman-machine-vmnet init $name"
  "$program" init "${image[@]}" "$name"
fi

if [ "$("$program" inspect --format '{{.State}}' "$name")" != running ]; then
  step "podman-machine-vmnet start $name"
  "$program" start --update-connection=false "$name"
fi

step "podman -c $name version"
"$client" -c "$name" version

step "A container"
if "$client" -c "$name" pull -q docker.io/library/busybox 2>/dev/null; then
  busybox=docker.io/library/busybox
else
  echo "no registry can be reached: importing one"
  busybox=localhost/busybox
  if [ ! -f "$keep/busybox.tar" ]; then
    contrib/install-deps.sh guest
    as_root contrib/guest/make-container-image.sh "$keep/busybox.tar"
  fi
  "$client" -c "$name" import "$keep/busybox.tar" "$busybox" >/dev/null
fi
# shellcheck disable=SC2016 # it is the container's shell that expands them
"$client" -c "$name" run --rm "$busybox" sh -c 'echo "Hello from a container on $(uname -sr), $(uname -m)"'

cat <<END

Machine $name is running. Go on with:

    $client -c $name run -it --rm $busybox sh
    $program ssh $name
    $program inspect $name
    $program stop $name

and clean up with:

    contrib/demo.sh --clean
END
