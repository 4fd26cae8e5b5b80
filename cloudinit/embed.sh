#!/bin/sh
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
#
# embed.sh SCRIPT OUTPUT.c: the script as the C array `provision_body`, NUL-terminated.
set -eu
{
  echo '#include "cloudinit/provision.h"'
  echo 'const char provision_body[] = {'
  od -A n -v -t u1 "$1" | sed 's/[0-9][0-9]*/&,/g'
  echo '0};'
} >"$2"
