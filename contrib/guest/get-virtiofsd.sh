#!/bin/bash
# get-virtiofsd.sh DIR
#
# Prints the path of a virtiofsd 1.0 or later, the one in Rust:
#   - the installed one, if there is one;
#   - else that of Debian's trixie, unpacked below DIR and not installed: the path of
#     DIR/virtiofsd, which runs it with its own C library.
# DIR/virtiofsd is made last, so that it is there only when it works; run again, it is used as it
# is.
#
# Environment: MIRROR (http://deb.debian.org/debian)
set -euo pipefail

die() { echo "get-virtiofsd.sh: $*" >&2; exit 1; }
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
case ${1:-} in
  -h | --help) usage; exit 0 ;;
  '' | -*) usage >&2; exit 2 ;;
esac
mkdir -p "$1"
dir=$(cd "$1" && pwd)
mirror=${MIRROR:-http://deb.debian.org/debian}

works() { "$1" --help 2>/dev/null | grep -q -e --shared-dir; } # PROGRAM
for program in /usr/libexec/virtiofsd /usr/lib/virtiofsd "$dir/virtiofsd"; do
  if [ -x "$program" ] && works "$program"; then
    echo "$program"
    exit 0
  fi
done

case $(dpkg --print-architecture) in
  amd64) loader=x86_64-linux-gnu/ld-linux-x86-64.so.2 ;;
  arm64) loader=aarch64-linux-gnu/ld-linux-aarch64.so.1 ;;
  *) die "only amd64 and arm64 hosts: install virtiofsd here" ;;
esac
command -v mmdebstrap >/dev/null || die "mmdebstrap not found: apt install mmdebstrap"
[ "$(id -u)" = 0 ] || die "must be root, to unpack packages with mmdebstrap"

new=$(mktemp -d "$dir/.new.XXXXXX")
trap 'rm -rf --one-file-system "$new"' EXIT
mmdebstrap --mode=root --variant=extract --quiet --include=virtiofsd \
  --aptopt='APT::Install-Recommends "false"' \
  --aptopt='Acquire::Check-Valid-Until "false"' \
  trixie "$new/root" "deb $mirror trixie main" >&2
root=$new/root
[ -x "$root/usr/libexec/virtiofsd" ] || die "no virtiofsd in what was unpacked"
rm -rf "${root:?}"/{dev,etc,var} "${root:?}/usr/share"

rm -rf --one-file-system "$dir/root" "$dir/virtiofsd"
mv "$root" "$dir/root"
cat > "$new/wrapper" <<E
#!/bin/sh
# Made by get-virtiofsd.sh: virtiofsd with the C library it was unpacked with.
r=\$(dirname "\$(readlink -f "\$0")")/root/usr
exec "\$r/lib/$loader" --argv0 virtiofsd --library-path "\$r/lib/${loader%/*}" \\
  "\$r/libexec/virtiofsd" "\$@"
E
chmod 755 "$new/wrapper"
mv "$new/wrapper" "$dir/virtiofsd"
works "$dir/virtiofsd" || { rm -f "$dir/virtiofsd"; die "what was unpacked does not run"; }
echo "$dir/virtiofsd"
