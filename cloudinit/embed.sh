#!/bin/sh
#
# embed.sh SCRIPT NAME OUTPUT.c: the script as the C array NAME_body, NUL-terminated.
set -eu
{
  echo "#include \"cloudinit/$2.h\""
  echo "const char $2_body[] = {"
  od -A n -v -t u1 "$1" | sed 's/[0-9][0-9]*/&,/g'
  echo '0};'
} >"$3"
