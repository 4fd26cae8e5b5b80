#!/bin/bash
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
#
# acceptance.sh [OPTION...]
#
# What only a Mac can tell: makes a machine of the installed program, uses it in every way that the
# README promises, takes it away again, and prints one line for each item:
#
#   pass  it is as it should be
#   FAIL  it is not, and why
#   n/a   it cannot be tried here, and why
#   hand  a person has to do it: the steps are printed
#
#   --program PATH       the program (podman-machine-vmnet on PATH)
#   --provider NAME      the provider (vmnet-krunkit on arm64, else vmnet-vfkit; qemu on Linux)
#   --image IMAGE        what init is given (the default image)
#   --container IMAGE    has sh, httpd and wget: a reference (quay.io/quay/busybox:latest), or the
#                        tar file of a file system
#   --name NAME          the machine (pmv-accept); NAME-a and NAME-b are made too
#   --timeout SECONDS    for each start (1800)
#   --bridge INTERFACE   try the network bridged:INTERFACE too, as en0; its router gives the guest an address
#   --outside HOST:PORT  what a machine with a way out can connect to (1.1.1.1:443)
#   --only ITEM          this item, and what it needs (can be repeated)
#   --keep               leave the machine running at the end
#   --list               print the items
#
# Exit status: 0 if nothing failed, 1 if something did, 2 for a wrong option. A line of figures follows
# items that measure. Runs with the bash 3.2 of macOS.
set -u

usage() { sed -n '5,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"; }
wrong() { echo "acceptance.sh: $*" >&2; exit 2; }

items='tools doctor init start address reach ssh podman container port localhost share comma throughput
offload api docker selinux clock host bridged neighbours isolation launchd monitor helper logout overssh
stop again autostart rm vfkit sleep reboot session'

system=$(uname -s)
program=podman-machine-vmnet provider='' image='' container=quay.io/quay/busybox:latest
name=pmv-accept timeout=1800 bridge='' outside=1.1.1.1:443 only='' keep=''
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --list) for item in $items; do echo "$item"; done; exit 0 ;;
    --keep) keep=yes; shift; continue ;;
    --program | --provider | --image | --container | --name | --timeout | --bridge | --outside | --only) ;;
    *) wrong "unknown option $1 (see --help)" ;;
  esac
  [ $# -gt 1 ] || wrong "$1 needs a value"
  case $1 in
    --program) program=$2 ;;
    --provider) provider=$2 ;;
    --image) image=$2 ;;
    --container) container=$2 ;;
    --name) name=$2 ;;
    --timeout) timeout=$2 ;;
    --bridge) bridge=$2 ;;
    --outside) outside=$2 ;;
    --only)
      for item in $items; do [ "$item" != "$2" ] || only="$only $2"; done
      case "$only " in *" $2 "*) ;; *) wrong "no item $2 (see --list)" ;; esac
      ;;
  esac
  shift 2
done
command -v "$program" >/dev/null || wrong "there is no program '$program' (see --program)"
if [ -z "$provider" ]; then
  case $system-$(uname -m) in
    Darwin-arm64) provider=vmnet-krunkit ;;
    Darwin-*) provider=vmnet-vfkit ;;
    *) provider=qemu ;;
  esac
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/acceptance.XXXXXX") || exit 1

### asking the machine ########################################################
field() { "$program" inspect --format "{{.$1}}" "${2:-$name}" 2>/dev/null; }
state() { field State; }
folder() { field ConfigDir.Path; }
exists() { "$program" inspect "$1" >"$work/inspect" 2>&1; }
log() { cat "$(folder)/monitor.log" 2>/dev/null; }
pid_of() { sed -n "s/^ *\"$1\": \([0-9][0-9]*\).*/\1/p" "$(folder)/status.json" 2>/dev/null; }
guest() { "$program" ssh --username root "$name" "$1" </dev/null 2>"$work/ssh"; }
on_vmnet() { case $provider in vmnet-*) ;; *) return 1 ;; esac; }
on_mac() { [ "$system" = Darwin ]; }
alive() { case $(ps -o stat= -p "$1" 2>/dev/null) in '' | Z*) return 1 ;; esac; }
label() { echo "io.github.podman-machine-vmnet.$name"; }
mode_of() { stat -c %a "$1" 2>/dev/null || stat -f %Lp "$1"; } # GNU, BSD

