# The tarball, the packages, and the archive that needs nothing but GIMP (sourced, never run).
# shellcheck shell=bash
# shellcheck disable=SC2154 # checkout, build, stage…: ./dev's

packages=$build/package

project_version() { sed -nE "s/^  version: '([^']+)',\$/\1/p" "$checkout/meson.build"; }

# GRAINLESS_PACKAGE_CUDA_ARCH=none leaves the CUDA module out; 90, for example, makes a quick one for one architecture.
with_cuda() {
    use_cuda_toolkit
    [[ ${GRAINLESS_PACKAGE_CUDA_ARCH:-} != none ]] && command -v nvcc >/dev/null
}

# The same commit, built with the same compiler in the same folder, gives the same bytes: names in order, the commit's
# time, nobody's user, permissions that no umask has a say in, and one thread, since several cut the stream by their number.
pack() { # FOLDER NAME: FOLDER/NAME into out/NAME.tar.xz
    tar -C "$1" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf - "$2" |
        xz -T1 >"$packages/out/$2.tar.xz"
}

# The sources as they are committed; they build by themselves, without git.
make_tarball() {
    local sources=$packages/tarball
    step "tarball"
    rm -rf -- "$sources"
    mkdir -p "$sources"
    { git -C "$checkout" archive --prefix="grainless-$version/" HEAD | tar -C "$sources" -xf -; } 2>"$packages/tarball.log" ||
        die "the tarball could not be made of what git has committed: $packages/tarball.log names the reason"
    pack "$sources" "grainless-$version"
    rm -rf -- "$sources"
}

unpack_tarball() { # DIRECTORY
    mkdir -p "$1"
    tar -C "$1" --strip-components=1 -xf "$packages/out/grainless-$version.tar.xz"
}

make_debian_packages() {
    local sources=$packages/debian/grainless-$version profile=()
    rm -rf -- "$packages/debian"
    unpack_tarball "$sources"
    cp -r "$sources/packaging/debian" "$sources/debian"
    if with_cuda; then
        profile=(-Ppkg.grainless.cuda)
        step "Debian packages, with the CUDA module for ${GRAINLESS_PACKAGE_CUDA_ARCH:-all architectures}"
    else
        step "Debian packages; without gimp-grainless-cuda, which needs nvcc"
    fi
    # By the date of the changelog, as whoever builds them elsewhere does.
    (cd "$sources" && env -u SOURCE_DATE_EPOCH dpkg-buildpackage --build=binary --no-sign "${profile[@]}") >"$packages/debian.log" 2>&1 ||
        die "the Debian packages could not be built: $packages/debian.log names the reason"
    step "lintian"
    lintian --allow-root --fail-on error,warning --display-info --suppress-tags initial-upload-closes-no-bugs \
        "$packages"/debian/*.changes >&2 || die "lintian has complaints"
    rm -f -- "$packages"/out/*.deb
    mv "$packages"/debian/*.deb "$packages/out/"
}

# The CUDA module is the packages' own: nvcc takes long.
make_portable() {
    local sources=$packages/portable/sources name folder module
    name=grainless-$version-linux-$(uname -m)
    folder=$packages/portable/$name
    rm -rf -- "$packages/portable"
    unpack_tarball "$sources"
    step "portable archive"
    {
        meson setup --prefix=/usr --buildtype=release --strip --force-fallback-for=libhwy -Dplugin=enabled -Dtests=disabled \
            -Dtools=disabled -Dcuda=disabled -Dcpp_link_args='-static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL' \
            "$sources/build" "$sources" &&
            ninja -C "$sources/build" &&
            meson install -C "$sources/build" --no-rebuild --skip-subprojects --destdir "$sources/stage"
    } >"$packages/portable.log" 2>&1 || die "the portable archive could not be built: $packages/portable.log names the reason"
    mkdir -p "$folder"
    cp -r "$sources"/stage/usr/lib/*/gimp/*/plug-ins/grainless "$folder/grainless"
    for module in "$packages"/debian/*/debian/gimp-grainless-cuda/usr/lib/*/gimp/*/plug-ins/grainless/grainless-cuda.so; do
        if [[ -f $module ]]; then cp "$module" "$folder/grainless/"; fi
    done
    mkdir -p "$folder/effect"
    cp "$sources"/stage/usr/lib/*/gegl-0.4/grainless-effect.so "$folder/effect/"
    cp -rL "$sources"/stage/usr/lib/*/grainless "$folder/effect/grainless"
    if [[ -f $folder/grainless/grainless-cuda.so ]]; then cp "$folder/grainless/grainless-cuda.so" "$folder/effect/grainless/"; fi
    cp "$sources"/packaging/portable/{install.sh,README.txt} "$sources"/{LICENSE,packaging/THIRD-PARTY.md} "$folder/"
    python3 "$sources/packaging/portable/check.py" "$folder" >&2 || die "the portable archive would not start everywhere"
    pack "$packages/portable" "$name"
}

