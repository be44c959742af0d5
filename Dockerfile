# An image with slowpath, a clang that compiles BPF programs, and the packages of EXTRA:
#
#   docker build --tag slowpath .
#   docker run --rm --volume "$PWD:/work" slowpath bound prog.bpf.c
#
# Debian has all of it; `make` installs the toolchain.
FROM debian:12-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends make
WORKDIR /source
COPY . .
RUN make wheel ARCHITECTURES="$(uname -m)"

FROM debian:12-slim
ARG EXTRA=all
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3-venv clang-16 libbpf-dev libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /source/target/package/ /opt/package/
RUN python3 -m venv /opt/slowpath \
    && /opt/slowpath/bin/pip install --no-cache-dir "$(echo /opt/package/*.whl)[$EXTRA]"
ENV PATH=/opt/slowpath/bin:$PATH
WORKDIR /work
ENTRYPOINT ["slowpath"]
CMD ["--help"]