# within SECONDS COMMAND...: 0 as soon as it succeeds
within() {
  local until=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$until" ] || return 1
    sleep 1
  done
}

### one item ##################################################################
# Each sets `result` and `why` once, by one of these; the first to fail counts.
result='' why='' title='' broken='' neighbours='' shared='' serving='' undo=''
say() { [ -n "$result" ] || { result=$1; why=$2; }; }
fail() { say FAIL "$*"; return 1; }
absent() { say n/a "$*"; return 1; }
figure() { printf '      %s\n' "$*"; }

# run COMMAND...: or the item fails with the end of what was printed
run() {
  "$@" >"$work/out" 2>"$work/err" </dev/null && return 0
  fail "'$*' ended with $?: $(tail -n 3 "$work/err" | tr '\n' ' ')"
}

need_vmnet() { on_vmnet || absent "the provider $provider gives machines no address of their own"; }
need_mac() { on_mac || absent "this is not macOS"; }
need_program() { command -v "$1" >/dev/null || absent "there is no $1 here"; }

create() { # NAME OPTION...
  local machine=$1
  shift
  [ -z "$image" ] || set -- --image "$image" "$@"
  run "$program" init --provider "$provider" --disk-size 10 "$@" "$machine"
}

drop_two() {
  for each in a b; do "$program" rm --force "$name-$each" >/dev/null 2>&1; done
}

need_machine() {
  if exists "$name"; then return 0; fi
  [ -z "$broken" ] || { absent "there is no machine"; return; }
  create "$name" || { broken=yes; return 1; }
}

need_running() {
  need_machine || return 1
  [ "$(state)" != running ] || return 0
  [ -z "$broken" ] || { absent "it does not start"; return; }
  run "$program" start --quiet --timeout "$timeout" "$name" || { broken=yes; return 1; }
}

need_stopped() {
  need_machine || return 1
  [ "$(state)" = stopped ] || run "$program" stop "$name"
}

need_podman() { need_program podman && need_running; }
remote() { podman -c "$name-root" "$@"; }

need_container() {
  need_podman || return 1
  if [ -f "$container" ]; then run remote import "$container" localhost/acceptance
  else run remote pull -q "$container" && run remote tag "$container" localhost/acceptance; fi
}

was_shut_down() { # PID-OF-VM
  ! alive "$1" || fail "its process is still there"
  grep '"expected": true' "$(folder)/last-exit.json" >/dev/null || fail "last-exit.json: not expected"
  log | grep 'asked the guest to power off' >/dev/null || fail "the guest was not asked"
  ! log | grep 'sending signal' >/dev/null || fail "it took a signal"
}

### the items #################################################################
here=$(dirname "$0")
# shellcheck source=acceptance-network.sh
. "$here/acceptance-network.sh"
# shellcheck source=acceptance-session.sh
. "$here/acceptance-session.sh"

item_tools() {
  title="the hypervisor and its network helper are found"
  case $provider in vmnet-*) set -- "${provider#vmnet-}" vmnet-run ;; *) set -- "$provider" ;; esac
  "$program" doctor >"$work/out" 2>&1
  for tool; do
    grep "^good .*tools .*$tool" "$work/out" >/dev/null ||
      { fail "doctor does not find $tool: $(grep tools "$work/out" | head -n 2)"; return; }
  done
}

item_doctor() {
  title="doctor finds nothing bad"
  "$program" doctor >"$work/out" 2>&1
  ! grep '^bad ' "$work/out" >"$work/bad" || fail "$(head -n 1 "$work/bad")"
}

item_init() {
  title="init makes a machine"
  ! exists "$name" || { fail "there is a machine '$name' already"; return; }
  local begun=$SECONDS
  need_machine || return
  [ "$(state)" = stopped ] || fail "its state is '$(state)'"
  figure "$((SECONDS - begun)) s, with the image"
}

item_start() {
  title="start ends when the machine is ready"
  need_stopped || return
  local begun=$SECONDS
  need_running || return
  [ "$(state)" = running ] || fail "its state is '$(state)'"
  figure "$((SECONDS - begun)) s"
}

