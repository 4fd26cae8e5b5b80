# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154,SC2317
#
# The part of provision.sh that runs a playbook: provision.c puts it in front where there is one, so
# what it calls and its variables are defined over there.

# For the user too, but no reason not to go on.
notice() {
  say "$step: $*"
  if ! printf '%s\n' "$@" >"$folder/notice.new" || ! mv -f "$folder/notice.new" "$folder/notice"; then
    fail "cannot write to '$folder'"
  fi
}

# As podman has it (5.4 to 6.0): playbook.yaml in the user's home, run once, as the user, by a unit of
# this name. Ansible wants UTF-8. There a failure is in the journal only; here it is told as well, and
# does not keep the machine from working either.
playbook() {
  begin playbook
  put "$home/playbook.yaml" "$(cat "$root$PLAYBOOK")"
  must chown "$uid:$gid" "$root$home/playbook.yaml"
  if ! has ansible-playbook; then
    notice "the playbook was not run: there is no ansible-playbook (package ansible-core) in the guest" \
      ${without:+"$without"}
    return
  fi
  put /etc/systemd/system/playbook.service "[Unit]
Description=Run the playbook of this podman machine

[Service]
Type=oneshot
User=$GUEST_USER
WorkingDirectory=~
Environment=LC_ALL=C.UTF-8 XDG_RUNTIME_DIR=/run/user/$uid
ExecStart=$(command -v ansible-playbook) $home/playbook.yaml"
  must systemctl daemon-reload
  if systemctl start playbook.service >"$log" 2>&1; then return; fi
  journalctl --sync || :
  notice "the playbook failed (to run it again: sudo systemctl start playbook.service):" \
    "$(journalctl -q --no-pager -o cat -n 15 -u playbook.service 2>&1)"
}
