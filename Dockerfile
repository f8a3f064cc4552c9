# The server, its storage engine and GraphiQL's files, without compilers, npm or tests.
# The storage engine is built for x86-64; elsewhere, build with --platform linux/amd64.

FROM node:22-slim AS node
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev

FROM python:3.13-slim AS python
WORKDIR /build
RUN python -m venv /opt/marginalia
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE ./
COPY analytics analytics
COPY bench bench
COPY compiled compiled
COPY conformance conformance
COPY dal dal
COPY live live
COPY resolvers resolvers
COPY schema schema
COPY server server
COPY stream stream
COPY web web
RUN MARGINALIA_IMAGE=1 /opt/marginalia/bin/pip install --no-cache-dir --constraint constraints.txt '.[observability,redis]'
# The server looks for node_modules beside its own packages.
COPY --from=node /build/node_modules node_modules
RUN mv node_modules "$(/opt/marginalia/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"

FROM python:3.13-slim
COPY --from=python /opt/marginalia /opt/marginalia
ENV PATH=/opt/marginalia/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    MARGINALIA_DATA_DIR=/data
# A named volume takes over this directory's owner.
RUN useradd --system --uid 10001 --home-dir /data marginalia && install --directory --owner marginalia --mode 0700 /data
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health/ready', timeout=4)"]
CMD ["marginalia", "serve", "--host", "0.0.0.0"]
