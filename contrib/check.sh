#!/bin/bash
# check.sh [--quick] [--no-vm] [--no-install]
#
# Everything that a change has to pass, from a fresh clone on:
#
#   build            with gcc and with clang, warnings are errors
#   style            include arrows, format, shellcheck, spelling, clang-tidy
#   unit, contract, conformance
#                    one room at a time; command lines against what other tools accept; podman's
#                    behaviour without a VM, with a stand-in and a real client
#   fuzz             the fuzzer's corpus, replayed
#   lifecycle        the program against stand-ins for QEMU and a Mac's tools, with a real sshd
#   engine           images: against qemu-img, full disks, kills, servers that do it wrong
#   sanitizers       all of these again, with ASan and UBSan
#   macos            program and tests compiled and linked for macOS, where zig can be had
#   vm               the program, real QEMU, a real guest, podman clients old and new, the docker
#                    CLI, what Podman Desktop, testcontainers and ramalama call; the macOS rows over
#                    stand-ins for macOS' tools; vhost-vsock with a guest as the host
#
#   --quick       gcc only; no lifecycle, no engine
#   --no-vm       all but vm
#   --no-install  do not install missing packages
#
# The last line counts: each meson test or subtest, each build, clang-tidy. Logs stay in
# build-check/logs. Guest images and clients are kept in
# ${XDG_CACHE_HOME:-~/.cache}/podman-machine-vmnet-tests. With CI=true, what would be skipped fails.
set -uo pipefail

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
quick='' vm=yes install=yes
for option in "$@"; do
  case $option in
    --quick) quick=yes vm='' ;;
    --no-vm) vm='' ;;
    --no-install) install='' ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

cd "$(dirname "$0")/.." || exit 1
out='build-check'
logs=$out/logs
cache=${XDG_CACHE_HOME:-$HOME/.cache}/podman-machine-vmnet-tests
passed=0 failed=0 skipped=0
mkdir -p "$logs"

say() { # MARK SECONDS TEXT
  printf '%-4s %4d s  %s\n' "$1" "$2" "$3"
}

# phase NAME COMMAND...: counts as one test; the end of its log is shown if it fails.
phase() {
  local name=$1 begun=$SECONDS log
  log=$logs/${name// /-}.log
  shift
  if "$@" >"$log" 2>&1 </dev/null; then
    passed=$((passed + 1))
    say ok $((SECONDS - begun)) "$name"
  else
    failed=$((failed + 1))
    say FAIL $((SECONDS - begun)) "$name"
    tail -n 40 "$log" | sed 's/^/     | /'
    return 1
  fi
}

# tests NAME BUILD MESON-TEST-OPTION...: each test, or subtest where a test reports them, counts.
tests() {
  local name=$1 build=$2 begun=$SECONDS base counts
  base=${name// /-}
  shift 2
  meson test -C "$build" --no-rebuild --logbase "$base" "$@" >"$logs/$base.log" 2>&1 </dev/null
  counts=$(tally "$build/meson-logs/$base.json" 2>"$logs/$base.failures")
  read -r good bad left <<<"${counts:-0 1 0}"
  passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + left))
  if [ "$bad" = 0 ]; then
    say ok $((SECONDS - begun)) "$name: $good passed, $left skipped"
  else
    say FAIL $((SECONDS - begun)) "$name: $good passed, $bad failed, $left skipped"
  fi
  sed 's/^/     | /' "$logs/$base.failures"
}

# Reads what meson recorded: prints passed, failed, skipped; and what failed or was skipped on
# standard error.
tally() {
  python3 - "$1" <<'PYTHON'
import json, os, re, sys
good = bad = left = 0
strict = os.environ.get("CI") == "true"
try:
    records = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
except OSError:
    records = []
if not records:
    sys.exit("no test was run")
for test in records:
    name, result, text = test["name"], test["result"], test.get("stdout", "")
    lines = re.findall(r"^(not ok|ok)\b(.*)$", text, re.M) if re.search(r"^1\.\.\d", text, re.M) else []
    ok = sum(1 for word, rest in lines if word == "ok" and "# SKIP" not in rest)
    skip = sum(1 for word, rest in lines if "# SKIP" in rest)
    wrong = len(lines) - ok - skip
    if not lines:
        ok, skip = int(result in ("OK", "EXPECTEDFAIL")), int(result == "SKIP")
    if result not in ("OK", "EXPECTEDFAIL", "SKIP") and not wrong:
        wrong = 1
    if skip and strict:
        wrong, skip = wrong + skip, 0
    good, bad, left = good + ok, bad + wrong, left + skip
    if wrong:
        print(f"{name}: {result} after {test['duration']:.0f} s", file=sys.stderr)
        shown = (text + test.get("stderr", "")).splitlines()
        at = [i for i, line in enumerate(shown) if line.startswith("not ok")]
        shown = shown[max(0, at[0] - 40):at[-1] + 40] if at else shown
        print("\n".join("  " + line[:300] for line in shown[-200:]), file=sys.stderr)
    elif skip:
        print(f"{name}: skipped", file=sys.stderr)
print(good, bad, left)
PYTHON
}

