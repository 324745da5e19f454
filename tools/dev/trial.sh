# The packages in a Debian that has none of the tools they were built with, and in the next one, with GIMP 3.2: the same binaries
# for both (sourced, never run).
# shellcheck shell=bash
# shellcheck disable=SC2154 # build, checkout…: ./dev's

trial=$build/package/trial

in_trial() {
    local -a sudo=()
    ((EUID == 0)) || sudo=(as_root --preserve-env)
    "${sudo[@]}" "$checkout/tools/dev/enter-root.sh" "$trial" 0 0 "$build/package" "$@"
}

# GIMP without a window denoises a picture, by the plug-in that it finds by itself.
denoise_in_trial() { # WHAT HOME
    local home=$2 photo=$build/package/photo.jpg result=$build/package/photo-$1.png
    rm -f -- "$result"
    cp "$checkout/tools/dev/astronaut.jpg" "$photo"
    in_trial env HOME="$home" XDG_CONFIG_HOME="$home/.config" LC_ALL=C.UTF-8 \
        gimp-console --no-data --no-fonts --batch-interpreter=plug-in-script-fu-eval -b "(script-fu-use-v3)
            (let* ((image (gimp-file-load RUN-NONINTERACTIVE \"$photo\")))
              (plug-in-grainless-denoise #:run-mode RUN-NONINTERACTIVE #:image image
                #:drawables (gimp-image-get-layers image) #:auto-sigma FALSE #:sigma 10)
              (gimp-file-save RUN-NONINTERACTIVE image \"$result\" ))" --quit >"$build/package/trial-$1.log" 2>&1 || true
    [[ -s $result ]] || die "the filter of $1 did not run in a clean $trial_name: $build/package/trial-$1.log tells more"
    step "tried in a clean $trial_name: $1"
}

try_portable() { # SERIES
    local home=$build/package/trial-home archive
    rm -rf -- "$home"
    mkdir -p "$home/.config/GIMP/$1" "$home/portable"
    for archive in "$build"/package/out/grainless-*-linux-*.tar.xz; do
        tar -C "$home/portable" --strip-components=1 -xf "$archive"
    done
    in_trial env -u GIMP3_DIRECTORY HOME="$home" XDG_CONFIG_HOME="$home/.config" "$home/portable/install.sh" >&2 ||
        die "the portable archive's install.sh failed in a clean $trial_name"
    denoise_in_trial portable "$home"
    in_trial env -u GIMP3_DIRECTORY HOME="$home" XDG_CONFIG_HOME="$home/.config" "$home/portable/install.sh" --uninstall >&2
    [[ ! -e $home/.config/GIMP/$1/plug-ins/grainless ]] || die "install.sh --uninstall left something behind"
}

try_debian_packages() {
    local -a files=("$build"/package/out/{gimp-grainless,grainless}_*.deb)
    local module
    for module in "$build"/package/out/gimp-grainless-cuda_*.deb; do
        if [[ -f $module ]]; then files+=("$module"); fi
    done
    in_trial apt-get -qq update
    in_trial env DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends install "${files[@]}" >&2 ||
        die "apt could not install the packages in a clean $trial_name"
    rm -rf -- "$build/package/trial-home"
    mkdir -p "$build/package/trial-home"
    denoise_in_trial deb "$build/package/trial-home"
    in_trial grainless --sigma 10 --json "$build/package/photo.jpg" -o "$build/package/photo-tool.png" >&2 ||
        die "grainless did not run in a clean $trial_name"
    # The module loads without a driver, and says its version.
    if [[ ${files[*]} == *cuda* ]] && ! in_trial grainless --version | grep -q '^CUDA module: [0-9]'; then
        die "the CUDA module does not load in a clean $trial_name"
    fi
    step "tried in a clean $trial_name: grainless"
    in_trial env DEBIAN_FRONTEND=noninteractive apt-get -y purge 'gimp-grainless*' grainless >&2
}

# The archive first: what the packages bring along must not help it.
try_in() { # SUITE SERIES NAME
    trial_name=$3
    step "making a clean $trial_name with nothing but GIMP $2"
    bootstrap "$1" "$trial" gimp ca-certificates
    try_portable "$2"
    try_debian_packages
    remove_tree "$trial"
}

# What Debian 13 built serves the next Debian, too.
try_packages() {
    try_in trixie 3.0 "Debian 13"
    try_in forky 3.2 "Debian forky"
}
