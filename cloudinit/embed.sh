#!/bin/sh
#
# embed.sh SCRIPT NAME OUTPUT.c [HEADER]: the script as the C array NAME_body, NUL-terminated, which
# HEADER.h declares (NAME.h if it is not given).
set -eu
{
  echo "#include \"cloudinit/${4:-$2}.h\""
  echo "const char $2_body[] = {"
  od -A n -v -t u1 "$1" | sed 's/[0-9][0-9]*/&,/g'
  echo '0};'
} >"$3"
