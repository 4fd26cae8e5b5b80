#!/bin/sh
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
#
# selinux-rules.sh PROVISION.SH: the SELinux rules of the provisioning script, compiled by secilc
# into a small policy. Each must add something where its types are known, and must vanish without
# harm to the others where one is not.
set -eu
command -v secilc >/dev/null || {
  echo "SKIPPED: the SELinux rules are not checked, there is no secilc (package secilc)"
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/bin" "$work/sys/fs/selinux"
: >"$work/sys/fs/selinux/enforce"
printf '#!/bin/sh\n' >"$work/bin/semodule"
chmod +x "$work/bin/semodule"
PATH=$work/bin:$PATH PROVISION_ROOT=$work STATE_FILE=/state sh "$1" selinux

types="sshd_session_t container_runtime_t var_run_t container_var_run_t user_tmp_t virt_qemu_ga_t"
types="$types sshd_t podman_t unconfined_t"
# policy OUT MISSING-TYPE RULE-FILE...
policy() {
  out=$1 missing=$2
  shift 2
  {
    cat <<'END'
(class unix_stream_socket (connectto))
(class sock_file (write))
(class vsock_socket (create bind listen accept read write getattr getopt setopt shutdown))
(class dir (search))
(classorder (unix_stream_socket sock_file vsock_socket dir))
(sid kernel)
(sidorder (kernel))
(user u)
(role r)
(type kernel_t)
(sensitivity s0)
(sensitivityorder (s0))
(userrole u r)
(roletype r kernel_t)
(userlevel u (s0))
(userrange u ((s0) (s0)))
(sidcontext kernel (u r kernel_t ((s0) (s0))))
(allow kernel_t self (sock_file (write)))
END
    for type in $types; do
      [ "$type" = "$missing" ] || echo "(type $type)"
    done
  } >"$work/base.cil"
  secilc -f /dev/null -o "$out" "$work/base.cil" "$@" || {
    echo "secilc refuses $* without '$missing'"
    exit 1
  }
}

# without MISSING-TYPE LOST-RULE...: exactly these change nothing where the type is not known
without() {
  missing=$1
  shift
  lost=''
  policy "$work/none" "$missing"
  for rule in "$work"/usr/local/share/podman-machine-vmnet/*.cil; do
    policy "$work/one" "$missing" "$rule"
    ! cmp -s "$work/none" "$work/one" || lost="$lost $(basename "$rule" .cil)"
  done
  [ "${lost# }" = "$*" ] || {
    echo "without '$missing' these rules are lost:$lost, in place of: $*"
    exit 1
  }
  policy "$work/all" "$missing" "$work"/usr/local/share/podman-machine-vmnet/*.cil
}

without nothing
without container_runtime_t pmv_ssh_connect
without container_var_run_t pmv_ssh_write_container_run
without podman_t pmv_sshd_connect
without sshd_session_t pmv_ssh_connect pmv_ssh_write_container_run pmv_ssh_write_run \
  pmv_ssh_write_user_tmp
without sshd_t pmv_sshd_connect pmv_sshd_connect_user pmv_sshd_search_user_tmp pmv_sshd_write_run \
  pmv_sshd_write_user_tmp
without unconfined_t pmv_sshd_connect_user
without user_tmp_t pmv_ssh_write_user_tmp pmv_sshd_search_user_tmp pmv_sshd_write_user_tmp
without var_run_t pmv_ssh_write_run pmv_sshd_write_run
without virt_qemu_ga_t pmv_agent_vsock