item_ssh() {
  title="ssh as user and as root, with the exit status"
  need_running || return
  local user='' root='' status wanted
  wanted=$(field SSHConfig.RemoteUsername)
  # shellcheck disable=SC2016 # the guest's
  user=$("$program" ssh --username "$wanted" "$name" 'echo "$USER"' </dev/null 2>/dev/null) &&
    root=$(guest 'echo "$USER"')
  [ "$user" = "$wanted" ] || fail "the user is '$user'"
  [ "$root" = root ] || fail "root is '$root'"
  "$program" ssh "$name" 'exit 42' </dev/null 2>/dev/null
  status=$?
  [ "$status" = 42 ] || fail "exit status $status in place of 42"
}

item_podman() {
  title="podman reaches the machine over both connections"
  need_podman || return
  run podman -c "$name" version && run podman -c "$name-root" version
}

item_container() {
  title="a container runs"
  need_container || return
  run remote run --rm localhost/acceptance sh -c 'echo inside'
  [ "$(cat "$work/out")" = inside ] || fail "it printed '$(cat "$work/out")'"
}

# A folder of our own in the home folder, which every machine shares.
make_shared() {
  [ -z "$shared" ] || return 0
  shared=$(mktemp -d "$HOME/pmv-accept.XXXXXX") || { shared=''; fail "no folder can be made in '$HOME'"; }
}
drop_shared() {
  [ -z "$shared" ] || rm -rf "$shared"
  shared=''
}
both_ways() { # MACHINE FOLDER
  local there
  echo "from here" >"$2/here"
  there=$("$program" ssh --username root "$1" "cat '$2/here'" </dev/null 2>&1)
  [ "$there" = "from here" ] || { fail "the guest does not see '$2/here': $there"; return; }
  there=$("$program" ssh --username root "$1" "echo 'from there' >'$2/there'" </dev/null 2>&1) ||
    { fail "the guest cannot write '$2/there': $there"; return; }
  [ "$(cat "$2/there" 2>/dev/null)" = "from there" ] || fail "what the guest wrote to '$2/there' is not here"
}
# Debian's cloud kernels have no 9p.
need_shares() {
  on_mac || on_vmnet || ! "$program" doctor 2>/dev/null | grep 'no virtiofsd' >/dev/null ||
    absent "there is no virtiofsd here"
}

item_share() {
  title="the home folder is shared, both ways"
  need_shares && need_running || return
  make_shared && both_ways "$name" "$shared"
  drop_shared
}

item_comma() {
  title="a folder with a comma and an equals sign in its path is shared too"
  need_shares && make_shared || return
  local folder="$shared/a,b=c"
  if run mkdir "$folder" && create "$name-a" --volume "$folder" &&
    run "$program" start --quiet --timeout "$timeout" "$name-a"; then
    ! on_vmnet || ! grep "a,b=c" "$(field ConfigDir.Path "$name-a")/vm.argv" >/dev/null ||
      fail "the hypervisor was told the path itself, not a link to it"
    both_ways "$name-a" "$folder"
  fi
  drop_two
  drop_shared
}

item_api() {
  title="podman's API answers at a private socket here"
  need_running || return
  local path
  path=$(field ConnectionInfo.PodmanSocket.Path)
  within 30 test -S "$path" || { fail "there is no socket '$path'"; return; }
  [ "$(mode_of "$path")" = 600 ] || fail "its mode is $(mode_of "$path")"
  [ "${#path}" -le 103 ] || fail "its path is too long for a socket: $path"
  within 30 ping_api "$path" || fail "it does not answer"
}
ping_api() { [ "$(curl -s -m 10 --unix-socket "$1" http://d/_ping)" = OK ]; }

item_docker() {
  title="docker's client works with it"
  need_program docker && need_running || return
  run env DOCKER_HOST="unix://$(field ConnectionInfo.PodmanSocket.Path)" docker version
}

item_selinux() {
  title="SELinux enforces in the guest, and denies nothing of ours"
  need_running || return
  local enforce denied
  enforce=$(guest 'getenforce 2>/dev/null || echo none')
  case $enforce in
    none | Disabled) absent "the guest has no SELinux"; return ;;
    Enforcing) ;;
    *) fail "it is $enforce"; return ;;
  esac
  denied=$(guest "journalctl -b --no-pager -o cat | grep 'avc: *denied' |
    grep -E 'podman|sshd|vsock|qemu-ga|pmv_' | tail -n 1")
  [ -z "$denied" ] || fail "$denied"
}

