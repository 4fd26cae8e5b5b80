#!/bin/sh
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
#
# Every command of the guest that the provisioning script meets in test_provision.c, under links of
# its names. It notes its command line in $PROVISION_ROOT/calls and does what leaves a trace in
# the guest's files. With CUT=WORD, the power goes when a command line with WORD runs.
root=$PROVISION_ROOT
name=${0##*/}
here=${0%/*}
line="$name $*"
echo "$line" >>"$root/calls"

case $line in
*"${CUT:-no such word}"*)
  kill -9 "$PPID"
  exit 1
  ;;
esac

# wants FOLDER UNIT
wants() {
  mkdir -p "$root/etc/systemd/$1.wants"
  ln -sf "/usr/lib/systemd/$2" "$root/etc/systemd/$1.wants/$2"
}

install() {
  if [ -e "$root/offline" ]; then
    echo "Reading metadata..."
    echo "Could not resolve host: mirrors.example" >&2
    exit 1
  fi
  for package; do
    case $package in
    podman) ln -sf fake "$here/podman" ;;
    avahi | avahi-daemon) ln -sf fake "$here/avahi-daemon" ;;
    qemu-guest-agent) ln -sf fake "$here/qemu-ga" ;;
    ansible-core) ln -sf fake "$here/ansible-playbook" ;;
    shadow-utils | uidmap) ln -sf fake "$here/newuidmap" ;;
    esac
  done
}

case $line in
"apt-get "*" update") [ ! -e "$root/offline" ] || install ;;
"dnf -y install "* | "apt-get "*" install "*) install "$@" ;;
"dnf -y reinstall "*) install ;;
"rpm -qa "*) printf '500 bash\n1000 crun\n1001 podman\n' ;;
"stat -c %Y "*) echo 1000 ;;
"stat -c %u "*) echo "${OWNER:-501}" ;;
"systemctl --no-reload --global enable podman.socket") wants user/sockets.target podman.socket ;;
"systemctl --no-reload enable podman.socket") wants system/sockets.target podman.socket ;;
"systemctl --no-reload enable avahi-daemon.service") wants system/multi-user.target avahi-daemon.service ;;
"systemctl start playbook.service")
  [ ! -e "$root/playbook-fails" ] || {
    echo "Job for playbook.service failed." >&2
    exit 1
  }
  ;;
"journalctl -q"*" -u playbook.service") printf 'TASK [one]\nfatal: [localhost]: FAILED!\n' ;;
"systemctl start "*user@*)
  # The manager opens the socket when it comes up and finds it enabled.
  [ -e "$root/manager-is-up" ] || [ ! -L "$root/etc/systemd/user/sockets.target.wants/podman.socket" ] || {
    mkdir -p "$root/run/user/501/podman"
    : >"$root/run/user/501/podman/podman.sock"
  }
  ;;
"loginctl enable-linger "*)
  [ ! -e "$root/no-logind" ] || exit 1
  mkdir -p "$root/var/lib/systemd/linger"
  : >"$root/var/lib/systemd/linger/$2"
  ;;
"semodule -l") cat "$root/modules" ;;
"semodule -i "*)
  [ ! -e "$root/no-policy" ] || {
    echo "semodule: Failed on policy" >&2
    exit 1
  }
  shift
  for file; do
    file=${file##*/}
    echo "${file%.cil}" >>"$root/modules"
  done
  ;;
esac
exit 0
