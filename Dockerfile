FROM python:3.12-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap git tini \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home treadle \
    && install -d -o treadle -g treadle /srv/treadle
WORKDIR /opt/treadle
# With the packages for PostgreSQL: 8 MB that only TREADLE_DATABASE_URL=postgresql://… loads.
COPY requirements-cluster.lock requirements-build.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements-cluster.lock -r requirements-build.lock
COPY pyproject.toml README.md LICENSE ./
COPY bot bot
COPY tools tools
RUN pip install --no-cache-dir --no-deps --no-build-isolation .
USER 10001
WORKDIR /srv/treadle
VOLUME /srv/treadle
# Each command leaves a process of its sandbox to process 1, which has to wait for it.
ENTRYPOINT ["tini", "--", "treadle"]
CMD ["run"]
