# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
#
# The items of acceptance.sh that are about the processes and the session that they live in; it reads
# this file.

# The domain in which launchd runs our monitor.
job_domain() {
  local domain
  for domain in "gui/$(id -u)" "user/$(id -u)"; do
    launchctl print "$domain/$(label)" 2>/dev/null | grep 'state = running' >/dev/null || continue
    echo "$domain"
    return
  done
  return 1
}
has_domain() { launchctl print "$1/$(id -u)" >/dev/null 2>&1; }

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

item_logout() {
  title="what launchd does at logout shuts the guest down, without force"
  need_running || return
  local monitor vm domain kernel='' begun=$SECONDS
  monitor=$(pid_of monitor_pid) vm=$(pid_of vm_pid)
  case /$monitor/$vm/ in *//*) fail "status.json does not tell the processes"; return ;; esac
  if command -v launchctl >/dev/null && domain=$(job_domain); then
    run launchctl kill SIGTERM "$domain/$(label)" || return
  else
    run kill -TERM "$monitor" || return
  fi
  within 150 is_stopped || { fail "after 150 s its state is '$(state)'"; return; }
  within 10 is_gone "$monitor" || fail "the monitor is still there"
  was_shut_down "$vm"
  figure "$((SECONDS - begun)) s"
  need_running || return
  kernel=$(guest dmesg)
  [ -n "$kernel" ] || fail "the guest's dmesg says nothing"
  kernel=$(echo "$kernel" | grep -Ei "$repaired" | tail -n 1)
  [ -z "$kernel" ] || fail "a file system was not unmounted: $kernel"
}
is_stopped() { [ "$(state)" = stopped ]; }
is_gone() { ! alive "$1"; }
# What the kernel says at the mount after a cut.
repaired='(EXT4-fs|XFS|BTRFS|FAT-fs).*(recovery|log replay|not properly unmounted)'

over_ssh() { ssh -o BatchMode=yes -o ConnectTimeout=10 localhost "$1" </dev/null; }

item_overssh() {
  title="start over plain ssh, and the machine outlives the connection"
  need_program launchctl || return
  over_ssh true >"$work/out" 2>"$work/err" ||
    { absent "no ssh to localhost without a question (Remote Login, a key, a known host): $(tail -n 1 "$work/err")"
      return; }
  need_stopped || return
  local path domain=''
  path=$(command -v "$program")
  case $path in /*) ;; *) path=$PWD/$path ;; esac
  run over_ssh "'$path' start --quiet --timeout $timeout '$name'" || return
  sleep 2
  [ "$(state)" = running ] || fail "its state is '$(state)', seen from here"
  [ "$(guest 'echo here')" = here ] || fail "ssh to the machine does not work from here"
  if ! domain=$(job_domain) && { has_domain gui || has_domain user; }; then
    fail "launchd does not keep the monitor"
  fi
  figure "kept in ${domain:-no domain of launchd}"
  case $domain in gui/*) figure "for user/UID: this item again, over ssh, with nobody logged in at the screen" ;; esac
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

item_sleep() {
  title="after an hour of sleep the clock is right and podman answers"
  need_mac && say hand "run with --keep --only start; close the lid for an hour; then run with --only clock --only podman"
}

item_reboot() {
  title="a machine with autostart is back after a reboot"
  need_mac && say hand "set --autostart, reboot, log in, then: $program wait --timeout 300 NAME && podman -c NAME info"
}

item_session() {
  title="logging out at the screen shuts the guest down"
  need_mac && say hand "run with --keep --only start; log out, wait a minute, log in; then: $program inspect --format '{{.State}} {{.Vmnet.LastExit.Expected}}' $name says 'stopped true'; start it: $program ssh $name 'sudo dmesg' tells of no recovery"
}
