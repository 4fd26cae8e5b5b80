#!/bin/bash
# build-guest-image.sh [--flavour fast|stock|selinux] [--suite SUITE] [--arch ARCH] [--size MIB] OUTDIR
#
# Builds a bootable UEFI disk image of Debian with cloud-init and podman, from packages:
#   OUTDIR/guest.raw         sparse; GPT: ESP (systemd-boot, kernel, initrd) + ext4 root
#   OUTDIR/guest.qcow2       the same disk, qcow2 with zlib clusters
#   OUTDIR/guest-zstd.qcow2  the same disk, qcow2 with zstd clusters
#   OUTDIR/packages.txt      the packages in it and their versions
#
#   --flavour fast   (the default) stripped to what a test needs, to boot quickly without
#                    hardware virtualisation
#   --flavour selinux  the fast one, with SELinux enforcing Debian's own policy
#   --flavour stock  as Debian ships it: its services, sandboxes, initramfs and cloud.cfg
#   --suite SUITE    Debian suite, trixie or newer (trixie)
#   --arch ARCH      amd64 or arm64 (this machine's)
#   --size MIB       size of the disk (3072); the guest grows its root into a larger one
#
# Uses no loop device, no mount of the image and no network but the Debian mirror. Nothing in
# OUTDIR is touched before the new files are complete; with nothing changed it does nothing.
#
# Environment: MIRROR (http://deb.debian.org/debian), TMPDIR (/dev/shm if it has room)
set -euo pipefail

me=build-guest-image.sh
die() { echo "$me: $*" >&2; exit 1; }
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
step() { printf '[%3ds] %s\n' "$SECONDS" "$*"; }

### what is asked #############################################################
flavour=fast suite=trixie arch='' size_mib=3072 out=''
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --flavour | --suite | --arch | --size)
      [ $# -gt 1 ] || die "$1 needs a value (see --help)"
      case $1 in
        --flavour) flavour=$2 ;;
        --suite) suite=$2 ;;
        --arch) arch=$2 ;;
        --size) size_mib=$2 ;;
      esac
      shift 2 ;;
    -*) die "unknown option $1 (see --help)" ;;
    *) [ -z "$out" ] || die "more than one OUTDIR: $out and $1"; out=$1; shift ;;
  esac
done
[ -n "$out" ] || { usage >&2; exit 2; }
case $flavour in fast | stock | selinux) ;; *) die "no flavour $flavour: fast, stock or selinux" ;; esac
[[ $size_mib =~ ^[0-9]+$ && $size_mib -ge 2048 ]] || die "--size $size_mib: at least 2048 (MiB)"

missing=()
need() { command -v "$1" >/dev/null || missing+=("$2"); } # COMMAND DEBIAN-PACKAGE
need dpkg dpkg
need mmdebstrap mmdebstrap
need mke2fs e2fsprogs
need mformat mtools
need sgdisk gdisk
need qemu-img qemu-utils
need xz xz-utils
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing+=(debian-archive-keyring)
[ ${#missing[@]} = 0 ] || die "missing Debian packages: apt install ${missing[*]}"
[ "$(id -u)" = 0 ] || die "must be root, to install packages into a directory"

arch=${arch:-$(dpkg --print-architecture)}
case $arch in
  amd64) efi_name=BOOTX64.EFI efi_loader=systemd-bootx64.efi root_type=8304 serial=ttyS0 ;;
  arm64) efi_name=BOOTAA64.EFI efi_loader=systemd-bootaa64.efi root_type=8305 serial=ttyAMA0 ;;
  *) die "no architecture $arch: amd64 or arm64" ;;
