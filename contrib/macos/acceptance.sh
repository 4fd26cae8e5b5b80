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
#   --only ITEM          this item, and what it needs (can be repeated)
#   --keep               leave the machine running at the end
#   --list               print the items
#
# Exit status: 0 if nothing failed, 1 if something did, 2 for a wrong option. A line of figures follows
# items that measure. Runs with the bash 3.2 of macOS.
set -u

usage() { sed -n '5,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"; }
wrong() { echo "acceptance.sh: $*" >&2; exit 2; }

items='tools doctor init start address reach ssh podman container port throughput offload api docker
selinux clock neighbours isolation launchd monitor helper stop again autostart rm vfkit sleep reboot'

system=$(uname -s)
program=podman-machine-vmnet provider='' image='' container=quay.io/quay/busybox:latest
name=pmv-accept timeout=1800 only='' keep=''
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --list) for item in $items; do echo "$item"; done; exit 0 ;;
    --keep) keep=yes; shift; continue ;;
    --program | --provider | --image | --container | --name | --timeout | --only) ;;
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
result='' why='' title='' broken='' neighbours=''
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

### the items #################################################################
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

item_address() {
  title="the machine has an address of its own"
  need_vmnet && need_running || return
  within 60 has_address || fail "its address is '$(field Vmnet.Address)'"
  figure "$(field Vmnet.Address)"
}
has_address() { case $(field Vmnet.Address) in '' | 127.* | ::1) return 1 ;; esac; }

