# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# bash completion: the program itself knows what can follow (`__complete`).

_podman_machine_vmnet() {
  local line directive='' current=${COMP_WORDS[COMP_CWORD]} prefix=''
  local -a words=()
  COMPREPLY=()
  # From the line itself, in which `:` and `=` do not split words as they do in COMP_WORDS.
  read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
  [[ ${COMP_LINE:0:COMP_POINT} == *' ' ]] && words+=('')
  # bash replaces only what follows the last of its separators.
  local word=${words[-1]}
  [[ $word == *[:=]* && $word != "$current" ]] && prefix=${word%"${word##*[:=]}"}
  while IFS= read -r line; do
    if [[ $line == :[0-9]* ]]; then
      directive=${line#:}
    else
      line=${line%%$'\t'*}
      [[ $prefix == *: ]] && line=${line#"$prefix"}
      COMPREPLY+=("$line")
    fi
  done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
  if [[ $directive == 0 && ${#COMPREPLY[@]} -eq 0 ]]; then
    compopt -o default -o filenames 2>/dev/null
  elif ((directive & 2)); then
    compopt -o nospace 2>/dev/null
  fi
}
complete -F _podman_machine_vmnet podman-machine-vmnet
