# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sets the guest of a podman machine up: Fedora or Debian, with or without the packages there.
# provision.c puts the lines in front that set the variables in capitals.
#
# cloud-init starts it on every boot until it is done (see the bootcmd in documents.c), so every
# step looks first whether there is anything to do, and a boot that is cut off anywhere is mended
# by the next one. Under emulation a process costs 20 ms or more: what the shell can do itself, it
# does.
#
#   PROGRAM          do what is still to do, and tell in STATE_FILE (provider/guest.h)
#   PROGRAM selinux  install the SELinux rules again, whatever is there

set -u
umask 022
root=${PROVISION_ROOT:-} # the tests' own root folder
state=$root$STATE_FILE
folder=${state%/*}
log=$folder/log
rule_folder=$root/usr/local/share/podman-machine-vmnet
step=start without=''
[ -n "$root" ] || PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH LC_ALL=C DEBIAN_FRONTEND=noninteractive

has() { command -v "$1" >/dev/null 2>&1; }
say() { printf '%s\n' "$*" >&2; }

set_state() { printf '%s\n' "$@" >"$state.new" && mv -f "$state.new" "$state"; }

begin() {
  step=$1
  set_state "running $step"
}

# The reason, one line per argument, is what the user of the machine gets to read.
fail() {
  say "$step: $*"
  set_state "failed $step" "$@"
  exit 1
}

must() { "$@" >"$log" 2>&1 || fail "'$*' failed:" "$(tail -n 6 "$log")"; }

# put PATH TEXT: the file holds the text and a newline, and nothing else.
put() {
  if [ -f "$root$1" ] && [ "$(cat "$root$1")" = "$2" ]; then return; fi
  [ -d "$root${1%/*}" ] || must mkdir -p "$root${1%/*}"
  if ! printf '%s\n' "$2" >"$root$1.new" || ! mv -f "$root$1.new" "$root$1"; then
    fail "cannot write $1"
  fi
}

# enabled system|user UNIT
enabled() {
  for link in "$root/etc/systemd/$1"/*.wants/"$2"; do
    if [ -L "$link" ]; then return 0; fi
  done
  return 1
}

### packages ######################################################################################

# lacks PROGRAM. After a cut in the middle of an installation, a program that is there proves nothing
# where rpm had not noted its package yet (dpkg notes first).
lacks() { [ -n "$interrupted" ] && has dnf || ! has "$1"; }

# What there is to install; `vital` is that without which there is no machine.
find_missing() {
  missing='' vital=''
  if lacks podman; then missing=podman vital=podman; fi
  if [ -n "$AGENT" ] && lacks qemu-ga; then
    missing="$missing qemu-guest-agent" vital="$vital qemu-guest-agent"
  fi
  if [ -n "$PLAYBOOK" ] && lacks ansible-playbook; then missing="$missing ansible-core"; fi
  if has dnf; then
    ! lacks newuidmap || missing="$missing shadow-utils"
    ! lacks avahi-daemon || missing="$missing avahi nss-mdns"
  else
    ! lacks newuidmap || missing="$missing uidmap"
    ! lacks avahi-daemon || missing="$missing avahi-daemon libnss-mdns"
  fi
}

has_route() {
  [ -r "$root/proc/net/route" ] || return 1
  while read -r _ destination _; do
    if [ "$destination" = 00000000 ]; then return 0; fi
  done <"$root/proc/net/route"
  return 1
}

apt() { apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold "$@"; }

# dpkg knows what it had not finished. rpm may have noted packages whose files never reached the disk:
# those that came since the installation began come once more.
mend_packages() {
  if has dnf; then
    since=$(stat -c %Y "$folder/installing")
    recent=$(rpm -qa --qf '%{INSTALLTIME} %{NAME}\n' | while read -r time name; do
      [ "$time" -lt "$since" ] || printf ' %s' "$name"
    done)
    # shellcheck disable=SC2086 # words
    [ -z "$recent" ] || dnf -y reinstall $recent
  elif has dpkg; then
    dpkg --configure -a && apt -f install
  fi
}

# shellcheck disable=SC2086 # words
install_packages() {
  [ -z "$interrupted" ] || mend_packages || return 1
  find_missing
  [ -n "$missing" ] || return 0
  if has dnf; then
    dnf -y install $missing
  else
    apt -o APT::Update::Error-Mode=any update && apt install $missing
  fi
}

packages() {
  interrupted=''
  [ ! -e "$folder/installing" ] || interrupted=1
  find_missing
  [ -n "$missing$interrupted" ] || return 0
  if ! has dnf && ! has apt-get; then
    [ -z "$vital" ] || fail "cannot install ${vital# }: there is neither dnf nor apt-get"
    return 0
  fi

  patience=30
  until has_route || [ "$patience" = 0 ]; do
    sleep 1
    patience=$((patience - 1))
  done
  [ -n "$interrupted" ] || : >"$folder/installing"
  sync
  # Without the vital ones it is worth waiting for a network that comes late.
  delays=''
  [ -z "$vital$interrupted" ] || delays='5 10 20 30'
  for delay in $delays end; do
    if install_packages >"$log" 2>&1; then
      sync
      rm -f "$folder/installing"
      interrupted=''
      break
    fi
    say "cannot install$missing yet: $(tail -n 1 "$log")"
    [ "$delay" = end ] || sleep "$delay"
  done

  find_missing
  if [ -n "$vital$interrupted" ]; then
    [ -n "$interrupted" ] || rm -f "$folder/installing"
    reason="cannot install ${vital# }:"
    [ -z "$interrupted" ] || reason='cannot finish an installation that was cut off:'
    has_route || fail "$reason" "$(tail -n 6 "$log")" "the guest has no network (no default route)"
    fail "$reason" "$(tail -n 6 "$log")"
  fi
  rm -f "$folder/installing"
  if [ -n "$missing" ]; then
    # shellcheck disable=SC2034 # playbook.sh tells of it
    without=$(tail -n 3 "$log")
    say "going on without $missing"
  fi
}

### control plane #################################################################################

# The host's ways over vsock. First of all, so that the host sees the rest go on. A machine works
# without, over the network.
control() {
  begin control
  if [ ! -x "$root/usr/bin/python3" ]; then
    say "there is no /usr/bin/python3: the host has to reach this guest over the network"
    return
  fi
  put /etc/systemd/system/podman-machine-vmnet-agent.service "[Unit]
Description=The host's ways into this podman machine

[Service]
ExecStart=$VSOCK_PROGRAM
Restart=on-failure
RestartSec=2
LimitNOFILE=65536
TasksMax=infinity

[Install]
WantedBy=multi-user.target"
  if selinux_on && has restorecon; then restorecon "$root$VSOCK_PROGRAM" || :; fi
  must systemctl daemon-reload
  enabled system podman-machine-vmnet-agent.service ||
    must systemctl --no-reload enable podman-machine-vmnet-agent.service
  systemctl --no-block restart podman-machine-vmnet-agent.service ||
    say "cannot start podman-machine-vmnet-agent.service"
}

### guest agent ###################################################################################

# The stock unit waits for a virtio-serial port that krunkit and vfkit do not have.
agent() {
  begin agent
  put /etc/systemd/system/qemu-guest-agent.service "[Unit]
Description=QEMU guest agent on vsock port 1234

[Service]
ExecStart=$(command -v qemu-ga) --method=vsock-listen --path=3:1234
Restart=always
RestartSec=2

[Install]
WantedBy=multi-user.target"
  must systemctl daemon-reload
  # It also drops the links that the stock unit's own [Install] made.
  must systemctl --no-reload reenable qemu-guest-agent.service
  must systemctl restart qemu-guest-agent.service
}

### SELinux #######################################################################################

selinux_on() { [ -e "$root/sys/fs/selinux/enforce" ]; }

# One optional block per rule: a type that a policy does not know disables its own rule only.
#   pmv_ssh_*    Fedora: what OpenSSH's sshd_session_t needs to forward to podman's sockets, whose
#                files are labelled by release and by user
#   pmv_sshd_*   Debian: the same for the whole sshd in one domain; a user's podman is unconfined
#   pmv_agent_*  qemu-guest-agent
# Our own program on vsock needs none: systemd runs what is bin_t in unconfined_service_t on Fedora
# (selinux-policy 41, module unconfined), in initrc_t on Debian, and both may use every kind of socket.
# They lie where semodule may read them whoever runs it: over ssh it is in a domain of its own, to
# which our folder in /var/lib is closed on Debian. Sets `rules`, the names, and `rule_files`.
write_rules() {
  rules='' rule_files=''
  mkdir -p "$rule_folder" || return 1
  while read -r name rule; do
    rules="$rules $name" rule_files="$rule_files $rule_folder/$name.cil"
    printf '(optional %s %s)\n' "$name" "$rule" >"$rule_folder/$name.cil" || return 1
  done <<'END'
pmv_ssh_connect (allow sshd_session_t container_runtime_t (unix_stream_socket (connectto)))
pmv_ssh_write_run (allow sshd_session_t var_run_t (sock_file (write)))
pmv_ssh_write_container_run (allow sshd_session_t container_var_run_t (sock_file (write)))
pmv_ssh_write_user_tmp (allow sshd_session_t user_tmp_t (sock_file (write)))
pmv_sshd_connect (allow sshd_t podman_t (unix_stream_socket (connectto)))
pmv_sshd_write_run (allow sshd_t var_run_t (sock_file (write)))
pmv_sshd_connect_user (allow sshd_t unconfined_t (unix_stream_socket (connectto)))
pmv_sshd_search_user_tmp (allow sshd_t user_tmp_t (dir (search)))
pmv_sshd_write_user_tmp (allow sshd_t user_tmp_t (sock_file (write)))
pmv_agent_vsock (allow virt_qemu_ga_t self (vsock_socket (create bind listen accept read write getattr getopt setopt shutdown)))
END
}

rules_loaded() {
  loaded="
$(semodule -l)
"
  for name in $rules; do
    case $loaded in
    *"
$name
"*) ;;
    *) return 1 ;;
    esac
  done
}

# Each transaction rebuilds the whole policy, so all go into one.
# shellcheck disable=SC2086 # words
install_rules() { semodule -i $rule_files; }

selinux() {
  begin selinux
  has semodule || fail "SELinux is on, but there is no semodule (package policycoreutils)"
  write_rules || fail "cannot write to '$rule_folder'"
  rules_loaded || must install_rules
}

### volumes #######################################################################################

# Before basic.target, so before everything that may run a container; after the boot's tidying of
# temporary folders, which a volume may be in.
volumes() {
  begin volumes
  put "/etc/systemd/system/$VOLUMES_UNIT" "[Unit]
Description=Mount the folders of this podman machine's host
DefaultDependencies=no
After=sysinit.target
Before=basic.target shutdown.target
Conflicts=shutdown.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=$VOLUMES_PROGRAM
TimeoutStartSec=180

[Install]
WantedBy=multi-user.target"
  # A file that is new on the host is seen by the next podman at the latest.
  if [ -n "$CONTAINERS_SHARED" ]; then
    put /etc/systemd/system/podman.service.d/podman-machine-vmnet.conf "[Service]
ExecStartPre=-$VOLUMES_PROGRAM refresh"
    put /etc/systemd/user/podman.service.d/podman-machine-vmnet.conf "[Service]
ExecStartPre=-/usr/bin/sudo -n $VOLUMES_PROGRAM refresh"
  fi
  must systemctl daemon-reload
  enabled system "$VOLUMES_UNIT" || must systemctl --no-reload enable "$VOLUMES_UNIT"
  must systemctl start "$VOLUMES_UNIT"
}

### user ##########################################################################################

# Sets `uid`, `gid`, `home` and `groups`, the groups that the user should be in but is not.
find_user() {
  uid=''
  while IFS=: read -r name _ number group _ path _; do
    [ "$name" != "$GUEST_USER" ] || uid=$number gid=$group home=$path
  done <"$root/etc/passwd"
  [ -n "$uid" ] || fail "cloud-init did not create the user '$GUEST_USER'"
  [ "$uid" = "$GUEST_UID" ] ||
    fail "the image has a user '$GUEST_USER' of its own, with the id $uid in place of $GUEST_UID"
  groups=''
  while IFS=: read -r name _ _ members; do
    case $name in
    adm | sudo | systemd-journal | wheel)
      case ,$members, in
      *,"$GUEST_USER",*) ;;
      *) groups=${groups:+$groups,}$name ;;
      esac
      ;;
    esac
  done <"$root/etc/group"
}

# put_subids FILE: the user's line in place of the one that useradd made.
put_subids() {
  lines=$GUEST_USER:$SUBID_START:1000000
  if [ -f "$root$1" ]; then
    while read -r line; do
      case $line in
      "$GUEST_USER":* | '') ;;
      *) lines="$lines
$line" ;;
      esac
    done <"$root$1"
  fi
  put "$1" "$lines"
}

user() {
  begin user
  find_user
  [ -z "$groups" ] || must usermod -a -G "$groups" "$GUEST_USER"
  put_subids /etc/subuid
  put_subids /etc/subgid

  [ -d "$root$home" ] || must mkdir -m 700 "$root$home"
  [ "$(stat -c %u "$root$home")" = "$uid" ] || must chown "$uid:$gid" "$root$home"
  # useradd copied these once; a power cut may have taken them.
  for file in "$root"/etc/skel/.[!.]*; do
    copy=$root$home/${file##*/}
    if [ ! -f "$file" ] || [ -s "$copy" ]; then continue; fi
    must cp "$file" "$copy"
    must chown "$uid:$gid" "$copy"
  done
  if [ ! -s "$root$home/.config/containers/containers.conf" ]; then
    put "$home/.config/containers/containers.conf" '[containers]