# For this Python alone, and any Linux of this age or later; tried beside the folder it was made in.
make_wheel() {
    local folder=$packages/wheel
    rm -rf -- "$folder"
    unpack_tarball "$folder/sources"
    step "Python wheel"
    {
        (cd "$folder/sources" && python3 -c 'import mesonpy, sys; mesonpy.build_wheel(
            sys.argv[1], {"setup-args": ["--force-fallback-for=libhwy,kissfft-float"]})' "$folder") &&
            python3 -m zipfile -e "$folder"/*.whl "$folder/unpacked" &&
            (cd / && PYTHONPATH=$folder/unpacked python3 -W error -c 'import numpy, grainless
noisy = numpy.random.default_rng(1).normal(0.5, 0.05, (64, 64))
assert grainless.denoise(noisy).std() < noisy.std() / 2')
    } >"$packages/wheel.log" 2>&1 || die "the wheel could not be built, or does not work: $packages/wheel.log names the reason"
    rm -f -- "$packages"/out/*.whl
    mv "$folder"/*.whl "$packages/out/"
}

# A Debian has no RPM packages to build against: what is looked at is the spec, and whether its files are all there.
check_rpm() {
    local folder=$packages/rpm
    rm -rf -- "$folder"
    mkdir -p "$folder/SOURCES"
    cp "$packages/out/grainless-$version.tar.xz" "$folder/SOURCES/"
    step "RPM packages, without their dependencies"
    rpmlint "$checkout/packaging/rpm/grainless.spec" >&2 || die "rpmlint has complaints"
    rpmbuild -ba --nodeps --load="$checkout/packaging/rpm/debian.macros" --define "_topdir $folder" \
        --define "_libdir /usr/lib/$(gcc -print-multiarch)" "$checkout/packaging/rpm/grainless.spec" >"$packages/rpm.log" 2>&1 ||
        die "the RPM packages could not be built: $packages/rpm.log names the reason"
}

require_parts() { # [PART…]
    local part
    for part; do
        [[ $part == @(tarball|debian|portable|wheel|rpm|trial) ]] ||
            die "package has the parts tarball, debian, portable, wheel, rpm and trial; '$part' is none"
    done
}

cmd_package() { # [tarball | debian | portable…]: these parts again, after a whole run
    version=$(project_version)
    # What others install they must be able to read: a wheel keeps the permissions of its files.
    umask 022
    SOURCE_DATE_EPOCH=$(git -C "$checkout" log -1 --format=%ct) ||
        die "packages are made of what git has committed, and $checkout is not a clone: git's words above"
    export SOURCE_DATE_EPOCH
    if ((!$#)); then
        rm -rf -- "$packages/out"
        set -- tarball debian portable wheel
    fi
    mkdir -p "$packages/out"
    local part
    for part; do
        case $part in
            tarball) make_tarball ;;
            debian) make_debian_packages ;;
            portable) make_portable ;;
            wheel) make_wheel ;;
            rpm) check_rpm ;;
        esac
    done
    (cd "$packages/out" && shopt -s nullglob && sha256sum -- *.deb *.tar.xz *.whl >SHA256SUMS)
    step "packages: $packages/out"
}
