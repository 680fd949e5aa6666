# podberth's images: the webhook's, and with `--build-arg FOR=agent` the node agent's (docs/install.md, "Images").
# tests/deployment/test_image.py runs these steps without a container engine.
ARG PYTHON=3.13.9

FROM python:${PYTHON}-slim-trixie AS build
# What is installed beside podberth: an extra of pyproject.toml, with its lock.
ARG FOR=cluster
WORKDIR /src
COPY requirements requirements
# Wheels only, each by its hash: nothing of the image is compiled here, and nothing is run to install it.
RUN python -m venv /opt/podberth /opt/tools
RUN /opt/podberth/bin/python -m pip install --only-binary :all: --require-hashes --requirement requirements/${FOR}.lock
RUN /opt/tools/bin/python -m pip install --only-binary :all: --require-hashes --requirement requirements/build.lock
COPY pyproject.toml README.md LICENSE ./
COPY webhook webhook
COPY policies policies
COPY optional-policies optional-policies
COPY docs/schema docs/schema
RUN /opt/tools/bin/python -m pip wheel --no-deps --no-build-isolation --wheel-dir wheel .
RUN /opt/podberth/bin/python -m pip install --no-deps --no-index wheel/*.whl
# Nothing in the image installs.
RUN /opt/podberth/bin/python -m pip uninstall --yes setuptools pip

FROM python:${PYTHON}-slim-trixie
LABEL org.opencontainers.image.title=podberth org.opencontainers.image.licenses=Apache-2.0
COPY --from=build /opt/podberth /opt/podberth
COPY policies /etc/podberth/policies/shipped
ENV PATH=/opt/podberth/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
ENTRYPOINT ["podberth"]
CMD ["serve"]
