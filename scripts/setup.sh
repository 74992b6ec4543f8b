# Read by scripts/test, scripts/demo and scripts/docs, not run by itself.
#
# `prepare` makes everything they need and does nothing when it is already there: the libraries of the
# system that Qt loads, and the environment .venv at the root of the checkout with the pinned packages.
# Afterwards $root is the checkout and $python the interpreter of .venv. Console scripts of .venv are
# never called: their first line breaks when the path of the checkout has a space.

venv="$root/.venv"
python="$venv/bin/python"
ready="$venv/celis-ready"
unfinished="$venv/celis-unfinished"

say() { printf '%s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# ---------------------------------------------------------------------------------- system libraries

# What Qt opens while it runs, and the Debian package it comes in; pip cannot bring these.
libraries='
libEGL.so.1            libegl1
libglib-2.0.so.0       libglib2.0-0
libfontconfig.so.1     libfontconfig1
libdbus-1.so.3         libdbus-1-3
libxkbcommon-x11.so.0  libxkbcommon-x11-0
libxcb-cursor.so.0     libxcb-cursor0
libxcb-icccm.so.4      libxcb-icccm4
libxcb-keysyms.so.1    libxcb-keysyms1
libxcb-shape.so.0      libxcb-shape0
'

missing_packages() {
    [ "$(uname -s)" = Linux ] || return 0
    if [ -z "${DISPLAY-}${WAYLAND_DISPLAY-}" ]; then
        command -v Xvfb >/dev/null || printf 'xvfb '
        command -v xauth >/dev/null || printf 'xauth '
    fi
    # A user's PATH often has no sbin; without ldconfig there is nothing to ask.
    known=$(PATH="$PATH:/usr/sbin:/sbin" ldconfig -p 2>/dev/null) || return 0
    printf '%s' "$libraries" | while read -r library package; do
        case "$known" in
            *"$library"*) ;;
            *) [ -z "$library" ] || printf '%s ' "$package" ;;
        esac
    done
}

prepare_system() {
    packages=$(missing_packages)
    packages=${packages% }
    [ -n "$packages" ] || return 0
    if ! command -v apt-get >/dev/null; then
        fail "These system libraries are missing: install what your system calls the Debian packages" \
            "$packages, then run this again."
    fi
    line="apt-get install --yes --no-install-recommends $packages"
    if [ "$(id -u)" -ne 0 ]; then
        fail "These system libraries are missing; run this line, then this script again: sudo $line"
    fi
    say "Installing system libraries: $packages"
    log="$venv/celis-apt.log"
    export DEBIAN_FRONTEND=noninteractive
    if ! { apt-get update && $line; } >"$log" 2>&1 </dev/null 9>&-; then
        tail -n 5 "$log" >&2
        fail "The system libraries could not be installed; see $log, or run: apt-get update && $line"
    fi
}

# ---------------------------------------------------------------------------------- python packages

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if is_new_enough "$candidate"; then
            "$candidate" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
                fail "$candidate has no venv module: install it (Debian: apt-get install python3-venv)," \
                    "then run this again."
            printf '%s' "$candidate"
            return 0
        fi
    done
    fail "napari-celis needs Python 3.11 or newer, and no python3 on the PATH is: install one" \
        "(Debian: apt-get install python3 python3-venv), then run this again."
}

# The environment is right for exactly these files, at this place.
wanted_stamp() {
    cat "$root/pyproject.toml" "$root/scripts/constraints.txt" "$root/scripts/setup.sh" | cksum
    printf '%s\n' "$root"
}

prepare_python() {
    if [ -e "$unfinished" ] || ! is_new_enough "$python"; then
        say "Making the environment $venv"
        # Everything goes but the lock that is being held.
        find "$venv" -mindepth 1 -maxdepth 1 ! -name celis-lock -exec rm -rf {} +
        : >"$unfinished"
        "$base" -m venv "$venv"
    fi
    : >"$unfinished"
    rm -f "$ready"
    say "Installing the pinned packages; the first time takes some minutes"
    # pip takes back what it began when it fails, so only a kill leaves the environment unfinished.
    if ! (cd "$root" && "$python" -m pip install -qq --disable-pip-version-check \
        --constraint scripts/constraints.txt --editable '.[dev]') >&2; then
        rm -f "$unfinished"
        fail "The packages could not be installed: see the lines above, then run this again."
    fi
    wanted_stamp >"$ready.new"
    mv "$ready.new" "$ready"
    rm -f "$unfinished"
}

is_python_ready() {
    [ ! -e "$unfinished" ] && [ "$(cat "$ready" 2>/dev/null)" = "$(wanted_stamp)" ] && is_new_enough "$python"
}

prepare() {
    if is_python_ready && [ -z "$(missing_packages)" ]; then return 0; fi
    mkdir -p "$venv"
    # The lock lives as long as descriptor 9 stays open, however this script ends.
    exec 9>"$venv/celis-lock"
    base=$(find_python)
    "$base" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)' 9>&9
    prepare_system
    is_python_ready || prepare_python
    exec 9>&-
}