# What phase is given to run.
# shellcheck disable=SC2317 # shellcheck does not see that phase runs it
compile() { # BUILD MESON-OPTION...
  local build=$1
  shift
  if [ -f "$build/build.ninja" ]; then
    meson configure "$build" "$@"
  else
    meson setup "$build" "$@"
  fi && ninja -C "$build"
}

# shellcheck disable=SC2317
tidy() {
  find base image cloudinit provider cmd -name '*.c' ! -name 'platform_darwin.c' -print0 |
    xargs -0 -P "$(nproc)" -n 4 clang-tidy -p "$out/gcc" --quiet
}

# shellcheck disable=SC2317
# got PROGRAM NAME [SUITE]: a client of Debian's, kept in the cache.
got() {
  local folder=$cache/clients/$2
  [ -x "$folder/$1" ] || contrib/guest/get-client.sh "$1" "$folder" "${@:3}"
}

# The conformance tests use it too, so it comes before them.
# shellcheck disable=SC2317
client() {
  got podman podman
}

# What else people have: podman of the two releases before, docker's own client.
# shellcheck disable=SC2317
clients() {
  got podman podman-5 trixie && got podman podman-4 bookworm && got docker docker
}

# shellcheck disable=SC2317
guests() {
  local guest=contrib/guest
  "$guest/build-guest-image.sh" --flavour fast "$cache/fast" &&
    "$guest/build-guest-image.sh" --flavour stock "$cache/stock" &&
    "$guest/build-guest-image.sh" --flavour selinux "$cache/selinux" &&
    "$guest/get-qemu.sh" "$cache/qemu" >"$cache/qemu-path.new" &&
    mv "$cache/qemu-path.new" "$cache/qemu-path" &&
    "$guest/get-virtiofsd.sh" "$cache/virtiofsd" >"$cache/virtiofsd-path.new" &&
    mv "$cache/virtiofsd-path.new" "$cache/virtiofsd-path" &&
    { [ -f "$cache/busybox.tar" ] || "$guest/make-container-image.sh" "$cache/busybox.tar"; }
}

# Skipped where zig cannot be had, which CI does not accept.
# shellcheck disable=SC2317
macos() {
  local status=0
  contrib/macos/cross-check.sh "$out/macos" || status=$?
  if [ "$status" = 77 ] && [ "${CI:-}" != true ]; then
    skipped=$((skipped + 1)) passed=$((passed - 1)) # phase counts it as passed
    return 0
  fi
  return "$status"
}

finish() {
  printf '%d s in all; logs in %s\n' "$SECONDS" "$logs"
  printf 'check: %d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
  exit
}

if [ -n "$install" ]; then
  begun=$SECONDS
  contrib/install-deps.sh build run test ${vm:+guest} || { failed=1; finish; }
  say ok $((SECONDS - begun)) "packages are there"
fi

[ -z "$vm" ] || phase "podman client" client
if CC=gcc phase "build with gcc" compile "$out/gcc" -Dwerror=true; then
  tests "style" "$out/gcc" --suite style
  tests "unit and contract" "$out/gcc" --suite unit --suite contract --suite conformance --suite fuzz
  [ -n "$quick" ] || tests "lifecycle" "$out/gcc" --suite lifecycle
  [ -n "$quick" ] || tests "engine" "$out/gcc" --suite engine
fi
[ -z "$quick" ] || finish

phase "clang-tidy" tidy
if CC=clang phase "build with clang" compile "$out/clang" -Dwerror=true; then
  tests "unit and contract with clang" "$out/clang" --suite unit --suite contract --suite conformance
fi
# gcc invents warnings when it instruments.
if CC=gcc phase "build with sanitizers" compile "$out/asan" -Dwerror=false \
  -Db_sanitize=address,undefined -Doptimization=1; then
  export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 PMV_SLOW=3
  export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
  tests "sanitizers" "$out/asan" --suite unit --suite contract --suite conformance \
    --suite lifecycle --suite fuzz --suite engine -t 3
  unset ASAN_OPTIONS UBSAN_OPTIONS PMV_SLOW
fi
phase "macos" macos && { grep '^SKIPPED' "$logs/macos.log" || true; }
if [ -n "$vm" ]; then
  phase "guest images and QEMU" guests &&
    phase "other clients" clients &&
    tests "vm" "$out/gcc" --suite vm
fi
finish
