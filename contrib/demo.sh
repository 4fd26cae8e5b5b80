#!/bin/bash
# demo.sh [--clean]
#
# From nothing to a container in a machine of ours: installs what is missing, builds, makes the
# machine `vmnet-demo`, starts it, and runs a container in it with a real podman client. Can be
# repeated, and interrupted at any time. No other machine, connection or file of yours is touched.
#
#   --clean   removes the machine, and what the demo has built and unpacked
#
# Environment: IMAGE (a catalog name, URL or file: see `podman-machine-vmnet init --help`)
set -euo pipefail

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
die() { echo "demo.sh: $*" >&2; exit 1; }
step() { printf '\n== %s\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@"; }

name='vmnet-demo'
cd "$(dirname "$0")/.."
top=$PWD
build=$top/build-demo
program=$build/cmd/podman-machine-vmnet
guest=$top/contrib/guest
cache=${XDG_CACHE_HOME:-$HOME/.cache}/podman-machine-vmnet-demo

exists() { [ -x "$program" ] && "$program" inspect "$name" >/dev/null 2>&1; }
running() { [ "$("$program" inspect --format '{{.State}}' "$name")" = running ]; }

case ${1:-} in
  '') ;;
  --clean)
    if exists; then
      "$program" rm --force "$name"
    fi
    rm -rf "$build" "$cache"
    echo "The machine $name and what the demo had built and unpacked are gone."
    echo "Fetched images stay in ${XDG_CACHE_HOME:-$HOME/.cache}/podman-machine-vmnet/images."
    exit 0 ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac
trap 'echo; echo "Interrupted. Run it again to go on, or with --clean to remove everything." >&2; exit 130' INT

step "What is needed"
"$top/contrib/install-deps.sh" build run
echo "packages: all there"

step "Build"
[ -f "$build/build.ninja" ] || meson setup "$build" -Dtests=false >/dev/null
ninja -C "$build" | tail -n 1

# The guest's image: Fedora's where it can be had, else a Debian built on the spot.
reachable() { curl -sfI -m 10 -o /dev/null https://download.fedoraproject.org/; }
on_linux() { [ "$(uname -s)" = Linux ]; }
# Before 8.1, QEMU's guests panic now and then under emulation with two processors: as root a
# newer one is unpacked beside; the program gets along with the older one, more slowly.
if on_linux && [ "$(uname -m)" = x86_64 ] && [ "$(id -u)" = 0 ]; then
  "$top/contrib/install-deps.sh" test
  mkdir -p "$cache"
  PATH=$(dirname "$("$guest/get-qemu.sh" "$cache/qemu")"):$PATH
fi
if ! exists; then
  step "Machine $name"
  image=${IMAGE:-}
  if [ -z "$image" ]; then
    if ! on_linux || reachable; then
      image=fedora-44
    else
      [ "$(id -u)" = 0 ] || die "Fedora's server cannot be reached, and building a Debian image" \
        "instead needs root: run it as root, or give an image (IMAGE=FILE contrib/demo.sh)"
      echo "Fedora's server cannot be reached: building a Debian image (about two minutes)"
      "$top/contrib/install-deps.sh" test
      "$guest/build-guest-image.sh" "$cache/fast"
      image=$cache/fast/guest.qcow2
    fi
  fi
  show "$program" init --image "$image" --disk-size 10 "$name"
fi
if ! running; then
  step "Start"
  show "$program" start --update-connection=false "$name"
fi

step "A podman client"
podman=$(command -v podman || true)
major=0
if [ -n "$podman" ]; then
  major=$("$podman" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
fi
if [ "${major:-0}" -lt 5 ]; then
  on_linux || die "needs podman 5 or newer: brew install podman"
  # Debian 12's podman 4.3 does not know the file that connections are in now.
  [ -x "$cache/client/podman" ] || "$guest/get-podman-client.sh" "$cache/client"
  podman=$cache/client/podman
fi
"$podman" --version
connection=$name
if [ "$("$program" inspect --format '{{.Rootful}}' "$name")" = true ]; then
  connection=$name-root
fi
show "$podman" -c "$connection" version

step "A container"
if "$podman" -c "$connection" image exists localhost/vmnet-demo 2>/dev/null; then
  container=localhost/vmnet-demo
elif curl -sfI -m 10 -o /dev/null https://quay.io/v2/ || ! on_linux; then
  container=quay.io/podman/hello
else
  [ -f "$cache/busybox.tar" ] || "$guest/make-container-image.sh" "$cache/busybox.tar"
  show "$podman" -c "$connection" import "$cache/busybox.tar" localhost/vmnet-demo
  container=localhost/vmnet-demo
fi
if [ "$container" = localhost/vmnet-demo ]; then
  # shellcheck disable=SC2016 # the container's shell expands it
  show "$podman" -c "$connection" run --rm "$container" sh -c 'echo Hello from $(uname -sr)'
else
  show "$podman" -c "$connection" run --rm "$container"
fi

cat <<EOT

It works. To go on:
  $podman -c $connection run ...
  $program ssh $name
  $program stop $name
To remove all of it:
  contrib/demo.sh --clean
EOT
