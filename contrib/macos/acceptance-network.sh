# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
#
# The items of acceptance.sh that are about the network; it reads this file.

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

item_port() {
  title="a published port answers at the machine's address"
  need_vmnet && need_container || return
  serve 18080 || return
  within 30 fetch "http://$(field Vmnet.Address):18080/" || fail "no answer at port 18080"
  serve_no_more
}
serve() { # PORT
  serving=yes
  run remote run -d --name pmv-port -p "$1:80" localhost/acceptance \
    sh -c 'mkdir -p /tmp/www && echo served >/tmp/www/index.html && httpd -f -p 80 -h /tmp/www'
}
serve_no_more() {
  [ -z "$serving" ] || remote rm -f -t 0 pmv-port >/dev/null 2>&1
  serving=''
}
fetch() { [ "$(curl -s -m 5 "$1")" = served ]; }

item_localhost() {
  title="--localhost-ports: a published port answers at 127.0.0.1 while its container runs"
  need_container || return
  local before url=http://127.0.0.1:18081/
  ! curl -s -m 5 "$url" >"$work/out" || { absent "something else answers at $url"; return; }
  before=$(field Vmnet.LocalhostPorts)
  [ "$before" = true ] || undo=--localhost-ports=false
  if [ "$before" = true ] || start_with --localhost-ports; then serve_here "$url"; fi
  set_back
}
serve_here() { # URL
  serve 18081 && { within 60 fetch "$1" || fail "no answer at $1, inspect says: $(field Vmnet.Ports)"; }
  serve_no_more
  within 60 is_silent "$1" || fail "something answers at $1 after the container has gone"
}
is_silent() { ! curl -s -m 5 "$1" >/dev/null; }

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

# A machine that exists already: the first boot installs packages, which a machine on some of these
# networks could not.
start_with() { # SET-OPTION...
  need_stopped && run "$program" set "$@" "$name" &&
    run "$program" start --quiet --timeout "$timeout" "$name"
}
set_back() { # what `undo` says, also when we are interrupted
  [ -n "$undo" ] || return 0
  { [ "$(state)" = stopped ] || run "$program" stop "$name"; } && run "$program" set "$undo" "$name"
  undo=''
}

# Not by our ssh, which does not need the network everywhere.
has_sshd() { ssh-keyscan -T 5 -t ed25519 "$1" 2>/dev/null | grep ed25519 >/dev/null; }
has_network() {
  within 60 has_address || { fail "its address is '$(field Vmnet.Address)'"; return; }
  within 30 has_sshd "$(field Vmnet.Address)" || fail "no sshd at $(field Vmnet.Address) port 22"
  [ "$(guest 'echo here')" = here ] || fail "ssh does not work"
  figure "$(field Vmnet.Address)"
}
# "open" or "shut"; nothing if the guest could not be asked.
way_out() {
  guest "if timeout 15 bash -c '</dev/tcp/${outside%:*}/${outside##*:}' 2>/dev/null
    then echo open; else echo shut; fi"
}

item_host() {
  title="--network host: an address and ssh, and no way out"
  need_vmnet && need_running || return
  local before way
  before=$(field Vmnet.Network) way=$(way_out)
  [ "$way" = open ] ||
    { absent "there is no way to $outside on the network '$before' either (see --outside)"; return; }
  undo=--network=$before
  if start_with --network host && has_network; then
    way=$(way_out)
    [ "$way" = shut ] || fail "the way to $outside is '$way'"
  fi
  set_back
}

item_bridged() {
  title="--network bridged: an address of that network, and ssh"
  need_vmnet || return
  [ -n "$bridge" ] || { absent "not asked for (see --bridge)"; return; }
  need_running || return
  local before shared
  within 60 has_address || { fail "it has no address to begin with"; return; }
  before=$(field Vmnet.Network) shared=$(field Vmnet.Address)
  undo=--network=$before
  if start_with --network "bridged:$bridge" && has_network; then
    same_network "$shared" "$(field Vmnet.Address)"
  fi
  set_back
}
same_network() { # BEFORE NOW
  local wanted found
  [ "${1%.*}" != "${2%.*}" ] || fail "its address $2 is of the network that it had before"
  on_mac || return
  wanted=$(route -n get -ifscope "$bridge" default 2>/dev/null | awk '$1 == "gateway:" { print $2 }')
  found=$(guest "ip -4 route show default | awk '{ print \$3; exit }'")
  [ "$wanted" = "$found" ] || fail "its router is '$found', that of $bridge is '$wanted'"
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
