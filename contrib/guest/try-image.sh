#!/bin/bash
# try-image.sh IMAGE DIR [QEMU-ARGUMENT...]
#
# Boots a copy of IMAGE (raw or qcow2) with a small seed, checks what a machine relies on, prints
# timings, and leaves it running. DIR holds the instance (disk, seed, keys, console.log, qemu.pid,
# port) and is made if it does not exist; on the same DIR after a poweroff it is a second boot.
#
#   ssh -p "$(cat DIR/port)" -i DIR/key root@127.0.0.1 [poweroff]
#
# Environment: QEMU (qemu-system-x86_64; see get-qemu.sh)  CPUS (2)  MEMORY (2048)
#   ACCEL (tcg; or kvm)  DISK_SIZE (4G)  TIMEOUT (600)  SEED (a directory to use instead of the seed made here)
# Needs genisoimage, qemu-utils, ovmf, openssh-client, python3.
set -euo pipefail

die() { echo "try-image.sh: $*" >&2; exit 1; }
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
case ${1:-} in -h | --help) usage; exit 0 ;; esac
[ $# -ge 2 ] || { usage >&2; exit 2; }
image=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
shift 2
mac=52:54:00:6d:00:01
qemu=${QEMU:-qemu-system-x86_64}
for program in "$qemu" genisoimage qemu-img ssh-keygen; do
  command -v "$program" >/dev/null || die "$program not found (see --help)"
done

### instance ##################################################################
make_seed() {
  local key
  key=$(cat "$dir/key.pub")
  mkdir -p "$dir/seed"
  echo '{"instance-id": "try-1", "local-hostname": "try"}' > "$dir/seed/meta-data"
  cat > "$dir/seed/network-config" <<E
{"version": 2, "ethernets": {"net0": {"match": {"macaddress": "$mac"}, "dhcp4": true,
  "dhcp-identifier": "mac", "nameservers": {"addresses": ["10.0.2.3", "192.0.2.53"]}}}}
E
  python3 - "$key" "$dir/hostkey" > "$dir/seed/user-data" <<'E'
import json, sys
key, host = sys.argv[1], sys.argv[2]
print("#cloud-config\n" + json.dumps({
    "disable_root": False,
    "timezone": "Europe/Berlin",
    "users": [
        {"name": "root", "ssh_authorized_keys": [key]},
        {"name": "core", "uid": 1000, "groups": ["sudo"], "shell": "/bin/bash",
         "sudo": "ALL=(ALL) NOPASSWD:ALL", "ssh_authorized_keys": [key]}],
    "ssh_keys": {"ed25519_private": open(host).read(), "ed25519_public": open(host + ".pub").read()},
    "write_files": [
        {"path": "/etc/try-image", "content": "written\n"},
        {"path": "/var/lib/systemd/linger/core", "content": ""}],
    "bootcmd": [
        ["systemctl", "--no-reload", "enable", "podman.socket"],
        ["systemctl", "--global", "enable", "podman.socket"]],
    "runcmd": [["systemctl", "start", "podman.socket"], ["touch", "/var/lib/try-image"]]}, indent=1))
E
}

if [ ! -e "$dir/disk.raw" ]; then
  for key in key hostkey; do
    [ -e "$dir/$key" ] || ssh-keygen -q -t ed25519 -N '' -C "$key" -f "$dir/$key"
  done
  [ -n "${SEED:-}" ] || make_seed
  genisoimage -quiet -output "$dir/cidata.iso" -volid cidata -joliet -rock "${SEED:-$dir/seed}"
  qemu-img convert -O raw "$image" "$dir/disk.raw.tmp"
  qemu-img resize -q -f raw "$dir/disk.raw.tmp" "${DISK_SIZE:-4G}"
  mv "$dir/disk.raw.tmp" "$dir/disk.raw"
fi

### qemu ######################################################################
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
echo "$port" > "$dir/port"
echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 "$dir/hostkey.pub")" > "$dir/known_hosts"
accel=(-accel "${ACCEL:-tcg,thread=multi,tb-size=1024}")
case ${ACCEL:-tcg} in tcg*) accel+=(-cpu "max,-la57,-svm") ;; *) accel+=(-cpu host) ;; esac
start=$(date +%s.%N)
"$qemu" -name try-image -nodefaults -no-user-config -display none \
  -machine q35,smm=off,vmport=off,usb=off "${accel[@]}" -smp "${CPUS:-2}" -m "${MEMORY:-2048}" \
  -bios /usr/share/ovmf/OVMF.fd \
  -drive "if=none,id=disk,format=raw,cache=unsafe,discard=unmap,file=$dir/disk.raw" \
  -device virtio-blk-pci,drive=disk,bootindex=0 \
  -drive "if=none,id=seed,format=raw,readonly=on,file=$dir/cidata.iso" -device virtio-blk-pci,drive=seed \
  -netdev "user,id=n0,hostfwd=tcp:127.0.0.1:$port-:22" -device "virtio-net-pci,netdev=n0,mac=$mac,romfile=" \
  -device virtio-serial-pci -chardev "file,id=console,path=$dir/console.log" -device virtconsole,chardev=console \
  -device virtio-rng-pci -qmp "unix:$dir/qmp.sock,server=on,wait=off" \
  -daemonize -pidfile "$dir/qemu.pid" "$@"