esac
mirror=${MIRROR:-http://deb.debian.org/debian}

mkdir -p "$out"
out=$(cd "$out" && pwd)
stamp="$(sha256sum "$0" | cut -c1-64) $flavour $suite $arch $size_mib"
if [ "$(cat "$out/.stamp" 2>/dev/null)" = "$stamp" ]; then
  echo "up to date: $out"
  exit 0
fi

# dpkg syncs a lot: on a tmpfs the build takes half the time.
if [ -z "${TMPDIR:-}" ] && [ "$(df --output=avail -m /dev/shm 2>/dev/null | tail -1)" -gt 3072 ]; then
  TMPDIR=/dev/shm
fi
export TMPDIR=${TMPDIR:-/tmp}
work=$(mktemp -d "$TMPDIR/guest-image.XXXXXX")
new=$(mktemp -d "$out/.new.XXXXXX")
trap 'rm -rf --one-file-system "$work" "$new"' EXIT
root=$work/root
put() { mkdir -p "$(dirname "$root$1")"; cat > "$root$1"; } # PATH: standard input into it

### packages -> directory #####################################################
packages=(
  # boot
  systemd-sysv udev kmod systemd-boot-efi "linux-image-cloud-$arch"
  # a usable system
  dbus dbus-user-session libpam-systemd systemd-resolved
  mount iproute2 iputils-ping procps sudo e2fsprogs tzdata ca-certificates
  # what a machine provider talks to
  cloud-init cloud-guest-utils openssh-server avahi-daemon qemu-guest-agent
  # containers, rootful and rootless
  podman crun netavark aardvark-dns nftables uidmap passt catatonit containers-storage
)
options=(
  --mode=root --quiet --architectures="$arch"
  --aptopt='Acquire::Check-Valid-Until "false"'
)
sources=("deb $mirror $suite main")

if [ "$flavour" != stock ]; then
  # netplan-generator: netplan without its command line in Python. tiny-initramfs: satisfies the
  # kernel's need for an initramfs generator with a 40 kB initrd. Debian's cloud kernel has ext4,
  # virtio_pci, virtio_console and virtiofs built in; only virtio_blk is missing to mount the root
  # file system. apt stays out (the essential variant), and with it the apt timers.
  packages+=(tiny-initramfs netplan-generator libnss-myhostname)
  # shellcheck disable=SC2016 # mmdebstrap's hook shell expands $1
  tiny_initramfs_conf='mkdir -p "$1/etc/tiny-initramfs" &&
    printf "%s\n" MICROCODE=no AUTO_MODULES=no INCLUDE_MODULES=virtio_blk \
      > "$1/etc/tiny-initramfs/tiny-initramfs.conf"'
  options+=(
    --variant=essential
    --aptopt='APT::Install-Recommends "false"'
    --dpkgopt='path-exclude=/usr/share/man/*'
    --dpkgopt='path-exclude=/usr/share/locale/*'
    --dpkgopt='path-exclude=/usr/share/i18n/*'
    --dpkgopt='path-exclude=/usr/share/doc/*'
    --dpkgopt='path-include=/usr/share/doc/*/copyright'
    --dpkgopt='path-exclude=/usr/libexec/podman/podman-testing'
    --essential-hook="$tiny_initramfs_conf"
  )
  [ "$flavour" != selinux ] || packages+=(selinux-policy-default policycoreutils)
else
  # What Debian's cloud images have besides, with what the packages recommend.
  packages+=(
    apt apt-utils apparmor bash-completion curl dosfstools fdisk file gdisk initramfs-tools iptables
    less libnss-myhostname libnss-resolve locales lsb-release nano netplan.io openssh-client
    pciutils psmisc python3 socat systemd-timesyncd unattended-upgrades uuid-runtime
    vim-tiny wget zstd
  )
  options+=(--variant=apt --aptopt='APT::Install-Recommends "true"')
  case $suite in
    sid | unstable | experimental) ;;
    *)
      sources+=("deb $mirror $suite-updates main")
      sources+=("deb ${mirror%/debian}/debian-security $suite-security main")
      ;;
  esac
fi

step "install packages of $suite ($flavour, $arch)"
mmdebstrap "${options[@]}" --include="$(IFS=,; echo "${packages[*]}")" "$suite" "$root" "${sources[@]}"
[ -x "$root/usr/bin/podman" ] || die "no podman in what was installed"
# shellcheck disable=SC2016 # dpkg-query's own variables
chroot "$root" dpkg-query -W -f '${Package} ${Version}\n' > "$new/packages.txt"

### configuration of both flavours ############################################
root_uuid=$(cat /proc/sys/kernel/random/uuid)
esp_id=$(printf '%08X' $((SRANDOM)))