item_reach() {
  title="this terminal reaches that address (Local Network privacy)"
  need_vmnet && need_running || return
  local address hint="allow this terminal in System Settings, Privacy & Security, Local Network"
  address=$(field Vmnet.Address)
  ping -c 3 "$address" >"$work/out" 2>&1 || fail "no answer to ping: $hint"
  nc -z -w 5 "$address" 22 >"$work/out" 2>&1 || fail "no TCP to port 22: $hint"
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

item_port() {
  title="a published port answers at the machine's address"
  need_vmnet && need_container || return
  run remote run -d --name pmv-port -p 18080:80 localhost/acceptance \
    sh -c 'mkdir -p /tmp/www && echo served >/tmp/www/index.html && httpd -f -p 80 -h /tmp/www' ||
    return
  within 30 fetch "http://$(field Vmnet.Address):18080/" || fail "no answer at port 18080"
  remote rm -f -t 0 pmv-port >/dev/null 2>&1
}
fetch() { [ "$(curl -s -m 5 "$1")" = served ]; }

item_throughput() {
  title="iperf3, both ways"
  need_vmnet && need_program iperf3 && need_running || return
  guest 'command -v iperf3 || dnf -y install iperf3 || apt-get -y install iperf3' >"$work/out" ||
    { absent "no iperf3 in the guest, and none could be installed"; return; }
  guest 'systemd-run --unit=pmv-iperf3 iperf3 -s' >"$work/out"
  sleep 2
  local address
  address=$(field Vmnet.Address)
  run iperf3 -c "$address" -t 5 -f g && figure "to the guest:   $(rate)"
  run iperf3 -c "$address" -t 5 -f g -R && figure "from the guest: $(rate)"
  guest 'systemctl stop pmv-iperf3' >"$work/out"
}
rate() { sed -n 's/.* \([0-9.]* Gbits\/sec\).*receiver.*/\1/p' "$work/out"; }

item_offload() {
  title="segmentation offload is as planned for this macOS"
  need_vmnet && need_running || return
  local argv wanted=off
  argv=$(tr '\0' ' ' <"$(folder)/vm.argv")
  if on_mac && [ "$provider" = vmnet-krunkit ] && newer_than_26_1; then wanted=on; fi
  case $wanted-$argv in
    on-*--enable-tso*) figure "on" ;;
    on-*) fail "it is off: $("$program" doctor | grep -i offload | head -n 1)" ;;
    off-*--enable-tso*) [ "$system" != Darwin ] || fail "it is on" ;;
    *) figure "off" ;;
  esac
}
newer_than_26_1() {
  sw_vers -productVersion | { IFS=. read -r major minor _; [ "$major" -gt 26 ] ||
    { [ "$major" = 26 ] && [ "${minor:-0}" -ge 2 ]; }; }
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

two_machines() { # INIT-OPTION...
  local each
  for each in a b; do
    create "$name-$each" --cpus 1 "$@" &&
      run "$program" start --quiet --timeout "$timeout" "$name-$each" || return 1
  done
}
one_reaches_other() {
  "$program" ssh --username root "$name-a" "ping -c 3 -w 10 $(field Vmnet.Address "$name-b")" \
    </dev/null >"$work/out" 2>&1
}
drop_two() {
  for each in a b; do "$program" rm --force "$name-$each" >/dev/null 2>&1; done
}

item_neighbours() {
  title="two machines reach each other"
  need_vmnet || return
  two_machines && { if one_reaches_other; then neighbours=yes; else fail "no answer to ping"; fi; }
  drop_two
}

item_isolation() {
  title="isolated machines do not"
  need_vmnet || return
  [ -n "$neighbours" ] || { absent "not isolated ones have not been seen to (neighbours)"; return; }
  two_machines --isolated && { ! one_reaches_other || fail "there is an answer to ping"; }
  drop_two
}

item_launchd() {
  title="launchd keeps the monitor"
  need_program launchctl && need_running || return
  launchctl print "gui/$(id -u)/$(label)" >"$work/out" 2>&1 ||
    launchctl print "user/$(id -u)/$(label)" >"$work/out" 2>&1 || fail "there is no job $(label)"
  grep 'state = running' "$work/out" >/dev/null || fail "the job is loaded but does not run"
}

item_monitor() {
  title="a killed monitor: the machine runs on, start takes it over"
  need_running || return
  local monitor vm
  monitor=$(pid_of monitor_pid) vm=$(pid_of vm_pid)
  case /$monitor/$vm/ in *//*) fail "status.json does not tell the processes"; return ;; esac
  kill -9 "$monitor"
  sleep 2
  alive "$vm" || { fail "the VM went with it"; return; }
  run "$program" start --quiet --timeout "$timeout" "$name"
  [ "$(pid_of vm_pid)" = "$vm" ] || fail "another VM runs now"
  [ "$(pid_of monitor_pid)" != "$monitor" ] || fail "no new monitor came"
  [ "$(guest 'echo here')" = here ] || fail "ssh does not work after that"
}

item_helper() {
  title="a lost vmnet-helper is noticed"
  need_vmnet && need_running || return
  local pid
  pid=$(ps -A -o pid=,ppid=,comm= | awk -v vm="$(pid_of vm_pid)" '$2 == vm && /vmnet-helper/ { print $1 }')
  [ -n "$pid" ] || pid=$(ps -A -o pid=,comm= | awk '/vmnet-helper$/ { print $1; exit }')
  [ -n "$pid" ] || { fail "there is no process vmnet-helper"; return; }
  kill "$pid" 2>/dev/null || sudo -n kill "$pid" 2>/dev/null ||
    { absent "vmnet-helper is root's, and sudo asks for a password"; return; }
  within 90 helper_is_missed || fail "nothing in monitor.log tells of it"
  run "$program" stop "$name"
}
helper_is_missed() { log | grep -i 'vmnet-helper' | grep -i 'ended\|lost\|gone' >/dev/null; }

item_stop() {
  title="stop shuts the guest down, without force"
  need_running || return
  local vm begun=$SECONDS
  vm=$(pid_of vm_pid)
  run "$program" stop "$name" || return
  [ "$(state)" = stopped ] || fail "its state is '$(state)'"
  ! alive "$vm" || fail "its process is still there"
  grep '"expected": true' "$(folder)/last-exit.json" >/dev/null || fail "last-exit.json: not expected"
  log | grep 'asked the guest to power off' >/dev/null || fail "the guest was not asked"
  ! log | grep 'sending signal' >/dev/null || fail "it took a signal"
  figure "$((SECONDS - begun)) s"
}

item_again() {
  title="start and stop again"
  need_stopped && need_running || return
  [ "$(guest 'head -n 1 /var/lib/podman-machine-vmnet/state')" = 'done' ] ||
    fail "it was set up twice"
  run "$program" stop "$name"
}

item_autostart() {
  title="set --autostart makes and removes a launch agent"
  local plist
  plist=$HOME/Library/LaunchAgents/$(label).plist
  need_program launchctl || return
  "$program" set --help | grep -e --autostart >/dev/null ||
    { absent "this version has no set --autostart"; return; }
  need_stopped || return
  run "$program" set --autostart "$name" || return
  grep -A 1 RunAtLoad "$plist" | grep '<true/>' >/dev/null || fail "no RunAtLoad in '$plist'"
  ! command -v plutil >/dev/null || run plutil -lint "$plist"
  run "$program" set --autostart=false "$name"
  [ ! -e "$plist" ] || fail "'$plist' is left"
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

item_sleep() {
  title="after an hour of sleep the clock is right and podman answers"
  need_mac && say hand "run with --keep --only start; close the lid for an hour; then run with --only clock --only podman"
}

item_reboot() {
  title="a machine with autostart is back after a reboot"
  need_mac && say hand "set --autostart, reboot, log in, then: $program wait --timeout 300 NAME && podman -c NAME info"
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
  for each in "$name" "$name-a" "$name-b"; do
    case " $begun " in *" $each "*) continue ;; esac
    if [ -n "$keep" ] && [ "$each" = "$name" ]; then continue; fi
    ! exists "$each" || "$program" rm --force "$each" >/dev/null 2>&1
  done
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
  [ -z "$keep" ] || case $item in helper | stop | again | autostart | rm) continue ;; esac
  result='' why='' title=''
  "item_$item" >"$work/figures"
  results="$results ${result:=pass}"
  printf '%-4s  %s: %s%s\n' "$result" "$item" "$title" "${why:+ ($why)}"
  cat "$work/figures"
done
failed=$(count FAIL) passed=$(count pass)
echo "acceptance: $passed passed, $failed failed, $(count n/a) n/a, $(count hand) by hand ($provider on $system)"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
