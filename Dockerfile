# flowrun in a container: one static program, the certificates of authorities, and no
# shell. docs/releases.md, "The image", tells how it is run.
#
# Where no engine of containers is at hand, `make image` makes the same image without one:
# tools/supply reads the steps below `FROM scratch`, so that nothing is said twice.

FROM golang:1.26 AS build
WORKDIR /src
COPY . .
RUN go -C tools run ./supply rootfs /rootfs

FROM scratch
COPY --from=build /rootfs/system/ /
COPY --from=build --chown=65532:65532 /rootfs/state/ /var/lib/
# Whatever is written lies in the volume: the root file system may be read-only.
ENV HOME=/var/lib/flowrun TMPDIR=/var/lib/flowrun FLOWRUN_STATE=/var/lib/flowrun/state PATH=/usr/local/bin
USER 65532:65532
# The project: flowrun.yaml and what it names.
WORKDIR /project
VOLUME ["/var/lib/flowrun"]
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s --retries=3 CMD ["/usr/local/bin/flowrun", "ready"]
ENTRYPOINT ["/usr/local/bin/flowrun"]
CMD ["serve"]