configure_both() {
  # One identity per instance: machine id and host keys are made at first boot. An empty
  # machine-id (not a missing one, not "uninitialized") avoids systemd's first-boot presets.
  : > "$root/etc/machine-id"
  rm -f "$root"/etc/ssh/ssh_host_* "$root/var/lib/dbus/machine-id"
  echo guest | put /etc/hostname
  chmod 644 "$root/etc/hostname"
  # No password: not even an empty one.
  sed -i 's|^root:[^:]*:|root:*:|' "$root/etc/shadow"
  # mmdebstrap leaves a copy of the builder's.
  ln -sfn ../run/systemd/resolve/stub-resolv.conf "$root/etc/resolv.conf"
  chroot "$root" systemctl enable --quiet systemd-networkd.service systemd-resolved.service \
    ssh.service avahi-daemon.service 2>/dev/null
}

### configuration: stock ######################################################
configure_stock() {
  printf '%s\n' "UUID=$root_uuid / ext4 rw,discard,errors=remount-ro,x-systemd.growfs 0 1" \
    "UUID=${esp_id::4}-${esp_id:4} /boot/efi vfat defaults 0 0" | put /etc/fstab
  mkdir -p "$root/boot/efi"
  # The console on a serial port is for the log. A login there would be tried over and over,
  # every ten seconds, when the machine has no such port.
  ln -sfn /dev/null "$root/etc/systemd/system/serial-getty@$serial.service"
  sed -i 's/^# *\(en_US.UTF-8\|C.UTF-8\)/\1/' "$root/etc/locale.gen"
  chroot "$root" locale-gen >/dev/null
  echo 'LANG=C.UTF-8' | put /etc/default/locale
  rm -rf "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb
  cmdline="root=UUID=$root_uuid ro console=$serial console=hvc0"
}

