# The site, its engine and its websocket in one image; what runs is chosen by the command (see compose.yaml).
FROM python:3.12-slim AS build
WORKDIR /app
COPY requirements-bootstrap.lock requirements.lock ./
RUN python -m venv /venv \
    && /venv/bin/python -m pip install --no-cache-dir --require-hashes -r requirements-bootstrap.lock \
    && /venv/bin/uv pip install --no-cache --python /venv/bin/python --require-hashes -r requirements.lock

FROM python:3.12-slim
# For `manage.py backup` and `restore` on PostgreSQL: pg_dump reads servers of its own version and older ones. A font for
# the pictures beside shared results links.
RUN apt-get update && apt-get install --yes --no-install-recommends postgresql-client fonts-dejavu-core && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 10001 crowdrank && mkdir -p /data/media && chown -R crowdrank /data
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
    DATABASE_URL=sqlite:////data/db.sqlite3 MEDIA_ROOT=/data/media
COPY --from=build /venv /venv
WORKDIR /app
COPY manage.py pyproject.toml CITATION.cff ./
COPY annotate annotate
COPY models_engine models_engine
COPY templates templates
COPY static static
RUN SECRET_KEY=only-while-collecting python manage.py collectstatic --noinput --verbosity 0
USER crowdrank
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz')"]
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000"]
