#!/bin/bash
# make-container-image.sh OUT.tar
#
# Makes a container image for tests without a registry: a root file system with one static
# busybox (sh, httpd, wget, nc, ...) and /www/index.html, for "podman import OUT.tar NAME".
# From Debian's busybox-static. The same input gives the same bytes.
#
# Environment: MIRROR (http://deb.debian.org/debian), SUITE (trixie)
set -euo pipefail

die() { echo "make-container-image.sh: $*" >&2; exit 1; }
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
case ${1:-} in
  -h | --help) usage; exit 0 ;;
  '' | -*) usage >&2; exit 2 ;;
esac
out=$1
suite=${SUITE:-trixie}
command -v mmdebstrap >/dev/null || die "mmdebstrap not found: apt install mmdebstrap"
[ "$(id -u)" = 0 ] || die "must be root, to unpack packages with mmdebstrap"

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work" "$out.tmp"' EXIT
mmdebstrap --mode=root --variant=extract --quiet --include=busybox-static \
  --aptopt='Acquire::Check-Valid-Until "false"' \
  "$suite" "$work/deb" "deb ${MIRROR:-http://deb.debian.org/debian} $suite main"
busybox=$(find "$work/deb" -path '*bin/busybox' -type f)
[ -n "$busybox" ] || die "no busybox in what was unpacked"

mkdir -p "$work/root"/{bin,etc,tmp,www}
cp "$busybox" "$work/root/bin/busybox"
for applet in sh ls cat echo env false grep head hostname httpd id ip mount nc ping ps sleep \
  stat tail touch true uname wc wget; do
  ln -s busybox "$work/root/bin/$applet"
done
chmod 1777 "$work/root/tmp"
echo 'root:x:0:0:root:/:/bin/sh' > "$work/root/etc/passwd"
echo 'root:x:0:' > "$work/root/etc/group"
echo 'hello from the container' > "$work/root/www/index.html"
tar -C "$work/root" --sort=name --mtime=@0 --numeric-owner --owner=0 --group=0 -cf "$out.tmp" .
mv "$out.tmp" "$out"