### configuration: fast #######################################################
# Under emulation every process start and every Python import counts (some 20 to 30 times
# slower than native), so most of this section takes work out of the boot.
configure_fast() {
  rm -f "$root/etc/fstab" # root comes from the kernel command line, writable

  # cloud-init: a seed disk labelled cidata or nothing, and the modules a machine needs. The
  # stock file is long and parsed about eight times per boot by a slow YAML parser.
  put /etc/cloud/cloud.cfg <<'E'
datasource_list: [NoCloud, None]
users: [default]
disable_root: true
preserve_hostname: false
ssh_genkeytypes: [ed25519]
cloud_init_modules: [bootcmd, write_files, growpart, resizefs, disk_setup, mounts, set_hostname, update_hostname, update_etc_hosts, ca_certs, users_groups, ssh]
cloud_config_modules: [set_passwords, timezone, runcmd]
cloud_final_modules: [write_files_deferred, scripts_vendor, scripts_per_once, scripts_per_boot, scripts_per_instance, scripts_user, final_message, power_state_change]
system_info:
  distro: debian
  ssh_svcname: ssh
  network: {renderers: [netplan]}
  default_user: {name: debian, lock_passwd: true, gecos: Debian, groups: [adm, sudo], sudo: ["ALL=(ALL) NOPASSWD:ALL"], shell: /bin/bash}
E
  put /etc/cloud/cloud.cfg.d/05_logging.cfg <<'E'
output: {all: '| tee -a /var/log/cloud-init-output.log'}
log_cfgs:
  - |
    [loggers]
    keys=root
    [handlers]
    keys=file
    [formatters]
    keys=plain
    [logger_root]
    level=INFO
    handlers=file
    [handler_file]
    class=FileHandler
    level=INFO
    formatter=plain
    args=('/var/log/cloud-init.log', 'a', 'UTF-8')
    [formatter_plain]
    format=%(asctime)s - %(filename)s[%(levelname)s]: %(message)s
E
  # Always on: the generator, which decides that with a long shell script at every daemon
  # reload, is off below.
  put /etc/tmpfiles.d/cloud-init-enabled.conf <<'E'
f /run/cloud-init/enabled 0644
E
  mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
  ln -sfn /usr/lib/systemd/system/cloud-init.target \
    "$root/etc/systemd/system/multi-user.target.wants/cloud-init.target"

  # Network: cloud-init hands the seed's network-config to netplan as it is, and netplan's generator
  # (C; also run at every boot) turns it into /run/systemd/network/10-netplan-*.network. cloud-init
  # only wants to run "netplan generate", so this stands in for the command line in Python.
  # Neither networkd nor anything else waits for the network to be up.
  put /usr/sbin/netplan <<'E'
#!/bin/sh
# netplan's own command line is Python, and slow: cloud-init needs no more than this of it.
[ "$1" = generate ] && exec /usr/libexec/netplan/generate
echo "netplan: only 'generate' here" >&2
exit 1
E
  chmod 755 "$root/usr/sbin/netplan"
  [ -x "$root/usr/libexec/netplan/generate" ] || die "netplan's generator is not where it was"
  # For when cloud-init did nothing: any Ethernet by DHCP, with the MAC address as client id, so
  # that a server can tie the lease to the machine. By its name it comes after netplan's files,
  # and networkd applies to an interface the first file that matches, so the two never mix.
  put /etc/systemd/network/80-ethernet.network <<'E'
[Match]
Type=ether
Kind=!*

[Network]
DHCP=ipv4
LinkLocalAddressing=ipv6
IPv6AcceptRA=yes

[DHCPv4]
ClientIdentifier=mac
E

  # Debian's update-ca-certificates starts some ten processes for each of 150 certificates, which
  # takes a minute, during which ssh is not up. This one only adds the local ones.
  mv "$root/etc/ssl/certs/ca-certificates.crt" "$root/usr/share/ca-certificates/debian-bundle.pem"
  put /usr/sbin/update-ca-certificates <<'E'
#!/bin/sh -e
# The quick way: Debian's certificates as they were when the image was built, and the local ones.
certs=/etc/ssl/certs
set -- /usr/local/share/ca-certificates/*.crt
[ -e "$1" ] || shift
cat /usr/share/ca-certificates/debian-bundle.pem "$@" > $certs/.new
mv $certs/.new $certs/ca-certificates.crt
for cert; do ln -sf "$cert" "$certs/$(openssl x509 -noout -hash -in "$cert").0"; done
echo "$# added"
E
  chmod 755 "$root/usr/sbin/update-ca-certificates"
  chroot "$root" update-ca-certificates >/dev/null

  # avahi answers for NAME.local
  put /etc/systemd/resolved.conf.d/guest.conf <<'E'
[Resolve]
MulticastDNS=no
LLMNR=no
E
  put /etc/systemd/journald.conf.d/guest.conf <<'E'
[Journal]
Storage=volatile
Compress=no
ForwardToSyslog=no
Audit=no
E

  # udev handles the devices that matter here (the stock unit replays all of /sys, with some
  # 70 terminals); drivers for what virtual machines only pretend to have stay out. The power
  # button, by which a machine is asked to stop, needs button and evdev.
  put /etc/systemd/system/systemd-udev-trigger.service.d/guest.conf <<'E'
[Service]
ExecStart=
ExecStart=-udevadm trigger --type=devices --action=add --prioritized-subsystem=block,net --subsystem-match=block --subsystem-match=net --subsystem-match=virtio --subsystem-match=virtio-ports
ExecStart=-modprobe -a button evdev
E
  put /etc/modprobe.d/guest.conf <<'E'
blacklist kvm
blacklist kvm_amd
blacklist kvm_intel
blacklist powernow_k8
blacklist psmouse
blacklist efi_pstore
E

  # No sandboxes: compiling seccomp filters and making mount namespaces costs each service
  # start about a second.
  put /etc/systemd/system/service.d/guest.conf <<'E'
[Service]
SystemCallFilter=
SystemCallArchitectures=
RestrictAddressFamilies=
RestrictNamespaces=no
RestrictRealtime=no
RestrictSUIDSGID=no
RestrictFileSystems=
MemoryDenyWriteExecute=no
LockPersonality=no
PrivateDevices=no
PrivateTmp=no
PrivateNetwork=no
PrivateUsers=no
ProtectSystem=no
ProtectHome=no
ProtectClock=no
ProtectControlGroups=no
ProtectHostname=no
ProtectKernelLogs=no
ProtectKernelModules=no
ProtectKernelTunables=no
ProtectProc=default
ProcSubset=all
ReadWritePaths=
IPAddressDeny=
DeviceAllow=
DevicePolicy=auto
E

  # The API service of podman stays up between requests: each start costs seconds.
  put /etc/systemd/system/podman.service.d/guest.conf <<'E'
[Service]
ExecStart=
ExecStart=/usr/bin/podman $LOGGING system service --time=0
E
  mkdir -p "$root/etc/systemd/user/podman.service.d"
  cp "$root/etc/systemd/system/podman.service.d/guest.conf" "$root/etc/systemd/user/podman.service.d/"
  put /etc/systemd/system/ssh.service.d/guest.conf <<'E'
[Service]
ExecStartPre=
E

  # A root login over ssh starts no session and no user manager; other users get theirs.
  sed -i 's|^session.*pam_systemd\.so.*|session [success=1 default=ignore] pam_succeed_if.so quiet uid = 0\n&|' \
    "$root/etc/pam.d/common-session"
  sed -i '/pam_motd\.so/d; /pam_mail\.so/d' "$root/etc/pam.d/sshd"

  local unit generator
  for unit in \
    systemd-networkd-wait-online.service systemd-network-generator.service \
    netavark-dhcp-proxy.service netavark-dhcp-proxy.socket netavark-firewalld-reload.service \
    cloud-init-hotplugd.socket \
    e2scrub_reap.service e2scrub_all.timer fstrim.timer dpkg-db-backup.timer systemd-tmpfiles-clean.timer \
    getty.target getty@tty1.service getty-static.service serial-getty@hvc0.service "serial-getty@$serial.service" \
    systemd-ask-password-console.path systemd-ask-password-wall.path \
    systemd-hwdb-update.service systemd-journal-catalog-update.service systemd-firstboot.service \
    systemd-pstore.service systemd-hibernate-clear.service systemd-random-seed.service \
    systemd-binfmt.service proc-sys-fs-binfmt_misc.automount systemd-udev-load-credentials.service \
    systemd-modules-load.service modprobe@drm.service modprobe@configfs.service modprobe@efi_pstore.service \
    systemd-tpm2-setup-early.service systemd-tpm2-setup.service \
    systemd-pcrmachine.service systemd-pcrphase.service systemd-pcrphase-sysinit.service \
    systemd-pcrextend.socket systemd-pcrlock.socket systemd-creds.socket systemd-sysext.socket systemd-initctl.socket \
    dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount \
    sys-kernel-config.mount run-lock.mount
  do
    ln -sfn /dev/null "$root/etc/systemd/system/$unit"
  done
  mkdir -p "$root"/etc/systemd/{system,user}-generators
  for generator in "$root"/usr/lib/systemd/system-generators/* "$root"/usr/lib/systemd/user-generators/*; do
    case ${generator##*/} in
      systemd-fstab-generator | netplan) ;;
      *) ln -sfn /dev/null "$root/etc/${generator#"$root"/usr/lib/}" ;;
    esac
  done

  # Nothing for ldconfig.service, systemd-sysusers.service and friends to do at first boot.
  touch "$root/etc/.updated" "$root/var/.updated"
  touch -r "$root/etc/.updated" "$root/usr"

  # Kernel modules: unpacked, because the kernel's xz decoder is slow under emulation, and
  # without the drivers for hardware that is not there.
  local modules
  modules=$(echo "$root"/usr/lib/modules/*)
  rm -rf "$modules"/kernel/drivers/{net/ethernet,net/wireless,infiniband,scsi,nvme,hv,gpu,mmc,usb,md,target,edac,ata,hwmon} \
    "$modules"/kernel/fs/{btrfs,xfs,ceph,smb,nfs,nfsd,ocfs2,gfs2,jfs,f2fs,bcachefs} "$modules"/kernel/arch/x86/kvm
  find "$modules" -name '*.ko.xz' -print0 | xargs -0r xz -d
  chroot "$root" depmod "${modules##*/}"

  # What is only needed to build, or for hardware that is not there.
  rm -rf "$root"/usr/lib/udev/hwdb.bin "$root"/usr/lib/udev/hwdb.d "$root"/var/cache/apt "$root"/var/lib/apt/lists

  cmdline="root=UUID=$root_uuid rw console=$serial console=hvc0 quiet loglevel=4 systemd.show_status=false"
  cmdline+=" mitigations=off nokaslr audit=0 lsm=landlock,yama init_on_alloc=0 cryptomgr.notests nowatchdog"
  cmdline+=" 8250.nr_uarts=1 panic=1"
}

