#!/bin/bash
# install-deps.sh [build] [run] [test] [guest]
#
# Installs, with apt-get (as root or by sudo) or Homebrew, what is missing of what the named
# purposes need; all by default. Says what it installs. Nothing missing: does nothing.
#
#   build  to build the program     test   to run the tests without guests
#   run    to run it                guest  to build a guest image, to unpack QEMU and podman
set -euo pipefail

die() { echo "install-deps.sh: $*" >&2; exit 1; }
[ $# -gt 0 ] || set -- build run test guest

needed() { # KIND-PURPOSE: prints the packages
  case $1 in
    debian-build)
      echo gcc libc6-dev pkg-config meson ninja-build libjansson-dev libcurl4-openssl-dev \
        libssh2-1-dev libarchive-dev libdeflate-dev libzstd-dev libssl-dev ;;
    debian-run)
      case $(uname -m) in
        aarch64 | arm64) echo openssh-client qemu-system-arm qemu-efi-aarch64 ;;
        *) echo openssh-client qemu-system-x86 ovmf ;;
      esac ;;
    debian-test)
      echo libcmocka-dev clang clang-tidy clang-format shellcheck codespell zsh fish mandoc git \
        python3 python3-venv openssh-server openssl libarchive-tools procps iproute2 \
        dnsmasq-base busybox secilc ;;
    debian-guest)
      echo mmdebstrap debian-archive-keyring curl e2fsprogs mtools gdisk qemu-utils xz-utils \
        patchelf ;;
    brew-build) echo meson ninja pkgconf jansson libssh2 libarchive libdeflate zstd openssl@3 curl ;;
    brew-run)
      # krunkit and vmnet-helper come from taps of their own; krunkit is for Apple silicon alone.
      [ "$(uname -m)" != arm64 ] || echo libkrun/krun/krunkit
      echo vfkit nirs/vmnet-helper/vmnet-helper
      ;;
    brew-guest) ;; # only on Debian
    brew-test) echo cmocka clang-format llvm shellcheck codespell ;;
    *) die "no purpose '${1#*-}': build, run, test or guest" ;;
  esac
}

kind=brew
if command -v apt-get >/dev/null; then kind=debian; fi
packages=()
for purpose in "$@"; do
  words=$(needed "$kind-$purpose")
  # shellcheck disable=SC2206 # package names
  packages+=($words)
done

if command -v apt-get >/dev/null; then
  missing=()
  for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || exit 0
  echo "Installing: ${missing[*]}"
  as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  export DEBIAN_FRONTEND=noninteractive
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  for try in 1 2 3; do
    if "${as_root[@]}" apt-get -q update >"$log" 2>&1 &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -q install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
      exit 0
    fi
    echo "apt-get failed (try $try)" >&2
  done
  tail -20 "$log" >&2
  die "cannot install ${missing[*]}"
elif command -v brew >/dev/null; then
  missing=()
  for package in "${packages[@]}"; do
    brew list --versions "$package" >/dev/null 2>&1 || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || exit 0
  echo "Installing: ${missing[*]}"
  brew install "${missing[@]}"
else
  die "neither apt-get nor brew here; needed: ${packages[*]}"
fi