item_clock() {
  title="the guest's clock is right"
  need_running || return
  local there here
  there=$(guest 'date +%s')
  here=$(date +%s)
  case $there in '' | *[!0-9]*) fail "the guest does not tell the time"; return ;; esac
  there=$((there - here))
  [ "${there#-}" -le 3 ] || fail "it differs by $there s"
}

item_stop() {
  title="stop shuts the guest down, without force"
  need_running || return
  local vm begun=$SECONDS
  vm=$(pid_of vm_pid)
  run "$program" stop "$name" || return
  [ "$(state)" = stopped ] || fail "its state is '$(state)'"
  was_shut_down "$vm"
  figure "$((SECONDS - begun)) s"
}

item_again() {
  title="start and stop again"
  need_stopped && need_running || return
  [ "$(guest 'head -n 1 /var/lib/podman-machine-vmnet/state')" = 'done' ] ||
    fail "it was set up twice"
  run "$program" stop "$name"
}

item_rm() {
  title="rm leaves nothing"
  need_machine || return
  local where api vm
  where=$(folder) api=$(field ConnectionInfo.PodmanSocket.Path) vm=$(pid_of vm_pid)
  run "$program" rm --force "$name" || return
  [ ! -e "$where" ] || fail "the folder '$where' is left"
  for file in "${api%-api.sock}"-*.sock; do [ ! -e "$file" ] || fail "'$file' is left"; done
  [ -z "$vm" ] || ! alive "$vm" || fail "the VM still runs"
  ! grep "podman-machine-vmnet:$name\$" "$HOME/.ssh/known_hosts" >/dev/null 2>&1 ||
    fail "a line in known_hosts is left"
  ! grep "\"$name\(-root\)\{0,1\}\"" \
    "${PODMAN_CONNECTIONS_CONF:-${XDG_CONFIG_HOME:-$HOME/.config}/containers/podman-connections.json}" \
    >/dev/null 2>&1 || fail "a connection is left"
  command -v launchctl >/dev/null || return
  ! launchctl print "gui/$(id -u)/$(label)" >/dev/null 2>&1 || fail "the launchd job is left"
  [ ! -e "$HOME/Library/LaunchAgents/$(label).plist" ] || fail "the launch agent is left"
}

item_vfkit() {
  title="the same machine with vfkit"
  need_mac || return
  [ "$provider" != vmnet-vfkit ] || { absent "that is the provider of this run"; return; }
  need_program vfkit || return
  local provider=vmnet-vfkit
  create "$name-a" && run "$program" start --quiet --timeout "$timeout" "$name-a" &&
    run "$program" stop "$name-a" && run "$program" rm --force "$name-a"
  drop_two
}

### all of them ###############################################################
# The machine is ours to remove only if it was not there.
begun=''
for each in "$name" "$name-a" "$name-b"; do
  ! exists "$each" || begun="$begun $each"
done

clean_up() {
  status=$?
  trap - EXIT
  serve_no_more
  set_back
  for each in "$name" "$name-a" "$name-b"; do
    case " $begun " in *" $each "*) continue ;; esac
    if [ -n "$keep" ] && [ "$each" = "$name" ]; then continue; fi
    ! exists "$each" || "$program" rm --force "$each" >/dev/null 2>&1
  done
  drop_shared
  rm -rf "$work"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

count() { echo "$results" | tr ' ' '\n' | grep -c "^$1\$"; }

results=''
for item in $items; do
  [ -z "$only" ] || case " $only " in *" $item "*) ;; *) continue ;; esac
  # --keep: what would end the machine is left out.
  [ -z "$keep" ] || case $item in
    localhost | host | bridged | helper | logout | overssh | stop | again | autostart | rm) continue ;;
  esac
  result='' why='' title=''
  "item_$item" >"$work/figures"
  results="$results ${result:=pass}"
  printf '%-4s  %s: %s%s\n' "$result" "$item" "$title" "${why:+ ($why)}"
  cat "$work/figures"
done
failed=$(count FAIL) passed=$(count pass)
echo "acceptance: $passed passed, $failed failed, $(count n/a) n/a, $(count hand) by hand ($provider on $system)"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