### configuration: selinux ####################################################
# Labels can be set where the kernel does not know what they mean, so all is done here.
configure_selinux() {
  configure_fast
  printf '%s\n' SELINUX=enforcing SELINUXTYPE=default | put /etc/selinux/config
  # What Debian's policy does not know of: where cloud-init mounts its seed, what growpart has
  # sfdisk write, and much of what podman does.
  put /usr/share/selinux/default/seed.cil <<'E'
(allow mount_t initrc_runtime_t (dir (mounton)))
(allow fsadm_t initrc_tmp_t (file (write)))
(typepermissive podman_t)
E
  chroot "$root" semodule -n -s default -i /usr/share/selinux/default/seed.cil
  # Without audit=0, which keeps denials out of the kernel's log too.
  cmdline=${cmdline/audit=0 lsm=landlock,yama/lsm=landlock,yama,selinux selinux=1}
}

step "configure"
configure_both
"configure_$flavour"
rm -rf "$root"/var/log/{apt,dpkg.log,bootstrap.log,alternatives.log} "$root"/tmp/* "$root"/run/*
if [ "$flavour" = selinux ]; then
  chroot "$root" setfiles -F /etc/selinux/default/contexts/files/file_contexts /
fi

### directory -> disk #########################################################
step "assemble disk"
raw=$new/guest.raw
esp=$work/esp
mkdir -p "$esp/EFI/BOOT" "$esp/loader/entries"
cp "$root/usr/lib/systemd/boot/efi/$efi_loader" "$esp/EFI/BOOT/$efi_name"
cp "$root"/boot/vmlinuz-* "$esp/vmlinuz" # fails unless there is exactly one
cp "$root"/boot/initrd.img-* "$esp/initrd"
[ "$flavour" = stock ] || rm -f "$root"/boot/*
echo 'timeout 0' > "$esp/loader/loader.conf"
printf '%s\n' "title Debian $suite" 'linux /vmlinuz' 'initrd /initrd' "options $cmdline" \
  > "$esp/loader/entries/guest.conf"

esp_mib=$(($(du -sm --apparent-size "$esp" | cut -f1) + 24)) # FAT16, with room for a change
root_start_mib=$((esp_mib + 1))
root_mib=$((size_mib - esp_mib - 2))
truncate -s "${size_mib}M" "$raw"
sgdisk --set-alignment=2048 \
  --new=1:1M:+${esp_mib}M --typecode=1:EF00 --change-name=1:esp \
  --new=2:${root_start_mib}M:+${root_mib}M --typecode=2:$root_type --change-name=2:root "$raw" >/dev/null
mformat -i "$raw@@1M" -T $((esp_mib * 2048)) -h 64 -s 32 -v ESP -N "$esp_id" ::
mcopy -i "$raw@@1M" -s "$esp/EFI" "$esp/loader" "$esp/vmlinuz" "$esp/initrd" ::
mke2fs_options=(-q -F -t ext4 -L root -U "$root_uuid")
[ "$flavour" = stock ] || mke2fs_options+=(-m 0 -J size=16)
mke2fs "${mke2fs_options[@]}" \
  -E "offset=$((root_start_mib * 1048576)),assume_storage_prezeroed=1,nodiscard" \
  -d "$root" "$raw" "${root_mib}M"
sgdisk --verify "$raw" | grep -q 'No problems found' || die "the partition table is not right"

step "compress"
qemu-img convert -f raw -O qcow2 -c "$raw" "$new/guest.qcow2"
qemu-img convert -f raw -O qcow2 -c -o compression_type=zstd "$raw" "$new/guest-zstd.qcow2"

rm -f "$out/.stamp"
mv "$new"/guest.raw "$new"/guest.qcow2 "$new"/guest-zstd.qcow2 "$new"/packages.txt "$out"
echo "$stamp" > "$out/.stamp"
step "done"
ls -ls "$out"/guest*