netns="bridge"
pids_limit=0'
    must chown -R "$uid:$gid" "$root$home/.config"
  fi

  # The socket before the user manager, which lingering starts: then it comes up with it.
  enabled user podman.socket || must systemctl --no-reload --global enable podman.socket
  if [ ! -e "$root/var/lib/systemd/linger/$GUEST_USER" ] && ! loginctl enable-linger "$GUEST_USER"
  then
    must mkdir -p "$root/var/lib/systemd/linger"
    : >"$root/var/lib/systemd/linger/$GUEST_USER" || fail "cannot let '$GUEST_USER' linger"
  fi
}

### services ######################################################################################

# Not /etc/podman-machine: by that name podman would look for its own network proxy on the host.
put_marker() { put /etc/podman-machine-vmnet "$PROVIDER"; }

set_timezone() {
  [ -n "$TIMEZONE" ] || return 0
  if [ ! -e "$root/usr/share/zoneinfo/$TIMEZONE" ]; then
    say "there is no time zone '$TIMEZONE' here: left as it is"
    return 0
  fi
  must ln -sfn "../usr/share/zoneinfo/$TIMEZONE" "$root/etc/localtime"
  [ ! -e "$root/etc/timezone" ] || put /etc/timezone "$TIMEZONE"
}

# A clock that is hours behind after the host slept is stepped, not slewed, at any time.
set_clock() {
  for name in chrony.conf chrony/chrony.conf; do
    file=$root/etc/$name
    if [ ! -f "$file" ] || grep -q '^makestep 1 -1' "$file"; then continue; fi
    put "/etc/$name" "$(sed '/^[[:space:]]*makestep/d' "$file")
makestep 1 -1"
    systemctl --no-block try-restart chronyd.service || :
  done
}

