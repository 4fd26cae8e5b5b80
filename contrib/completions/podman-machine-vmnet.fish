# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
#
# fish completion: the program itself knows what can follow (`__complete`).

function __podman_machine_vmnet_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (commandline --current-token --cut-at-cursor)
    set -l found ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    if test (count $found) -gt 1
        printf '%s\n' $found[1..-2]
    else if test "$found[-1]" = ":0"
        __fish_complete_path "$current"
    end
end

complete --command podman-machine-vmnet --no-files --arguments '(__podman_machine_vmnet_complete)'
