# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Mounts the host's folders in the guest of a podman machine, at every boot. volumes.c puts the
# lines in front that set the variables in capitals, and at the end a line for each volume:
#
#   volume TAG ro|rw TARGET     parents before what is in them
#
# It succeeds whatever happens: STATE_FILE tells of the volumes that are not mounted
# (provider/guest.h), and the host judges.
#
#   PROGRAM          mount what is not mounted yet
#   PROGRAM refresh  let what is laid over the guest's files be seen as it is now on the host

set -u
umask 022
root=${VOLUMES_ROOT:-} # the tests' own root folder
[ -n "$root" ] || PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH LC_ALL=C

# overlayfs keeps what it once did not find as absent; a remount forgets that. Only the old system
# call may leave the options as they are.
if [ "${1:-}" = refresh ]; then
  LIBMOUNT_FORCE_MOUNT2=always exec mount -o remount "$root$CONTAINERS_CONFIG"
fi

state=$root$STATE_FILE
folder=${state%/*}
mkdir -p "$folder"
echo 'done' >"$state.new"

# One way for all, which the host chose at this start: the virtio device says which. (9 is 9p, as
# 26 is virtio-fs.)
type=virtiofs options=''
for device in "$root"/sys/bus/virtio/devices/*/device; do
  id=''
  [ ! -r "$device" ] || read -r id <"$device" || :
  [ "$id" != 0x0009 ] || type=9p options=,trans=virtio,version=9p2000.L,msize=512000
done
# What containers may use, as of a file server: podman's own choice.
[ ! -e "$root/sys/fs/selinux/enforce" ] ||
  options="$options,context=system_u:object_r:nfs_t:s0"

# make_folder PATH: also in a root folder that was made immutable, as ostree does.
make_folder() {
  [ -d "$1" ] && return
  case $(lsattr -d "$root/" 2>/dev/null) in
  ????i*) ;;
  *)
    mkdir -p "$1"
    return
    ;;
  esac
  chattr -i "$root/"
  mkdir -p "$1"
  made=$?
  chattr +i "$root/"
  return "$made"
}

# attach TAG ro|rw PATH
attach() {
  name=$1
  [ "$type" != 9p ] || name=${name%?????}
  timeout 60 mount -t "$type" -o "$2$options" "$name" "$3" && return
  case $type in
  9p) modprobe 9p || echo 'this kernel has no 9p: with virtiofsd on the host it is not needed' ;;
  esac
  return 1
}

# lay_over TAG ro|rw PATH: the host's files come before the guest's of the same name, which would
# be missed: podman finds no policy.json elsewhere. What the guest writes stays with it.
lay_over() {
  lower=$folder/containers upper=$root/var/lib/podman-machine-vmnet/containers
  make_folder "$lower" && make_folder "$upper/files" && make_folder "$upper/work" || return
  attach "$1" "$2" "$lower" || return
  mount -t overlay -o "lowerdir=$lower:$3,upperdir=$upper/files,workdir=$upper/work" overlay "$3"
}

mount_one() {
  target=$root$3
  ! mountpoint -q "$target" || return 0
  make_folder "$target" || return
  if [ "$3" = "$CONTAINERS_CONFIG" ]; then lay_over "$1" "$2" "$target"
  else attach "$1" "$2" "$target"; fi
}

volume() {
  if ! mount_one "$@" >"$state.log" 2>&1; then
    reason=$(tail -n 3 "$state.log" | tr '\n' ' ')
    printf '%s %s\n' "$1" "$reason" >>"$state.new"
  fi
}

finish() {
  rm -f "$state.log"
  mv -f "$state.new" "$state"
}