docker() {
  if [ -n "$ROOTFUL" ]; then socket=/run/podman/podman.sock
  else socket=/run/user/$uid/podman/podman.sock; fi
  put /etc/tmpfiles.d/podman-docker.conf "L+  /run/docker.sock   -    -    -     -   $socket"
  must systemd-tmpfiles --create --prefix=/run/docker.sock
  if [ ! -e "$root/usr/bin/docker" ] && [ ! -e "$root/usr/local/bin/docker" ]; then
    must mkdir -p "$root/usr/local/bin"
    must ln -sfn /usr/bin/podman "$root/usr/local/bin/docker"
  fi
}

services() {
  begin services
  put_marker
  set_timezone
  set_clock
  docker
  if has avahi-daemon; then
    enabled system avahi-daemon.service || must systemctl --no-reload enable avahi-daemon.service
    systemctl --no-block start avahi-daemon.service || :
  fi
  if selinux_on && has restorecon; then
    restorecon -R "$root$home" "$root/var/lib/systemd/linger" "$root/etc/localtime" || :
  fi

  enabled system podman.socket || must systemctl --no-reload enable podman.socket
  must systemctl start podman.socket "user@$uid.service"
  # A manager that was up before the socket was enabled has to be told.
  if [ ! -e "$root/run/user/$uid/podman/podman.sock" ]; then
    must runuser -u "$GUEST_USER" -- \
      env XDG_RUNTIME_DIR="/run/user/$uid" systemctl --user start podman.socket
  fi
}

### all of it #####################################################################################

case ${1:-} in
'') ;;
selinux)
  selinux_on || exit 0
  write_rules && install_rules
  exit
  ;;
*)
  say "usage: $0 [selinux]"
  exit 2
  ;;
esac

[ -d "$folder" ] || mkdir -p "$folder" || exit 1
line=''
[ ! -r "$state" ] || read -r line <"$state" || :
[ "$line" != 'done' ] || exit 0

[ -z "$VSOCK_PROGRAM" ] || control
begin packages
packages
[ -z "$AGENT" ] || agent
! selinux_on || selinux
[ -z "$VOLUMES_PROGRAM" ] || volumes
user
services
[ -z "$PLAYBOOK" ] || playbook
# What `done` says must not be lost to a power cut that comes after it.
sync
set_state 'done'
sync
rm -f "$log"
