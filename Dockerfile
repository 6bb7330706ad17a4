# sayagain with the engines whose licence is permissive and the driver for s3://; docs/containers.md explains.

FROM python:3.11-slim AS build
WORKDIR /src
COPY requirements/uv.txt requirements/build.txt requirements/runtime.txt requirements/
ENV PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore UV_NO_CACHE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never
RUN python -m pip install --require-hashes --requirement requirements/uv.txt \
    && uv venv --python /usr/local/bin/python /opt/sayagain \
    && uv pip install --python /opt/sayagain --require-hashes --only-binary :all: --compile-bytecode \
        --requirements requirements/runtime.txt \
    && uv venv --python /usr/local/bin/python /opt/build \
    && uv pip install --python /opt/build --require-hashes --only-binary :all: --requirements requirements/build.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src src
RUN uv build --wheel --no-build-isolation --python /opt/build --out-dir /tmp/wheels \
    && uv pip install --python /opt/sayagain --no-deps --compile-bytecode /tmp/wheels/sayagain-*.whl

FROM python:3.11-slim
COPY --from=build /opt/sayagain /opt/sayagain
# A user of any number may be told with --user: nothing is owned by one of them but the default place of results.
RUN install --directory --owner=65532 --group=65532 /results
ENV PATH=/opt/sayagain/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/tmp RUN_ARTIFACT_DIR=/results/artifacts
WORKDIR /results
USER 65532:65532
ENTRYPOINT ["sayagain"]
CMD ["--help"]
