#!/bin/bash
# get-qemu.sh DIR
#
# Prints the path of a qemu-system-x86_64 that runs guests reliably under software emulation.
# Before 8.1 a guest with two processors panics now and then at boot ("Oops: int3"), so:
#   - the installed one if it is 8.1 or newer;
#   - else QEMU 10 of Debian's bookworm-backports, unpacked below DIR and not installed: the
#     path of DIR/qemu-system-x86_64, which runs it with its own libraries and firmware.
# No package source of this machine is changed. DIR/qemu-system-x86_64 is made last, so that it
# is there only when it works; run again, it is used as it is.
#
# Environment: MIRROR (http://deb.debian.org/debian), QEMU=unpack (skip the installed one)
set -euo pipefail

die() { echo "get-qemu.sh: $*" >&2; exit 1; }
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
case ${1:-} in
  -h | --help) usage; exit 0 ;;
  '' | -*) usage >&2; exit 2 ;;
esac
mkdir -p "$1"
dir=$(cd "$1" && pwd)
mirror=${MIRROR:-http://deb.debian.org/debian}

recent() { # PROGRAM: is it QEMU 8.1 or newer?
  local version
  version=$("$1" --version 2>/dev/null | sed -n '1s/.*version \([0-9]*\.[0-9]*\).*/\1/p')
  [ -n "$version" ] && [ "$(printf '%s\n8.1\n' "$version" | sort -V | head -1)" = 8.1 ]
}

if [ "${QEMU:-}" != unpack ] && installed=$(command -v qemu-system-x86_64) && recent "$installed"; then
  echo "$installed"
  exit 0
fi
wrapper=$dir/qemu-system-x86_64
if [ -x "$wrapper" ] && recent "$wrapper"; then
  echo "$wrapper"
  exit 0
fi

[ "$(uname -m)" = x86_64 ] || die "only x86_64 hosts: install qemu-system 8.1 or newer here"
command -v mmdebstrap >/dev/null || die "mmdebstrap not found: apt install mmdebstrap"
[ "$(id -u)" = 0 ] || die "must be root, to unpack packages with mmdebstrap"

new=$(mktemp -d "$dir/.new.XXXXXX")
trap 'rm -rf --one-file-system "$new"' EXIT
mmdebstrap --mode=root --variant=extract --quiet --include=qemu-system-x86 \
  --aptopt='APT::Install-Recommends "false"' \
  --aptopt='APT::Default-Release "bookworm-backports"' \
  --aptopt='Acquire::Check-Valid-Until "false"' \
  bookworm "$new/root" "deb $mirror bookworm main" "deb $mirror bookworm-backports main" >&2
root=$new/root
[ -x "$root/usr/bin/qemu-system-x86_64" ] || die "no qemu-system-x86_64 in what was unpacked"
rm -rf "${root:?}"/{dev,etc,var} "$root"/usr/share/{doc,man,locale,icons,lintian}

rm -rf --one-file-system "$dir/root" "$wrapper"
mv "$root" "$dir/root"
cat > "$new/wrapper" <<'E'
#!/bin/sh
# Made by get-qemu.sh: QEMU with the C library, modules and firmware it was unpacked with.
r=$(dirname "$(readlink -f "$0")")/root
export QEMU_MODULE_DIR="$r/usr/lib/x86_64-linux-gnu/qemu"
l="$r/lib/x86_64-linux-gnu:$r/usr/lib/x86_64-linux-gnu"
l="$l:$r/usr/lib/x86_64-linux-gnu/pulseaudio"
exec "$r/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" --argv0 qemu-system-x86_64 --library-path "$l" \
  "$r/usr/bin/qemu-system-x86_64" -L "$r/usr/share/qemu" -L "$r/usr/share/seabios" \
  -L "$r/usr/lib/ipxe/qemu" "$@"
E
chmod 755 "$new/wrapper"
mv "$new/wrapper" "$wrapper"
recent "$wrapper" || { rm -f "$wrapper"; die "what was unpacked does not run"; }
echo "$wrapper"
