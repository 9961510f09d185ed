# porchbot: the bot (`serve`, `worker`), the function runner (`runner`), the commands, and what pods are given
# (`function-server`). Build it with `docker build -t registry.corp/porchbot:v1 .`
FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends python3 python3-venv
COPY . /source
RUN python3 -m venv /opt/porchbot \
 && /opt/porchbot/bin/pip install --no-cache-dir '/source[server,embedded,policy,kubernetes]' \
 && /opt/porchbot/bin/python -m compileall -q /opt/porchbot/lib

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git python3 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --create-home porchbot \
 && install --directory --owner porchbot /var/cache/porchbot /var/lib/porchbot /run/porchbot
COPY --from=build /opt/porchbot /opt/porchbot
ENV PATH=/opt/porchbot/bin:/usr/local/bin:/usr/bin:/bin
# With a read-only root, what is written goes to these folders, /run/porchbot (sockets) and /tmp.
ENV PORCHBOT_STATE=/var/lib/porchbot XDG_CACHE_HOME=/var/cache
# From outside, and not only from inside of the container.
ENV PORCHBOT_LISTEN=0.0.0.0:8080 PORCHBOT_RUNNER_LISTEN=0.0.0.0:9445
EXPOSE 8080 9445
USER 10001
ENTRYPOINT ["porchbot"]