### wait, measure, check ######################################################
mark() { # WHAT: wall time since the start, and processor time of qemu (says more on a busy machine)
  awk -v what="$1" -v start="$start" -v now="$(date +%s.%N)" -v hz="$(getconf CLK_TCK)" \
    '{ printf "%-28s %6.1f s  (qemu cpu %6.1f s)\n", what, now - start, ($14 + $15) / hz }' \
    "/proc/$(cat "$dir/qemu.pid")/stat"
}
guest() { # USER COMMAND: the pinned host key or nothing
  ssh -q -p "$port" -i "$dir/key" -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes -o BatchMode=yes \
    -o UserKnownHostsFile="$dir/known_hosts" -o ConnectTimeout=60 "$1@127.0.0.1" "$2"
}
banner() { (exec 3<>"/dev/tcp/127.0.0.1/$port" && read -r -t 5 line <&3 && [[ $line = SSH-* ]]) 2>/dev/null; }
failed=0
check() { # USER COMMAND WANTED-PATTERN
  local got
  got=$(guest "$1" "$2" 2>&1) || true
  # shellcheck disable=SC2053 # a pattern
  if [[ $got == $3 ]]; then echo "ok    $1: $2"; else
    echo "FAIL  $1: $2: $got"
    failed=$((failed + 1))
  fi
}

until banner; do
  kill -0 "$(cat "$dir/qemu.pid")" 2>/dev/null || die "qemu is gone (see $dir/console.log)"
  ((SECONDS < ${TIMEOUT:-600})) || die "no ssh in ${TIMEOUT:-600} s (see $dir/console.log)"
  sleep 0.2
done
mark "ssh port answers"
until guest root true; do ((SECONDS < ${TIMEOUT:-600})) || die "root cannot log in"; sleep 0.5; done
mark "first ssh command done"
guest root 'cloud-init status --wait' >/dev/null || true
mark "cloud-init done"
guest root 'podman info' >/dev/null || true
mark "podman info as root"
guest core 'podman info' >/dev/null || true
mark "podman info as core"
[ -z "${SEED:-}" ] || exit 0

check root 'cloud-init status' 'status: done'
check root 'cat /etc/try-image; ls /var/lib/try-image' $'written\n/var/lib/try-image'
check root 'hostname; date +%Z' $'try\nCE*T'
check root "networkctl status \$(ls /sys/class/net | grep -v lo | head -1)" \
  "*/10-netplan-net0.network*State:*routable*$mac*10.0.2.15*192.0.2.53*"
check root 'grep -h ClientIdentifier /run/systemd/network/*' 'ClientIdentifier=mac'
check root 'systemctl --failed --no-legend --plain' ''
check root 'df --output=size -m / | tail -1 | xargs test 3400 -lt && echo grown' grown
check core 'id -u; sudo id -u; podman info --format {{.Host.Security.Rootless}}' $'1000\n0\ntrue'
check root 'systemctl is-active podman.socket avahi-daemon systemd-networkd' $'active\nactive\nactive'
check root 'ls /run/podman/podman.sock /run/user/1000/podman/podman.sock' '/run/podman/podman.sock*1000*'
check root 'ls /etc/ssh/ssh_host_*_key' '/etc/ssh/ssh_host_ed25519_key'
[ "$failed" = 0 ] || die "$failed checks failed"
