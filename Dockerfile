# The image contains the server, the embedded engine and GraphiQL's files, but no compilers, npm or tests.
# docs/containers.md describes how to use it.
#
#   docker build --tag marginalia .
#   docker build --tag marginalia:aws --build-arg ENGINE=none .   # without the engine, for --aws and --endpoint-url
ARG PYTHON=python:3.13.7-slim
ARG NODE=node:22.19.0-slim

FROM ${NODE} AS node
ARG ENGINE
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
# The engine is an optional npm package for each platform. npm skips it without an error if the registry lacks it.
RUN if [ "$ENGINE" = none ]; then npm ci --omit=dev --omit=optional; exit; fi; \
    npm ci --omit=dev || exit 1; \
    test -d node_modules/@dynoxide \
      || { echo 'npm has no embedded engine for this platform: build with --build-arg ENGINE=none, and use a table on AWS or at --endpoint-url.'; exit 1; }

FROM ${PYTHON} AS python
WORKDIR /build
# Leave pip out, because the last stage copies this directory into the image.
RUN python -m venv --without-pip /opt/marginalia
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE ./
COPY dal dal
COPY features features
COPY pages pages
COPY resolvers resolvers
COPY schema schema
COPY server server
RUN MARGINALIA_IMAGE=1 python -m pip --python /opt/marginalia install --no-cache-dir --constraint constraints.txt '.[observability,redis]'
# Delete unused files. The SDK describes four hundred services, and the server uses a few. Babel has a thousand
# locales, and the pages use six. starlette-compress installs zstandard, which the server does not use.
RUN python -m pip --python /opt/marginalia uninstall --yes zstandard \
    && find /opt/marginalia/lib/python3*/site-packages/botocore/data -mindepth 1 -maxdepth 1 -type d ! -name 'dynamodb*' ! -name s3 ! -name sts ! -name 'sso*' ! -name signin -exec rm -r {} + \
    && find /opt/marginalia/lib/python3*/site-packages/babel/locale-data -type f -regextype egrep ! -regex '.*/(root|en|en_001|de|fr|es|ja|ar)\.dat' -delete
COPY --from=node /build/node_modules /node_modules
# Change the working directory: in /build Python would import the sources there and write bytecode next to them.
WORKDIR /
RUN /opt/marginalia/bin/python -m server.local_engine.npm_files /node_modules

FROM ${PYTHON}
ARG ENGINE
COPY --from=python /opt/marginalia /opt/marginalia
# The kernel ignores signals to the first process of a container unless the process handles them. The signal that ends a
# blocked server has no handler. So the first process is tini, not the server.
RUN apt-get update && apt-get install --yes --no-install-recommends tini && rm -r /var/lib/apt/lists/*
ENV PATH=/opt/marginalia/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    MARGINALIA_DATA_DIR=/data \
    MARGINALIA_EXIT_WHEN_BLOCKED=true \
    MARGINALIA_ENGINE=$ENGINE
# A new named volume gets the owner of this directory, so that the user marginalia may write to it.
RUN useradd --no-log-init --uid 10001 --home-dir /data marginalia && install --directory --owner marginalia --mode 0700 /data
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ.get('MARGINALIA_PORT', '8000') + '/health/live', timeout=4)"]
ENTRYPOINT ["tini", "--"]
CMD ["marginalia", "serve", "--host", "0.0.0.0"]
